//! Commits to tables on the local file system: one after another by the numbers of their metadata files, which
//! are published without replacing (Iceberg's `HadoopTableOperations.java`), or, on any storage that writes, as files
//! that a catalog commits.
//!
//! A commit is checked before anything is written. Its manifests and its list are written first, under names
//! that no other commit has; then the next metadata file, which is the commit. A writer that is killed leaves
//! the table as it was, and files `<uuid>-m*.avro`, `snap-*-<uuid>.avro` or `.*.lakebed-tmp` that nothing names.

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
pub use settings::{SettingsChange, StatisticsKind};
pub use spec::SpecChange;

use std::sync::Arc;

use self::attempt::{Change, commit, stage};
use self::cherry_pick::CherryPick;
use self::expire::Expire;
use self::files::Files;
use crate::error::Result;
use crate::reach::Retention;
use crate::storage::Storage;

/// What is committed.
pub enum Action {
    /// Files come and go.
    Files(FileChange),
    /// Manifests of data files are written anew.
    RewriteManifests(Rewrite),
    /// Branches and tags are made, moved or removed.
    Refs(RefChange),
    /// Properties and the version of the format.
    Settings(SettingsChange),
    /// Columns come, go and change.
    Schema(SchemaChange),
    /// Partition fields come and go.
    Spec(SpecChange),
    /// Snapshots, branches and tags go that the rules of retention let go; their files stay.
    Expire(Retention),
    /// What a snapshot of the table added is added to the branch.
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

/// Commits to the table at `location`, a folder whose latest metadata is looked for: a table without a catalog. Gives
/// the metadata file that the commit builds on; `None` where there was nothing to do.
///
/// # Errors
/// `Argument`, `Required`, `UnknownColumn` and others for what does not fit the table, with field and row, before
/// anything is written; `Unsupported` for a table of a catalog's, and one that was moved; `Io`.
pub fn commit_action(location: &str, action: Action, options: &CommitOptions) -> Result<Option<String>> {
    commit(location, action.change()?.as_ref(), options)
}

/// Writes the files of a commit to the table at `location`, a folder or one of its metadata files, on the storage that
/// reads it; a catalog then makes the commit. `None` where there is nothing to do.
///
/// # Errors
/// Those of [`commit_action`], but that tables may have a catalog; `Unsupported` for a storage that only reads.
pub fn stage_action(
    location: &str,
    storage: Arc<dyn Storage>,
    action: Action,
    options: &CommitOptions,
) -> Result<Option<Staged>> {
    stage(location, storage, action.change()?.as_ref(), options)
}
