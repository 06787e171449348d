//! Lake table metadata (Apache Paimon, Apache Iceberg) as Arrow.
#![forbid(unsafe_code)]

pub mod error;
pub mod paimon;
pub mod predicate;

pub use error::{Error, ErrorKind, Location, Result};
pub use lakebed_avro::Limits;
