//! Views whose rows are sums of other views' rows: rows are summed up where they are made, and sums where all of them are.
//!
//! A new one is a case of [`SummedView`] and a type with [`ViewSums`]; one process and many then make its rows alike.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::column_metrics::{ColumnMetrics, TableColumn};
use super::overlap::{Overlap, OverlapColumns};
use super::select;
use super::totals::Totals;
use crate::distributed::{
    AnyJob, Bounds, Distributed, Job, JobPlan, ManifestMap, MergedSums, Piece, Pieces, Process, Reduce,
    Shuffle, SumReduce, SumSide, batches, one, reduced_here,
};
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, EntryJob, Format, Scan, ScanOptions, limited};

/// Sums over the rows of a view.
pub(crate) trait ViewSums: Send {
    /// Adds rows.
    ///
    /// # Errors
    /// `Required` and `Mismatch` for rows of another view; `Mismatch` for a sum beyond 64 bits.
    fn add(&mut self, rows: &RecordBatch) -> Result<()>;

    /// Adds what [`ViewSums::sent`] returned elsewhere.
    ///
    /// # Errors
    /// As [`ViewSums::add`].
    fn merge(&mut self, sums: &RecordBatch) -> Result<()>;

    /// The sums in a form for [`ViewSums::merge`].
    ///
    /// # Errors
    /// None that input could cause.
    fn sent(&self) -> Result<RecordBatch>;

    /// The rows of the view, with all its columns.
    ///
    /// # Errors
    /// As [`ViewSums::add`].
    fn rows(&self) -> Result<RecordBatch>;
}

/// What is summed up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum SummedView {
    /// Reachable files by their kinds, and orphans where those are given.
    Totals { with_orphans: bool },
    /// Metrics of data files by the columns of the table.
    Columns(Vec<TableColumn>),
    /// Bounds of data files in columns of the table.
    Overlap(OverlapColumns),
}

impl SummedView {
    /// No rows yet.
    fn sums(&self) -> Box<dyn ViewSums> {
        match self {
            SummedView::Totals { with_orphans } => Box::new(Totals::new(*with_orphans)),
            SummedView::Columns(columns) => Box::new(ColumnMetrics::new(columns.clone())),
            SummedView::Overlap(columns) => Box::new(Overlap::new(columns.clone())),
        }
    }
}

/// A summary, and which of its rows and columns are wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SummaryRows {
    summary: SummedView,
    columns: Option<Vec<String>>,
    filter: Option<String>,
}

impl SummaryRows {
    /// No rows yet.
    fn sums(&self) -> SummarySums {
        SummarySums { sums: self.summary.sums(), wanted: self.clone() }
    }

    fn schema(&self) -> Result<SchemaRef> {
        Ok(self.sums().rows()?.schema())
    }
}

/// Sums, and what is wanted of them.
struct SummarySums {
    sums: Box<dyn ViewSums>,
    wanted: SummaryRows,
}

impl SummarySums {
    fn rows(&self) -> Result<RecordBatch> {
        select(&self.sums.rows()?, self.wanted.columns.as_deref(), self.wanted.filter.as_deref())
    }
}

impl MergedSums for SummarySums {
    fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        self.sums.add(rows)
    }

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        self.sums.merge(sums)
    }

    fn drain(&mut self) -> Result<(RecordBatch, Vec<Option<u64>>)> {
        Ok((self.sums.sent()?, Vec::new()))
    }

    fn finish(&mut self) -> Result<Pieces> {
        one(Piece::rows(self.rows()?))
    }
}

/// A view of sums, resolved: its schema is known, and nothing is read.
pub(super) struct SummaryScan {
    wanted: SummaryRows,
    /// The views whose rows are summed up, read in this order.
    views: Vec<Arc<dyn Distributed>>,
    limit: Option<usize>,
    schema: SchemaRef,
}

impl SummaryScan {
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(super) fn new(
        summary: SummedView,
        views: Vec<Box<dyn Distributed>>,
        options: ScanOptions,
    ) -> Result<SummaryScan> {
        let wanted = SummaryRows { summary, columns: options.columns, filter: options.filter };
        let schema = wanted.schema()?;
        let views = views.into_iter().map(Arc::from).collect();
        Ok(SummaryScan { wanted, views, limit: options.limit, schema })
    }
}

impl Scan for SummaryScan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.limit, || {
            let sides = self.views.clone().into_iter().map(|view| Ok((SumSide::Rows.into(), view.stream()?)));
            Ok(batches(reduced_here(sides, SumReduce::last(self.wanted.sums()))))
        })
    }

    fn notes(&self) -> Notes {
        self.views.last().map(|view| view.notes()).unwrap_or_default()
    }
}

impl Distributed for SummaryScan {
    /// The job of the view whose rows are summed up; none where there are several.
    fn job(&self, bounds: &Bounds) -> Result<Option<JobPlan>> {
        let [view] = self.views.as_slice() else { return Ok(None) };
        view.job(bounds)?.map(|planned| summed(planned, self.wanted.clone())).transpose()
    }

    fn is_light(&self) -> bool {
        self.views.iter().all(|view| view.is_light())
    }
}

/// A job with its rows summed up.
fn summed(planned: JobPlan, wanted: SummaryRows) -> Result<JobPlan> {
    let last = planned.job.job().shuffles().len();
    let mut sums = wanted.sums();
    let (rows, mut made): (Vec<_>, Vec<_>) = planned.made.into_iter().partition(|(step, _)| *step >= last);
    rows.iter().try_for_each(|(_, piece)| sums.add(&piece.rows))?;
    // The last reduce makes rows even where no other has any.
    made.push((last + 1, Piece::alone(SumSide::Sums, sums.drain()?.0)));
    Ok(JobPlan { job: planned.job.summed(wanted), made, ..planned })
}

/// A job whose rows are summed up.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct SummaryJob<F: Format> {
    pub(crate) rows: EntryJob<F>,
    pub(crate) wanted: SummaryRows,
}

impl<F: Format> Job for SummaryJob<F> {
    fn schema(&self) -> Result<SchemaRef> {
        self.wanted.schema()
    }

    fn shuffles(&self) -> Vec<Shuffle> {
        [self.rows.job().shuffles().as_slice(), &[Shuffle::Here, Shuffle::ToOne]].concat()
    }

    fn map(&self, process: &Process) -> Result<ManifestMap> {
        self.rows.job().map(process)
    }

    fn reads_manifests(&self) -> bool {
        self.rows.job().reads_manifests()
    }

    fn reduce(&self, step: usize, process: &Process) -> Result<Box<dyn Reduce>> {
        let (job, sums) = (self.rows.job(), self.wanted.sums());
        Ok(match step.checked_sub(job.shuffles().len()) {
            None => job.reduce(step, process)?,
            Some(0) => Box::new(SumReduce::first(sums)),
            Some(_) => Box::new(SumReduce::last(sums)),
        })
    }
}
