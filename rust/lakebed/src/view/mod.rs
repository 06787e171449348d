//! The views: rows of metadata under the names users know, the same words for every format.

mod column_metrics;
mod columns;
mod compaction;
mod entries;
mod filtered;
mod overlap;
mod summary;
mod totals;
pub(crate) mod writer;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::filter::filter_record_batch;

pub use column_metrics::TableColumn;
pub(crate) use column_metrics::column_metrics;
pub(crate) use columns::{
    Rows, ShownField, field_lists, instants, lists, map_names, maps, planned_deletes, struct_lists,
};
pub use compaction::{ChosenFile, Compaction, FileDeletes};
pub(crate) use compaction::{OptionTexts, compaction_plan};
pub(crate) use entries::{
    ColumnRecipe, EntryView, IDENTITY_COLUMN, OwnColumns, ViewColumn, column, copy, given,
};
pub(crate) use filtered::filtered;
pub(crate) use overlap::{groups, overlap};
pub(crate) use summary::SummaryJob;
pub use summary::SummaryRows;
pub(crate) use totals::totals;

use crate::error::{Error, ErrorKind, Result};
use crate::predicate::{BoundPredicate, Predicate};
use crate::reach::{OrphanOptions, Retention};
use crate::record::find;
use crate::repair::{Described, RepairKind};
use crate::table::{Newest, Place};
use crate::words::unknown;

/// Refuses the name of a column that Arrow's C interface would end at a zero byte.
///
/// # Errors
/// `Unsupported`.
pub fn check_name(name: &str) -> Result<()> {
    if name.contains('\0') {
        let message = format!("Arrow has no column {name:?}: names have no NUL");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(())
}

/// A view of a table, with what only it takes. Not every format has all of them.
#[derive(Clone)]
pub enum View {
    /// One row per snapshot that is there.
    Snapshots,
    /// One row per branch and tag.
    Refs,
    /// One row per long-lived changelog, in the columns of `Snapshots`.
    Changelogs,
    /// One row per schema version.
    Schemas,
    /// One row per manifest of the snapshot.
    Manifests,
    /// One row per entry of those manifests, as stored.
    Entries,
    /// One row per live file.
    Files,
    /// One row per partition that has live files.
    Partitions,
    /// One row per bucket that has live files.
    Buckets,
    /// One row about the whole table.
    Health,
    /// One row per deletion vector.
    Deletes,
    /// One row per delete file or deletion vector of the snapshot that applies to no live data file.
    DanglingDeletes {
        /// When they are looked for, in milliseconds since 1970 UTC: what rows say of their plan.
        now_ms: i64,
    },
    /// One row per data file that a query must read, with the deletes that apply to it.
    Plan,
    /// One row per index file.
    Indexes,
    /// One row per file that is live at only one of two places: the column `change` ("removed" or "added"), then
    /// those of `Files`, in the types of this table's schema. Removed files are first. Manifests that both places
    /// have are not read; memory grows with the number of files that the others name.
    Diff {
        /// The state whose files that are not live in `after` are removed.
        before: Place,
        /// The state whose files that are not live in `before` are added.
        after: Place,
    },
    /// The data files of the append commits after a snapshot, up to the table's own, in the columns of `Files`;
    /// `None` for all appends that still exist. The oldest append is first.
    Appends {
        /// The snapshot before the first of them.
        after: Option<Place>,
    },
    /// One row per ancestor of the table's snapshot and for that itself, the oldest first: what is live there, and
    /// what its commit added and removed.
    Growth,
    /// One row for each file that a commit of those snapshots added or removed, the oldest commit first: the columns
    /// of the commit, then those of `Files`. A filter may use these columns and the table's.
    FileHistory,
    /// The faults of the table, a row each: every snapshot, list and manifest is read. With `data_files`, the data
    /// files of the table's snapshot are checked too: that they exist and have their recorded sizes.
    Verify {
        /// Whether data files are looked for.
        data_files: bool,
    },
    /// The files by which commits after a snapshot added and removed rows, with the deletes that their readers need, the
    /// oldest commit first: the columns of the commit, then those of `Files`.
    Changes {
        /// The snapshot; `None` for all commits that are known.
        after: Option<Place>,
    },
    /// What can be done about a broken table, a row for each repair of these kinds.
    RepairPlan {
        /// The kinds of repairs.
        kinds: BTreeSet<RepairKind>,
        /// What data files say of themselves; without it they are not asked.
        described: Option<Described>,
        /// When they are planned, in milliseconds since 1970 UTC.
        now_ms: i64,
    },
    /// Every file that a root of the table reaches: snapshots, tags, branches, changelogs, and the table itself. Every
    /// manifest is read once, however many snapshots have it.
    Reachable,
    /// Files in the table's folders, or in the caller's listing, that the table does not reach. The listing is made
    /// first, then the newest version of the table is read; `newest` reads it where a catalog knows which one that is.
    Orphans {
        /// Which files may be orphans.
        which: OrphanOptions,
        /// Reads the newest version of the table.
        newest: Option<Newest>,
    },
    /// The snapshots that expire by the table's rules of retention, and the files that nothing reaches after that, also
    /// not the newest version, read again before the first row; `newest` reads it where a catalog knows which one that is.
    ExpirePlan {
        /// The rules of retention that the caller gives.
        retention: Retention,
        /// Reads the newest version of the table.
        newest: Option<Newest>,
    },
    /// What commits since an earlier version have freed, in the columns of `ExpirePlan`: the snapshots, branches and
    /// tags of that version which the newest one does not have any more, and the files which it does not reach any
    /// more, by what is newest when the rows are read.
    Freed {
        /// The metadata file of the version before.
        before: String,
        /// Reads the newest version of the table.
        newest: Option<Newest>,
    },
    /// One row per kind of file: how many files of the kind the table reaches, and their sizes; of these what the
    /// table's own snapshot reaches, and what only other snapshots reach.
    Totals {
        /// [`View::Orphans`], for what nothing reaches.
        orphans: Option<Box<View>>,
    },
    /// One row per column of the table, with what the metrics of its data files say: how many values, nulls and NaN there
    /// are, their bounds and bytes, and how many distinct values statistics have counted.
    Columns,
    /// One row per partition and column of the table: how many of the partition's data files a value of the column meets,
    /// by the bounds of files.
    Overlap {
        /// Names of columns; `None` for all whose values have metrics.
        columns: Option<Vec<String>>,
    },
    /// One row per data file that an engine's compaction would rewrite, in its groups, by options as the engine has them.
    CompactionPlan {
        /// Names and texts of options.
        options: Vec<(String, String)>,
    },
    /// A metadata table of the format's engines, by its name, with their names, order and types of columns.
    MetadataTable(String),
}

/// What live files are summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GroupBy {
    Partition,
    Bucket,
    /// For the view `Health`.
    Table,
}

impl View {
    /// Its name, as users know it.
    pub(crate) fn name(&self) -> &str {
        match self {
            View::Snapshots => "snapshots",
            View::Refs => "refs",
            View::Changelogs => "changelogs",
            View::Schemas => "schemas",
            View::Manifests => "manifests",
            View::Entries => "entries",
            View::Files => "files",
            View::Partitions => "partitions",
            View::Buckets => "buckets",
            View::Health => "health",
            View::Deletes => "deletes",
            View::DanglingDeletes { .. } => "dangling_deletes",
            View::Plan => "plan",
            View::Indexes => "indexes",
            View::Diff { .. } => "diff",
            View::Appends { .. } => "appends",
            View::Changes { .. } => "changes",
            View::Growth => "growth",
            View::FileHistory => "file_history",
            View::Verify { .. } => "verify",
            View::RepairPlan { .. } => "repair_plan",
            View::Reachable => "reachable",
            View::Orphans { .. } => "orphans",
            View::ExpirePlan { .. } => "expire_plan",
            View::Freed { .. } => "freed",
            View::Totals { .. } => "totals",
            View::Columns => "columns",
            View::Overlap { .. } => "overlap",
            View::CompactionPlan { .. } => "compaction_plan",
            View::MetadataTable(name) => name,
        }
    }

    /// Whether rows are made from the table's files and manifests, which a filter on the table's columns selects.
    pub fn is_of_table_rows(&self) -> bool {
        use View::{Appends, Changes, Deletes, Diff, FileHistory, Indexes, Manifests};
        let listed = matches!(
            self,
            Manifests
                | Deletes
                | Indexes
                | Diff { .. }
                | Appends { .. }
                | Changes { .. }
                | FileHistory
                | View::Overlap { .. }
                | View::CompactionPlan { .. }
        );
        listed || self.is_of_entries()
    }

    /// Whether rows are made of manifest entries, one by one or summed up.
    pub(crate) fn is_of_entries(&self) -> bool {
        matches!(self, View::Entries | View::Files | View::Plan) || self.group_by().is_some()
    }

    /// What live files are summed up by; `None` for views that do not.
    pub(crate) fn group_by(&self) -> Option<GroupBy> {
        match self {
            View::Partitions => Some(GroupBy::Partition),
            View::Buckets => Some(GroupBy::Bucket),
            View::Health => Some(GroupBy::Table),
            _ => None,
        }
    }
}

/// The columns named, in the order named, of those a view has; all of them for `None`.
pub(crate) fn project<T: Clone>(
    columns: &[T],
    name: impl Fn(&T) -> &str,
    wanted: Option<&[String]>,
) -> Result<Vec<T>> {
    let Some(wanted) = wanted else { return Ok(columns.to_vec()) };
    let find = |wanted: &String| {
        columns.iter().find(|column| name(column) == wanted).cloned().ok_or_else(|| {
            let message = unknown("column", wanted, columns.iter().map(&name));
            Error::new(ErrorKind::UnknownColumn, message).in_field(wanted)
        })
    };
    wanted.iter().map(find).collect()
}

/// A small view, made whole: its columns by name.
pub(crate) fn whole(columns: Vec<(&str, ArrayRef)>, rows: usize) -> Result<RecordBatch> {
    let fields = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
    batch(&schema, columns.into_iter().map(|(_, array)| array).collect(), rows)
}

/// The rows of a whole view that match `filter`, which is on its own columns, projected to `columns`.
pub(crate) fn select(
    view: &RecordBatch,
    columns: Option<&[String]>,
    filter: Option<&str>,
) -> Result<RecordBatch> {
    let schema = view.schema();
    let mut rows = view.clone();
    if let Some(text) = filter {
        rows = matching(view, &Predicate::parse(text)?.bind(&schema)?)?;
    }
    let fields = project(schema.fields(), |field| field.name(), columns)?;
    let arrays = fields.iter().filter_map(|field| rows.column_by_name(field.name()).cloned()).collect();
    batch(&Arc::new(ArrowSchema::new(fields)), arrays, rows.num_rows())
}

/// The rows that match a filter bound to their schema.
///
/// # Errors
/// As [`BoundPredicate::evaluate`].
pub fn matching(rows: &RecordBatch, filter: &BoundPredicate) -> Result<RecordBatch> {
    let keep = filter.evaluate(rows.columns(), rows.num_rows())?;
    Ok(filter_record_batch(rows, &keep.into())?)
}

/// Of the columns of `rows` those of `schema`.
pub(crate) fn only(rows: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = schema.fields().iter().map(|field| find(rows, field.name()));
    batch(schema, columns.collect::<Result<_>>()?, rows.num_rows())
}

/// A batch that keeps its row count without columns too.
pub(crate) fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(Into::into)
}

/// `rows` with more columns.
pub(crate) fn with_columns(rows: &RecordBatch, more: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    let mut fields = rows.schema_ref().fields().to_vec();
    let mut columns = rows.columns().to_vec();
    for (name, column) in more {
        fields.push(Arc::new(Field::new(name, column.data_type().clone(), true)));
        columns.push(column);
    }
    batch(&Arc::new(ArrowSchema::new(fields)), columns, rows.num_rows())
}
