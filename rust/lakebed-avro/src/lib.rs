//! Avro object container files to Arrow columns, in bulk.
#![forbid(unsafe_code)]

pub mod error;
pub mod limits;

pub use error::{Error, ErrorKind, Location, Result};
pub use limits::Limits;
