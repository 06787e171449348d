//! How entries become rows.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_buffer::Buffer;
use arrow_select::filter::filter_record_batch;

use super::internal;
use crate::columnar::Decoding;
use crate::error::Result;
use crate::iceberg::filter::PartitionFilter;
use crate::iceberg::manifest::{EntryColumns, EntryReader};
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::metrics::MetricsView;
use crate::iceberg::partition::{PartitionSpec, PartitionType};
use crate::iceberg::types::Schema;
use crate::iceberg::view::{EntryView, Role, are_deletes};
use crate::record::find;
use crate::scan::{Batches, ScanOptions};

/// How entries become rows: shared by a scan, its threads and tasks elsewhere.
pub(super) struct EntryProgram {
    pub(super) role: Role,
    pub(super) view: EntryView,
    entries: EntryColumns,
    partition: Arc<PartitionType>,
    specs: Arc<[PartitionSpec]>,
    filter: Option<PartitionFilter>,
    decoding: Decoding,
}

impl EntryProgram {
    pub(super) fn new(
        role: Role,
        partition: Arc<PartitionType>,
        specs: Arc<[PartitionSpec]>,
        schema: &Schema,
        options: &ScanOptions,
        decoding: Decoding,
    ) -> Result<EntryProgram> {
        let stats = options.stats.as_deref().map(|names| MetricsView::stats(names, schema)).transpose()?;
        let mut columns = options.columns.clone();
        if let (Some(columns), true) = (&mut columns, stats.is_some()) {
            // Statistics asked for by name need not be asked for again as a column.
            if !columns.iter().any(|name| name == "stats") {
                columns.push("stats".to_owned());
            }
        }
        let metrics = stats.map(|stats| ("stats", stats));
        let view = EntryView::new(role, &partition, columns.as_deref(), metrics)?;
        let filter = options.filter.as_deref();
        let filter = filter.map(|text| PartitionFilter::new(text, &partition, schema)).transpose()?;
        let mut raw = view.raw().to_vec();
        if filter.is_some() && !raw.iter().any(|name| name == "partition") {
            raw.push("partition".to_owned());
        }
        let entries = EntryColumns::new(Some(&raw), view.metrics_of(), role.is_live())?;
        Ok(EntryProgram { role, view, entries, partition, specs, filter, decoding })
    }

    /// The rows of one manifest, in file order; errors say in which file they were found.
    pub(super) fn open(
        self: &Arc<EntryProgram>,
        bytes: Buffer,
        manifest: &ManifestFile,
        threads: usize,
    ) -> Result<Batches> {
        let path = manifest.path.clone();
        let entries = EntryReader::open(
            bytes,
            manifest,
            &self.entries,
            &self.partition,
            &self.specs,
            &self.decoding,
            threads,
        );
        let entries = entries.map_err(|error| error.in_file(&path))?;
        let program = Arc::clone(self);
        Ok(Box::new(entries.map(move |entries| {
            let rows = entries.and_then(|entries| program.rows(entries, &path));
            rows.map_err(|error| error.in_file(&path))
        })))
    }

    fn rows(&self, mut entries: RecordBatch, manifest: &str) -> Result<RecordBatch> {
        if self.role == Role::Deletes {
            entries = filter_record_batch(&entries, &are_deletes(&entries)?).map_err(internal)?;
        }
        if let Some(filter) = &self.filter {
            let matches = filter.matches(find(&entries, "partition")?.as_struct())?;
            entries = filter_record_batch(&entries, &matches).map_err(internal)?;
        }
        self.view.build(&entries, manifest)
    }
}
