//! Commits to tables on a storage that writes a file only if none exists: the local file system, or an object
//! store with conditional puts (Paimon's `FileStoreCommitImpl.java`, `RenamingSnapshotCommit.java`).
//!
//! A commit reads the latest snapshot, writes manifests and lists beside the old ones, and then the next
//! snapshot, whose file must not exist yet: the second of two writers reads again and starts over. Until the
//! snapshot exists, readers see nothing of the commit. A killed writer leaves behind manifests that no
//! snapshot names, and files whose names end in `.lakebed-tmp`.

mod added;
mod apply;
pub(super) mod base;
mod changes;
mod compact;
mod create;
mod file_writer;
mod index;
mod live;
mod made;
mod options;
mod overwritten;
mod prune;
mod ranges;
mod relisted;
mod replace;
mod row_ids;
#[cfg(test)]
mod tests;
mod vectors;

use arrow_array::{RecordBatch, StringArray, StructArray};

use self::added::Added;
use self::apply::commit;
use self::changes::Removed;
pub use self::create::{TableDefinition, create_table};
pub use self::options::CommitOptions;
use self::overwritten::Overwritten;
use self::replace::Compacted;
use self::vectors::Vectors;
use super::files::Origin;
use super::place::partition_of;
use crate::error::Result;
use crate::paimon::snapshot::CommitKind;
use crate::paimon::table::Table;

/// Adds existing data files to the table's branch. Returns the table at the new snapshot, or at the latest
/// one where there are no files.
///
/// `files`, and the `changelog` of a table with primary keys, have columns of the view `files`: `file_path`,
/// `record_count` and `file_size_in_bytes`, `partition` for partitioned tables, `bucket` for those with fixed
/// buckets, keys and sequence numbers for those with primary keys; other columns of the view and `stats` are
/// optional. Sequence numbers and row ids of tables that track rows are assigned here.
///
/// Without `check` no manifest is read: the caller must know that none of the files is live or was deleted,
/// and how many buckets their partitions have.
///
/// # Errors
/// Before anything is written: those of the columns, with field and row; `Unsupported` for tables on a
/// storage without commits or with dynamic buckets, and for manifests in ORC or Parquet without an encoder;
/// `Argument` for a file that is live already and for another number of buckets than the partition has. `Io`
/// of the file system, and `Conflict` after too many lost races and for keys that another commit has added to
/// the same level; written files are then removed.
pub fn append_files(
    table: &Table,
    files: &RecordBatch,
    changelog: Option<&RecordBatch>,
    check: bool,
    options: &CommitOptions,
) -> Result<Table> {
    let added = Added::new(table, files, options, Origin::Written)?;
    let added = added.with_changelog(table, changelog, options)?;
    commit(table, options, CommitKind::Append, &|base| added.changes(base, check))
}

/// Removes files by their paths, absolute or relative to the table. Returns the table at the new snapshot, or
/// at the latest one where there are no paths. Entries of their deletion vectors are removed with them.
///
/// # Errors
/// Before anything is written: `Argument` for a path that is not of a live file or appears twice, with its
/// row; `Unsupported` for tables on a storage without commits or with data evolution, and for files that
/// global indexes cover. Others as [`append_files`].
pub fn delete_files(table: &Table, paths: &StringArray, options: &CommitOptions) -> Result<Table> {
    let removed = Removed::new(table, paths)?;
    commit(table, options, CommitKind::Overwrite, &|base| removed.changes(base))
}

/// Replaces all live files of a partition. The partition is one row with some or all partition columns; a row
/// without columns is the whole table, `None` is every partition of the new files. Index files of these
/// partitions are removed as well.
///
/// # Errors
/// As [`append_files`]; also `Argument` for a file of another partition.
pub fn overwrite_partition(
    table: &Table,
    files: &RecordBatch,
    partition: Option<&StructArray>,
    options: &CommitOptions,
) -> Result<Table> {
    let added = Added::new(table, files, options, Origin::Written)?;
    // An unpartitioned table is a single partition.
    let partition = partition.map(|partition| partition_of(partition, table.schema())).transpose()?;
    let overwritten = Overwritten::new(added, partition)?;
    commit(table, options, CommitKind::Overwrite, &|base| overwritten.changes(base))
}

/// Rewrites the manifests of the latest snapshot without deleted files, in files of `target_bytes`, sorted by
/// partition and bucket if `sort` is set. Unless sorted, large manifests without deleted files are kept.
/// Returns the table at the new snapshot, which has the same files, or at the latest one where there is
/// nothing to do.
///
/// Entries are streamed; for sorting, `memory_bytes` of them are held in memory (256 MiB for `None`), the
/// others on disk.
///
/// # Errors
/// As [`append_files`].
pub fn compact_manifests(
    table: &Table,
    target_bytes: Option<u64>,
    sort: bool,
    memory_bytes: Option<usize>,
    options: &CommitOptions,
) -> Result<Table> {
    let changes = |base: &base::Base| compact::changes(base, target_bytes, sort, memory_bytes);
    commit(table, options, CommitKind::Compact, &changes)
}

/// The result of a compaction: the paths of the files that it has read, and the files that have their rows
/// now.
pub struct Compaction<'c> {
    /// The files to remove.
    pub removed: &'c StringArray,
    /// The files to add, in columns of the view `files`.
    pub added: &'c RecordBatch,
    /// What changed, as in [`append_files`].
    pub changelog: Option<&'c RecordBatch>,
    /// New index files, and those that they replace.
    pub vectors: Option<IndexFilesChange<'c>>,
}

/// Index files of deletion vectors.
pub struct IndexFilesChange<'c> {
    /// New ones, in columns of index manifests; the partition is a struct.
    pub added: &'c RecordBatch,
    /// Those to remove, by their names or paths.
    pub removed: &'c StringArray,
}

/// Replaces the files that a compaction has read by those that it has written. Returns the table at the new
/// snapshot, or at the latest one where nothing changes. Vectors of removed files are removed with them.
///
/// # Errors
/// As [`append_files`] and [`delete_files`], but `Conflict` for a file that is no longer live: another commit
/// has removed it. Those of [`replace_deletion_vectors`].
pub fn compact_files(table: &Table, compaction: &Compaction<'_>, options: &CommitOptions) -> Result<Table> {
    let added = Added::new(table, compaction.added, options, Origin::Compacted)?;
    let added = added.with_changelog(table, compaction.changelog, options)?;
    let removed = Removed::new(table, compaction.removed)?;
    let vectors = compaction.vectors.as_ref();
    let vectors = vectors.map(|change| Vectors::new(table, change.added, change.removed)).transpose()?;
    let compacted = Compacted { removed, added, vectors };
    commit(table, options, CommitKind::Compact, &|base| compacted.changes(base))
}

/// Replaces index files of deletion vectors by others, which must exist already. Returns the table at the new
/// snapshot. It is checked that no file has two vectors, and that no live file loses its vector.
///
/// # Errors
/// Before anything is written: those of the columns, with field and row; `Argument` for a vector of a file
/// that is not live and for a vector that would be lost; `Conflict` for a replaced index file that no longer
/// exists, and for a data file to which another commit has given a vector; `Unsupported` for index files of
/// other kinds. Others as [`append_files`].
pub fn replace_deletion_vectors(
    table: &Table,
    change: &IndexFilesChange<'_>,
    options: &CommitOptions,
) -> Result<Table> {
    let vectors = Vectors::new(table, change.added, change.removed)?;
    commit(table, options, CommitKind::Overwrite, &|base| vectors.changes(base))
}
