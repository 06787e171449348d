//! Scans that an engine runs in many processes: one process plans work that is sent to others, and these read
//! the manifests. A layer above scans, which do not depend on it.
//!
//! No format is named here: each lists its kinds of work in one [`WorkTypes`], and `format.rs` has a row for each
//! format.

mod exchange;
mod filtered;
mod grouping;
mod place;
mod placed;
mod serialized;
mod stored_options;
mod task;
#[cfg(test)]
mod tests;
mod work_types;

use arrow_array::RecordBatch;
use serde::Serialize;

pub use exchange::{Exchange, Exchanged, Gather, ManifestPartitioner, Pieces};
pub(crate) use exchange::{hash, with_parts};
pub(crate) use filtered::filtered;
pub use grouping::{GroupTask, Grouping, Prerequisite};
pub(crate) use place::match_manifest_path;
pub(crate) use placed::placed;
pub(crate) use serialized::NamedWork;
pub use serialized::SerializableWork;
pub(crate) use stored_options::StoredOptions;
pub use task::{ManifestTask, ReadyTask};
pub use work_types::{WorkType, WorkTypes};
pub(crate) use work_types::{from_text, work_type};

use crate::error::{Error, ErrorKind, Result};
use crate::scan::{Batches, Numbered, Scan};

/// A scan that an engine can run in many processes.
pub trait Distributed: Scan {
    /// For a plan, the deletes that its files may have: `delete_id` int32, which [`DeletesAs::Ids`](crate::scan::DeletesAs::Ids) refers
    /// to, then the columns of the view `deletes`.
    ///
    /// # Errors
    /// `Argument` where the scan is not a plan.
    fn deletes(&self) -> Result<Box<dyn Distributed>> {
        Err(Error::new(ErrorKind::Argument, "only plans have deletes"))
    }

    /// For a plan of an Iceberg table, the answer of a REST catalog to a client that asks it to plan the
    /// scan: the JSON object of a completed planning result.
    ///
    /// # Errors
    /// Those of reading the plan; `Unsupported` for other scans, and where Iceberg's expressions cannot
    /// express the residual of the filter.
    fn scan_tasks(&self) -> Result<serde_json::Value> {
        let message = "only plans of Iceberg tables are what a REST catalog answers";
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// The manifests to read; none for a scan that needs none. Reads the manifest lists.
    ///
    /// # Errors
    /// Those of reading the lists.
    fn manifests(&self) -> Result<Vec<PlannedManifest>> {
        Ok(Vec::new())
    }

    /// The work of making rows from manifests one by one, for executors.
    ///
    /// # Errors
    /// `Argument` for a scan that needs no manifests or several together; those of reading the manifest lists
    /// and schemas.
    fn task(&self, _part: Part) -> Result<Box<dyn ManifestTask>> {
        Err(Error::new(ErrorKind::Argument, "only entries and files are made from manifests"))
    }

    /// Whether a file may be left out because of other files, apart from deletions. Then rows are made by
    /// [`Distributed::exchange`], and [`Distributed::task`] does not return them.
    fn decides_together(&self) -> bool {
        false
    }

    /// The work of making rows from entries of several manifests together. `equality_ids` are, for an Iceberg
    /// plan, the columns that its equality deletes compare, once they are known.
    ///
    /// # Errors
    /// `Argument` for scans without such rows; those of reading the manifest lists and schemas.
    fn exchange(&self, _equality_ids: &[i32]) -> Result<Exchanged> {
        Err(Error::new(ErrorKind::Argument, "only plans and differences are made from several manifests"))
    }

    /// The entries of one side of [`Distributed::exchange`], read here.
    ///
    /// # Errors
    /// `Argument` for a side that other processes read; those of reading entries.
    fn side(&self, side: i32) -> Result<Batches> {
        Err(Error::new(ErrorKind::Argument, format!("side {side} is not read in this process")))
    }

    /// Files that rows may be of and that no manifest names, distributed to `parts` parts beside those of
    /// [`Distributed::exchange`]: listed files, of which orphans are found, and index files, which are verified.
    /// Lists the table's folders for the former, unless the scan was given a listing.
    ///
    /// # Errors
    /// `Argument` for a scan that needs no such files; those of listing.
    fn listed(&self, _parts: u32) -> Result<Pieces> {
        Err(Error::new(
            ErrorKind::Argument,
            "only orphans, and what is verified, have files beside manifests",
        ))
    }

    /// The last step of [`Distributed::exchange`], for rows by which people delete files: the rows without the
    /// files that the table keeps by now. `rows` have all columns; `seen` is that of [`Exchanged`].
    ///
    /// # Errors
    /// `Argument` for a scan without such a step; those of reading the table.
    fn looked_again(&self, _rows: Batches, _seen: &str) -> Result<Batches> {
        Err(Error::new(
            ErrorKind::Argument,
            "only rows of orphans and expiries are compared with the table again",
        ))
    }

    /// The work of aggregating files of manifests, and of making rows of the sums.
    ///
    /// # Errors
    /// `Argument` for a scan that does not aggregate; as [`Distributed::task`].
    fn group_task(&self) -> Result<Box<dyn GroupTask>> {
        Err(Error::new(ErrorKind::Argument, "only partitions, buckets and health aggregate files"))
    }

    /// What must be known of all files before those of some manifests are aggregated: reads the manifests
    /// that delete files, or the number of deletion vectors.
    ///
    /// # Errors
    /// `Argument` for a format that does not need it; those of reading.
    fn prerequisite(&self, _what: Prerequisite) -> Result<RecordBatch> {
        Err(Error::new(ErrorKind::Argument, "entries of this format record themselves which files are live"))
    }
}

impl<S: Scan> Distributed for Numbered<S> {}

/// Which rows of a scan a task makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The rows of the scan, where no manifest deletes files that another one adds.
    Rows,
    /// Added files with their identity, which another process matches with deletions.
    Added,
    /// Identities of deleted files, which another process matches with added files.
    Deleted,
}

/// A manifest that a scan reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedManifest {
    /// Where it is read from. For a table that was moved this is not the path that rows show.
    pub path: String,
    /// Its size \[bytes\], as recorded.
    pub size: u64,
    /// Entries that add a file, as recorded.
    pub added: u64,
    /// Entries that delete a file of another manifest, as recorded.
    pub deleted: u64,
    /// Whether tasks may read ranges of it.
    pub divisible: bool,
}
