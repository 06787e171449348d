//! Scanning a view: which manifests must be read, and their rows as a stream.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use lakebed_avro::{Limits, ReadOptions};
use serde::{Deserialize, Serialize};

use super::filter::PartitionFilter;
use super::identity::{Deleted, identities};
use super::manifest::{ADD, DELETE, EntryFilter, EntryReader};
use super::manifest_list::{ManifestFile, manifest_files};
use super::schema::TableSchema;
use super::stats::StatsView;
use super::table::Table;
use super::view::{EntryView, Role, View, select};
use crate::error::{Error, ErrorKind, Result};

/// What of a view is wanted.
#[derive(Debug, Clone, Default)]
pub struct ScanOptions {
    /// Columns, in this order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// A filter: on partition columns and the bucket of manifests, entries and files, on the view's own
    /// columns of snapshots and schemas.
    pub filter: Option<String>,
    /// Columns of the table whose typed statistics become the column `stats`.
    pub stats: Option<Vec<String>>,
    /// The most rows to give.
    pub limit: Option<usize>,
    /// Threads inside each call; 0 for one per processor.
    pub threads: usize,
}

/// One view of a table, resolved: its schema is known and its manifests are chosen.
pub struct Scan {
    table: Table,
    view: View,
    options: ScanOptions,
    rows: Rows,
    schema: SchemaRef,
}

enum Rows {
    /// A small view, made whole.
    Whole(RecordBatch),
    /// Entries of manifests.
    Entries { program: Arc<EntryProgram>, manifests: Vec<ManifestFile>, pruned: Vec<ManifestFile> },
}

/// How entries become rows: shared by a scan, its threads and tasks elsewhere.
struct EntryProgram {
    role: Role,
    view: EntryView,
    filter: Option<Arc<PartitionFilter>>,
    limits: Limits,
}

impl Scan {
    /// Resolves `view` of `table`.
    ///
    /// Reads the manifest lists (entries, files, manifests) or the small files the view shows; no
    /// manifest is read yet.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`, and those of reading the lists.
    pub fn new(table: Table, view: View, options: ScanOptions) -> Result<Scan> {
        let columns = options.columns.as_deref();
        let entries = matches!(view, View::Entries | View::Files);
        if options.stats.is_some() && !entries {
            return Err(Error::new(ErrorKind::Argument, "stats= is for the views entries and files"));
        }
        let filter = options.filter.as_deref();
        let rows = match view {
            View::Snapshots => Rows::Whole(select(&table.snapshots_view()?, columns, filter)?),
            View::Schemas => Rows::Whole(select(&table.schemas_view()?, columns, filter)?),
            View::Manifests => {
                let (list, paths) = table.manifest_list()?;
                let kept = keep(options.filter.as_deref(), table.schema(), &list)?;
                let list = filter_record_batch(&list, &BooleanArray::from(kept.clone())).map_err(internal)?;
                let paths: Vec<_> =
                    paths.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(row, _)| row).collect();
                Rows::Whole(select(&table.manifests_view(&list, &paths)?, columns, None)?)
            }
            View::Entries | View::Files => {
                let role = if view == View::Files { Role::Files } else { Role::Entries };
                let schemas = if options.stats.is_some() { table.schemas()? } else { BTreeMap::new() };
                let program = Arc::new(EntryProgram::new(role, &table, schemas, &options)?);
                let (list, _) = table.manifest_list()?;
                let kept = keep(options.filter.as_deref(), table.schema(), &list)?;
                let mut pruned = manifest_files(&list)?;
                let mut kept = kept.into_iter();
                let manifests = pruned.extract_if(.., |_| kept.next().unwrap_or(true)).collect();
                Rows::Entries { program, manifests, pruned }
            }
        };
        let schema = match &rows {
            Rows::Whole(batch) => batch.schema(),
            Rows::Entries { program, .. } => Arc::clone(program.view.schema()),
        };
        Ok(Scan { table, view, options, rows, schema })
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What the scan makes of entries.
    pub fn role(&self) -> Role {
        if self.view == View::Files { Role::Files } else { Role::Entries }
    }

    /// The manifests to read, with their full paths; none for views that are made without them.
    pub fn manifests(&self) -> Vec<(String, ManifestFile)> {
        match &self.rows {
            Rows::Whole(_) => Vec::new(),
            Rows::Entries { manifests, .. } => {
                let path = |manifest: &ManifestFile| self.table.manifest_path(&manifest.file_name);
                manifests.iter().map(|manifest| (path(manifest), manifest.clone())).collect()
            }
        }
    }

    /// What an executor needs to make the rows of `role` from the manifests, each on its own.
    ///
    /// # Errors
    /// `Argument` for a view without entries; storage errors of reading the schemas.
    pub fn task(&self, role: Role) -> Result<Task> {
        let Rows::Entries { manifests, .. } = &self.rows else {
            return Err(Error::new(ErrorKind::Argument, "only entries and files are made from manifests"));
        };
        let schemas = if self.options.stats.is_some() { self.table.schema_texts()? } else { BTreeMap::new() };
        Ok(Task {
            role,
            location: self.table.location().to_owned(),
            schema_id: self.table.schema().id,
            schema: self.table.schema_text(self.table.schema().id)?,
            schemas,
            columns: self.options.columns.clone(),
            filter: self.options.filter.clone(),
            stats: self.options.stats.clone(),
            manifests: manifests.clone(),
        })
    }

    /// Starts reading.
    pub fn stream(&self) -> ScanStream {
        let ready: VecDeque<RecordBatch> = match &self.rows {
            Rows::Whole(batch) => VecDeque::from([batch.clone()]),
            Rows::Entries { .. } => VecDeque::new(),
        };
        let entries = match &self.rows {
            Rows::Whole(_) => None,
            Rows::Entries { program, manifests, .. } => Some(EntryStream::new(
                Arc::clone(program),
                self.table.clone(),
                manifests.clone(),
                threads(self.options.threads),
            )),
        };
        ScanStream {
            schema: Arc::clone(&self.schema),
            ready,
            entries,
            left: self.options.limit.unwrap_or(usize::MAX),
        }
    }

    /// The funnel: what each step keeps of manifests, entries and files. Reads what the scan reads, but
    /// decodes no column that only the rows need.
    ///
    /// # Errors
    /// Those of the scan.
    pub fn explain(&self) -> Result<Vec<Step>> {
        let Rows::Entries { manifests, pruned, .. } = &self.rows else { return Ok(Vec::new()) };
        let bytes =
            |manifests: &[ManifestFile]| manifests.iter().map(|manifest| manifest.file_size).sum::<u64>();
        let entries = |manifests: &[ManifestFile]| -> u64 {
            manifests.iter().map(|manifest| manifest.added + manifest.deleted).sum()
        };
        let mut steps = vec![Step {
            step: "manifests",
            kept: manifests.len() as u64,
            total: (manifests.len() + pruned.len()) as u64,
            bytes_kept: bytes(manifests),
            bytes_total: bytes(manifests) + bytes(pruned),
            why: "bounds of partition and bucket in the manifest list",
        }];
        let options = |filter| ScanOptions {
            columns: Some(vec!["bucket".to_owned()]),
            stats: None,
            limit: None,
            filter,
            ..self.options.clone()
        };
        let count = |view: View| -> Result<u64> {
            let scan = Scan::new(self.table.clone(), view, options(self.options.filter.clone()))?;
            scan.stream().map(|batch| Ok(batch?.num_rows() as u64)).sum()
        };
        let matching = count(View::Entries)?;
        steps.push(Step::rows("entries", matching, entries(manifests), "partition and bucket of the entry"));
        if self.view == View::Files {
            let why = "added, and deleted by no entry of the snapshot";
            steps.push(Step::rows("files", count(View::Files)?, matching, why));
        }
        Ok(steps)
    }
}

/// One step of a scan's funnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What is counted.
    pub step: &'static str,
    /// How many are left.
    pub kept: u64,
    /// How many there were.
    pub total: u64,
    /// Bytes of those left; 0 where not counted.
    pub bytes_kept: u64,
    /// Bytes of all; 0 where not counted.
    pub bytes_total: u64,
    /// What decided.
    pub why: &'static str,
}

impl Step {
    fn rows(step: &'static str, kept: u64, total: u64, why: &'static str) -> Step {
        Step { step, kept, total, bytes_kept: 0, bytes_total: 0, why }
    }
}

fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        wanted => wanted,
    }
}

fn keep(filter: Option<&str>, schema: &TableSchema, list: &RecordBatch) -> Result<Vec<bool>> {
    match filter {
        Some(text) => PartitionFilter::new(text, schema)?.may_match(list),
        None => Ok(vec![true; list.num_rows()]),
    }
}

#[cold]
fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::Argument, error.to_string())
}

impl EntryProgram {
    fn new(
        role: Role,
        table: &Table,
        schemas: BTreeMap<i64, TableSchema>,
        options: &ScanOptions,
    ) -> Result<EntryProgram> {
        EntryProgram::build(role, table.location(), table.schema(), schemas, options, table.limits())
    }

    fn build(
        role: Role,
        location: &str,
        schema: &TableSchema,
        schemas: BTreeMap<i64, TableSchema>,
        options: &ScanOptions,
        limits: Limits,
    ) -> Result<EntryProgram> {
        let stats = options.stats.as_ref().filter(|_| role != Role::Deleted);
        let stats = stats.map(|names| StatsView::new(names, schema, schemas)).transpose()?;
        let mut columns = options.columns.clone();
        if let (Some(columns), true) = (&mut columns, stats.is_some()) {
            // Statistics asked for by name need not be asked for again as a column.
            if !columns.iter().any(|name| name == "stats") {
                columns.push("stats".to_owned());
            }
        }
        let view = EntryView::new(role, location, schema, columns.as_deref(), stats)?;
        let filter = options.filter.as_deref().map(|text| PartitionFilter::new(text, schema).map(Arc::new));
        Ok(EntryProgram { role, view, filter: filter.transpose()?, limits })
    }

    /// The program that finds the files which this one's filter keeps and some entry deletes.
    fn deletions(&self, table: &Table) -> Result<EntryProgram> {
        let view = EntryView::new(Role::Deleted, table.location(), table.schema(), None, None)?;
        Ok(EntryProgram { role: Role::Deleted, view, filter: self.filter.clone(), limits: self.limits })
    }

    /// Opens one manifest for the rows of this program.
    fn open(&self, bytes: Buffer, manifest: &ManifestFile, threads: usize) -> Result<EntryReader> {
        let kind = match self.role {
            Role::Entries => None,
            Role::Files | Role::Added => Some(ADD),
            Role::Deleted => Some(DELETE),
        };
        let filter = EntryFilter { kind, partitions: self.filter.clone() };
        let options = ReadOptions { limits: self.limits, threads, ..ReadOptions::default() };
        EntryReader::open(bytes, Some(self.view.raw()), filter, Some(manifest.clone()), options)
    }

    /// Turns entries into rows, without those that are deleted.
    fn rows(&self, entries: &RecordBatch, manifest: &str, deleted: &Deleted) -> Result<RecordBatch> {
        if self.role != Role::Files || deleted.is_empty() {
            return self.view.build(entries, manifest);
        }
        let live = deleted.live(&identities(entries)?);
        let entries = filter_record_batch(entries, &live).map_err(internal)?;
        self.view.build(&entries, manifest)
    }
}

/// The rows of a scan, batch by batch.
///
/// Peak memory is that of a few blocks and batches a thread, plus the identities of deleted files.
pub struct ScanStream {
    schema: SchemaRef,
    ready: VecDeque<RecordBatch>,
    entries: Option<EntryStream>,
    left: usize,
}

impl ScanStream {
    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

impl Iterator for ScanStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if self.left == 0 {
            return None;
        }
        let batch = match (self.ready.pop_front(), &mut self.entries) {
            (Some(batch), _) => batch,
            (None, Some(entries)) => match entries.next()? {
                Ok(batch) => batch,
                Err(error) => {
                    self.left = 0;
                    return Some(Err(error));
                }
            },
            (None, None) => return None,
        };
        let batch = if batch.num_rows() > self.left { batch.slice(0, self.left) } else { batch };
        self.left -= batch.num_rows();
        Some(Ok(batch))
    }
}

/// The entries of manifests as rows, in the order of the manifest lists.
struct EntryStream {
    source: EntrySource,
    manifests: VecDeque<ManifestFile>,
    threads: usize,
    started: bool,
    open: Option<(EntryReader, ManifestFile)>,
    ready: VecDeque<RecordBatch>,
}

/// What threads share: how to open a manifest and what becomes of its entries.
struct EntrySource {
    program: Arc<EntryProgram>,
    table: Table,
    deleted: Deleted,
}

impl EntrySource {
    /// Opens a manifest; `program` is the scan's own, or the one that finds deleted files.
    fn open(&self, program: &EntryProgram, manifest: &ManifestFile, threads: usize) -> Result<EntryReader> {
        let path = self.table.manifest_path(&manifest.file_name);
        let open = || program.open(self.table.storage().read(&path)?, manifest, threads);
        open().map_err(|error| error.in_file(&path))
    }

    fn rows(&self, entries: Result<RecordBatch>, manifest: &ManifestFile) -> Result<RecordBatch> {
        let rows =
            entries.and_then(|entries| self.program.rows(&entries, &manifest.file_name, &self.deleted));
        rows.map_err(|error| error.in_file(&self.table.manifest_path(&manifest.file_name)))
    }

    fn read(&self, manifest: &ManifestFile) -> Result<Vec<RecordBatch>> {
        self.open(&self.program, manifest, 1)?.map(|entries| self.rows(entries, manifest)).collect()
    }

    /// The files that entries of any manifest delete: read first, as Paimon's
    /// `AbstractFileStoreScan.java` does, so that added files can stream.
    fn read_deleted(&self, manifests: &VecDeque<ManifestFile>, threads: usize) -> Result<Deleted> {
        let manifests: Vec<_> = manifests.iter().filter(|manifest| manifest.deleted > 0).collect();
        let program = self.program.deletions(&self.table)?;
        let read = |manifest: &&ManifestFile| -> Result<Vec<RecordBatch>> {
            let path = self.table.manifest_path(&manifest.file_name);
            let rows = self.open(&program, manifest, 1)?.map(|entries| program.view.build(&entries?, &path));
            rows.collect::<Result<_>>().map_err(|error| error.in_file(&path))
        };
        let mut deleted = Deleted::default();
        for wave in manifests.chunks(threads.max(1)) {
            for batch in in_parallel(wave, &read)?.into_iter().flatten() {
                deleted.extend(batch.column(0).as_binary::<i32>());
            }
        }
        Ok(deleted)
    }
}

impl EntryStream {
    fn new(
        program: Arc<EntryProgram>,
        table: Table,
        manifests: Vec<ManifestFile>,
        threads: usize,
    ) -> EntryStream {
        let source = EntrySource { program, table, deleted: Deleted::default() };
        let (manifests, ready) = (manifests.into(), VecDeque::new());
        EntryStream { source, manifests, threads, started: false, open: None, ready }
    }

    /// Reads on: one batch with one thread, a manifest a thread with more. False at the end.
    fn fill(&mut self) -> Result<bool> {
        if !self.started {
            self.started = true;
            if self.source.program.role == Role::Files {
                self.source.deleted = self.source.read_deleted(&self.manifests, self.threads)?;
                self.manifests.retain(|manifest| manifest.added > 0);
            }
        }
        if self.threads > 1 && self.manifests.len() > 1 {
            let wave: Vec<_> = self.manifests.drain(..self.threads.min(self.manifests.len())).collect();
            let source = &self.source;
            let batches = in_parallel(&wave, &|manifest| source.read(manifest))?;
            self.ready.extend(batches.into_iter().flatten());
            return Ok(true);
        }
        if self.open.is_none() {
            let Some(manifest) = self.manifests.pop_front() else { return Ok(false) };
            let reader = self.source.open(&self.source.program, &manifest, self.threads)?;
            self.open = Some((reader, manifest));
        }
        let Some((mut reader, manifest)) = self.open.take() else { return Ok(false) };
        if let Some(entries) = reader.next() {
            self.ready.push_back(self.source.rows(entries, &manifest)?);
            self.open = Some((reader, manifest));
        }
        Ok(true)
    }

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            match self.ready.pop_front() {
                Some(batch) if batch.num_rows() > 0 => return Some(Ok(batch)),
                Some(_) => continue,
                None => {}
            }
            match self.fill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Runs `job` for each input on a thread of its own; answers in order, or the first error.
fn in_parallel<I: Sync, O: Send>(inputs: &[I], job: &(impl Fn(&I) -> Result<O> + Sync)) -> Result<Vec<O>> {
    if let [input] = inputs {
        return Ok(vec![job(input)?]);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = inputs.iter().map(|input| scope.spawn(move || job(input))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<O>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

/// A scan's work on manifests, apart from the table: what crosses to an executor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    role: Role,
    location: String,
    schema_id: i64,
    schema: String,
    schemas: BTreeMap<i64, String>,
    columns: Option<Vec<String>>,
    filter: Option<String>,
    stats: Option<Vec<String>>,
    manifests: Vec<ManifestFile>,
}

impl Task {
    fn program(&self, limits: Limits) -> Result<EntryProgram> {
        let schema = TableSchema::from_json(self.schema.as_bytes())?;
        let schemas =
            self.schemas.iter().map(|(id, text)| Ok((*id, TableSchema::from_json(text.as_bytes())?)));
        let options = ScanOptions {
            columns: self.columns.clone(),
            filter: self.filter.clone(),
            stats: self.stats.clone(),
            ..ScanOptions::default()
        };
        let schemas = schemas.collect::<Result<_>>()?;
        EntryProgram::build(self.role, &self.location, &schema, schemas, &options, limits)
    }

    /// The schema of the task's rows.
    ///
    /// # Errors
    /// Those of [`Scan::new`], for a task that was changed on its way.
    pub fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::clone(self.program(Limits::DEFAULT)?.view.schema()))
    }

    /// The rows of one manifest, whose path ends in its name.
    ///
    /// # Errors
    /// `Missing` for a manifest that is not the task's; those of reading entries, with the path.
    pub fn run(
        &self,
        path: &str,
        bytes: Buffer,
        limits: Limits,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>> + Send + use<>> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let manifest = self.manifests.iter().find(|manifest| manifest.file_name == name).cloned();
        let manifest = manifest.ok_or_else(|| {
            Error::new(ErrorKind::Missing, "this manifest is not one of the scan's").in_file(path)
        })?;
        let program = self.program(limits)?;
        let reader = program.open(bytes, &manifest, 1).map_err(|error| error.in_file(path))?;
        let path = path.to_owned();
        Ok(reader.map(move |entries| {
            let rows = entries.and_then(|rows| program.rows(&rows, &manifest.file_name, &Deleted::default()));
            rows.map_err(|error| error.in_file(&path))
        }))
    }
}
