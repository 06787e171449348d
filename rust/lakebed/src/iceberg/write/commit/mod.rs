//! Commits to tables on the local file system, whose numbered metadata files are published without replacing
//! any (Iceberg's `HadoopTableOperations.java`), and files of commits on any storage that can write, which a
//! catalog then commits.
//!
//! A commit is checked before anything is written. Its manifests and list are written first, under unique
//! names, then the next metadata file, which is the commit. A killed writer leaves the table unchanged, and
//! files `<uuid>-m*.avro`, `snap-*-<uuid>.avro` or `.*.lakebed-tmp` that nothing names.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod attempt;
mod base;
mod cherry_pick;
mod columns;
mod create;
mod described;
mod document;
mod entries;
mod files;
mod filter;
mod head;
mod history;
mod input_files;
mod merge;
mod misplaced;
mod next;
mod options;
mod partition_by;
mod rebuilt;
mod refs;
mod rewrite;
mod schema;
mod select;
mod settings;
mod spec;
mod stats;
mod store;
mod summary;
mod tally;
mod uncommitted;
mod update;

pub use attempt::{CommittedMetadata, StagedCommit};
pub use base::SnapshotChoice;
pub use cherry_pick::CherryPick;
pub use columns::fields_json;
pub use create::{NewTable, create_table};
pub use files::{FileChange, FileChangeKind, FileName, Isolation, Repairs};
pub use input_files::InputFiles;
pub use options::{CommitOptions, Identity};
pub use rebuilt::ListRebuild;
pub use refs::{Expire, NewRef, RefChange, Rules};
pub use rewrite::Rewrite;
pub use schema::{ColumnChange, SchemaChange};
pub use settings::SettingsChange;
pub use spec::SpecChange;
pub use update::StatisticsKind;

use std::sync::Arc;

use self::attempt::{CommitAttempt, StateChange};
use crate::error::Result;
use crate::storage::Storage;
use crate::write::commit as engine;

/// A change that a commit makes, alone or after others.
#[derive(Debug)]
pub enum Action {
    /// Adds and removes files.
    Files(Box<FileChange>),
    /// Makes a list anew that cannot be read.
    RebuildList(ListRebuild),
    /// Rewrites manifests of data files.
    RewriteManifests(Rewrite),
    /// Creates, moves or removes branches and tags.
    Refs(RefChange),
    /// Changes properties or the version of the format.
    Settings(SettingsChange),
    /// Adds, drops or changes columns.
    Schema(SchemaChange),
    /// Adds or removes partition fields.
    Spec(SpecChange),
    /// Expires snapshots, branches and tags by the retention rules; their files are kept.
    Expire(Expire),
    /// Adds the files that another snapshot of the table added.
    CherryPick(CherryPick),
}

impl Action {
    fn change(&self) -> &dyn StateChange {
        match self {
            Action::Files(change) => change.as_ref(),
            Action::RebuildList(rebuild) => rebuild,
            Action::RewriteManifests(rewrite) => rewrite,
            Action::Refs(change) => change,
            Action::Settings(change) => change,
            Action::Schema(change) => change,
            Action::Spec(change) => change,
            Action::Expire(expire) => expire,
            Action::CherryPick(pick) => pick,
        }
    }
}

/// Commits to the table at `location`, a folder in which the latest metadata is looked for: a table without a
/// catalog, on a local `storage` that reads it and decides which files may be opened. The actions are made in
/// order, each to the state which those before it leave: one metadata file, or nothing. Returns the metadata
/// file of the commit, of which [`Table::after`](crate::iceberg::Table::after) makes the table; `None` where no action
/// had anything to do.
///
/// After each action but the last, the metadata is read once more, from memory.
///
/// # Errors
/// `Argument`, `Required`, `UnknownColumn` and others for an action that does not fit the table, with field
/// and row, and its number where there are several; of the first one before anything is written; `Location` for a
/// file that may not be opened; `Unsupported` for a table with a catalog, for one that was moved, and for files that
/// an earlier action gives deletes; `Conflict`; `Io`. No file is left behind, unless it is unknown whether the
/// commit has happened.
pub fn commit(
    location: &str,
    storage: Arc<dyn Storage>,
    actions: &[Arc<Action>],
    options: &CommitOptions,
) -> Result<Option<CommittedMetadata>> {
    engine::commit(CommitAttempt { location, storage, actions, options })
}

/// Writes the files of a commit to the table at `location`, its folder or one of its metadata files, on the
/// storage that reads it; a catalog then makes the commit, of updates and requirements. `None` where no action has
/// anything to do.
///
/// # Errors
/// Those of [`commit`], except that tables may have a catalog; `Unsupported` for a read-only storage.
pub fn stage(
    location: &str,
    storage: Arc<dyn Storage>,
    actions: &[Arc<Action>],
    options: &CommitOptions,
) -> Result<Option<StagedCommit>> {
    attempt::stage(location, storage, actions, options)
}
