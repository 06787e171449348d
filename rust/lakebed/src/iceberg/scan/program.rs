//! How entries become rows.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StructArray};
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::filter_record_batch;

use super::vectors::{VectorReader, in_runs};
use crate::columnar::Decoding;
use crate::error::{Error, Result};
use crate::iceberg::encryption::plain;
use crate::iceberg::fields::PARTITION;
use crate::iceberg::manifest::{
    EntryColumns, EntryReader, ManifestContext, ManifestHeader, PartitionLayout, Statuses,
};
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::metrics::MetricsView;
use crate::iceberg::prune::Pruner;
use crate::iceberg::table::Table;
use crate::iceberg::table::TableTypes;
use crate::iceberg::view::{EntryView, POSITIONS, Role};
use crate::notes::Notes;
use crate::predicate::BoundPredicate;
use crate::record::{Stored, column};
use crate::scan::{Batches, Content, Format, Funnel, OpenManifest, ScanOptions, Stage, threads};
use crate::view::with_columns;

/// How entries are decoded to rows. Shared by a scan, its threads, and tasks in other processes.
pub(crate) struct EntryProgram {
    pub(super) role: Role,
    pub(super) view: EntryView,
    entries: Arc<EntryColumns>,
    /// The columns that are decoded.
    raw: Vec<String>,
    /// The fields whose metrics are decoded; `None` for all.
    metrics_of: Option<Vec<i32>>,
    types: TableTypes,
    pruner: Option<Pruner>,
    decoding: Decoding,
    funnel: Funnel,
    vectors: Option<VectorReader>,
    /// The snapshots whose added files are wanted; `None` for all.
    added_by: Option<HashSet<i64>>,
    notes: Notes,
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
        let view = EntryView::of_role(role, &types.partition, columns.as_deref(), metrics)?;
        let program = EntryProgram::of_view(role, view, types, options.table_filter.as_deref(), decoding)?;
        match role {
            Role::History => program.needing(["status", "snapshot_id"].into_iter(), &[]),
            _ => Ok(program),
        }
    }

    /// The program of a view that was made already.
    pub(super) fn of_view(
        role: Role,
        view: EntryView,
        types: TableTypes,
        filter: Option<&str>,
        decoding: Decoding,
    ) -> Result<EntryProgram> {
        EntryProgram::counting(role, view, types, filter, decoding, Funnel::default())
    }

    /// The program of a view, which reports to `funnel` what it leaves out.
    pub(super) fn counting(
        role: Role,
        view: EntryView,
        types: TableTypes,
        filter: Option<&str>,
        decoding: Decoding,
        funnel: Funnel,
    ) -> Result<EntryProgram> {
        let pruner = filter.map(|text| Pruner::new(text, &types)).transpose()?;
        let counted = ["status"].into_iter().chain(AMOUNT).filter(|_| funnel.is_counting());
        let mut raw = view.raw().to_vec();
        for name in pruner.iter().flat_map(Pruner::input).chain(counted) {
            if !raw.iter().any(|known| known == name) {
                raw.push(name.to_owned());
            }
        }
        let mut metrics_of = view.metrics_of();
        if let (Some(ids), Some(pruner)) = (&mut metrics_of, &pruner) {
            ids.extend(pruner.metrics.field_ids());
        }
        let entries = Arc::new(EntryColumns::new(Some(&raw))?.with_metrics_of(metrics_of.clone()));
        Ok(EntryProgram {
            role,
            view,
            entries,
            raw,
            metrics_of,
            types,
            pruner,
            decoding,
            funnel,
            vectors: None,
            added_by: None,
            notes: Notes::default(),
        })
    }

    /// The same program, but [`EntryProgram::entries`] also returns these columns, and the metrics of these
    /// fields.
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
        if let Some(ids) = &mut self.metrics_of {
            ids.extend(field_ids);
        }
        let entries = EntryColumns::new(Some(&self.raw))?.with_metrics_of(self.metrics_of.clone());
        self.entries = Arc::new(entries);
        Ok(self)
    }

    /// The same program in the process that has the table: it adds notes to the table's, and reads the deletion vectors
    /// whose positions the view shows.
    pub(super) fn in_process(self, table: &Table, options: &ScanOptions) -> EntryProgram {
        let reader = || VectorReader {
            storage: Arc::clone(table.storage()),
            limits: self.decoding.limits,
            threads: threads(options.threads),
        };
        let vectors = self.view.has(POSITIONS).then(reader);
        EntryProgram { vectors, notes: table.noted().clone(), ..self }
    }

    /// The same program, for entries that these snapshots added.
    pub(super) fn added_by(self, ids: HashSet<i64>) -> Result<EntryProgram> {
        let program = self.needing([ADDED_BY].into_iter(), &[])?;
        Ok(EntryProgram { added_by: Some(ids), ..program })
    }

    /// Whether a cache may have a manifest: not an encrypted one, nor one whose header has to be read.
    fn is_cacheable(&self, manifest: &ManifestFile) -> bool {
        manifest.key.is_none() && self.types.specs.iter().any(|spec| spec.spec_id == manifest.spec_id)
    }

    /// The content of a manifest, as a cache has it too.
    ///
    /// # Errors
    /// Those of the storage; `Limit`.
    pub(super) fn read(&self, table: &Table, manifest: &ManifestFile) -> Result<Content> {
        if !self.is_cacheable(manifest) {
            return table.read_recorded(&manifest.path, manifest.length).map(Content::from);
        }
        let (file, columns) =
            ((manifest.path.as_str(), manifest.length), (Table::NAME, self.entries.resolver()));
        Content::of_columns(table, file, columns, || Ok(None))
    }

    /// The entries of one manifest that become rows, in file order, with all columns that were decoded;
    /// errors and notes name their file.
    pub(super) fn entries(
        self: &Arc<EntryProgram>,
        manifest: OpenManifest<'_, ManifestFile>,
    ) -> Result<Batches> {
        self.entries_noting(manifest, &self.notes)
    }

    /// The same, with separate notes.
    pub(super) fn entries_noting(
        self: &Arc<EntryProgram>,
        OpenManifest { recorded, content, threads, .. }: OpenManifest<'_, ManifestFile>,
        notes: &Notes,
    ) -> Result<Batches> {
        let path = recorded.path.clone();
        let open = || {
            let Content { stored, part } = content;
            let stored = match stored {
                Stored::Asked(file) if !self.is_cacheable(recorded) => file.bytes()?.into(),
                stored => stored.found(Table::NAME, self.entries.resolver())?,
            };
            let recorded = if part.is_none() { recorded.clone() } else { recorded.clone().uncounted() };
            let layout = self.layout_of(&stored, &recorded)?;
            let projection = match (&self.pruner, &layout) {
                (Some(pruner), Some(layout)) => Some(pruner.of_spec(&layout.spec)?),
                _ => None,
            };
            let known = ManifestContext {
                partition: layout,
                filter: projection.clone(),
                manifest: Some(recorded),
                spec_id: None,
                spec: None,
                table: Some(self.types.format.clone()),
                notes: notes.clone(),
            };
            // Entries that are left out must be decoded to be counted.
            let statuses = if self.funnel.is_counting() { Statuses::ALL } else { self.role.statuses() };
            let decoding = self.decoding.of_part(part.as_ref());
            let entries = EntryReader::of_stored(stored, &self.entries, known, statuses, &decoding, threads)?;
            Ok((entries, projection))
        };
        let (entries, projection) = open().map_err(|error: Error| error.in_file(&path))?;
        let program = Arc::clone(self);
        let runs = entries.flat_map(move |entries| {
            match entries.and_then(|entries| program.runs(entries, projection.as_deref())) {
                Ok(runs) => runs.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error.in_file(&path))],
            }
        });
        Ok(Box::new(runs))
    }

    /// The rows for some entries of a manifest.
    pub(super) fn rows(&self, entries: &RecordBatch, manifest: &str) -> Result<RecordBatch> {
        let Some(vectors) = &self.vectors else { return self.view.build(entries, manifest) };
        let positions: ArrayRef = Arc::new(vectors.positions(entries)?);
        self.view.build(&with_columns(entries, vec![(POSITIONS, positions)])?, manifest)
    }

    /// How the manifest's partition tuples are decoded: by the table's spec of that id or, where the table no
    /// longer has it, by the spec in the manifest's header. Without either the tuples are not shown.
    fn layout_of(&self, stored: &Stored, manifest: &ManifestFile) -> Result<Option<PartitionLayout>> {
        let known = self.types.specs.iter().find(|spec| spec.spec_id == manifest.spec_id);
        let spec = match (known, stored.bytes()?) {
            (Some(spec), _) => Some(Arc::new(spec.clone())),
            (None, Some(bytes)) => {
                let (bytes, decoding) = plain(bytes, manifest.key.as_ref(), &self.decoding)?;
                ManifestHeader::read(&bytes, &decoding)?.partition.map(|own| own.spec)
            }
            (None, None) => None,
        };
        Ok(spec.map(|spec| PartitionLayout { unified: Arc::clone(&self.types.partition), spec }))
    }

    /// The entries that the view shows, in batches that are not too large with the data that is read for
    /// them.
    fn runs(&self, entries: RecordBatch, projection: Option<&BoundPredicate>) -> Result<Vec<RecordBatch>> {
        let entries = self.wanted(entries, projection)?;
        if self.vectors.is_some() { in_runs(&entries) } else { Ok(vec![entries]) }
    }

    /// The entries of the program's role that may match its filter, given the projection of the filter on
    /// their spec.
    fn wanted(&self, mut entries: RecordBatch, projection: Option<&BoundPredicate>) -> Result<RecordBatch> {
        if let Some(wanted) = self.role.content().of(&entries)? {
            entries = filter_record_batch(&entries, &wanted)?;
        }
        if let Some(ids) = &self.added_by {
            let by = column::<Int64Array>(&entries, ADDED_BY)?.iter();
            let added: BooleanArray = by.map(|id| Some(id.is_some_and(|id| ids.contains(&id)))).collect();
            entries = filter_record_batch(&entries, &added)?;
        }
        if self.role.is_live() && self.funnel.is_counting() {
            let wanted = self.role.statuses();
            let statuses = column::<Int32Array>(&entries, "status")?.values();
            let live: BooleanBuffer = statuses.iter().map(|status| wanted.has(*status)).collect();
            entries = self.funnel.keep(&LIVE, entries, &live.into(), AMOUNT)?;
        }
        if let Some(projection) = projection {
            let tuples = column::<StructArray>(&entries, PARTITION)?;
            let matching = projection.evaluate(tuples.columns(), entries.num_rows())?;
            entries = self.funnel.keep(&TUPLES, entries, &matching.into(), AMOUNT)?;
        }
        if let Some(pruner) = &self.pruner {
            let matching = pruner.metrics.may_match(&entries)?;
            entries = self.funnel.keep(&METRICS, entries, &matching.into(), AMOUNT)?;
        }
        Ok(entries)
    }
}

static LIVE: Stage = Stage { order: 2, step: "entries", why: "status of the entry: added or existing" };
static TUPLES: Stage = Stage { order: 3, step: "files", why: "partition tuple of the entry" };
static METRICS: Stage =
    Stage { order: 4, step: "files", why: "metrics of the columns: bounds, null and NaN counts" };

/// The entry's column with the id of the snapshot that added the file.
const ADDED_BY: &str = "snapshot_id";

/// The columns with the rows and bytes of files.
const AMOUNT: [&str; 2] = ["record_count", "file_size_in_bytes"];
