//! What every scan is, whatever the format: options in, batches out.

mod exchange;
mod funnel;
mod gathered;
mod numbered;
mod parallel;
mod place;
mod row_limit;
mod share;
mod stream;
mod task;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::Serialize;

pub use exchange::{Exchange, Exchanged, Gather, Pieces};
pub(crate) use exchange::{dealt, hash};
pub(crate) use funnel::{Amount, Funnel, Stage};
pub(crate) use numbered::Numbered;
pub(crate) use parallel::threads;
pub(crate) use place::brought;
pub(crate) use row_limit::row_limited;
pub(crate) use share::read_header;
pub use share::{Content, divisible};
pub(crate) use stream::{ManifestSource, ManifestStream};
pub use task::{ReadyTask, Task};

use gathered::Gathered;

use crate::error::{Error, ErrorKind, Result};
use crate::grouping::{GroupTask, Known};
use crate::notes::Notes;

/// Batches of rows, made as they are asked for.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// What of a view or of a metadata table is wanted.
#[derive(Debug, Clone, Default)]
pub struct ScanOptions {
    /// Columns, in this order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// A filter: on the own columns of what is made without manifests and of metadata tables. On the other
    /// views it says which files are wanted, by any columns of the table.
    pub filter: Option<String>,
    /// Columns of the table whose typed statistics become the column `stats`.
    pub stats: Option<Vec<String>>,
    /// The most rows to give.
    pub limit: Option<usize>,
    /// Rows of the table, of which a plan need hold no more.
    pub row_limit: Option<u64>,
    /// Threads inside each call; 0 for one per processor.
    pub threads: usize,
    /// How a plan names the deletes of its files.
    pub deletes: DeletesAs,
    /// Files of fewer bytes are small, for `health`; `None` for
    /// [`SMALL_FILE_BYTES`](crate::health::SMALL_FILE_BYTES).
    pub small_bytes: Option<u64>,
}

/// The column of a plan that says what of its filter is left to test in a file's rows.
pub(crate) const RESIDUAL: &str = "residual";

/// How a plan names the deletes that apply to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeletesAs {
    /// Each in full, in the column `delete_files`.
    #[default]
    Files,
    /// By their numbers among the rows of [`Scan::deletes`], in the column `delete_ids`.
    Ids,
}

impl DeletesAs {
    /// The column that holds them.
    pub(crate) fn column(self) -> &'static str {
        match self {
            DeletesAs::Files => "delete_files",
            DeletesAs::Ids => "delete_ids",
        }
    }
}

impl ScanOptions {
    /// The columns, and those of `more` that are not among them; all for `None`.
    pub(crate) fn columns_and(&self, more: &[&str]) -> Option<Vec<String>> {
        let mut columns = self.columns.clone()?;
        for name in more {
            if !columns.iter().any(|known| known == name) {
                columns.push((*name).to_owned());
            }
        }
        Some(columns)
    }

    /// The columns, `stats` among them where statistics are asked for: those asked for by name need not be
    /// asked for again as a column.
    pub(crate) fn columns_and_stats(&self) -> Option<Vec<String>> {
        self.columns_and(if self.stats.is_some() { &["stats"] } else { &[] })
    }
}

/// A view or a metadata table, resolved: its schema is known, nothing of its rows is read.
pub trait Scan: Send + Sync {
    /// The schema of the rows.
    fn schema(&self) -> &SchemaRef;

    /// Starts reading: what is small is made whole, for the rest the manifest lists are read.
    ///
    /// # Errors
    /// Those of the files that are read now; more may come with the batches.
    fn stream(&self) -> Result<Batches>;

    /// What is odd about the files that its streams read, and no error; more may come as they are read.
    fn notes(&self) -> Notes {
        Notes::default()
    }

    /// The funnel: what each step keeps of manifests, entries and files; nothing for what is made without
    /// manifests. Reads what the scan reads, but decodes no column that only the rows need.
    ///
    /// # Errors
    /// Those of the scan.
    fn explain(&self) -> Result<Vec<Step>> {
        Ok(Vec::new())
    }

    /// Of a plan, the deletes that its files may have: `delete_id` int32, by which
    /// [`DeletesAs::Ids`] names them, then the columns of the view `deletes`.
    ///
    /// # Errors
    /// `Argument` for what is no plan.
    fn deletes(&self) -> Result<Box<dyn Scan>> {
        Err(Error::new(ErrorKind::Argument, "only plans have deletes"))
    }

    /// The manifests to read; none for what is made without them. Reads the manifest lists.
    ///
    /// # Errors
    /// Those of reading the lists.
    fn manifests(&self) -> Result<Vec<PlannedManifest>> {
        Ok(Vec::new())
    }

    /// What an executor needs to make rows from the manifests, each on its own.
    ///
    /// # Errors
    /// `Argument` for what is not made from manifests; those of reading the manifest lists and schemas.
    fn task(&self, _part: Part) -> Result<Task> {
        Err(Error::new(ErrorKind::Argument, "only entries and files are made from manifests"))
    }

    /// Whether files may be left out for what others are, beside those that others delete: then rows are made
    /// by [`Scan::exchange`], no [`Scan::task`] gives them.
    fn decides_together(&self) -> bool {
        false
    }

    /// The same for rows that entries of several manifests make together. `equality_ids` are, of an Iceberg
    /// plan, the columns that its equality deletes compare, once they are known.
    ///
    /// # Errors
    /// `Argument` for what is not made so; those of reading the manifest lists and schemas.
    fn exchange(&self, _equality_ids: &[i32]) -> Result<Exchanged> {
        Err(Error::new(ErrorKind::Argument, "only plans and differences are made from several manifests"))
    }

    /// The entries of one side of [`Scan::exchange`], read here.
    ///
    /// # Errors
    /// `Argument` for a side that is not to be read here; those of reading entries.
    fn side(&self, side: i32) -> Result<Batches> {
        Err(Error::new(ErrorKind::Argument, format!("side {side} is not read by itself")))
    }

    /// What an executor needs to sum up files of manifests, and what makes rows of sums.
    ///
    /// # Errors
    /// `Argument` for what is not summed up; as [`Scan::task`].
    fn group_task(&self) -> Result<GroupTask> {
        Err(Error::new(ErrorKind::Argument, "only partitions, buckets and health are summed up"))
    }

    /// What must be known of all files before those of some manifests are summed up: reads the manifests
    /// that delete files, or what says how many deletion vectors there are.
    ///
    /// # Errors
    /// `Argument` for a format that has no such thing; those of reading.
    fn known(&self, _known: Known) -> Result<RecordBatch> {
        Err(Error::new(ErrorKind::Argument, "entries of this format say themselves which files live"))
    }
}

/// Which of a scan's rows a task makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The rows, where no manifest takes away what another one adds.
    Rows,
    /// Added files with their identity, for a merge elsewhere.
    Added,
    /// Identities of deleted files, for a merge elsewhere.
    Deleted,
}

/// A manifest that a scan reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedManifest {
    /// Where it is read from, which for a table that was moved is not what rows show.
    pub path: String,
    /// Its size [bytes], as recorded.
    pub size: u64,
    /// Entries that add a file, as recorded.
    pub added: u64,
    /// Entries that take away what another manifest adds, as recorded.
    pub deleted: u64,
    /// Whether tasks may read ranges of it.
    pub divisible: bool,
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
    /// Rows in those left, where they are counted.
    pub rows_kept: Option<u64>,
    /// Rows in all, where they are counted.
    pub rows_total: Option<u64>,
    /// Bytes of those left, where they are counted.
    pub bytes_kept: Option<u64>,
    /// Bytes of all, where they are counted.
    pub bytes_total: Option<u64>,
    /// What decided.
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

/// The first `limit` rows, in no small batches; nothing behind an error. What `open` gives is not asked for more
/// than holds these rows, and not opened where there are none.
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
    Ok(Box::new(Gathered::new(limited)))
}

/// The rows of one batch.
pub(crate) fn once(batch: RecordBatch) -> Batches {
    Box::new(std::iter::once(Ok(batch)))
}
