//! Reads entries of existing manifests, for a commit to write them again.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use lakebed_avro::Limits;

use super::base::Base;
use crate::error::Result;
use crate::iceberg::fields::{ENTRY, known};
use crate::iceberg::manifest::{
    EXISTING, EntryColumns, EntryReader, ManifestContext, PartitionLayout, Statuses,
};
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::partition::{PartitionSpec, PartitionType};
use crate::iceberg::table::{Table, TableTypes};
use crate::pipeline::{Pipeline, Sink, Source, Width};
use crate::record::{carried, column};
use crate::scan::threads;

/// Reads entries of manifests of one table.
pub(super) struct CommitEntries<'b> {
    base: &'b Base,
    columns: Arc<EntryColumns>,
    /// Whether all columns are read.
    are_whole: bool,
    /// The type in which tuples are shown, if it is not that of their own spec.
    partition: Option<Arc<PartitionType>>,
}

impl CommitEntries<'_> {
    /// A reader of all columns.
    pub(super) fn all(base: &Base) -> Result<CommitEntries<'_>> {
        let columns = Arc::new(EntryColumns::new(None)?);
        Ok(CommitEntries { base, columns, are_whole: true, partition: None })
    }

    /// A reader of the named columns.
    pub(super) fn of<'b>(base: &'b Base, columns: &[&str]) -> Result<CommitEntries<'b>> {
        let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        let columns = Arc::new(EntryColumns::new(Some(&columns))?);
        Ok(CommitEntries { base, columns, are_whole: false, partition: None })
    }

    /// The same, with tuples in the table's partition type.
    pub(super) fn shown<'b>(
        base: &'b Base,
        columns: &[&str],
        types: &TableTypes,
    ) -> Result<CommitEntries<'b>> {
        let mut distinct: Vec<&str> = Vec::with_capacity(columns.len());
        for name in columns {
            if !distinct.contains(name) {
                distinct.push(name);
            }
        }
        let entries = CommitEntries::of(base, &distinct)?;
        Ok(CommitEntries { partition: Some(Arc::clone(&types.partition)), ..entries })
    }

    /// The live entries of a manifest with inherited values; with all columns also with unknown fields of
    /// other writers.
    pub(super) fn live(&self, manifest: &ManifestFile) -> Result<RecordBatch> {
        self.read(manifest, Statuses::LIVE)
    }

    /// The entries of a manifest with these statuses.
    pub(super) fn read(&self, manifest: &ManifestFile, wanted: Statuses) -> Result<RecordBatch> {
        let bytes = || self.base.table.read_recorded(&manifest.path, manifest.length);
        let read = || self.decode(manifest, bytes()?, wanted);
        read().map_err(|error| error.in_file(&manifest.path))
    }

    /// The entries with these statuses in a manifest with these bytes.
    pub(super) fn decode(
        &self,
        manifest: &ManifestFile,
        bytes: Buffer,
        wanted: Statuses,
    ) -> Result<RecordBatch> {
        self.of_spec(self.base.spec(manifest.spec_id)?).decode(manifest, bytes, wanted)
    }

    /// The same for manifests of one spec, for parallel reads.
    pub(super) fn of_spec(&self, spec: &PartitionSpec) -> SpecEntries {
        let table = self.base.table.clone();
        let (columns, layout) = (Arc::clone(&self.columns), self.layout(spec));
        SpecEntries { table, columns, are_whole: self.are_whole, layout }
    }

    /// Tuples of the spec alone, in the types of any of the table's schemas, unless they are shown in the
    /// table's type.
    fn layout(&self, spec: &PartitionSpec) -> PartitionLayout {
        if let Some(unified) = &self.partition {
            return PartitionLayout { unified: Arc::clone(unified), spec: Arc::new(spec.clone()) };
        }
        let newest = self.base.metadata.schemas.iter().rev();
        let schemas: Vec<_> = newest.map(|schema| schema.as_ref()).collect();
        let unified = PartitionType::unify(std::slice::from_ref(spec), &schemas);
        PartitionLayout { unified: Arc::new(unified), spec: Arc::new(spec.clone()) }
    }
}

/// Reads entries of manifests of one spec.
pub(super) struct SpecEntries {
    table: Table,
    columns: Arc<EntryColumns>,
    are_whole: bool,
    layout: PartitionLayout,
}

impl SpecEntries {
    /// As [`CommitEntries::decode`].
    pub(super) fn decode(
        &self,
        manifest: &ManifestFile,
        bytes: Buffer,
        wanted: Statuses,
    ) -> Result<RecordBatch> {
        let (manifest, partition) = (Some(manifest.clone()), Some(self.layout.clone()));
        let known = ManifestContext { manifest, partition, ..ManifestContext::default() };
        let decoding = self.table.decoding();
        let carried = if self.are_whole { carried_entries(&bytes, decoding.limits)? } else { None };
        // Unknown fields are read for all entries.
        let statuses = if carried.is_some() { Statuses::ALL } else { wanted };
        let reader = EntryReader::open(bytes, &self.columns, known, statuses, decoding, 1)?;
        let schema = Arc::clone(reader.schema());
        let batches = reader.collect::<Result<Vec<_>>>()?;
        let entries = concat_batches(&schema, &batches)?;
        match carried {
            Some(carried) => rows_where(&carried::with(&entries, &carried)?, &has(&entries, wanted)?),
            None => Ok(entries),
        }
    }

    /// The live entries of each manifest, in the given order; memory is bounded even if the consumer is slow.
    pub(super) fn live(self, manifests: Vec<ManifestFile>) -> Pipeline<SpecEntries> {
        let width = Width::new(self.table.storage().as_ref(), threads(0));
        Pipeline::new(self, manifests, width).at_once()
    }
}

impl Source for SpecEntries {
    type Request = ManifestFile;
    type Bytes = Buffer;
    type Output = RecordBatch;

    fn size(&self, manifest: &ManifestFile) -> u64 {
        manifest.length.unwrap_or(0)
    }

    fn read(&self, manifest: &ManifestFile) -> Result<Buffer> {
        self.table.read_recorded(&manifest.path, manifest.length)
    }

    fn make(&self, manifest: &ManifestFile, bytes: Buffer, give: Sink<'_, RecordBatch>) -> Result<()> {
        let live = self.decode(manifest, bytes, Statuses::LIVE);
        give(live.map_err(|error| error.in_file(&manifest.path))?);
        Ok(())
    }

    fn held(&self, made: &RecordBatch) -> u64 {
        made.get_array_memory_size() as u64
    }

    fn interrupted(&self) -> Result<()> {
        self.table.storage().interrupted()
    }
}

/// The unknown fields of a manifest, for all of its entries.
fn carried_entries(bytes: &Buffer, limits: Limits) -> Result<Option<RecordBatch>> {
    carried::read(bytes, &|record, field| known(&[&ENTRY], record, field), limits)
}

/// Which entries have one of these statuses.
fn has(entries: &RecordBatch, statuses: Statuses) -> Result<BooleanArray> {
    let is_wanted = |status: Option<i32>| status.map(|status| statuses.has(status));
    Ok(column::<Int32Array>(entries, "status")?.iter().map(is_wanted).collect())
}

/// Entries with other statuses; entries that are not EXISTING get `snapshot_id` if it is given.
pub(super) fn with_status(
    entries: &RecordBatch,
    status: &Int32Array,
    snapshot_id: i64,
) -> Result<RecordBatch> {
    let ids = column::<Int64Array>(entries, "snapshot_id")?.iter().zip(status.values());
    let ids: Int64Array =
        ids.map(|(id, status)| if *status == EXISTING { id } else { Some(snapshot_id) }).collect();
    let columns = entries.schema_ref().fields().iter().zip(entries.columns()).map(|(field, column)| {
        match field.name().as_str() {
            "status" => Arc::new(status.clone()) as ArrayRef,
            "snapshot_id" => Arc::new(ids.clone()),
            _ => Arc::clone(column),
        }
    });
    let columns = columns.collect();
    RecordBatch::try_new(entries.schema(), columns).map_err(Into::into)
}

/// The rows of a batch that `keep` selects.
pub(super) fn rows_where(batch: &RecordBatch, keep: &BooleanArray) -> Result<RecordBatch> {
    filter_record_batch(batch, keep).map_err(Into::into)
}

/// Whether each manifest of a list has this content.
pub(super) fn is_of(list: &RecordBatch, content: i32) -> Result<BooleanArray> {
    Ok(column::<Int32Array>(list, "content")?.iter().map(|found| Some(found == Some(content))).collect())
}
