//! Apache Paimon: snapshots, schemas, manifests, rows.
