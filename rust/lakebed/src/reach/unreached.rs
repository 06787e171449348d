//! What nothing reaches once snapshots, tags or branches are removed.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::found::{WalkOutcome, count, walk};
use super::job::{planned, wanted};
use super::looks::{Looks, VisitedSet};
use super::plan_columns::PlanColumns;
use super::rows::nothing;
use super::walk::Removal;
use super::{NewestReach, Reach, Retention};
use crate::distributed::{Bounds, Distributed, JobPlan};
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited};

/// What removed roots reach, and no other: of the snapshots that rules of retention expire, or of what commits have
/// removed since an earlier version.
pub(crate) struct UnreachedFiles<R> {
    /// The version whose roots are removed.
    of: NewestReach<R>,
    newest: NewestReach<R>,
    /// `None` where [`UnreachedFiles::of`] marks the removed roots.
    retention: Option<Retention>,
    options: ScanOptions,
    schema: SchemaRef,
    notes: Notes,
}

/// Removed roots whose files are being read.
struct WalkedPlan {
    walked: WalkOutcome,
    /// What rows say of the plan, if they are of one.
    plan: Option<PlanColumns>,
}

impl<R: Reach> UnreachedFiles<R> {
    /// The plan of an expiry of the newest version's snapshots. Columns and filter are checked; no file is read.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(crate) fn expired(
        newest: NewestReach<R>,
        retention: Retention,
        options: ScanOptions,
    ) -> Result<UnreachedFiles<R>> {
        UnreachedFiles::new(Arc::clone(&newest), newest, Some(retention), options)
    }

    /// What the newest version does not reach any more of an earlier one, which `before` makes of it with the removed
    /// roots marked. Columns and filter are checked; no file is read.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(crate) fn freed(
        newest: NewestReach<R>,
        before: impl Fn(&R) -> Result<R> + Send + Sync + 'static,
        options: ScanOptions,
    ) -> Result<UnreachedFiles<R>> {
        let of = Arc::clone(&newest);
        UnreachedFiles::new(Arc::new(move || before(&of()?)), newest, None, options)
    }

    fn new(
        of: NewestReach<R>,
        newest: NewestReach<R>,
        retention: Option<Retention>,
        options: ScanOptions,
    ) -> Result<UnreachedFiles<R>> {
        let plan = retention.is_some().then(PlanColumns::unread);
        let schema = wanted(&nothing()?, &options, plan.as_ref())?.schema();
        Ok(UnreachedFiles { of, newest, retention, options, schema, notes: Notes::default() })
    }

    fn removal(&self) -> Removal<'_> {
        self.retention.as_ref().map_or(Removal::Marked, Removal::By)
    }

    fn walked(&self, seen: &mut VisitedSet) -> Result<WalkedPlan> {
        let reach = (self.of)()?;
        let plan = self.retention.as_ref().map(|rules| PlanColumns::of_expiry(reach.table(), rules));
        let walked = walk(&reach, self.removal(), &self.options, seen);
        reach.notes().take().into_iter().for_each(|note| self.notes.add(note));
        Ok(WalkedPlan { walked: walked?, plan: plan.transpose()? })
    }

    /// The rows, which a look checks after all has been read.
    fn checked(&self, found: Batches, seen: VisitedSet) -> Result<Batches> {
        let looks = Looks::at_paths(Arc::clone(&self.newest), self.retention, &self.options)?;
        Ok(looks.checked(found, seen, self.notes.clone()))
    }
}

impl<R: Reach> Distributed for UnreachedFiles<R> {
    /// What commits have freed is made by the process that committed.
    fn job(&self, bounds: &Bounds) -> Result<Option<JobPlan>> {
        match &self.retention {
            Some(_) => planned(&(self.of)()?, self.removal(), &self.options, bounds).map(Some),
            None => Ok(None),
        }
    }
}

impl<R: Reach> Scan for UnreachedFiles<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || {
            let mut seen = VisitedSet::default();
            let WalkedPlan { walked, plan } = self.walked(&mut seen)?;
            let (rows, options) = (self.checked(walked.found, seen)?, self.options.clone());
            Ok(Box::new(rows.map(move |rows| wanted(&rows?, &options, plan.as_ref()))))
        })
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let mut seen = VisitedSet::default();
        let WalkOutcome { manifests, snapshots: (removed, all), found } = self.walked(&mut seen)?.walked;
        let why = "snapshots, tags and changelogs that are removed";
        let roots = Step::rows("roots", removed, all, why);
        let files = count(self.checked(found, seen)?)?;
        let why = "reached by no root that is kept";
        Ok(vec![roots, manifests, Step::rows("rows", files, files, why)])
    }
}
