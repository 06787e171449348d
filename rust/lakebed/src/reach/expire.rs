//! What an expiry of snapshots would delete.

use arrow_schema::SchemaRef;

use super::Reach;
use super::exchange::exchanged;
use super::found::{Found, count, found, schema};
use crate::distributed::{Distributed, Exchanged};
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited};

/// Rules of the caller that replace the table's, and the current time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Snapshots older than this, in milliseconds since 1970 UTC, may expire; `None` for the table's rule.
    pub older_than_ms: Option<i64>,
    /// How many snapshots are kept at any age; `None` for the table's rule.
    pub retain_last: Option<i32>,
    /// The current time in milliseconds since 1970 UTC, from which ages are computed.
    pub now_ms: i64,
}

/// The snapshots that expire by the rules, and the files that no root reaches after that.
pub(crate) struct ExpirePlan<R> {
    reach: R,
    retention: Retention,
    options: ScanOptions,
    schema: SchemaRef,
}

impl<R: Reach> ExpirePlan<R> {
    /// The plan of a table. Columns and filter are checked; no file is read.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`.
    pub(crate) fn new(reach: R, retention: Retention, options: ScanOptions) -> Result<ExpirePlan<R>> {
        let schema = schema(&options)?;
        Ok(ExpirePlan { reach, retention, options, schema })
    }
}

impl<R: Reach> Distributed for ExpirePlan<R> {
    fn exchange(&self, _equality_ids: &[i32]) -> Result<Exchanged> {
        exchanged(&self.reach, Some(&self.retention), &self.options)
    }
}

impl<R: Reach> Scan for ExpirePlan<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || found(&self.reach, Some(&self.retention), &self.options))
    }

    fn notes(&self) -> Notes {
        self.reach.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let walked = Found::walk(&self.reach, Some(&self.retention), &self.options)?;
        let why = "snapshots, tags and changelogs that the retention rules expire";
        let (removed, all) = walked.snapshots;
        let roots = Step::rows("roots", removed, all, why);
        let files = count(walked.found)?;
        let why = "reached by no root that is kept";
        Ok(vec![roots, walked.manifests, Step::rows("rows", files, files, why)])
    }
}
