//! Arrow columns to Avro's bytes: columns are bound to a schema once per batch, then written row by row.

mod bind;
mod column;
mod number;
mod output;

pub(crate) use bind::{bind_row, check};
pub(crate) use output::Output;
