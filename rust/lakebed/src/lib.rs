//! Lake table metadata (Apache Paimon, Apache Iceberg) as Arrow.
//!
//! Pure but for [`storage`]: bytes and Arrow in, Arrow out, no thread that outlives a call.
#![forbid(unsafe_code)]

pub mod columnar;
mod conform;
pub mod error;
pub mod field;
pub mod format;
pub mod iceberg;
pub mod paimon;
pub mod predicate;
pub mod scan;
pub mod storage;
mod system;
pub mod table;
pub mod view;

pub use error::{Error, ErrorKind, Location, Result};
pub use lakebed_avro::Limits;
