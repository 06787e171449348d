//! Commits to tables whose storage writes a file only where none is: a local one, or an object store with conditional
//! puts (Paimon's `FileStoreCommitImpl.java`, `RenamingSnapshotCommit.java`).
//!
//! A commit reads the latest snapshot, writes manifests and lists beside the old ones, and then the next
//! snapshot, which must not be there yet: whoever comes second reads again and starts anew. Until the snapshot
//! is there no reader sees anything of it. What a killed writer leaves behind are manifests that no snapshot
//! names, and files whose names end in `.lakebed-tmp`.

mod added;
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
use self::changes::{Overwritten, Removed};
pub use self::create::{TableDefinition, create_table};
pub use self::options::CommitOptions;
use self::replace::Compacted;
use self::vectors::Vectors;
use super::files::Origin;
use super::place::partition_of;
use crate::error::Result;
use crate::paimon::snapshot::CommitKind;
use crate::paimon::table::Table;

/// Adds data files, which are there already, to the table's branch; gives the table at the new snapshot, or at
/// the latest one where there are no files.
///
/// `files`, and the `changelog` that says what changed in a table with keys, have columns of the view `files`: `file_path`, `record_count` and `file_size_in_bytes`, `partition` of
/// partitioned tables, `bucket` of those with fixed buckets, keys and sequence numbers of those with keys; what
/// else a file has may be there, and `stats`. Sequence numbers and row ids of tables that track rows are set here.
///
/// Without `check` no manifest is read: that none of the files is live or was deleted, and how many buckets their
/// partitions have, is the caller's to know.
///
/// # Errors
/// Before anything is written: those of the columns, with field and row; `Unsupported` for tables on a
/// storage without commits, with dynamic buckets, or whose manifests are not Avro; `Argument` for a file that is live
/// already and for buckets counted otherwise than in their partition. `Io` of the file system, and `Conflict`
/// after too many lost races and for keys that another commit has put into the same level; what was written is removed
/// then.
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

/// Takes files away, by their paths, absolute or relative to the table; gives the table at the new snapshot, or at
/// the latest one where there are no paths. Entries of deletion vectors go with their files.
///
/// # Errors
/// Before anything is written: `Argument` for a path that is not a live file's or there twice, with its row;
/// `Unsupported` for tables on a storage without commits or with data evolution, and for files that global indexes cover.
/// Others as [`append_files`].
pub fn delete_files(table: &Table, paths: &StringArray, options: &CommitOptions) -> Result<Table> {
    let removed = Removed::new(table, paths)?;
    commit(table, options, CommitKind::Overwrite, &|base| removed.changes(base))
}

/// Puts files in the place of all that are live in a partition, which is one row with some or all partition
/// columns; without any it is the whole table, and for `None` it is each partition that a file is of. Index files of these
/// partitions go as well.
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
    // A table without partitions is one.
    let partition = partition.map(|partition| partition_of(partition, table.schema())).transpose()?;
    let overwritten = Overwritten::new(added, partition)?;
    commit(table, options, CommitKind::Overwrite, &|base| overwritten.changes(base))
}

/// Writes the manifests of the latest snapshot anew, without deleted files, in files of `target_bytes`, by
/// partition and bucket where `sort` says so; large ones that have no deleted files stay as they are unless they
/// are sorted. Gives the table at the new snapshot, whose files are those of the one before, or at the latest one
/// where nothing is to be done.
///
/// Entries stream; to be sorted, `memory_bytes` of them are in memory, 256 MiB for `None`, and the others on disk.
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

/// What a compaction has made: files that go, by their paths, and those that hold their rows now.
pub struct Compaction<'c> {
    /// The files before.
    pub removed: &'c StringArray,
    /// The files behind, in columns of the view `files`.
    pub added: &'c RecordBatch,
    /// What changed, as in [`append_files`].
    pub changelog: Option<&'c RecordBatch>,
    /// Index files, and those that they replace.
    pub vectors: Option<IndexFilesChange<'c>>,
}

/// Index files of deletion vectors.
pub struct IndexFilesChange<'c> {
    /// New ones, in columns of index manifests, but for the partition, which is a struct.
    pub added: &'c RecordBatch,
    /// Those that go, by their names or paths.
    pub removed: &'c StringArray,
}

/// Puts the files that a compaction has written in the place of those that it has read; gives the table at the new
/// snapshot, or at the latest one where nothing changes. Vectors of files that go go with them.
///
/// # Errors
/// As [`append_files`] and [`delete_files`], but `Conflict` for a file that is no longer live: another commit has taken it
/// away. Those of [`replace_deletion_vectors`].
pub fn compact_files(table: &Table, compaction: &Compaction<'_>, options: &CommitOptions) -> Result<Table> {
    let added = Added::new(table, compaction.added, options, Origin::Compacted)?;
    let added = added.with_changelog(table, compaction.changelog, options)?;
    let removed = Removed::new(table, compaction.removed)?;
    let vectors = compaction.vectors.as_ref();
    let vectors = vectors.map(|change| Vectors::new(table, change.added, change.removed)).transpose()?;
    let compacted = Compacted { removed, added, vectors };
    commit(table, options, CommitKind::Compact, &|base| compacted.changes(base))
}

/// Puts index files of deletion vectors, which are there already, in the place of others; gives the table at the new
/// snapshot. No file has two vectors then, and none that is live has lost its vector.
///
/// # Errors
/// Before anything is written: those of the columns, with field and row; `Argument` for a vector of a file that is not
/// live and for a vector that would be lost; `Conflict` for an index file to be replaced that is not there any more, and
/// for a data file that another commit has given a vector; `Unsupported` for index files of other kinds. Others as
/// [`append_files`].
pub fn replace_deletion_vectors(
    table: &Table,
    change: &IndexFilesChange<'_>,
    options: &CommitOptions,
) -> Result<Table> {
    let vectors = Vectors::new(table, change.added, change.removed)?;
    commit(table, options, CommitKind::Overwrite, &|base| vectors.changes(base))
}
