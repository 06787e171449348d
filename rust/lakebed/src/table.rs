//! What all tables have in common, for both formats.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};

use crate::columnar::Decoding;
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::pipeline::Ahead;
use crate::repair::WrongHint;
use crate::rewrite_paths::RewritePaths;
use crate::scan::ScanOptions;
use crate::storage::{Storage, read_hint, read_recorded};
use crate::view::{
    Compaction, TableColumn, View, column_metrics, compaction_plan, filtered, overlap, totals,
};

/// The branch of a table that is on no other.
pub const MAIN: &str = "main";

/// What a table of any format was opened with, and where it is.
#[derive(Clone)]
pub struct TableCore {
    pub(crate) location: String,
    pub(crate) branch: String,
    /// The tag that the table was opened at, if any.
    pub(crate) tag: Option<String>,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) decoding: Decoding,
    /// Receives what is unusual about the files that are read.
    pub(crate) notes: Notes,
}

impl TableCore {
    /// A table on `main`.
    pub(crate) fn new(location: &str, storage: Arc<dyn Storage>, decoding: Decoding) -> TableCore {
        let (location, branch) = (location.to_owned(), MAIN.to_owned());
        TableCore { location, branch, tag: None, storage, decoding, notes: Notes::default() }
    }

    /// The same on a branch or at a tag of it.
    pub(crate) fn at(&self, branch: &str, tag: Option<&str>) -> TableCore {
        TableCore { branch: branch.to_owned(), tag: tag.map(str::to_owned), ..self.clone() }
    }

    /// Where the table is, without a slash at the end. Its paths may start with another location.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The branch that the table is on.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// The tag that the table was opened at, if any.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// How the table's manifests are decoded, and the limits for each file.
    pub fn decoding(&self) -> &Decoding {
        &self.decoding
    }

    /// What reads the table's files.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// What is unusual about the files read so far.
    pub(crate) fn noted(&self) -> &Notes {
        &self.notes
    }

    /// The bytes of a file with this recorded size; `None` where it is unknown.
    ///
    /// # Errors
    /// Those of [`read_recorded`], with the path of the file.
    pub(crate) fn read_recorded(&self, path: &str, recorded: Option<u64>) -> Result<Buffer> {
        let read = read_recorded(self.storage.as_ref(), path, recorded, &self.decoding.limits);
        read.map_err(|error| error.in_file(path))
    }
}

/// The first bytes of the file that says which version of a table is the newest, if it has one, read ahead.
pub(crate) type HintAhead = Ahead<Result<Option<Buffer>>>;

/// Begins to read a hint, while so many `others` are asked for; `None` for a table that has none.
pub(crate) fn hint_ahead(storage: &Arc<dyn Storage>, others: usize, path: Option<String>) -> HintAhead {
    let Some(path) = path else { return Ahead::known(Ok(None)) };
    let reading = Arc::clone(storage);
    Ahead::begin(storage.as_ref(), others, move || read_hint(reading.as_ref(), &path))
}

/// How manifests of tables are decoded, within limits that no file exceeds.
pub(crate) fn capped(decoding: impl Into<Decoding>) -> Decoding {
    let mut decoding = decoding.into();
    decoding.limits = decoding.limits.capped();
    decoding
}

/// A table at one of its snapshots, or without a snapshot where nothing was committed yet.
pub trait LakeTable: Any + Send + Sync {
    /// The name of its format, one of [`FORMATS`](crate::format::FORMATS).
    fn format(&self) -> &'static str;

    /// The version of the format, where the format has versions.
    fn format_version(&self) -> Option<i32> {
        None
    }

    /// What it was opened with, and where it is.
    fn core(&self) -> &TableCore;

    /// Where the table is, without a slash at the end.
    fn location(&self) -> &str {
        self.core().location()
    }

    /// Where other tables are in the table's folders; `is_of_catalog` is whether a catalog says that this is the table.
    ///
    /// # Errors
    /// `Unsupported` for a table whose files may not be deleted, `Location` for one whose metadata names another place;
    /// those of listing all folders.
    fn tables_within(&self, _is_of_catalog: bool) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// The id of the table's snapshot, if there is one.
    fn snapshot_id(&self) -> Option<i64>;

    /// The table's options or properties.
    fn properties(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// The branch that the table is on: `main` unless another was requested.
    fn branch(&self) -> &str {
        self.core().branch()
    }

    /// The tag that the table was opened at, if it was.
    fn tag(&self) -> Option<&str> {
        self.core().tag()
    }

    /// What is unusual, but not an error, in the files that determine the table's state.
    fn notes(&self) -> Notes {
        self.core().noted().clone()
    }

    /// What tells the table from all others, its copies aside, for as long as it exists: Iceberg's UUID, where the metadata
    /// has one; of Paimon the id of the earliest schema and when it was made. `None` where nothing does.
    ///
    /// # Errors
    /// Those of reading the schema.
    fn identity(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Files that say which version is the newest or the oldest, and name none.
    ///
    /// # Errors
    /// Those of the storage.
    fn wrong_hints(&self) -> Result<Vec<WrongHint>> {
        Ok(Vec::new())
    }

    /// How many keys of encrypted metadata nothing refers to; `None` for a format without such keys.
    ///
    /// # Errors
    /// Those of reading the metadata.
    fn unused_keys(&self) -> Result<Option<i64>> {
        Ok(None)
    }

    /// The columns of the table's rows, in the types in which views show their values.
    fn data_schema(&self) -> SchemaRef;

    /// The key columns, by which the rows of a file are sorted, in the types in which its first and last key
    /// are stored; empty where files have no keys.
    fn key_schema(&self) -> SchemaRef {
        Arc::new(ArrowSchema::empty())
    }

    /// Of each partition spec, by its id, the fields of views' partitions that it does not have, and that are null for its
    /// files; without specs that have all. Empty for a format without specs.
    ///
    /// # Errors
    /// Those of reading the schemas.
    fn absent_partition_fields(&self) -> Result<BTreeMap<i32, Vec<String>>> {
        Ok(BTreeMap::new())
    }

    /// The partitions that rows of [`LakeTable::data_schema`] belong to: the column `partition`, of the type it
    /// has in views, and where the format has specs `spec_id`, of the partition spec for new files.
    ///
    /// # Errors
    /// `Unsupported` for partition fields that cannot be computed from values, with the field, and for a format that
    /// computes none.
    fn partitions_of(&self, _rows: &RecordBatch) -> Result<RecordBatch> {
        Err(lacks(self.format(), "partitions_of"))
    }

    /// The same table at another snapshot, tag, branch or time.
    ///
    /// # Errors
    /// `SnapshotNotFound`, naming those that exist; `Unsupported` for a place that the format does not
    /// support.
    fn at(&self, place: &Place) -> Result<Box<dyn LakeTable>>;

    /// The same table in its newest version, on the same branch. Files that never change are not read again.
    ///
    /// # Errors
    /// Those of opening it; `SnapshotNotFound` for a branch that no longer exists.
    fn refreshed(&self) -> Result<Box<dyn LakeTable>>;

    /// Resolves one of its views; columns, filter and statistics are checked.
    ///
    /// # Errors
    /// `UnknownColumn`; `UnknownView` for a view or metadata table that the format does not have, naming those that it
    /// has; `FilterColumn`, `Predicate`; `Argument` for statistics of a view that has none. For `Diff` and `Appends`
    /// those of [`LakeTable::at`], and `SnapshotNotFound` where the snapshot after which appends are wanted is no ancestor
    /// of the table's, or one in between is gone.
    fn scan(&self, view: View, options: ScanOptions) -> Result<Box<dyn Distributed>> {
        if options.table_filter.is_some() && !view.is_of_table_rows() {
            let message = "where tests columns of the table; this view takes filter, which tests its own";
            return Err(Error::new(ErrorKind::Argument, message));
        }
        match view {
            View::Totals { orphans } => {
                totals(orphans.map(|view| *view), options, |view, options| self.scan(view, options))
            }
            View::Columns => {
                column_metrics(self.table_columns()?, options, |view, options| self.scan(view, options))
            }
            view => filtered(view, options, &self.data_schema(), &|view, options| match view {
                View::Overlap { columns } => {
                    let names = match columns {
                        Some(names) => names,
                        None => self.table_columns()?.into_iter().map(|column| column.name).collect(),
                    };
                    overlap(names, options, |view, options| self.scan(view, options))
                }
                View::CompactionPlan { options: given } => {
                    let rules = self.compaction(&given, options.table_filter.as_deref())?;
                    compaction_plan(rules, options, |view, options| self.scan(view, options))
                }
                view => self.resolve(view, options),
            }),
        }
    }

    /// By what the format's engine chooses the files that it compacts, with these options of it and a condition on the
    /// table's columns.
    ///
    /// # Errors
    /// `Argument` for options and conditions that the engine does not take; `Unsupported` for a format or table of which
    /// that is not known.
    fn compaction(
        &self,
        _options: &[(String, String)],
        _filter: Option<&str>,
    ) -> Result<Box<dyn Compaction>> {
        Err(lacks(self.format(), "compaction_plan"))
    }

    /// The columns whose values have metrics, with the newest counts of their distinct values.
    ///
    /// # Errors
    /// Those of reading the files that have such counts; `UnknownView` for a format without metrics.
    fn table_columns(&self) -> Result<Vec<TableColumn>> {
        let message = format!("{} tables have no view columns", self.format());
        Err(Error::new(ErrorKind::UnknownView, message).in_field("columns"))
    }

    /// Resolves one of its views for [`LakeTable::scan`], with one of the filters: that on the table's columns for
    /// [`View::is_of_table_rows`], else that on the view's own.
    ///
    /// # Errors
    /// Those of [`LakeTable::scan`].
    fn resolve(&self, view: View, options: ScanOptions) -> Result<Box<dyn Distributed>>;

    /// Writes the table's metadata to another folder, all of it or what is newer than an earlier state, with
    /// the prefixes of paths replaced. Rows are the files to copy: `source`, `target`, `kind` and
    /// `file_size_in_bytes`.
    ///
    /// # Errors
    /// `Location` for a path that no prefix covers; `Unsupported` for files that lakebed cannot rewrite;
    /// `SnapshotNotFound` and `Argument` for a state that the table does not have; `UnknownColumn`,
    /// `Predicate`; those of reading and writing. After an error the files written so far are deleted.
    fn rewrite_paths(&self, _job: &RewritePaths, _options: ScanOptions) -> Result<Box<dyn Distributed>> {
        Err(lacks(self.format(), "rewrite_paths"))
    }

    /// The names of the metadata tables that the engines of this format have.
    fn metadata_tables(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// The error for what tables of a format cannot do.
#[cold]
fn lacks(format: &str, method: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{format} tables have no {method}"))
}

impl dyn LakeTable {
    /// The table as its format's own type, for what only that format supports.
    pub fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The id of the snapshot at a place; if the place is an id itself, the snapshot need not exist.
///
/// # Errors
/// `SnapshotNotFound`, naming those that exist; `Unsupported` for a place that the format does not support.
pub fn id_at(table: &dyn LakeTable, place: &Place) -> Result<Option<i64>> {
    match place {
        Place::Snapshot(id) => Ok(Some(*id)),
        place => Ok(table.at(place)?.snapshot_id()),
    }
}

/// Reads the newest version of a table.
pub type Newest = Arc<dyn Fn() -> Result<Arc<dyn LakeTable>> + Send + Sync>;

/// The newest version of a table as its format's own type.
///
/// # Errors
/// Those of reading it; `Internal` for a table of another format.
pub(crate) fn newest_of<T: Clone + 'static>(newest: &Newest) -> Result<T> {
    own(newest()?.as_ref()).cloned()
}

/// A table as its format's own type.
///
/// # Errors
/// `Internal` for a table of another format.
pub(crate) fn own<T: 'static>(table: &dyn LakeTable) -> Result<&T> {
    let own = table.as_any().downcast_ref::<T>();
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

/// The columns that [`LakeTable::partitions_of`] returns.
pub(crate) fn placed(partitions: ArrayRef, spec_id: Option<i32>) -> Result<RecordBatch> {
    let specs: Int32Array = std::iter::repeat_n(spec_id, partitions.len()).collect();
    let fields = [("partition", partitions), ("spec_id", Arc::new(specs) as ArrayRef)];
    let columns = fields.map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).map_err(Into::into)
}
