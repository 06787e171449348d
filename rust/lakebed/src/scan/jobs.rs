//! The work of scans, independent of the table: what other processes get.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use super::{Format, LiveFiles, OpenManifest, ScanOptions};
use crate::columnar::Decoding;
use crate::diff::DiffJob;
use crate::distributed::{
    AnyJob, Bounds, Job, LocatedManifests, ManifestMap, PlannedManifest, Process, foreign, rows,
};
use crate::error::Result;
use crate::grouping::GroupsJob;
use crate::json::parse_within;
use crate::reach::{OrphansJob, ReachJob};
use crate::verify::VerifyJob;
use crate::view::{SummaryJob, SummaryRows};

/// The jobs of a format.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) enum EntryJob<F: Format> {
    /// Rows of entries one by one.
    Rows(RowsJob<F>),
    /// The difference of two snapshots.
    Diff(DiffJob<F>),
    /// Sums over live files.
    Groups(Box<GroupsJob<F>>),
    /// The files that roots reach.
    Reach(ReachJob<F::Reach>),
    /// The listed files that no root reaches.
    Orphans(OrphansJob<F::Reach>),
    /// What is wrong with a table.
    Verify(VerifyJob<F::StoredEntries>),
    /// Sums over the rows of another job.
    Summary(Box<SummaryJob<F>>),
    /// What only this format has.
    Own(F::Job),
}

/// Reads a job of a format from its JSON.
pub(crate) fn read_job<F: Format>(json: &[u8]) -> Result<Box<dyn AnyJob>> {
    Ok(Box::new(parse_within::<EntryJob<F>>(json)?))
}

impl<F: Format> AnyJob for EntryJob<F> {
    fn to_json(&self) -> Result<(&'static str, Vec<u8>)> {
        Ok((F::NAME, serde_json::to_vec(self).map_err(foreign)?))
    }

    fn summed(self: Box<Self>, wanted: SummaryRows) -> Box<dyn AnyJob> {
        Box::new(EntryJob::Summary(Box::new(SummaryJob { rows: *self, wanted })))
    }

    fn job(&self) -> &dyn Job {
        match self {
            EntryJob::Rows(job) => job,
            EntryJob::Diff(job) => job,
            EntryJob::Groups(job) => job.as_ref(),
            EntryJob::Reach(job) => job,
            EntryJob::Orphans(job) => job,
            EntryJob::Verify(job) => job,
            EntryJob::Summary(job) => job.as_ref(),
            EntryJob::Own(job) => job,
        }
    }
}

/// The rows of manifests in one role.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct RowsJob<F: Format> {
    pub(crate) role: F::Role,
    pub(crate) types: F::Types,
    options: ScanOptions,
    /// The snapshots whose added files are wanted; `None` for all.
    added_by: Option<HashSet<i64>>,
    manifests: LocatedManifests<F::Manifest>,
}

impl<F: Format> RowsJob<F> {
    /// The rows that `options` ask for of `manifests`, in the types of `table`, and the manifests as engines get them.
    ///
    /// # Errors
    /// Those of [`Format::sent_types`]; `Location` for a manifest that the storage may not open.
    pub(crate) fn planned(
        role: F::Role,
        table: &F,
        options: &ScanOptions,
        manifests: Vec<F::Manifest>,
    ) -> Result<(RowsJob<F>, Vec<PlannedManifest>)> {
        let (manifests, planned) = LocatedManifests::planned(table, manifests, |one| one)?;
        Ok((RowsJob { manifests, ..RowsJob::of(role, table, options)? }, planned))
    }

    /// The same of no manifests.
    ///
    /// # Errors
    /// Those of [`Format::sent_types`].
    pub(crate) fn of(role: F::Role, table: &F, options: &ScanOptions) -> Result<RowsJob<F>> {
        let (types, manifests) = (table.sent_types(options)?, LocatedManifests::none());
        Ok(RowsJob { role, types, options: options.clone(), added_by: None, manifests })
    }

    /// Live files as rows of `role`, for [`Format::live_job`]; `None` for small manifests.
    ///
    /// # Errors
    /// As [`RowsJob::planned`].
    pub(crate) fn of_live(
        role: F::Role,
        table: &F,
        options: &ScanOptions,
        manifests: Vec<F::Manifest>,
        bounds: &Bounds,
    ) -> Result<Option<LiveFiles<F>>>
    where
        F: Format<LiveJob = RowsJob<F>>,
    {
        if bounds.are_small(manifests.iter().filter_map(F::size_of)) {
            return Ok(None);
        }
        let (job, planned) = RowsJob::planned(role, table, options, manifests)?;
        Ok(Some((job, planned, Vec::new())))
    }

    /// The same of the files that these snapshots added.
    pub(crate) fn added_by(self, ids: Option<HashSet<i64>>) -> RowsJob<F> {
        RowsJob { added_by: ids, ..self }
    }

    /// How entries become rows of `role`: the job's own role, or that of rows it is merged with.
    ///
    /// # Errors
    /// Those of resolving a scan, for a job that was changed in transit.
    pub(crate) fn program(&self, role: F::Role, decoding: Decoding) -> Result<F::Program> {
        let program = F::sent_program(&self.types, role, &self.options, decoding)?;
        match &self.added_by {
            Some(ids) => F::added_by(program, ids.clone()),
            None => Ok(program),
        }
    }

    /// The manifest of the job that an engine knows by this path.
    ///
    /// # Errors
    /// `Missing` for a path of no manifest of the job.
    pub(crate) fn manifest_at(&self, path: &str) -> Result<&F::Manifest> {
        Ok(self.manifests.at(path)?.1)
    }
}

impl<F: Format> Job for RowsJob<F> {
    fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::clone(F::columns(&self.program(self.role, Limits::DEFAULT.into())?)))
    }

    fn map(&self, process: &Process) -> Result<ManifestMap> {
        let (job, program) = (self.clone(), Arc::new(self.program(self.role, process.decoding.clone())?));
        ManifestMap::of_content(move |path, content| {
            let recorded = job.manifest_at(path)?;
            Ok(rows(F::rows(&program, OpenManifest { path, recorded, content, threads: 1 })?))
        })
    }
}
