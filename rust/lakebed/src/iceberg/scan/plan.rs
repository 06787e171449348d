//! Which manifests a scan reads.

use arrow_array::RecordBatch;
use arrow_select::filter::filter_record_batch;

use crate::error::{Error, Result};
use crate::iceberg::encryption::plain;
use crate::iceberg::fields::LIST;
use crate::iceberg::manifest::ManifestHeader;
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::prune::{Pruner, Summaries};
use crate::iceberg::table::Table;
use crate::iceberg::view::{HEADER, Role, manifests, with_headers};
use crate::record::record_schema;
use crate::scan::{Amount, Funnel, Stage, headers};
use crate::view::select;

/// The manifests of a snapshot, and which of them may have matching entries.
pub(in crate::iceberg) struct Plan {
    /// The rows of the list that are kept.
    list: RecordBatch,
    pub(super) manifests: Vec<ManifestFile>,
    pub(super) pruned: Vec<ManifestFile>,
}

impl Plan {
    /// Reads the manifest list of the table's snapshot, with partition summaries only where a filter tests them.
    pub(in crate::iceberg) fn new(table: &Table, filter: Option<&str>) -> Result<Plan> {
        Plan::of_list(table, table.list_for(filter)?, filter)
    }

    /// The plan of an empty list, by which a filter is checked.
    pub(super) fn empty(table: &Table, filter: Option<&str>) -> Result<Plan> {
        let schema = record_schema(&LIST.iter().collect::<Vec<_>>());
        Plan::of_list(table, RecordBatch::new_empty(schema), filter)
    }

    /// The plan of a manifest list, in the types of `table`.
    pub(super) fn of_list(table: &Table, list: RecordBatch, filter: Option<&str>) -> Result<Plan> {
        let mut manifests = ManifestFile::all(&list)?;
        let Some(text) = filter else { return Ok(Plan { list, manifests, pruned: Vec::new() }) };
        let types = table.types()?;
        let summaries = Summaries::new(&manifests, &types.specs, &types.partition);
        let kept = Pruner::new(text, &types)?.may_match(&manifests, &summaries)?;
        let list = filter_record_batch(&list, &kept)?;
        let mut kept = kept.values().iter();
        let pruned = manifests.extract_if(.., |_| !kept.next().unwrap_or(true)).collect();
        Ok(Plan { list, manifests, pruned })
    }

    /// Reports how many manifests it leaves out for `role`, and why.
    pub(super) fn count(&self, role: Role, funnel: &Funnel) {
        let sum = |manifests: &[ManifestFile], keeps: &dyn Fn(&ManifestFile) -> bool| {
            manifests
                .iter()
                .filter(|manifest| role.content().has(manifest) && keeps(manifest))
                .map(amount)
                .sum()
        };
        let sum_all = |keeps: &dyn Fn(&ManifestFile) -> bool| -> Amount {
            sum(&self.manifests, keeps) + sum(&self.pruned, keeps)
        };
        let may_count = |manifest: &ManifestFile| !role.is_live() || manifest.may_be_live();
        if role.is_live() {
            funnel.pass(&COUNTS, || [sum_all(&|_| true), sum_all(&may_count)]);
        }
        funnel.pass(&SUMMARIES, || [sum_all(&may_count), sum(&self.manifests, &may_count)]);
    }

    /// The manifests that may have rows of `role`.
    pub(in crate::iceberg) fn of_role(mut self, role: Role) -> Vec<ManifestFile> {
        self.take(role)
    }

    /// Removes the manifests that may have rows of `role`, and returns them.
    pub(super) fn take(&mut self, role: Role) -> Vec<ManifestFile> {
        let is_of = |manifest: &ManifestFile| {
            (!role.is_live() || manifest.may_be_live()) && role.content().has(manifest)
        };
        if self.manifests.iter().all(is_of) {
            return std::mem::take(&mut self.manifests);
        }
        self.manifests.extract_if(.., |manifest| is_of(manifest)).collect()
    }

    /// The view `manifests`. Headers of manifests are read where `columns` needs them.
    pub(super) fn manifests_view(&self, table: &Table, columns: Option<&[String]>) -> Result<RecordBatch> {
        let types = table.types()?;
        let summaries = Summaries::new(&self.manifests, &types.specs, &types.partition);
        let rows = manifests(&self.list, &summaries, &types.partition)?;
        match columns.is_some_and(|names| names.iter().any(|name| name == HEADER)) {
            true => select(&with_headers(&rows, &self.headers(table)?)?, columns, None),
            false => select(&rows, columns, None),
        }
    }

    /// The headers of the manifests.
    fn headers(&self, table: &Table) -> Result<Vec<Option<ManifestHeader>>> {
        let decoding = table.decoding();
        let plain_manifests = self.manifests.iter().filter(|manifest| manifest.key.is_none());
        let paths = plain_manifests.map(|manifest| manifest.path.clone()).collect();
        let mut found = headers(table.storage(), paths, decoding.limits)?.into_iter();
        // Parquet has its keys at the end of the file, and an encrypted file may have them in its last block.
        let header = |manifest: &ManifestFile| {
            let begin = if manifest.key.is_none() { found.next().flatten() } else { None };
            let read = || {
                let bytes = begin.map_or_else(|| table.read_recorded(&manifest.path, None), Ok)?;
                let (bytes, decoding) = plain(bytes, manifest.key.as_ref(), decoding)?;
                ManifestHeader::read(&bytes, &decoding).map(Some)
            };
            read().map_err(|error: Error| error.in_file(&manifest.path))
        };
        self.manifests.iter().map(header).collect()
    }
}

static COUNTS: Stage = Stage {
    order: 0,
    step: "manifests",
    why: "counts of the manifest list: some entry is added or existing",
};
static SUMMARIES: Stage =
    Stage { order: 1, step: "manifests", why: "summaries of the partition fields in the manifest list" };

/// A manifest with the rows of its files and its own bytes, as recorded in its list.
fn amount(manifest: &ManifestFile) -> Amount {
    let rows = [manifest.added, manifest.existing].map(|recorded| recorded.rows.unwrap_or(0));
    Amount { count: 1, rows: rows.iter().sum(), bytes: manifest.length.unwrap_or(0) }
}
