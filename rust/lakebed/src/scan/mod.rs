//! What all scans share, for both formats: options in, batches out.

#[cfg(any(test, feature = "toy"))]
mod absent;
mod coalesced;
mod content;
mod format;
mod funnel;
mod jobs;
mod resolve;
mod row_groups;
mod row_limit;
mod share;
mod source;
mod stream;
mod view_scan;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

#[cfg(any(test, feature = "toy"))]
pub(crate) use absent::Absent;
pub(crate) use format::{Format, LiveFiles, OpenManifest, no_scan_tasks, no_view};
pub(crate) use funnel::{Amount, Funnel, Stage, counted};
pub(crate) use jobs::{EntryJob, RowsJob, read_job};
pub(crate) use resolve::resolve;
pub(crate) use row_limit::row_limited;
pub use share::{Content, DivisibleManifest, divisible};
pub(crate) use share::{Part, headers};
pub(crate) use source::EntrySource;
pub(crate) use stream::{ManifestSource, ManifestStream};
pub(crate) use view_scan::{NumberedRows, ViewScan};

use coalesced::CoalescedBatches;

use crate::error::Result;
use crate::notes::Notes;
use crate::view::select;

/// Batches of rows, made as they are requested.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// What a caller wants of a view or of a metadata table; jobs have what selects columns and rows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ScanOptions {
    /// Columns, in this order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// A filter on the table's columns, which selects files, where rows are made from the table's files.
    pub table_filter: Option<String>,
    /// A filter on the view's own columns, which selects rows.
    pub filter: Option<String>,
    /// Columns of the table whose typed statistics become the column `stats`.
    pub stats: Option<Vec<String>>,
    /// The most rows to return.
    #[serde(skip)]
    pub limit: Option<usize>,
    /// Rows of the table that the caller needs: a plan may end with the file that reaches them.
    #[serde(skip)]
    pub row_limit: Option<u64>,
    /// Threads of each call; 0 for one per processor.
    #[serde(skip)]
    pub threads: usize,
    /// How a plan names the deletes of its files.
    #[serde(skip)]
    pub deletes: DeletesAs,
    /// Files of fewer bytes count as small in `health`; `None` for
    /// [`SMALL_FILE_BYTES`](crate::health::SMALL_FILE_BYTES).
    #[serde(skip)]
    pub small_bytes: Option<u64>,
}

/// The column of a plan with the part of the filter that is left to test in the rows of a file.
pub(crate) const RESIDUAL: &str = "residual";

/// How a plan names the deletes that apply to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeletesAs {
    /// Each in full, in the column `delete_files`.
    #[default]
    Files,
    /// By their numbers among the rows of [`Distributed::deletes`](crate::distributed::Distributed::deletes), in the
    /// column `delete_ids`.
    Ids,
}

/// The forms of Iceberg's JSON for expressions. All that is read may be of either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpressionForm {
    /// Tests of a `term`, as Iceberg's releases until 1.12 write and read them (`ExpressionParser.java`). The
    /// specification calls them deprecated.
    #[default]
    Term,
    /// Tests of value expressions, `left`, `right` and `child` (Iceberg's specification of expressions, appendix B).
    Operand,
}

impl DeletesAs {
    /// The column of a plan that has the deletes in this form.
    pub(crate) fn column(self) -> &'static str {
        match self {
            DeletesAs::Files => "delete_files",
            DeletesAs::Ids => "delete_ids",
        }
    }
}

impl ScanOptions {
    /// These columns of all rows, in so many threads.
    pub(crate) fn of_columns(columns: &[&str], threads: usize) -> ScanOptions {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        ScanOptions { columns: Some(columns), threads, ..ScanOptions::default() }
    }

    /// The columns, and those of `more` that are not among them; `None`, which means all, stays `None`.
    pub(crate) fn columns_and(&self, more: &[&str]) -> Option<Vec<String>> {
        let mut columns = self.columns.clone()?;
        for name in more {
            if !columns.iter().any(|known| known == name) {
                columns.push((*name).to_owned());
            }
        }
        Some(columns)
    }

    /// The columns, with `stats` added where statistics are requested: the caller need not also ask for that
    /// column.
    pub(crate) fn columns_and_stats(&self) -> Option<Vec<String>> {
        self.columns_and(if self.stats.is_some() { &["stats"] } else { &[] })
    }
}

/// A view or a metadata table, resolved: its schema is known, and none of its rows are read yet.
pub trait Scan: Send + Sync {
    /// The schema of the rows.
    fn schema(&self) -> &SchemaRef;

    /// Starts reading. Small results are made whole; for the others the manifest lists are read.
    ///
    /// # Errors
    /// Those of the files that are read now; the batches may add more.
    fn stream(&self) -> Result<Batches>;

    /// What is unusual, but not an error, in the files that its streams have read so far; more may be added
    /// as they read on.
    fn notes(&self) -> Notes {
        Notes::default()
    }

    /// The funnel: how many manifests, entries and files each step keeps; empty for views that need no
    /// manifests. It reads the same files as the scan, but does not decode columns that only the rows need.
    ///
    /// # Errors
    /// Those of the scan.
    fn explain(&self) -> Result<Vec<Step>> {
        Ok(Vec::new())
    }
}

/// One step of a scan's funnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What is counted.
    pub step: &'static str,
    /// How many are left.
    pub kept: u64,
    /// How many there were.
    pub total: u64,
    /// Rows in those that are left, where they are counted.
    pub rows_kept: Option<u64>,
    /// Rows in all, where they are counted.
    pub rows_total: Option<u64>,
    /// Bytes of those that are left, where they are counted.
    pub bytes_kept: Option<u64>,
    /// Bytes of all, where they are counted.
    pub bytes_total: Option<u64>,
    /// The reason why the others were left out.
    pub why: &'static str,
}

impl Step {
    pub(crate) fn rows(step: &'static str, kept: u64, total: u64, why: &'static str) -> Step {
        Step {
            step,
            kept,
            total,
            rows_kept: None,
            rows_total: None,
            bytes_kept: None,
            bytes_total: None,
            why,
        }
    }
}

/// Applies `options`, with a filter on the columns of the view, to all rows of a view.
pub(crate) fn selected(
    rows: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    options: &ScanOptions,
) -> Batches {
    let (columns, filter) = (options.columns.clone(), options.filter.clone());
    Box::new(rows.map(move |rows| select(&rows?, columns.as_deref(), filter.as_deref())))
}

/// The first `limit` rows, with small batches put together; nothing after an error. It takes no more batches
/// from `open` than have these rows, and does not call `open` where `limit` is 0.
///
/// # Errors
/// Those of `open`.
pub(crate) fn limited(limit: Option<usize>, open: impl FnOnce() -> Result<Batches>) -> Result<Batches> {
    let mut left = limit.unwrap_or(usize::MAX);
    if left == 0 {
        return Ok(Box::new(std::iter::empty()));
    }
    let mut batches = Some(open()?);
    let limited = std::iter::from_fn(move || {
        let batch = match batches.as_mut()?.next() {
            Some(Ok(batch)) => batch,
            ended => {
                batches = None;
                return ended;
            }
        };
        let batch = if batch.num_rows() > left { batch.slice(0, left) } else { batch };
        left -= batch.num_rows();
        if left == 0 {
            batches = None;
        }
        Some(Ok(batch))
    });
    Ok(Box::new(CoalescedBatches::new(limited)))
}

/// Each of what was made together, or the error of making it.
pub(crate) fn each<T>(made: Result<Vec<T>>) -> impl Iterator<Item = Result<T>> {
    let (made, error) = match made {
        Ok(made) => (made, None),
        Err(error) => (Vec::new(), Some(Err(error))),
    };
    made.into_iter().map(Ok).chain(error)
}

/// The batches that `open` gives, which is called for the first one.
pub(crate) fn lazily(open: impl FnOnce() -> Result<Batches> + Send + 'static) -> Batches {
    let batches = std::iter::once_with(open);
    Box::new(batches.flat_map(|opened| opened.unwrap_or_else(|error| Box::new(std::iter::once(Err(error))))))
}

/// The rows of one batch as a stream.
pub(crate) fn once(batch: RecordBatch) -> Batches {
    Box::new(std::iter::once(Ok(batch)))
}

/// No machine has more processors; each thread takes memory before it has work.
const MOST_THREADS: usize = 1024;

/// The number of threads for the option `wanted`.
pub(crate) fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        wanted => wanted.min(MOST_THREADS),
    }
}
