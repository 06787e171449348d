//! Apache Iceberg: table metadata, snapshots, manifest lists, manifests.

pub mod discovery;
mod json;
pub mod metadata;
pub mod types;
