//! The rows of a scan as a stream.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::SchemaRef;

use super::program::EntryProgram;
use crate::error::Result;
use crate::paimon::identity::Deleted;
use crate::paimon::manifest::EntryReader;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::table::Table;

/// The rows of a scan, batch by batch.
///
/// Peak memory is that of a few blocks and batches a thread, plus the identities of deleted files.
pub struct ScanStream {
    pub(super) schema: SchemaRef,
    pub(super) ready: VecDeque<RecordBatch>,
    pub(super) rows: Option<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>>,
    pub(super) left: usize,
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
        let batch = match (self.ready.pop_front(), &mut self.rows) {
            (Some(batch), _) => batch,
            (None, Some(rows)) => match rows.next()? {
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
pub(super) struct EntryStream {
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
    pub(super) fn new(
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
            if self.source.program.role.is_live() {
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
}

impl Iterator for EntryStream {
    type Item = Result<RecordBatch>;

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
pub(super) fn in_parallel<I: Sync, O: Send>(
    inputs: &[I],
    job: &(impl Fn(&I) -> Result<O> + Sync),
) -> Result<Vec<O>> {
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
