//! Apache Iceberg: table metadata, snapshots, manifest lists, manifests.

mod compaction;
pub mod content_entry;
mod delete_file;
mod deletes;
pub mod deletion_vector;
pub(crate) mod discovery;
mod encryption;
pub mod fields;
mod groups;
mod json;
pub mod manifest;
pub mod manifest_list;
pub mod metadata;
mod metrics;
pub mod partition;
mod partition_stats;
pub(crate) mod paths;
pub mod prune;
mod reach;
mod rewrite_paths;
mod scan;
mod system;
mod table;
#[cfg(test)]
mod test_values;
pub mod transform;
pub mod types;
pub mod value;
mod view;
pub mod write;

pub use encryption::{Keys, SealedKey};
pub use paths::TableFormat;
pub use scan::{ScanTasks, TasksRequest, TasksShare};
pub use table::Table;
