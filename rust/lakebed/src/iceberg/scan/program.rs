//! How entries become rows.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_buffer::Buffer;
use arrow_select::filter::filter_record_batch;

use super::internal;
use super::vectors::{VectorReader, in_runs};
use crate::columnar::Decoding;
use crate::error::Result;
use crate::iceberg::filter::PartitionFilter;
use crate::iceberg::manifest::{EntryColumns, EntryReader, Known, ManifestHeader, PartitionLayout, Statuses};
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::metrics::MetricsView;
use crate::iceberg::table::TableTypes;
use crate::iceberg::view::{EntryView, Role};
use crate::notes::Notes;
use crate::record::find;
use crate::scan::{Batches, ScanOptions};

/// How entries become rows: shared by a scan, its threads and tasks elsewhere.
pub(super) struct EntryProgram {
    pub(super) role: Role,
    pub(super) view: EntryView,
    entries: Arc<EntryColumns>,
    /// The columns that entries are decoded for.
    raw: Vec<String>,
    types: TableTypes,
    filter: Option<PartitionFilter>,
    decoding: Decoding,
    vectors: Option<VectorReader>,
}

impl EntryProgram {
    pub(super) fn new(
        role: Role,
        types: TableTypes,
        options: &ScanOptions,
        decoding: Decoding,
    ) -> Result<EntryProgram> {
        let stats =
            options.stats.as_deref().map(|names| MetricsView::stats(names, &types.schema)).transpose()?;
        let columns = options.columns_and_stats();
        let metrics = stats.map(|stats| ("stats", stats));
        let view = EntryView::new(role, &types.partition, columns.as_deref(), metrics)?;
        EntryProgram::of_view(role, view, types, options.filter.as_deref(), decoding)
    }

    /// The program of a view that is made already.
    pub(super) fn of_view(
        role: Role,
        view: EntryView,
        types: TableTypes,
        filter: Option<&str>,
        decoding: Decoding,
    ) -> Result<EntryProgram> {
        let filter =
            filter.map(|text| PartitionFilter::new(text, &types.partition, &types.schema)).transpose()?;
        let mut raw = view.raw().to_vec();
        if filter.is_some() && !raw.iter().any(|name| name == "partition") {
            raw.push("partition".to_owned());
        }
        let entries = EntryColumns::new(Some(&raw))?.with_metrics_of(view.metrics_of());
        let entries = Arc::new(entries);
        Ok(EntryProgram { role, view, entries, raw, types, filter, decoding, vectors: None })
    }

    /// The same program, whose [`EntryProgram::entries`] have these columns too, and of metrics those of
    /// these fields. The view shows no map whole.
    pub(super) fn needing(
        mut self,
        columns: impl Iterator<Item = &'static str>,
        field_ids: &[i32],
    ) -> Result<EntryProgram> {
        for column in columns {
            if !self.raw.iter().any(|known| known == column) {
                self.raw.push(column.to_owned());
            }
        }
        let mut metrics_of = self.view.metrics_of().unwrap_or_default();
        metrics_of.extend(field_ids);
        self.entries = Arc::new(EntryColumns::new(Some(&self.raw))?.with_metrics_of(Some(metrics_of)));
        Ok(self)
    }

    /// The same program, which reads the deletion vectors whose positions the view shows.
    pub(super) fn reading(self, vectors: VectorReader) -> EntryProgram {
        let vectors = self.view.needs_positions().then_some(vectors);
        EntryProgram { vectors, ..self }
    }

    /// The rows of one manifest, in file order; errors and notes say in which file they were found.
    pub(super) fn open(
        self: &Arc<EntryProgram>,
        bytes: Buffer,
        manifest: &ManifestFile,
        threads: usize,
        notes: &Notes,
    ) -> Result<Batches> {
        let path = manifest.path.clone();
        let entries = self.entries(bytes, manifest, threads, notes)?;
        let program = Arc::clone(self);
        Ok(Box::new(
            entries.map(move |entries| program.rows(&entries?, &path).map_err(|error| error.in_file(&path))),
        ))
    }

    /// The entries of one manifest that the rows are made of, in file order, and what else they were
    /// decoded for; errors and notes say in which file they were found.
    pub(super) fn entries(
        self: &Arc<EntryProgram>,
        bytes: Buffer,
        manifest: &ManifestFile,
        threads: usize,
        notes: &Notes,
    ) -> Result<Batches> {
        let path = manifest.path.clone();
        let open = || {
            let known = Known {
                partition: self.layout_of(&bytes, manifest)?,
                manifest: Some(manifest.clone()),
                spec_id: None,
                notes: notes.clone(),
            };
            let statuses = match self.role {
                Role::Entries => Statuses::ALL,
                Role::Added => Statuses { existing: false, ..Statuses::LIVE },
                _ => Statuses::LIVE,
            };
            EntryReader::open(bytes.clone(), &self.entries, known, statuses, &self.decoding, threads)
        };
        let entries = open().map_err(|error| error.in_file(&path))?;
        let (program, place) = (Arc::clone(self), path.clone());
        let runs = entries.flat_map(move |entries| match entries.and_then(|entries| program.runs(entries)) {
            Ok(runs) => runs.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error.in_file(&place))],
        });
        Ok(Box::new(runs))
    }

    /// The rows that are made of some of a manifest's entries.
    pub(super) fn rows(&self, entries: &RecordBatch, manifest: &str) -> Result<RecordBatch> {
        let positions = self.vectors.as_ref().map(|vectors| vectors.positions(entries)).transpose()?;
        self.view.build(entries, manifest, positions.as_ref())
    }

    /// How the manifest's tuples are shown: by the table's spec of its id or, where the table has forgotten
    /// that, by the one in its own header; without either the tuples are not shown.
    fn layout_of(&self, bytes: &Buffer, manifest: &ManifestFile) -> Result<Option<PartitionLayout>> {
        let known = self.types.specs.iter().find(|spec| spec.spec_id == manifest.spec_id);
        let spec = match known {
            Some(spec) => Some(Arc::new(spec.clone())),
            None => ManifestHeader::read(bytes, self.decoding.limits)?.partition.map(|own| own.spec),
        };
        Ok(spec.map(|spec| PartitionLayout { unified: Arc::clone(&self.types.partition), spec }))
    }

    /// Those of some entries that the view shows, in batches that are not too large with what is read for
    /// them.
    fn runs(&self, mut entries: RecordBatch) -> Result<Vec<RecordBatch>> {
        if let Some(wanted) = self.role.content().of(&entries)? {
            entries = filter_record_batch(&entries, &wanted).map_err(internal)?;
        }
        if let Some(filter) = &self.filter {
            let matches = filter.matches(find(&entries, "partition")?.as_struct())?;
            entries = filter_record_batch(&entries, &matches).map_err(internal)?;
        }
        if self.vectors.is_some() { in_runs(&entries) } else { Ok(vec![entries]) }
    }
}
