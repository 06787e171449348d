//! Apache Paimon: snapshots, schemas, manifests, rows.

pub mod binary_row;
mod cast;
mod compaction;
mod consumer;
pub mod deletion_vector;
pub mod fields;
mod file_index;
mod groups;
pub mod hash_index;
mod identity;
mod index_files;
pub mod index_manifest;
mod jackson;
mod java_map;
pub mod manifest;
pub mod manifest_list;
pub mod partition;
pub(crate) mod paths;
mod prune;
mod reach;
mod rewrite_paths;
mod scan;
pub mod schema;
mod sections;
mod sidecar;
pub mod snapshot;
mod stats;
mod system;
mod table;
mod text;
pub mod types;
mod version;
mod view;
pub mod write;

pub use table::Table;
