//! What all tables have in common, for both formats.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};

use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::reach::{OrphanOptions, Retention};
use crate::rewrite_paths::RewritePaths;
use crate::scan::{Scan, ScanOptions};
use crate::view::View;

/// A table at one of its snapshots, or without a snapshot where nothing was committed yet.
pub trait Table: Send + Sync {
    /// The table as its format's own type, for what only that format supports.
    fn as_any(&self) -> &dyn Any;

    /// The name of its format, one of [`FORMATS`](crate::format::FORMATS).
    fn format(&self) -> &'static str;

    /// The version of the format, where the format has versions.
    fn format_version(&self) -> Option<i32> {
        None
    }

    /// Where the table is, without a slash at the end.
    fn location(&self) -> &str;

    /// The id of the table's snapshot, if there is one.
    fn snapshot_id(&self) -> Option<i64>;

    /// The table's options or properties.
    fn properties(&self) -> BTreeMap<String, String>;

    /// The branch that the table is on: `main` unless another was requested.
    fn branch(&self) -> &str;

    /// The tag that the table was opened at, if it was.
    fn tag(&self) -> Option<&str>;

    /// What is unusual, but not an error, in the files that determine the table's state.
    fn notes(&self) -> Notes {
        Notes::default()
    }

    /// The columns of the table's rows, in the types in which views show their values.
    fn data_schema(&self) -> SchemaRef;

    /// The key columns, by which the rows of a file are sorted, in the types in which its first and last key
    /// are stored; empty where files have no keys.
    fn key_schema(&self) -> SchemaRef {
        Arc::new(ArrowSchema::empty())
    }

    /// The partitions that rows of [`Table::data_schema`] belong to: the column `partition`, of the type it
    /// has in views, and where the format has specs `spec_id`, of the partition spec for new files.
    ///
    /// # Errors
    /// `Unsupported` for partition fields that cannot be computed from values, with the field.
    fn partitions_of(&self, rows: &RecordBatch) -> Result<RecordBatch>;

    /// The same table at another snapshot, tag, branch or time.
    ///
    /// # Errors
    /// `SnapshotNotFound`, naming those that exist; `Unsupported` for a place that the format does not
    /// support.
    fn at(&self, place: &Place) -> Result<Box<dyn Table>>;

    /// The same table in its newest version, on the same branch. Files that never change are not read again.
    ///
    /// # Errors
    /// Those of opening it; `SnapshotNotFound` for a branch that no longer exists.
    fn refreshed(&self) -> Result<Box<dyn Table>>;

    /// Resolves one of its views; columns, filter and statistics are checked.
    ///
    /// # Errors
    /// `UnknownColumn`; `UnknownView` for a view that the format does not have; `FilterColumn`, `Predicate`;
    /// `Argument` for statistics of a view that has none.
    fn scan(&self, view: View, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// The difference in files between two places: one row per file that is live at only one of them, the
    /// column `change` ("removed" or "added"), then those of the view `files`, in the types of this table's
    /// schema. Removed files come first.
    ///
    /// Manifests that both places have are not read; memory grows with the number of files that the others
    /// name.
    ///
    /// # Errors
    /// As [`Table::at`] and [`Table::scan`].
    fn diff(&self, before: &Place, after: &Place, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// The data files of the append commits after the snapshot `after`, up to the table's own, in the columns
    /// of the view `files`; `None` for all appends that still exist. The oldest append is first.
    ///
    /// # Errors
    /// `SnapshotNotFound` where `after` is not an ancestor of the table's snapshot, or one in between is
    /// gone; as [`Table::at`] and [`Table::scan`].
    fn appends(&self, after: Option<&Place>, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// Every file that a root of the table reaches: snapshots, tags, branches, changelogs, and the table
    /// itself. Every manifest is read once, however many snapshots have it.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    fn reachable(&self, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// Files in the table's folders, or in the caller's listing, that the table does not reach. The listing
    /// is made first, then the newest version of the table is read; `newest` reads it where a catalog knows which
    /// one that is.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    fn orphans(
        &self,
        which: OrphanOptions,
        newest: Option<Newest>,
        options: ScanOptions,
    ) -> Result<Box<dyn Distributed>>;

    /// The snapshots that expire by the table's rules of retention, and the files that nothing reaches after
    /// that, also not in the newest version, which `newest` reads where a catalog knows which one that is. With
    /// `of_newest` snapshots of that version expire, else those of this one.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    fn expire_plan(
        &self,
        retention: Retention,
        newest: Option<Newest>,
        of_newest: bool,
        options: ScanOptions,
    ) -> Result<Box<dyn Distributed>>;

    /// Writes the table's metadata to another folder, all of it or what is newer than an earlier state, with
    /// the prefixes of paths replaced. Rows are the files to copy: `source`, `target`, `kind` and
    /// `file_size_in_bytes`.
    ///
    /// # Errors
    /// `Location` for a path that no prefix covers; `Unsupported` for files that lakebed cannot rewrite;
    /// `SnapshotNotFound` and `Argument` for a state that the table does not have; `UnknownColumn`,
    /// `Predicate`; those of reading and writing. After an error the files written so far are deleted.
    fn rewrite_paths(&self, job: &RewritePaths, options: ScanOptions) -> Result<Box<dyn Scan>>;

    /// One row per ancestor of the table's snapshot and for that itself, the oldest first: what is live
    /// there, and what its commit added and removed.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    fn growth(&self, options: ScanOptions) -> Result<Box<dyn Scan>>;

    /// One row for each file that a commit of those snapshots added or removed, the oldest commit first: the
    /// columns of the commit, then those of the view `files`. A filter may use these columns and the table's.
    ///
    /// # Errors
    /// As [`Table::growth`].
    fn file_history(&self, options: ScanOptions) -> Result<Box<dyn Scan>>;

    /// The faults of the table, a row each: every snapshot, list and manifest is read. With `data_files`, the
    /// data files of the table's snapshot are checked too: that they exist and have their recorded sizes.
    ///
    /// # Errors
    /// As [`Table::growth`].
    fn verify(&self, data_files: bool, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// The names of the metadata tables that the engines of this format have.
    fn metadata_tables(&self) -> Vec<&'static str>;

    /// Resolves a metadata table, with the engine's column names, order and types; columns and filter are
    /// checked.
    ///
    /// # Errors
    /// `UnknownView` for a table and `UnknownColumn` for a column that does not exist, naming those that do;
    /// `Predicate`, `FilterColumn`.
    fn metadata_scan(&self, name: &str, options: ScanOptions) -> Result<Box<dyn Scan>>;
}

/// Reads the newest version of a table.
pub type Newest = Arc<dyn Fn() -> Result<Arc<dyn Table>> + Send + Sync>;

/// The newest version of a table as its format's own type.
///
/// # Errors
/// Those of reading it; `Internal` for a table of another format.
pub(crate) fn newest_of<T: Clone + 'static>(newest: &Newest) -> Result<T> {
    let table = newest()?;
    let own = table.as_any().downcast_ref::<T>().cloned();
    own.ok_or_else(|| Error::new(ErrorKind::Internal, "the newest version of the table is of another format"))
}

/// A state of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// At a snapshot, by its id.
    Snapshot(i64),
    /// At a tag, by its name.
    Tag(String),
    /// At the head of a branch, by its name.
    Branch(String),
    /// At a tag or, where there is none of that name, at the head of a branch.
    Named(String),
    /// The state that was current at a time [milliseconds since 1970 UTC].
    Timestamp(i64),
    /// The first snapshot with that watermark or a later one.
    Watermark(i64),
}

/// The result for `name`: of a tag or, where there is none, of a branch.
///
/// # Errors
/// `SnapshotNotFound` where there is neither, naming those that exist; as the two.
pub(crate) fn named<T>(
    name: &str,
    at_tag: impl FnOnce(&str) -> Result<T>,
    at_branch: impl FnOnce(&str) -> Result<T>,
) -> Result<T> {
    let no_tag = match at_tag(name) {
        Err(error) if error.kind() == ErrorKind::SnapshotNotFound => error,
        there => return there,
    };
    at_branch(name).map_err(|error| match error.kind() {
        ErrorKind::SnapshotNotFound => {
            let message = format!("{}; {}", no_tag.message(), error.message());
            Error::new(ErrorKind::SnapshotNotFound, message).at(no_tag.location().clone())
        }
        _ => error,
    })
}

/// The columns that [`Table::partitions_of`] returns.
pub(crate) fn placed(partitions: ArrayRef, spec_id: Option<i32>) -> Result<RecordBatch> {
    let specs: Int32Array = std::iter::repeat_n(spec_id, partitions.len()).collect();
    let fields = [("partition", partitions), ("spec_id", Arc::new(specs) as ArrayRef)];
    let columns = fields.map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).map_err(Into::into)
}
