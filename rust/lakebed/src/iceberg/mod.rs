//! Apache Iceberg: table metadata, snapshots, manifest lists, manifests.

pub mod fields;
mod json;
pub mod manifest;
pub mod manifest_list;
pub mod types;
