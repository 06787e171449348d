//! Apache Iceberg: table metadata, snapshots, manifest lists, manifests.

mod json;
pub mod partition;
#[cfg(test)]
mod test_values;
pub mod transform;
pub mod types;
pub mod value;
