//! The view of deletes that apply to no live data file.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

use super::{DeleteMarks, SnapshotDeletes};
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::field::POSITION_DELETES;
use crate::notes::Notes;
use crate::reach::{Kind, PlanColumns};
use crate::record::{column, find};
use crate::scan::{Batches, Format, Scan, ScanOptions, limited};
use crate::view::{View, whole};

/// The columns of the view `deletes` that rows are made of, besides what each delete is.
const SHOWN: [&str; 5] =
    ["file_path", "content_offset", "content_size_in_bytes", "record_count", "file_size_in_bytes"];
const CONTENT: &str = "content";

/// Deletes of a table's snapshot that apply to no live data file.
pub(crate) struct DanglingDeletes<F: Format> {
    table: F,
    now_ms: i64,
    options: ScanOptions,
    schema: SchemaRef,
}

impl<F: Format> DanglingDeletes<F> {
    /// Columns and filter are checked; no file is read. `now_ms` is what rows say of when they were planned.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; `UnknownView` for a format without deletes.
    pub(crate) fn new(table: F, now_ms: i64, options: ScanOptions) -> Result<DanglingDeletes<F>> {
        let deletes = table.scan(View::Deletes, all_deletes(0))?;
        let none = rows_of(&RecordBatch::new_empty(Arc::clone(deletes.schema())))?;
        let schema = PlanColumns::unread().selected(&none, &options)?.schema();
        Ok(DanglingDeletes { table, now_ms, options, schema })
    }

    /// Which deletes apply to some live data file, in the order of the view `deletes`.
    fn marked(&self) -> Result<Vec<bool>> {
        let options = ScanOptions { threads: self.options.threads, ..ScanOptions::default() };
        let Some(SnapshotDeletes { deletes, .. }) = F::Deletes::read(&self.table, &options)? else {
            return Ok(Vec::new());
        };
        let mut marks = F::Deletes::of(&self.table, &deletes)?;
        for files in self.table.live_files(&marks.input(), &options)? {
            marks.mark(&files?)?;
        }
        Ok(marks.marked().to_vec())
    }
}

fn all_deletes(threads: usize) -> ScanOptions {
    ScanOptions::of_columns(&[SHOWN.as_slice(), &[CONTENT]].concat(), threads)
}

/// Deletes with their kinds.
fn rows_of(deletes: &RecordBatch) -> Result<RecordBatch> {
    let contents = column::<Int32Array>(deletes, CONTENT)?;
    let offsets = column::<Int64Array>(deletes, "content_offset")?;
    let kinds = (0..deletes.num_rows()).map(|row| match contents.value(row) {
        POSITION_DELETES if offsets.is_valid(row) => Kind::DeletionVectors,
        POSITION_DELETES => Kind::PositionDeletes,
        _ => Kind::EqualityDeletes,
    });
    let kinds: ArrayRef = Arc::new(StringArray::from_iter_values(kinds.map(Kind::name)));
    let mut columns =
        SHOWN.iter().map(|name| Ok((*name, find(deletes, name)?))).collect::<Result<Vec<_>>>()?;
    columns.insert(1, ("kind", kinds));
    whole(columns, deletes.num_rows())
}

#[cold]
fn other_count() -> Error {
    Error::new(ErrorKind::Internal, "the deletes of the snapshot are not as many as those that were marked")
}

impl<F: Format> Scan for DanglingDeletes<F> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || {
            let plan = PlanColumns::of_dangling(&self.table, self.now_ms)?;
            let (mut marked, options) = (self.marked()?.into_iter(), self.options.clone());
            let deletes = self.table.scan(View::Deletes, all_deletes(options.threads))?.stream()?;
            let rows = deletes.map(Some).chain([None]).map(move |deletes| -> Result<Option<RecordBatch>> {
                let Some(deletes) = deletes else {
                    return if marked.next().is_none() { Ok(None) } else { Err(other_count()) };
                };
                let deletes = deletes?;
                let of_batch: BooleanArray =
                    marked.by_ref().take(deletes.num_rows()).map(|marked| Some(!marked)).collect();
                if of_batch.len() < deletes.num_rows() {
                    return Err(other_count());
                }
                let rows = rows_of(&filter_record_batch(&deletes, &of_batch)?)?;
                plan.selected(&rows, &options).map(Some)
            });
            Ok(Box::new(rows.filter_map(Result::transpose)))
        })
    }

    fn notes(&self) -> Notes {
        self.table.notes()
    }
}

impl<F: Format> Distributed for DanglingDeletes<F> {}
