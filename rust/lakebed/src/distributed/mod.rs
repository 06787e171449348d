//! Scans that an engine makes in many processes: what one process plans is work that travels, and manifests are
//! given to it where they are read. A layer above scans, which know nothing of it.
//!
//! No format is named here: each says in one [`Works`] what its work is, and `format.rs` has the row of each.

mod asked;
mod exchange;
mod grouping;
mod place;
mod task;
#[cfg(test)]
mod tests;
mod travel;
mod works;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::Serialize;

pub(crate) use asked::Asked;
pub use exchange::{Dealing, Exchange, Exchanged, Gather, Pieces};
pub(crate) use exchange::{dealt, hash};
pub use grouping::{Beforehand, GroupTask, Grouping};
pub(crate) use place::match_manifest_path;
pub use task::{ManifestTask, ReadyTask};
pub(crate) use travel::Travelling;
pub use travel::Travels;
pub use works::{Row, Works};
pub(crate) use works::{from_text, row};

use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::scan::{Batches, Scan, Step};

/// What an engine needs of a scan to make its rows in many processes.
pub trait Distributed: Scan {
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
    fn task(&self, _part: Part) -> Result<Box<dyn ManifestTask>> {
        Err(Error::new(ErrorKind::Argument, "only entries and files are made from manifests"))
    }

    /// Whether files may be left out for what others are, beside those that others delete: then rows are made
    /// by [`Distributed::exchange`], no [`Distributed::task`] gives them.
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

    /// The entries of one side of [`Distributed::exchange`], read here.
    ///
    /// # Errors
    /// `Argument` for a side that is not to be read here; those of reading entries.
    fn side(&self, side: i32) -> Result<Batches> {
        Err(Error::new(ErrorKind::Argument, format!("side {side} is not read by itself")))
    }

    /// Of a listing the files that rows may be of, dealt out to so many parts beside what [`Distributed::exchange`] deals
    /// out. Reads what the scan lists, or was given.
    ///
    /// # Errors
    /// `Argument` for what is made without one; those of listing.
    fn listed(&self, _parts: u32) -> Result<Pieces> {
        Err(Error::new(ErrorKind::Argument, "only orphans are made from a listing"))
    }

    /// What an executor needs to sum up files of manifests, and what makes rows of sums.
    ///
    /// # Errors
    /// `Argument` for what is not summed up; as [`Distributed::task`].
    fn group_task(&self) -> Result<Box<dyn GroupTask>> {
        Err(Error::new(ErrorKind::Argument, "only partitions, buckets and health are summed up"))
    }

    /// What must be known of all files before those of some manifests are summed up: reads the manifests
    /// that delete files, or what says how many deletion vectors there are.
    ///
    /// # Errors
    /// `Argument` for a format that has no such thing; those of reading.
    fn beforehand(&self, _what: Beforehand) -> Result<RecordBatch> {
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
    /// Its size \[bytes\], as recorded.
    pub size: u64,
    /// Entries that add a file, as recorded.
    pub added: u64,
    /// Entries that take away what another manifest adds, as recorded.
    pub deleted: u64,
    /// Whether tasks may read ranges of it.
    pub divisible: bool,
}

/// A scan that is made in one process only.
pub struct Alone(pub Box<dyn Scan>);

impl Scan for Alone {
    fn schema(&self) -> &SchemaRef {
        self.0.schema()
    }

    fn stream(&self) -> Result<Batches> {
        self.0.stream()
    }

    fn notes(&self) -> Notes {
        self.0.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        self.0.explain()
    }

    fn deletes(&self) -> Result<Box<dyn Scan>> {
        self.0.deletes()
    }

    fn scan_tasks(&self) -> Result<serde_json::Value> {
        self.0.scan_tasks()
    }
}

impl Distributed for Alone {}
