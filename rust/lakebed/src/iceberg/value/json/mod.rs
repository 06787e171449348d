//! JSON single values (Iceberg specification, appendix D; `SingleValueParser.java`): what defaults and
//! expressions hold.

mod read;
mod scalar;
mod write;

pub use read::from_json;
pub use write::to_json;
