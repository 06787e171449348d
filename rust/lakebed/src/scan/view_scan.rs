//! A view of a table as a scan, for the views that one snapshot has.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};

use super::{Batches, EntryJob, ExpressionForm, Format, RowsJob, Scan, ScanOptions, Step, counted, limited};
use crate::diff::OneSide;
use crate::distributed::{Bounds, Distributed, JobPlan};
use crate::error::{Error, ErrorKind, Result};
use crate::grouping::{self, GroupsJob};
use crate::notes::Notes;
use crate::view::{View, batch};

/// Steps whose rows are those that entries record.
const COUNTED_ROWS: [&str; 2] = ["entries", "files"];

/// A view of a table, resolved: its schema is known, and none of its rows are read.
pub(crate) struct ViewScan<F: Format> {
    pub(crate) table: F,
    pub(crate) view: View,
    pub(crate) options: ScanOptions,
    pub(crate) schema: SchemaRef,
    /// How entries become rows, for views that are made of entries one by one.
    pub(crate) program: Option<Arc<F::Program>>,
}

impl<F: Format> ViewScan<F> {
    /// Resolves `view` of `table`: columns, filter and statistics are checked.
    ///
    /// # Errors
    /// `UnknownColumn`; `UnknownView` for a view that the format does not have; `FilterColumn`, `Predicate`;
    /// `Argument` for statistics of a view that has none.
    pub(crate) fn new(table: F, view: View, options: ScanOptions) -> Result<ViewScan<F>> {
        let table = table.noting();
        if options.stats.is_some() && !matches!(view, View::Entries | View::Files | View::Plan) {
            return Err(Error::new(ErrorKind::Argument, "stats= is for the views entries, files and plan"));
        }
        let role = F::role_of(&view, &options);
        let program = role.map(|role| table.program(role, &options)).transpose()?.map(Arc::new);
        let schema = match (&program, view.group_by()) {
            (Some(program), _) => Arc::clone(F::columns(program)),
            (None, Some(by)) => {
                table.check_filter(options.table_filter.as_deref())?;
                grouping::schema(&table, by, &options)?
            }
            (None, None) => table.view_schema(&view, &options)?,
        };
        Ok(ViewScan { table, view, options, schema, program })
    }

    /// The manifests of the table's snapshot.
    ///
    /// # Errors
    /// Those of reading the manifest lists.
    pub(crate) fn manifests(&self) -> Result<OneSide<F::Manifest>> {
        self.table.manifests_at(&self.table, self.options.table_filter.as_deref())
    }

    /// The rows of entries of `manifests` one by one as a job; `None` for small manifests.
    ///
    /// # Errors
    /// Those of [`Format::sent_types`]; `Location` for a manifest that the storage may not open.
    pub(crate) fn rows_job(
        &self,
        role: F::Role,
        manifests: Vec<F::Manifest>,
        bounds: &Bounds,
    ) -> Result<Option<JobPlan>> {
        let (job, inputs) = RowsJob::planned(role, &self.table, &self.options, manifests)?;
        Ok(bounds.unless_small(JobPlan::new(EntryJob::Rows(job), inputs, bounds)))
    }
}

impl<F: Format> Scan for ViewScan<F> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || match self.view.group_by() {
            Some(by) => grouping::rows(&self.table, by, &self.options),
            None => F::view_rows(self),
        })
    }

    fn notes(&self) -> Notes {
        self.table.core().noted().clone()
    }

    /// Counted in one pass over the entries, which makes no rows.
    fn explain(&self) -> Result<Vec<Step>> {
        let Some(role) = F::counted_role(&self.view, &self.options) else { return Ok(Vec::new()) };
        let mut steps = counted(|funnel| F::counting(self, role, funnel))?;
        // Lists that count files alone, or nothing, do not record how many rows these have, nor do sidecars.
        for step in steps.iter_mut().filter(|step| F::COUNTED <= 1 && !COUNTED_ROWS.contains(&step.step)) {
            (step.rows_kept, step.rows_total) = (None, None);
        }
        Ok(steps)
    }
}

impl<F: Format> Distributed for ViewScan<F> {
    fn deletes(&self) -> Result<Box<dyn Distributed>> {
        if !matches!(self.view, View::Plan) {
            return Err(Error::new(ErrorKind::Argument, "only plans have deletes"));
        }
        let table_filter = self.options.table_filter.clone().filter(|_| F::PLANS_NUMBER_FILTERED_DELETES);
        let options = ScanOptions { threads: self.options.threads, table_filter, ..ScanOptions::default() };
        Ok(Box::new(NumberedRows::new(ViewScan::new(self.table.clone(), View::Deletes, options)?)))
    }

    fn scan_tasks(&self, form: ExpressionForm) -> Result<String> {
        F::scan_tasks(self, form)
    }

    fn job(&self, bounds: &Bounds) -> Result<Option<JobPlan>> {
        match self.view.group_by() {
            Some(by) => GroupsJob::planned(&self.table, by, &self.options, bounds),
            None => F::view_job(self, bounds),
        }
    }

    fn is_light(&self) -> bool {
        true
    }
}

/// The column of the numbers by which [`super::DeletesAs::Ids`] names deletes.
const DELETE_ID: &str = "delete_id";

/// The rows of a scan with their numbers, from 0, in an added first column `delete_id`.
pub(crate) struct NumberedRows<S> {
    rows: S,
    schema: SchemaRef,
}

impl<S: Scan> NumberedRows<S> {
    pub(crate) fn new(rows: S) -> NumberedRows<S> {
        let number = Arc::new(Field::new(DELETE_ID, DataType::Int32, true));
        let fields = std::iter::once(&number).chain(rows.schema().fields()).cloned();
        NumberedRows { schema: Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>())), rows }
    }
}

impl<S: Scan> Scan for NumberedRows<S> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        let (schema, mut next) = (Arc::clone(&self.schema), 0);
        Ok(Box::new(self.rows.stream()?.map(move |rows| numbered(&rows?, &schema, &mut next))))
    }

    fn notes(&self) -> Notes {
        self.rows.notes()
    }
}

/// `rows` with a first column of numbers, which start at `next`.
fn numbered(rows: &RecordBatch, schema: &SchemaRef, next: &mut i32) -> Result<RecordBatch> {
    let end = i32::try_from(rows.num_rows()).ok().and_then(|count| next.checked_add(count));
    let end = end.ok_or_else(|| Error::new(ErrorKind::Unsupported, "more than 2^31 deletes"))?;
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(*next..end));
    *next = end;
    batch(schema, std::iter::once(&numbers).chain(rows.columns()).cloned().collect(), rows.num_rows())
}
