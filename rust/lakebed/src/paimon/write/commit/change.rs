//! What a commit changes, and which changes one commit can hold.

use arrow_array::{Array, RecordBatch, StringArray, StructArray};

use crate::error::{Error, ErrorKind, Result};
use crate::paimon::write::alter::SchemaChange;
use crate::paimon::write::refs::RefChange;
use crate::predicate::Predicate;

/// One change of a table, for [`commit`](super::commit).
///
/// Data files have columns of the view `files`: `file_path`, `record_count` and `file_size_in_bytes`, `partition`
/// for partitioned tables, `bucket` for those with fixed buckets, keys and sequence numbers for those with primary
/// keys; other columns of the view and `stats` are optional. Sequence numbers and row ids of tables that track rows
/// are assigned by the commit. Removed files are named by paths, absolute or relative to the table; the entries of
/// their deletion vectors are removed with them.
#[derive(Debug, Clone)]
pub enum Change {
    /// Adds data files that exist already.
    AppendFiles {
        /// The files.
        files: RecordBatch,
        /// For tables with primary keys: files, in the same columns, that record what changed.
        changelog: Option<RecordBatch>,
        /// Without it no manifest is read: the caller must know that none of the files is live or was deleted, and
        /// how many buckets their partitions have.
        check: bool,
    },
    /// Removes files and adds others.
    OverwriteFiles {
        /// The files that are removed.
        removed: Vec<FileSelection>,
        /// The files that are added.
        added: Option<RecordBatch>,
    },
    /// Replaces files by others with the same rows.
    CompactFiles(Box<Compaction>),
    /// Replaces index files of deletion vectors.
    ReplaceDeletionVectors(IndexFilesChange),
    /// Makes an older snapshot the latest one again, as a new snapshot after the table's own, which must be the latest.
    RestoreSnapshot(i64),
    /// Removes deletion vectors that cannot be read, by the name or path of their index file and their offset: the rows
    /// that they delete are read again. One that is not there is no error.
    RestoreRows(Vec<(String, i64)>),
    /// Rewrites the manifests of the snapshot that the commit builds on.
    CompactManifests(ManifestCompaction),
    /// Rewrites the manifests of the table's own snapshot, which must be the latest, where they are gone or wrong.
    MendManifests(Mending),
    /// Changes the schema or the options.
    AlterTable(Vec<SchemaChange>),
    /// Changes a tag, a branch, or which snapshots are kept.
    Ref(RefChange),
}

/// Live files, selected in the snapshot that the commit builds on.
#[derive(Debug, Clone)]
pub enum FileSelection {
    /// Those with these paths.
    Paths(StringArray),
    /// All of the partitions with these values, a row with some or all partition columns; without columns it is the
    /// whole table. The index files of these partitions are removed as well, and added files must be in one of them.
    Partition(StructArray),
    /// All of the partitions that the added files are in, with their index files.
    PartitionsOfAdded,
    /// All of the partitions that match a condition on partition columns, with their index files.
    Where(Predicate),
}

impl FileSelection {
    /// Whether it selects nothing, whatever the snapshot has.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, FileSelection::Paths(paths) if paths.is_empty())
    }
}

/// The result of a compaction: the paths of the files that it has read, and the files that have their rows now.
#[derive(Debug, Clone)]
pub struct Compaction {
    /// The files to remove.
    pub removed: StringArray,
    /// The files to add.
    pub added: RecordBatch,
    /// For tables with primary keys: files, in the same columns, that record what changed.
    pub changelog: Option<RecordBatch>,
    /// New index files, and those that they replace.
    pub vectors: Option<IndexFilesChange>,
    /// Deletion vectors to remove, by the name or path of their index file and their offset, of data files that are not
    /// live.
    pub dangling: Vec<(String, i64)>,
}

/// Index files of deletion vectors.
#[derive(Debug, Clone)]
pub struct IndexFilesChange {
    /// New ones, in columns of index manifests; the partition is a struct.
    pub added: RecordBatch,
    /// Those to remove, by their names or paths.
    pub removed: StringArray,
}

/// Manifests without deleted files. Entries are streamed; those that are sorted are held in memory or on disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct ManifestCompaction {
    /// The size of manifests \[bytes\]; `None` for that of the table. Larger ones without deleted files are kept,
    /// unless they are sorted.
    pub target_bytes: Option<u64>,
    /// Whether entries are sorted by partition and bucket.
    pub sort: bool,
    /// How many bytes of sorted entries are held in memory; `None` for 256 MiB.
    pub memory_bytes: Option<usize>,
}

/// What is wrong with manifests.
#[derive(Debug, Clone)]
pub struct Mending {
    /// Whether those that are absent or damaged are left out.
    pub leaves_out: bool,
    /// Whether files that are listed more than once are listed once.
    pub lists_once: bool,
    /// Whether lists are made anew that cannot be read.
    pub relists: bool,
    /// How many rows the table has less after it, by its own count: another number is an error.
    pub rows_lost: i64,
    /// What live data files say of themselves, in place of what is recorded: `file_path`, `record_count`,
    /// `file_size_in_bytes`, and `stats`, null where statistics stay.
    pub described: Option<RecordBatch>,
}

impl Change {
    /// The change in words, for messages.
    pub(super) fn words(&self) -> &'static str {
        match self {
            Change::AppendFiles { changelog: Some(_), .. } => "files with a changelog",
            Change::AppendFiles { .. } => "added files",
            Change::OverwriteFiles { added: None, .. } => "removed files",
            Change::OverwriteFiles { .. } => "overwritten files",
            Change::CompactFiles(_) => "a compaction of files",
            Change::ReplaceDeletionVectors(_) => "replaced deletion vectors",
            Change::RestoreSnapshot(_) => "a restored snapshot",
            Change::RestoreRows(_) => "removed deletion vectors",
            Change::CompactManifests(_) => "a compaction of manifests",
            Change::MendManifests(_) => "mended manifests",
            Change::AlterTable(_) => "a change of the schema",
            Change::Ref(change) => change.words(),
        }
    }

    fn has_changelog(&self) -> bool {
        matches!(self, Change::AppendFiles { changelog: Some(_), .. })
    }

    fn replaces_partitions(&self) -> bool {
        let Change::OverwriteFiles { removed, .. } = self else { return false };
        removed.iter().any(|removed| !matches!(removed, FileSelection::Paths(_)))
    }

    /// Why the change cannot be in one commit with `other`, if it cannot.
    fn objection(&self, other: &Change) -> Option<&'static str> {
        use Change::{AlterTable, CompactFiles, CompactManifests, MendManifests, Ref, RestoreSnapshot};
        match (self, other) {
            (MendManifests(_), _) | (_, MendManifests(_)) => Some("only manifests are rewritten"),
            (RestoreSnapshot(_), _) | (_, RestoreSnapshot(_)) => Some("it has what the older snapshot had"),
            (Ref(_), _) | (_, Ref(_)) => Some("tags, branches and snapshots have files of their own"),
            (AlterTable(_), AlterTable(_)) | (CompactFiles(_), CompactFiles(_)) => None,
            (AlterTable(_), _) | (_, AlterTable(_)) => Some("a schema has a file of its own"),
            (CompactManifests(_), CompactManifests(_)) => Some("manifests are rewritten once"),
            (CompactManifests(_), _) | (_, CompactManifests(_)) => None,
            (CompactFiles(_), _) | (_, CompactFiles(_)) => {
                Some("a compaction is a snapshot of its own kind, which changes no rows")
            }
            (one, two) if one.has_changelog() && two.replaces_partitions() => Some(NO_CHANGELOG),
            (one, two) if one.replaces_partitions() && two.has_changelog() => Some(NO_CHANGELOG),
            _ => None,
        }
    }
}

/// Paimon's `FileStoreCommitImpl.overwritePartition` leaves changelogs out.
const NO_CHANGELOG: &str = "a snapshot that replaces partitions has no changelog";

/// Refuses changes that one commit cannot hold.
///
/// # Errors
/// `Unsupported` with the two changes.
pub(super) fn check_together(changes: &[Change]) -> Result<()> {
    for (place, change) in changes.iter().enumerate() {
        for other in changes.iter().take(place) {
            if let Some(why) = other.objection(change) {
                return Err(apart(other.words(), change.words(), why));
            }
        }
    }
    Ok(())
}

/// The error for two changes that one commit cannot hold.
#[cold]
pub(super) fn apart(one: &str, other: &str, why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{one} and {other} cannot be one commit: {why}"))
}
