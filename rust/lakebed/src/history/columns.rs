//! The columns of `file_history`: those of the commit, then those of the view `files`.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};

use super::Commit;
use crate::diff::CHANGE;
use crate::error::Result;
use crate::record::find;
use crate::scan::ScanOptions;
use crate::view::{batch, instants, only, project};

/// The columns before those of the view `files`; a column of that view with one of these names is left out.
pub(super) const OF_COMMITS: [&str; 4] = [CHANGE, "snapshot_id", "committed_at", "operation"];

/// The requested columns, in order.
#[derive(Clone)]
pub(super) struct HistoryColumns {
    schema: SchemaRef,
}

impl HistoryColumns {
    /// All columns, given the view `files` with all of its own.
    pub(super) fn all(files: &ArrowSchema) -> ArrowSchema {
        let instant = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let types = [DataType::Utf8, DataType::Int64, instant, DataType::Utf8];
        let own = OF_COMMITS.into_iter().zip(types);
        let own = own.map(|(name, data_type)| Arc::new(Field::new(name, data_type, true)));
        let files = files.fields().iter().filter(|field| !OF_COMMITS.contains(&field.name().as_str()));
        ArrowSchema::new(own.chain(files.cloned()).collect::<Vec<_>>())
    }

    /// The requested columns, among all columns.
    ///
    /// # Errors
    /// `UnknownColumn`.
    pub(super) fn new(all: &ArrowSchema, columns: Option<&[String]>) -> Result<HistoryColumns> {
        let fields = project(all.fields(), |field| field.name(), columns)?;
        Ok(HistoryColumns { schema: Arc::new(ArrowSchema::new(fields)) })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The options to read the view `files` with: the requested columns.
    pub(super) fn of_files(&self, options: &ScanOptions) -> ScanOptions {
        let mut columns: Vec<String> = Vec::new();
        for name in self.schema.fields().iter().map(|field| field.name()) {
            if !OF_COMMITS.contains(&name.as_str()) && name != "stats" && !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        ScanOptions { columns: Some(columns), limit: None, ..options.clone() }
    }

    /// The rows of the files that a commit changed; `files` has the column `change`.
    pub(super) fn build(&self, files: &RecordBatch, commit: &Commit) -> Result<RecordBatch> {
        only(&self.dated(files, commit)?, &self.schema)
    }

    /// The columns of files, and the needed ones of the commit.
    fn dated(&self, files: &RecordBatch, commit: &Commit) -> Result<RecordBatch> {
        let rows = files.num_rows();
        let mut columns: Vec<(Arc<Field>, ArrayRef)> = Vec::new();
        for (field, column) in files.schema_ref().fields().iter().zip(files.columns()) {
            if field.name() == CHANGE || !OF_COMMITS.contains(&field.name().as_str()) {
                columns.push((Arc::clone(field), Arc::clone(column)));
            }
        }
        let mut add = |name: &str, column: ArrayRef| {
            columns.push((Arc::new(Field::new(name, column.data_type().clone(), true)), column));
        };
        add("snapshot_id", Arc::new(Int64Array::from_value(commit.snapshot_id, rows)));
        add("committed_at", instants(std::iter::repeat_n(commit.committed_ms, rows))?);
        add(
            "operation",
            Arc::new(StringArray::from_iter(std::iter::repeat_n(commit.operation.as_deref(), rows))),
        );
        let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        batch(&Arc::new(ArrowSchema::new(fields)), columns, rows)
    }
}

/// Adds the column `change`.
///
/// # Errors
/// Those of making a batch.
pub(crate) fn with_change(files: &RecordBatch, added: impl Iterator<Item = bool>) -> Result<RecordBatch> {
    let words = added.map(|added| if added { "added" } else { "removed" });
    let change: ArrayRef = Arc::new(StringArray::from_iter_values(words));
    crate::view::with_columns(files, vec![(CHANGE, change)])
}

/// Which files of a batch were added.
///
/// # Errors
/// `Argument` for a batch without the column `change`.
pub(super) fn are_added(files: &RecordBatch) -> Result<Vec<bool>> {
    let change = find(files, CHANGE)?;
    let change = arrow_array::cast::AsArray::as_string::<i32>(&change).iter();
    Ok(change.map(|change| change == Some("added")).collect())
}
