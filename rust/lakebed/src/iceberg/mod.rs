//! Apache Iceberg: table metadata, snapshots, manifest lists, manifests.

pub mod fields;
mod json;
pub mod manifest;
pub mod manifest_list;
pub mod partition;
#[cfg(test)]
mod test_values;
pub mod transform;
pub mod types;
pub mod value;
