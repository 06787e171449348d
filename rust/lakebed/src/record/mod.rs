//! Records of a field table, regardless of their writer and container: matched by name and converted to one
//! Arrow type.

pub(crate) mod carried;
mod reader;
mod records;
mod resolver;
mod tally;

pub(crate) use reader::{FileMetadata, GuardMaker, RecordReader};
#[cfg(test)]
pub(crate) use records::mistyped;
pub(crate) use records::{Records, below, column, find, typed};
pub use resolver::RecordResolver;
pub(crate) use resolver::{Rewrite, field_at, record_schema, select};
pub(crate) use tally::{Counter, Tally};
