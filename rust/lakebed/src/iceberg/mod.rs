//! Apache Iceberg: table metadata, snapshots, manifest lists, manifests.

mod json;
pub mod types;
