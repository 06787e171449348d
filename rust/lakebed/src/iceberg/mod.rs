//! Apache Iceberg: table metadata, snapshots, manifest lists, manifests.

pub mod discovery;
mod json;
pub mod metadata;
mod table;
pub mod types;

pub use table::Table;
