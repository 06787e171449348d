//! Commits to tables on a storage that writes a file only if none exists: the local file system, or an object
//! store with conditional puts (Paimon's `FileStoreCommitImpl.java`, `RenamingSnapshotCommit.java`).
//!
//! A commit is a list of changes ([`Change`]), which become one snapshot (`file_changes.rs`) or one schema. It reads
//! the latest snapshot, writes manifests and lists beside the old ones, and then the next snapshot, whose file must
//! not exist yet: the second of two writers reads again and starts over. Until the snapshot exists, readers see
//! nothing of the commit. A killed writer leaves behind manifests that no snapshot names, and files whose names end
//! in `.lakebed-tmp`.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod added;
mod attempt;
pub(super) mod base;
mod change;
mod compact;
mod create;
mod described;
mod file_changes;
mod file_writer;
mod index;
mod live;
mod manifest_writer;
mod options;
mod prune;
mod ranges;
mod relisted;
mod removed;
mod restored;
mod row_ids;
mod selection;
mod sorted;
#[cfg(test)]
mod tests;
mod vectors;

use arrow_array::RecordBatch;

use self::attempt::commit_files;
use self::change::check_together;
pub use self::change::{Change, Compaction, FileSelection, IndexFilesChange, ManifestCompaction, Mending};
pub use self::create::{TableDefinition, create_table};
use self::file_changes::FileChanges;
pub use self::options::CommitOptions;
use self::restored::restore;
use super::alter::alter_table;
use crate::error::Result;
use crate::paimon::table::Table;

/// The outcome of a commit.
pub struct CommitOutcome {
    /// The table after it.
    pub table: Table,
    /// Of a change that removes snapshots, tags, changelogs or a branch: the files that the table no longer reaches,
    /// as rows of `reachable` in at least one batch. They are not removed. Other changes give none.
    pub freed: Vec<RecordBatch>,
}

/// Makes changes to the table's branch, all in one commit: one snapshot, one schema, or one change of a tag, a branch
/// or the kept snapshots. Returns the table at the new snapshot, or at the latest one where nothing changes; with
/// the new schema; at the new tag or branch; at the latest snapshot after a removal.
///
/// All changes of files are made to the snapshot that the commit builds on, whichever the table is at: no change
/// removes what another one adds. A snapshot that only adds files has the kind APPEND; one that replaces them by
/// others with the same rows, or only rewrites manifests, COMPACT; any other OVERWRITE. After a lost race all is
/// applied again to the snapshot of the other commit. Only snapshots keep the user, number, properties and watermark of
/// `options`.
///
/// # Errors
/// Before anything is written: `Unsupported` for changes that one commit cannot hold, with both; for tables on a
/// storage without commits or with dynamic buckets; for manifests in ORC or Parquet without an encoder; for a
/// condition on a column that is not a partition column, with its field; for removing single files from tables with
/// data evolution, files that global indexes cover, and index files other than those of vectors. `Argument` with
/// field and row for columns and values that do not fit, a file that is live already or was deleted, another number
/// of buckets than the partition has, a path that is not of a live file or appears twice, a file outside the
/// overwritten partition, a vector of a file that is not live, and a vector that would be lost. `Conflict` for mended
/// manifests that lose another number of rows, or are not those of the latest snapshot, and for lists of which nobody knows what they had, for a
/// compacted file that is no longer live, a replaced index file that no longer exists, a data file to which another
/// commit has given a vector, and keys that another commit has added to the same level. Those of schema changes
/// (`UnknownColumn`, `Argument`, `Type`, `Json`, each with its field), of tags and branches (`SnapshotNotFound`), and
/// of reading the table's own files.
///
/// `Io` of the storage, and `Conflict` after too many lost races; written files are then removed.
pub fn commit(table: &Table, changes: &[Change], options: &CommitOptions) -> Result<CommitOutcome> {
    check_together(changes)?;
    let table = match changes {
        [Change::Ref(change)] => return change.apply(table, options),
        [Change::RestoreSnapshot(id)] => restore(table, *id, options)?,
        [Change::AlterTable(_), ..] => {
            let all = changes.iter().filter_map(|change| match change {
                Change::AlterTable(changes) => Some(changes.as_slice()),
                _ => None,
            });
            alter_table(table, &all.collect::<Vec<_>>().concat())?
        }
        _ => commit_files(table, options, &FileChanges::new(table, changes, options)?)?,
    };
    Ok(CommitOutcome { table, freed: Vec::new() })
}
