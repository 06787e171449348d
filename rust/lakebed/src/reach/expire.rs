//! What an expiry of snapshots would delete.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::exchange::exchanged;
use super::found::{Found, Walked, count};
use super::kind::Kinds;
use super::looks::{Comparison, Looks, Seen};
use super::rows::{nothing, schema};
use super::{NewestReach, Reach, Retention};
use crate::distributed::{Distributed, Exchanged};
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited, selected, threads};

/// The snapshots that expire by the rules, and the files that no root reaches after that.
pub(crate) struct ExpirePlan<R> {
    /// The version whose snapshots expire; `None` for the newest.
    of: Option<R>,
    newest: NewestReach<R>,
    retention: Retention,
    options: ScanOptions,
    schema: SchemaRef,
    notes: Notes,
}

impl<R: Reach> ExpirePlan<R> {
    /// The plan of a version of a table, or of the newest. Columns and filter are checked; no file is read.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(crate) fn new(
        of: Option<R>,
        newest: NewestReach<R>,
        retention: Retention,
        options: ScanOptions,
    ) -> Result<ExpirePlan<R>> {
        let schema = schema(&options)?;
        Ok(ExpirePlan { of, newest, retention, options, schema, notes: Notes::default() })
    }

    /// Does `work` with the version whose snapshots expire.
    fn with_reach<T>(&self, work: impl FnOnce(&R) -> Result<T>) -> Result<T> {
        match &self.of {
            Some(reach) => work(reach),
            None => work(&(self.newest)()?),
        }
    }

    fn looks(&self) -> Result<Looks<R>> {
        Ok(Looks {
            newest: Arc::clone(&self.newest),
            retention: Some(self.retention),
            kinds: Kinds::matching(self.options.filter.as_deref(), &nothing()?.schema())?,
            threads: threads(self.options.threads),
            comparison: Comparison::Paths,
        })
    }

    fn walked(&self, seen: &mut Seen) -> Result<Walked> {
        self.with_reach(|reach| {
            let walked = Found::walk(reach, Some(&self.retention), &self.options, seen);
            reach.notes().take().into_iter().for_each(|note| self.notes.add(note));
            walked
        })
    }

    /// The rows, which a look checks after all has been read.
    fn checked(&self, found: Found, seen: Seen) -> Result<Batches> {
        Ok(self.looks()?.checked(found, seen, self.notes.clone()))
    }
}

impl<R: Reach> Distributed for ExpirePlan<R> {
    fn exchange(&self, _equality_ids: &[i32]) -> Result<Exchanged> {
        self.with_reach(|reach| exchanged(reach, Some(&self.retention), &self.options))
    }

    fn looked_again(&self, rows: Batches, seen: &str) -> Result<Batches> {
        let rows = self.looks()?.checked(rows, Seen::from_text(seen)?, self.notes.clone());
        Ok(selected(rows, &self.options))
    }
}

impl<R: Reach> Scan for ExpirePlan<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || {
            let mut seen = Seen::default();
            let found = self.walked(&mut seen)?.found;
            Ok(selected(self.checked(found, seen)?, &self.options))
        })
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let mut seen = Seen::default();
        let Walked { manifests, snapshots: (removed, all), found } = self.walked(&mut seen)?;
        let why = "snapshots, tags and changelogs that the retention rules expire";
        let roots = Step::rows("roots", removed, all, why);
        let files = count(self.checked(found, seen)?)?;
        let why = "reached by no root that is kept";
        Ok(vec![roots, manifests, Step::rows("rows", files, files, why)])
    }
}
