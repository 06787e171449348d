//! Writes Paimon's metadata files, and commits.

mod alter;
mod columnar;
mod commit;
mod files;
mod fit;
mod json;
mod layout;
mod options;
mod place;
mod records;
mod refs;
mod stats;
mod summary;
mod truncate;

pub use alter::{Move, MoveType, SchemaChange, alter_table};
pub use commit::{
    CommitOptions, Compaction, IndexFilesChange, TableDefinition, append_files, compact_files,
    compact_manifests, create_table, delete_files, overwrite_partition, replace_deletion_vectors,
};
pub use json::{schema_file, snapshot_file};
pub use layout::{FileKind, Layout};
pub use records::{FileOptions, RecordWriter};
pub use refs::{
    Freed, RollbackTo, create_branch, create_tag, delete_branch, delete_tag, expire_snapshots, fast_forward,
    rollback_to,
};
