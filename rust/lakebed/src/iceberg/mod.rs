//! Apache Iceberg: table metadata, snapshots, manifest lists, manifests.

pub mod discovery;
pub mod fields;
mod json;
pub mod manifest;
pub mod manifest_list;
pub mod metadata;
pub mod partition;
mod table;
#[cfg(test)]
mod test_values;
pub mod transform;
pub mod types;
pub mod value;

pub use table::Table;
