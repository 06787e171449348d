//! What an expiry of snapshots would delete.

use arrow_schema::SchemaRef;

use super::exchange::exchanged;
use super::found::{Found, count, found};
use super::rows::schema;
use super::{Reach, Retention};
use crate::distributed::{Distributed, Exchanged};
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited};

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
