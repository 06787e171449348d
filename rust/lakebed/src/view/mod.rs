//! The views: rows of metadata under the names users know, the same words for every format.

mod columns;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::filter::filter_record_batch;

pub(crate) use columns::{instants, lists, map_names, maps, planned_deletes, struct_lists};

use crate::error::{Error, ErrorKind, Result};
use crate::predicate::{BoundPredicate, Predicate};
use crate::record::find;
use crate::words::unknown;

/// The views of a table; not every format has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// One row per data file that a query must read, with the deletes that apply to it.
    Plan,
    /// One row per index file.
    Indexes,
}

/// Every view with its name.
const VIEWS: &[(View, &str)] = &[
    (View::Snapshots, "snapshots"),
    (View::Refs, "refs"),
    (View::Changelogs, "changelogs"),
    (View::Schemas, "schemas"),
    (View::Manifests, "manifests"),
    (View::Entries, "entries"),
    (View::Files, "files"),
    (View::Partitions, "partitions"),
    (View::Buckets, "buckets"),
    (View::Health, "health"),
    (View::Deletes, "deletes"),
    (View::Plan, "plan"),
    (View::Indexes, "indexes"),
];

impl View {
    /// Whether rows are made of manifest entries, one by one or summed up.
    pub(crate) fn is_of_entries(self) -> bool {
        matches!(self, View::Entries | View::Files | View::Plan) || self.is_of_groups()
    }

    /// Whether live files are summed up.
    pub(crate) fn is_of_groups(self) -> bool {
        matches!(self, View::Partitions | View::Buckets | View::Health)
    }

    /// The view's name.
    pub fn name(self) -> &'static str {
        VIEWS.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }

    /// The view of that name.
    pub fn named(name: &str) -> Result<View> {
        VIEWS.iter().find(|(_, known)| *known == name).map(|(view, _)| *view).ok_or_else(|| {
            let known: Vec<&str> = VIEWS.iter().map(|(_, name)| *name).collect();
            let known = known.join(", ");
            Error::new(ErrorKind::UnknownView, format!("no view {name:?}; there are {known}")).in_field(name)
        })
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
