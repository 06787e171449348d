//! Running a program over blocks: records in, columns out.

mod assemble;
mod columns;
mod convert;
mod fused;
mod guard;
mod items;
mod pools;
mod run;

pub(crate) use assemble::assemble;
pub(crate) use columns::{Columns, only_scalars};
pub use guard::{Guard, Peek};
pub(crate) use pools::Pools;
pub(crate) use run::{Budget, Machine};
