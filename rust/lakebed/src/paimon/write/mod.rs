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

pub(super) use options::is_on;

pub use alter::{Move, MoveType, SchemaChange};
pub use commit::{
    Change, CommitOptions, CommitOutcome, Compaction, FileSelection, IndexFilesChange, ManifestCompaction,
    Mending, TableDefinition, commit, create_table,
};
pub use json::{schema_file, snapshot_file};
pub use layout::{FileKind, Layout};
pub use options::memory_size;
pub use records::{FileOptions, RecordWriter};
pub use refs::{BranchStart, RefChange, RollbackTo};

/// A commit or a change of the schema is tried this many times.
const ATTEMPTS: u32 = if cfg!(test) { 3 } else { 200 };
/// The longest time between two attempts \[ms\].
const LONGEST_WAIT: u64 = 500;
