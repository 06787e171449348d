//! Apache Iceberg: table metadata, snapshots, manifest lists, manifests.
