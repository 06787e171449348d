//! How entries become rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_select::filter::filter_record_batch;

use super::internal;
use crate::columnar::Decoding;
use crate::error::Result;
use crate::paimon::filter::PartitionFilter;
use crate::paimon::identity::{Deleted, identities};
use crate::paimon::manifest::{ADD, DELETE, EntryFilter, EntryReader, entry_columns};
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::schema::TableSchema;
use crate::paimon::stats::{Retyped, StatsView};
use crate::paimon::table::Table;
use crate::paimon::view::{EntryView, Role};
use crate::record::RecordResolver;
use crate::scan::ScanOptions;

/// How entries become rows: shared by a scan, its threads and tasks elsewhere.
pub(super) struct EntryProgram {
    pub(super) role: Role,
    pub(super) view: EntryView,
    entries: RecordResolver,
    filter: Option<Arc<PartitionFilter>>,
    decoding: Decoding,
}

impl EntryProgram {
    pub(super) fn new(
        role: Role,
        table: &Table,
        schemas: BTreeMap<i64, TableSchema>,
        options: &ScanOptions,
    ) -> Result<EntryProgram> {
        EntryProgram::build(
            role,
            table.location(),
            table.schema(),
            schemas,
            options,
            table.decoding().clone(),
        )
    }

    pub(super) fn build(
        role: Role,
        location: &str,
        schema: &TableSchema,
        schemas: BTreeMap<i64, TableSchema>,
        options: &ScanOptions,
        decoding: Decoding,
    ) -> Result<EntryProgram> {
        let stats = options.stats.as_ref().filter(|_| role != Role::Deleted);
        // The engine's own tables show what its casts give; only what is shown to users must be sound.
        let retyped = if role == Role::Live { Retyped::Engine } else { Retyped::Sound };
        let stats = stats.map(|names| StatsView::new(names, schema, schemas, retyped)).transpose()?;
        let columns = options.columns_and_stats();
        let view = EntryView::new(role, location, schema, columns.as_deref(), stats)?;
        let filter = options.filter.as_deref().map(|text| PartitionFilter::new(text, schema).map(Arc::new));
        let entries = entry_columns(Some(view.raw()))?;
        Ok(EntryProgram { role, view, entries, filter: filter.transpose()?, decoding })
    }

    /// The program that finds the files which this one's filter keeps and some entry deletes.
    pub(super) fn deletions(&self, table: &Table) -> Result<EntryProgram> {
        let view = EntryView::new(Role::Deleted, table.location(), table.schema(), None, None)?;
        let (role, entries) = (Role::Deleted, entry_columns(Some(view.raw()))?);
        let (filter, decoding) = (self.filter.clone(), self.decoding.clone());
        Ok(EntryProgram { role, view, entries, filter, decoding })
    }

    /// Opens one manifest for the rows of this program.
    pub(super) fn open(&self, bytes: Buffer, manifest: &ManifestFile, threads: usize) -> Result<EntryReader> {
        let kind = match self.role {
            Role::Entries | Role::Changes => None,
            Role::Files | Role::Live | Role::Added => Some(ADD),
            Role::Removed | Role::Deleted => Some(DELETE),
        };
        let filter = EntryFilter { kind, partitions: self.filter.clone() };
        EntryReader::open(bytes, &self.entries, filter, Some(manifest.clone()), &self.decoding, threads)
    }

    /// Turns entries into rows, without those that are deleted.
    pub(super) fn rows(
        &self,
        entries: &RecordBatch,
        manifest: &str,
        deleted: &Deleted,
    ) -> Result<RecordBatch> {
        if !self.role.is_live() || deleted.is_empty() {
            return self.view.build(entries, manifest);
        }
        let live = deleted.live(&identities(entries)?);
        let entries = filter_record_batch(entries, &live).map_err(internal)?;
        self.view.build(&entries, manifest)
    }
}
