//! What every table is, whatever its format.

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

/// A table standing at one of its snapshots, or at none where nothing was committed yet.
pub trait Table: Send + Sync {
    /// The table as its own format's, for what only that format can do.
    fn as_any(&self) -> &dyn Any;

    /// The name of its format, one of [`FORMATS`](crate::format::FORMATS).
    fn format(&self) -> &'static str;

    /// The version of the format that the table is of, where the format has versions.
    fn format_version(&self) -> Option<i32> {
        None
    }

    /// Where the table is, without a slash at the end.
    fn location(&self) -> &str;

    /// The snapshot that the table stands at, if there is one.
    fn snapshot_id(&self) -> Option<i64>;

    /// The table's options or properties.
    fn properties(&self) -> BTreeMap<String, String>;

    /// The branch that the table stands on, `main` unless another was asked for.
    fn branch(&self) -> &str;

    /// The tag that the table was asked to stand at, if it was.
    fn tag(&self) -> Option<&str>;

    /// What is odd about the files that say where the table stands, and no error.
    fn notes(&self) -> Notes {
        Notes::default()
    }

    /// The columns of the table's rows, in the types that its views show values in.
    fn data_schema(&self) -> SchemaRef;

    /// The columns whose values order the rows of a file, in the types that its first and last key are stored
    /// in; none where files have no keys.
    fn key_schema(&self) -> SchemaRef {
        Arc::new(ArrowSchema::empty())
    }

    /// Where rows of [`Table::data_schema`] belong: the column `partition`, of the type it has in views, and
    /// `spec_id`, of the partition spec that new files have, where the format has specs.
    ///
    /// # Errors
    /// `Unsupported` for partitions that no value can be computed for, with the field.
    fn partitions_of(&self, rows: &RecordBatch) -> Result<RecordBatch>;

    /// The same table at another place.
    ///
    /// # Errors
    /// `SnapshotNotFound`, naming what is there; `Unsupported` for a place that the format does not know.
    fn at(&self, place: &Place) -> Result<Box<dyn Table>>;

    /// The same table at what is newest now on the branch that it stands on. A file that never changes is not read
    /// again.
    ///
    /// # Errors
    /// Those of opening it; `SnapshotNotFound` for a branch that is gone.
    fn refreshed(&self) -> Result<Box<dyn Table>>;

    /// Resolves one of its views; columns, filter and statistics are checked.
    ///
    /// # Errors
    /// `UnknownColumn`, also for a view that the format does not have; `Predicate`; `Argument` for
    /// statistics of a view that has none.
    fn scan(&self, view: View, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// What differs in files between two places: one row per file that is live at one of them only, the
    /// column `change` ("removed" or "added"), then those of the view `files`, in the types that the table has
    /// where it stands. Removed files come first.
    ///
    /// Manifests that both places have are not read; memory grows with the files named by the others.
    ///
    /// # Errors
    /// As [`Table::at`] and [`Table::scan`].
    fn diff(&self, before: &Place, after: &Place, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// The data files that appends added behind the snapshot `after`, up to the one that the table stands at,
    /// in the columns of the view `files`; `None` for all appends that are there. The oldest append is first.
    ///
    /// # Errors
    /// `SnapshotNotFound` where `after` is not one that the table's snapshot was made from, or one in between
    /// is gone; as [`Table::at`] and [`Table::scan`].
    fn appends(&self, after: Option<&Place>, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// Every file that some root of the table still reaches: snapshots, tags, branches, changelogs, and the table itself.
    /// Every manifest is read once, however many snapshots have it.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`.
    fn reachable(&self, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// What lies in the table's folders, as they are listed or as the caller says, and is reached by nothing of the
    /// table as it is by then.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`.
    fn orphans(&self, which: OrphanOptions, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// The snapshots that the table's rules of retention let go, and the files that then nothing reaches.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`.
    fn expire_plan(&self, retention: Retention, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// Writes the table's metadata, all of it or what came after a state of the table, below another folder, its paths
    /// exchanged by their prefixes. Rows are the files that are to be copied: `source`, `target`, `kind` and
    /// `file_size_in_bytes`.
    ///
    /// # Errors
    /// `Location` for a path that no prefix covers; `Unsupported` for what is not written anew; `SnapshotNotFound` and
    /// `Argument` for a state that the table does not have; `UnknownColumn`, `Predicate`; those of reading and writing.
    /// What was written is then taken away.
    fn rewrite_paths(&self, job: &RewritePaths, options: ScanOptions) -> Result<Box<dyn Scan>>;

    /// One row per snapshot that led to where the table stands, the oldest first: what is live there, and what its
    /// commit added and removed.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`.
    fn growth(&self, options: ScanOptions) -> Result<Box<dyn Scan>>;

    /// One row for each file that the commit of such a snapshot added or removed, the oldest commit first: what is
    /// known of the commit, then the columns of the view `files`. A filter is on these columns, and on the table's.
    ///
    /// # Errors
    /// As [`Table::growth`].
    fn file_history(&self, options: ScanOptions) -> Result<Box<dyn Scan>>;

    /// What is wrong with the table, a row a finding: every snapshot, list and manifest is read. Where `data_files`
    /// says so, the data files of the snapshot that the table stands at are looked for.
    ///
    /// # Errors
    /// As [`Table::growth`].
    fn verify(&self, data_files: bool, options: ScanOptions) -> Result<Box<dyn Scan>>;

    /// The names of the metadata tables that the engines of this format have.
    fn metadata_tables(&self) -> Vec<&'static str>;

    /// Resolves one of those, with the engine's own column names, order and types; columns and filter are
    /// checked.
    ///
    /// # Errors
    /// `UnknownColumn` for a table or column that is not there, naming those that are; `Predicate`.
    fn metadata_scan(&self, name: &str, options: ScanOptions) -> Result<Box<dyn Scan>>;
}

/// Where a table may stand.
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
    /// At what was current then [milliseconds since 1970 UTC].
    Timestamp(i64),
    /// At the first snapshot with that watermark or a later one.
    Watermark(i64),
}

/// What is at `name`: a tag or, where there is none, a branch.
///
/// # Errors
/// `SnapshotNotFound` where there is neither, naming those that are there; as the two.
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

/// The columns that [`Table::partitions_of`] gives.
pub(crate) fn placed(partitions: ArrayRef, spec_id: Option<i32>) -> Result<RecordBatch> {
    let specs: Int32Array = std::iter::repeat_n(spec_id, partitions.len()).collect();
    let fields = [("partition", partitions), ("spec_id", Arc::new(specs) as ArrayRef)];
    let columns = fields.map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).map_err(Into::into)
}
