//! Apache Paimon: snapshots, schemas, manifests, rows.

mod json;
pub mod partition;
pub mod paths;
pub mod schema;
pub mod snapshot;
#[cfg(test)]
mod test_data;
mod text;
pub mod types;
