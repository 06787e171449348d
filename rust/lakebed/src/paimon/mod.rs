//! Apache Paimon: snapshots, schemas, manifests, rows.

pub mod binary_row;
