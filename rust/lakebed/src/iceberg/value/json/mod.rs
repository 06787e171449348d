//! JSON single values (Iceberg specification, appendix D; `SingleValueParser.java`), in which defaults and
//! expressions are stored.

mod read;
mod scalar;
mod write;

pub use read::from_json;
pub use write::to_json;
