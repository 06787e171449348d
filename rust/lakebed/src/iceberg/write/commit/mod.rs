//! Commits to tables on the local file system, whose numbered metadata files are published without replacing
//! any (Iceberg's `HadoopTableOperations.java`), and files of commits on any storage that can write, which a
//! catalog then commits.
//!
//! A commit is checked before anything is written. Its manifests and list are written first, under unique
//! names, then the next metadata file, which is the commit. A killed writer leaves the table unchanged, and
//! files `<uuid>-m*.avro`, `snap-*-<uuid>.avro` or `.*.lakebed-tmp` that nothing names.

mod attempt;
mod base;
mod cherry_pick;
mod columns;
mod create;
mod document;
mod entries;
mod expire;
mod files;
mod filter;
mod given;
mod head;
mod history;
mod merge;
mod next;
mod options;
mod partition_by;
mod refs;
mod rewrite;
mod schema;
mod scratch;
mod select;
mod settings;
mod spec;
mod stats;
mod store;
mod summary;
mod tally;
mod update;
mod upgrade;

pub use attempt::Staged;
pub use columns::fields_json;
pub use create::{NewTable, create_table};
pub use files::{FileChange, FileChangeKind, Isolation};
pub use options::{CommitOptions, Identity};
pub use refs::{NewRef, RefChange, Rules};
pub use rewrite::Rewrite;
pub use schema::{ColumnChange, SchemaChange};
pub use settings::SettingsChange;
pub use spec::SpecChange;
pub use update::StatisticsKind;

use std::sync::Arc;

use self::attempt::{Change, commit, stage};
use self::cherry_pick::CherryPick;
use self::expire::Expire;
use self::files::Files;
use crate::error::Result;
use crate::reach::Retention;
use crate::storage::Storage;

/// The change that a commit makes.
pub enum Action {
    /// Adds and removes files.
    Files(FileChange),
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
    Expire(Retention),
    /// Adds the files that another snapshot of the table added.
    CherryPick(i64),
}

impl Action {
    fn change(self) -> Result<Box<dyn Change>> {
        Ok(match self {
            Action::Files(change) => Box::new(Files::new(change)?),
            Action::RewriteManifests(rewrite) => Box::new(rewrite),
            Action::Refs(change) => Box::new(change),
            Action::Settings(change) => Box::new(change),
            Action::Schema(change) => Box::new(change),
            Action::Spec(change) => Box::new(change),
            Action::Expire(retention) => Box::new(Expire { retention }),
            Action::CherryPick(snapshot_id) => Box::new(CherryPick { snapshot_id }),
        })
    }
}

/// Commits to the table at `location`, a folder in which the latest metadata is looked for: a table without a
/// catalog, on a local `storage` that reads it and decides which files may be opened. Returns the metadata file
/// that the commit is based on; `None` where there was nothing to do.
///
/// # Errors
/// `Argument`, `Required`, `UnknownColumn` and others for a change that does not fit the table, with field
/// and row, before anything is written; `Location` for a file that may not be opened; `Unsupported` for a table
/// with a catalog, and for one that was moved; `Io`.
pub fn commit_action(
    location: &str,
    storage: Arc<dyn Storage>,
    action: Action,
    options: &CommitOptions,
) -> Result<Option<String>> {
    commit(location, storage, action.change()?.as_ref(), options)
}

/// Writes the files of a commit to the table at `location`, its folder or one of its metadata files, on the
/// storage that reads it; a catalog then makes the commit. `None` where there is nothing to do.
///
/// # Errors
/// Those of [`commit_action`], except that tables may have a catalog; `Unsupported` for a read-only storage.
pub fn stage_action(
    location: &str,
    storage: Arc<dyn Storage>,
    action: Action,
    options: &CommitOptions,
) -> Result<Option<Staged>> {
    stage(location, storage, action.change()?.as_ref(), options)
}
