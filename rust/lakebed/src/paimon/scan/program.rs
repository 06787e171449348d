//! How entries become rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, BinaryArray, BooleanArray, Int8Array, RecordBatch};
use arrow_buffer::BooleanBuffer;

use super::planned::{Attach, residuals};
use super::stages::{AMOUNT, BATCH_READ, BUCKET, CountedEntries, INDEX, KEYS, MERGED, PARTITION, VALUES};
use crate::columnar::Decoding;
use crate::error::Result;
use crate::notes::Notes;
use crate::paimon::fields::ENTRY;
use crate::paimon::identity::DeletedIdentities;
use crate::paimon::manifest::{ADD, DELETE, EntryFilter, EntryReader, entry_columns};
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::prune::{BatchRead, BucketMemo, EntryPruner, Test};
use crate::paimon::schema::TableSchema;
use crate::paimon::sidecar::selected;
use crate::paimon::stats::{BoundsConversion, StatsView};
use crate::paimon::table::Table;
use crate::paimon::view::{EntryView, Role};
use crate::record::{RecordResolver, column, find};
use crate::scan::{Content, EntrySource, Format, Funnel, ManifestStream, RESIDUAL, ScanOptions, Stage};
use crate::view::{IDENTITY_COLUMN, with_columns};

/// How entries become rows; shared by a scan, its threads and tasks on other machines.
#[derive(Clone)]
pub(crate) struct EntryProgram {
    pub(super) role: Role,
    pub(super) view: Arc<EntryView>,
    pub(super) pruner: Option<Arc<EntryPruner>>,
    pub(super) funnel: Funnel,
    /// Files that entries of any manifest delete.
    deleted: Arc<DeletedIdentities>,
    /// What a plan adds to entries.
    attach: Option<Arc<Attach>>,
    /// Which files a plan skips, regardless of the filter.
    read: BatchRead,
    entries: Arc<RecordResolver>,
    decoding: Decoding,
    notes: Notes,
}

/// The schemas that files of the scan may have, where statistics are read.
pub(super) fn schemas(table: &Table, options: &ScanOptions) -> Result<BTreeMap<i64, TableSchema>> {
    if needs_schemas(table.schema(), options)? { table.schemas() } else { Ok(BTreeMap::new()) }
}

/// Whether rows show statistics or are filtered by them.
pub(super) fn needs_schemas(schema: &TableSchema, options: &ScanOptions) -> Result<bool> {
    let filter = options.table_filter.as_deref();
    let by_filter = filter.map(|text| EntryPruner::needs_schemas(text, schema)).transpose()?;
    Ok(options.stats.is_some() || by_filter.unwrap_or(false))
}

impl EntryProgram {
    pub(super) fn new(role: Role, table: &Table, options: &ScanOptions) -> Result<EntryProgram> {
        let schemas = schemas(table, options)?;
        let (schema, decoding) = (table.schema(), table.decoding().clone());
        EntryProgram::build(role, table.location(), schema, &schemas, options, decoding, table.noted())
    }

    pub(super) fn build(
        role: Role,
        location: &str,
        schema: &TableSchema,
        schemas: &BTreeMap<i64, TableSchema>,
        options: &ScanOptions,
        decoding: Decoding,
        notes: &Notes,
    ) -> Result<EntryProgram> {
        let stats = options.stats.as_ref().filter(|_| role != Role::Deleted);
        // The engine's own tables show the result of its casts; values for users must be right.
        let retyped = if role == Role::Live { BoundsConversion::Engine } else { BoundsConversion::Sound };
        let stats = stats.map(|names| StatsView::new(names, schema, schemas.clone(), retyped)).transpose()?;
        let stats = stats.map(|stats| if role == Role::Live { stats.with_stored_bounds() } else { stats });
        let columns = options.columns_and_stats();
        let view = EntryView::of_role(role, location, schema, columns.as_deref(), stats, notes)?;
        let filter = options.table_filter.as_deref();
        let pruner = filter.map(|text| EntryPruner::new(text, schema, schemas).map(Arc::new)).transpose()?;
        let program = EntryProgram {
            entries: Arc::new(entry_columns(Some(view.raw()))?),
            role,
            view: Arc::new(view),
            pruner,
            funnel: Funnel::default(),
            deleted: Arc::default(),
            attach: None,
            read: BatchRead::new(schema),
            decoding,
            notes: notes.clone(),
        };
        program.with_columns()
    }

    /// The same program, which leaves out these files.
    pub(super) fn without(self, deleted: DeletedIdentities) -> EntryProgram {
        EntryProgram { deleted: Arc::new(deleted), ..self }
    }

    /// The files that entries of these manifests delete.
    pub(super) fn read_deleted(
        &self,
        table: &Table,
        manifests: &[ManifestFile],
        threads: usize,
    ) -> Result<DeletedIdentities> {
        let manifests = manifests.iter().filter(|manifest| manifest.deleted > 0).cloned().collect();
        let source = EntrySource::new(Arc::new(self.deletions(table)?), table.clone());
        let mut deleted = DeletedIdentities::default();
        for batch in ManifestStream::new(source, manifests, threads) {
            deleted.extend(column::<BinaryArray>(&batch?, IDENTITY_COLUMN)?);
        }
        Ok(deleted)
    }

    /// The same program for a plan, with its deletes.
    pub(super) fn attaching(self, attach: Option<Arc<Attach>>) -> EntryProgram {
        EntryProgram { attach, ..self }
    }

    /// The same program, which counts in `funnel` what each step keeps.
    pub(super) fn counting(self, funnel: Funnel) -> Result<EntryProgram> {
        EntryProgram { funnel, ..self }.with_columns()
    }

    /// Decodes the columns that rows are made of, and those that are tested or counted.
    fn with_columns(mut self) -> Result<EntryProgram> {
        let mut needed: Vec<&str> = self.view.raw().iter().map(String::as_str).collect();
        if let Some(pruner) = self.pruner.as_ref().filter(|_| !self.is_of_deletions()) {
            needed.extend(pruner.input());
            needed.extend((self.role == Role::Entries).then_some("kind"));
        }
        if self.role.deletes().is_some() {
            needed.extend(self.read.input());
        }
        if self.funnel.is_counting() {
            needed.extend(["kind", "partition", "bucket", "total_buckets", "row_count", "file_size"]);
        }
        let names = ENTRY.iter().map(|spec| spec.column).filter(|name| needed.contains(name));
        self.entries = Arc::new(entry_columns(Some(&names.map(str::to_owned).collect::<Vec<_>>()))?);
        Ok(self)
    }

    /// The program that finds deleted files among those that the filter keeps.
    fn deletions(&self, table: &Table) -> Result<EntryProgram> {
        let (location, schema) = (table.location(), table.schema());
        let view = EntryView::of_role(Role::Deleted, location, schema, None, None, &self.notes)?;
        let (role, entries) = (Role::Deleted, Arc::new(entry_columns(Some(view.raw()))?));
        let view = Arc::new(view);
        let (pruner, decoding) = (self.pruner.clone(), self.decoding.clone());
        let (funnel, attach, deleted) = (Funnel::default(), None, Arc::default());
        let (read, notes) = (self.read, self.notes.clone());
        Ok(EntryProgram { role, view, entries, pruner, decoding, deleted, funnel, attach, read, notes })
    }

    /// The kind of the entries that rows are made of; `None` for both.
    fn kind(&self) -> Option<i8> {
        match self.role {
            Role::Entries | Role::Changes | Role::History => None,
            Role::Files | Role::Live | Role::Appended | Role::Added | Role::Plan(_) => Some(ADD),
            Role::Removed | Role::Deleted => Some(DELETE),
        }
    }

    /// The content of a manifest: what a cache has of it, else those blocks that may have entries which the guard keeps.
    ///
    /// # Errors
    /// Those of the storage; `Limit`; those of a sidecar.
    pub(super) fn read(&self, table: &Table, manifest: &ManifestFile) -> Result<Content> {
        let (path, size) = (table.manifest_path(&manifest.file_name), Some(manifest.file_size));
        let columns = (Table::NAME, self.entries.as_ref());
        Content::of_columns(table, (&path, size), columns, || self.selected(table, manifest))
    }

    /// The blocks of a manifest that may have entries which the guard keeps, by its sidecar; `None` for all.
    fn selected(&self, table: &Table, manifest: &ManifestFile) -> Result<Option<Content>> {
        let pruner = self.pruner.as_ref().filter(|pruner| pruner.can_prune_buckets());
        let by_keys = self.kind() == Some(ADD);
        pruner.map_or(Ok(None), |pruner| selected(table, manifest, pruner, by_keys, &self.funnel))
    }

    /// Opens one manifest for the rows of this program.
    pub(super) fn open(
        &self,
        Content { stored, part }: Content,
        manifest: &ManifestFile,
        threads: usize,
    ) -> Result<EntryReader> {
        let (expected, decoding) =
            (part.is_none().then(|| manifest.clone()), self.decoding.of_part(part.as_ref()));
        let kind = self.kind();
        let pruner = self.pruner.clone().filter(|pruner| pruner.can_prune_buckets());
        let filter = match self.funnel.is_counting() {
            // Dropped entries are counted too, so the guard drops none.
            true => EntryFilter::default(),
            false => EntryFilter { kind, pruner },
        };
        let reader = EntryReader::of_stored(stored, &self.entries, filter, expected, &decoding, threads)?;
        Ok(reader.noting(&self.notes))
    }

    /// Whether the rows show the deletes of their files.
    pub(super) fn shows_deletes(&self) -> bool {
        self.role.deletes().is_some_and(|deletes| self.view.has(deletes.column()))
    }

    /// Whether rows are made of entries that delete, which show no statistics.
    fn is_of_deletions(&self) -> bool {
        matches!(self.role, Role::Removed | Role::Deleted)
    }

    /// Whether files are decided on together: then [`EntryProgram::rows`] gives entries, not rows.
    pub(super) fn gathers(&self) -> bool {
        let rule = self.pruner.as_ref().and_then(|pruner| pruner.rule());
        self.role.is_live() && rule.is_some_and(|rule| rule.is_of_groups())
    }

    /// Turns entries into rows, without deleted files and those that cannot match.
    pub(super) fn rows(&self, entries: &RecordBatch, manifest: &str) -> Result<RecordBatch> {
        let entries = self.passing(&self.live(&self.judged(entries)?, &self.deleted)?)?;
        if self.gathers() { Ok(entries) } else { self.shown(&entries, manifest) }
    }

    /// The entries of files that each test of single files keeps.
    pub(super) fn passing(&self, entries: &RecordBatch) -> Result<RecordBatch> {
        let mut entries = entries.clone();
        if self.role.deletes().is_some() {
            let reads = self.read.reads(&entries)?;
            entries = self.funnel.keep(&BATCH_READ, entries, &reads, AMOUNT)?;
        }
        let Some(pruner) = self.pruner.as_ref().filter(|_| !self.is_of_deletions()) else {
            return Ok(entries);
        };
        for test in pruner.tests() {
            if test == Test::Index && !has_indexes(&entries)? {
                continue;
            }
            let mut passes = pruner.passes(test, &entries)?;
            if self.role == Role::Entries {
                passes = &passes | &of_kind(&entries, DELETE)?;
            }
            entries = self.funnel.keep(of_test(test), entries, &passes.into(), AMOUNT)?;
        }
        Ok(entries)
    }

    /// The rows of files, after all were decided on together.
    pub(super) fn finish(&self, files: &RecordBatch) -> Result<RecordBatch> {
        self.shown(files, "")
    }

    /// The rows of the entries that are left.
    fn shown(&self, entries: &RecordBatch, manifest: &str) -> Result<RecordBatch> {
        let Some(deletes) = self.role.deletes() else { return self.view.build(entries, manifest) };
        let mut more = Vec::new();
        if let Some(attach) = &self.attach {
            more.push((deletes.column(), attach.deletes_of(entries)?));
        }
        if self.view.has(RESIDUAL) {
            more.push((RESIDUAL, residuals(self.pruner.as_deref(), entries)?));
        }
        self.view.build(&with_columns(entries, more)?, manifest)
    }

    /// Does the work of the manifest's guard after decoding, where dropped entries are counted.
    fn judged(&self, entries: &RecordBatch) -> Result<RecordBatch> {
        let mut entries = entries.clone();
        let Some(pruner) = self.pruner.as_ref().filter(|_| self.funnel.is_counting()) else {
            return Ok(entries);
        };
        let mut memo = BucketMemo::default();
        for (stage, hashed) in [(&PARTITION, false), (&BUCKET, true)] {
            if hashed && !pruner.hashes_keys() {
                continue;
            }
            let counted = CountedEntries::new(&entries)?;
            let keep =
                (0..entries.num_rows()).map(|row| counted.keeps(&mut memo, pruner, row, hashed).map(Some));
            let keep = keep.collect::<Result<BooleanArray>>()?;
            entries = self.funnel.keep(stage, entries, &keep, AMOUNT)?;
        }
        Ok(entries)
    }

    /// The files that are added and that no entry deletes.
    pub(super) fn live(&self, entries: &RecordBatch, deleted: &DeletedIdentities) -> Result<RecordBatch> {
        if !self.role.is_live() || (deleted.is_empty() && !self.funnel.is_counting()) {
            return Ok(entries.clone());
        }
        let mut live = BooleanBuffer::new_set(entries.num_rows());
        if self.funnel.is_counting() {
            live = of_kind(entries, ADD)?;
        }
        if !deleted.is_empty() {
            live = &live & &deleted.live(entries)?;
        }
        self.funnel.keep(&MERGED, entries.clone(), &live.into(), AMOUNT)
    }
}

/// Which entries are of a kind.
fn of_kind(entries: &RecordBatch, kind: i8) -> Result<BooleanBuffer> {
    let kinds = column::<Int8Array>(entries, "kind")?.values();
    Ok(BooleanBuffer::collect_bool(kinds.len(), |row| kinds[row] == kind))
}

/// Whether any file carries an index in its entry.
fn has_indexes(entries: &RecordBatch) -> Result<bool> {
    let indexes = find(entries, "embedded_file_index")?;
    Ok(indexes.null_count() < indexes.len())
}

/// The name of a test of single files.
fn of_test(test: Test) -> &'static Stage {
    match test {
        Test::Keys => &KEYS,
        Test::Values => &VALUES,
        Test::Index => &INDEX,
    }
}
