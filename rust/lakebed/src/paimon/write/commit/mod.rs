//! Commits to tables whose storage writes a file only where none is: a local one, or an object store with conditional
//! puts (Paimon's `FileStoreCommitImpl.java`, `RenamingSnapshotCommit.java`).
//!
//! A commit reads the latest snapshot, writes manifests and lists beside the old ones, and then the next
//! snapshot, which must not be there yet: whoever comes second reads again and starts anew. Until the snapshot
//! is there no reader sees anything of it. What a killed writer leaves behind are manifests that no snapshot
//! names, and files whose names end in `.lakebed-tmp`.

mod apply;
pub(super) mod base;
mod changes;
mod compact;
mod create;
mod index;
mod live;
mod made;
mod options;
mod prune;
mod row_ids;
#[cfg(test)]
mod tests;

use arrow_array::{RecordBatch, StringArray, StructArray};

use self::apply::commit;
use self::changes::{Added, Overwritten, Removed};
pub use self::create::{TableDefinition, create_table};
pub use self::options::CommitOptions;
use super::place::partition_of;
use crate::error::Result;
use crate::paimon::snapshot::CommitKind;
use crate::paimon::table::Table;

/// Adds data files, which are there already, to the table's branch; gives the table at the new snapshot, or at
/// the latest one where there are no files.
///
/// `files` has columns of the view `files`: `file_path`, `record_count` and `file_size_in_bytes`, `partition` of
/// partitioned tables, `bucket` of those with fixed buckets, keys and sequence numbers of those with keys; what
/// else a file has may be there, and `stats`. Sequence numbers and row ids of tables that track rows are set here.
///
/// # Errors
/// Before anything is written: those of the columns, with field and row; `Unsupported` for tables on a
/// storage without commits, with dynamic or postponed buckets, or whose manifests are not Avro; `Argument` for a file that is live
/// already and for buckets counted otherwise than in their partition. `Io` of the file system, and `Conflict`
/// after too many lost races; what was written is removed then.
pub fn append_files(table: &Table, files: &RecordBatch, options: &CommitOptions) -> Result<Table> {
    let added = Added::new(table, files, options)?;
    commit(table, options, CommitKind::Append, &|base| added.changes(base))
}

/// Takes files away, by their paths, absolute or relative to the table; gives the table at the new snapshot, or at
/// the latest one where there are no paths. Entries of deletion vectors go with their files.
///
/// # Errors
/// Before anything is written: `Argument` for a path that is no live file's or there twice, with its row;
/// `Unsupported` for tables on a storage without commits or with data evolution, and for files that global indexes cover.
/// Others as [`append_files`].
pub fn delete_files(table: &Table, paths: &StringArray, options: &CommitOptions) -> Result<Table> {
    let removed = Removed::new(table, paths)?;
    commit(table, options, CommitKind::Overwrite, &|base| removed.changes(base))
}

/// Puts files in the place of all that are live in a partition, which is one row with some or all partition
/// columns; without any it is the whole table. Index files of these partitions go as well.
///
/// # Errors
/// As [`append_files`]; also `Argument` for a file of another partition.
pub fn overwrite_partition(
    table: &Table,
    files: &RecordBatch,
    partition: &StructArray,
    options: &CommitOptions,
) -> Result<Table> {
    let added = Added::new(table, files, options)?;
    let overwritten = Overwritten::new(added, partition_of(partition, table.schema())?)?;
    commit(table, options, CommitKind::Overwrite, &|base| overwritten.changes(base))
}

/// Writes the manifests of the latest snapshot anew, without deleted files, in files of `target_bytes`, by
/// partition and bucket where `sort` says so; large ones that have no deleted files stay as they are unless they
/// are sorted. Gives the table at the new snapshot, whose files are those of the one before, or at the latest one
/// where nothing is to be done.
///
/// Entries stream; to be sorted they are all in memory.
///
/// # Errors
/// As [`append_files`].
pub fn compact_manifests(
    table: &Table,
    target_bytes: Option<u64>,
    sort: bool,
    options: &CommitOptions,
) -> Result<Table> {
    commit(table, options, CommitKind::Compact, &|base| compact::changes(base, target_bytes, sort))
}
