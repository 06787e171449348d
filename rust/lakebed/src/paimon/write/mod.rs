//! Writing Paimon's metadata: the mirror of reading it, and commits.

mod commit;
mod files;
mod fit;
mod json;
mod layout;
mod options;
mod place;
mod records;
mod stats;
mod summary;
mod truncate;

pub use commit::{
    CommitOptions, TableDefinition, append_files, compact_manifests, create_table, create_tag, delete_files,
    overwrite_partition,
};
pub use json::{schema_file, snapshot_file};
pub use layout::{FileKind, Layout};
pub use records::{FileOptions, RecordWriter};
