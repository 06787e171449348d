//! The entries of manifests as rows.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;

use super::program::EntryProgram;
use crate::error::Result;
use crate::paimon::identity::Deleted;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::table::Table;
use crate::scan::{Batches, ManifestSource, in_parallel};

/// How to open a manifest, and what becomes of its entries.
pub(super) struct EntrySource {
    program: Arc<EntryProgram>,
    table: Table,
    deleted: Arc<Deleted>,
}

impl EntrySource {
    pub(super) fn new(program: Arc<EntryProgram>, table: Table) -> EntrySource {
        EntrySource { program, table, deleted: Arc::default() }
    }

    /// The rows that `program` makes of a manifest: the scan's own, or the one that finds deleted files.
    fn rows(&self, program: &Arc<EntryProgram>, manifest: &ManifestFile, threads: usize) -> Result<Batches> {
        let path = self.table.manifest_path(&manifest.file_name);
        let open = || {
            program.open(self.table.read_recorded(&path, Some(manifest.file_size))?, Some(manifest), threads)
        };
        let entries = open().map_err(|error| error.in_file(&path))?;
        let (program, deleted) = (Arc::clone(program), Arc::clone(&self.deleted));
        let name = manifest.file_name.clone();
        Ok(Box::new(entries.map(move |entries| {
            let rows = entries.and_then(|entries| program.rows(&entries, &name, &deleted));
            rows.map_err(|error| error.in_file(&path))
        })))
    }

    /// The files that entries of any manifest delete: read first, as Paimon's
    /// `AbstractFileStoreScan.java` does, so that added files can stream.
    pub(super) fn read_deleted(&self, manifests: &VecDeque<ManifestFile>, threads: usize) -> Result<Deleted> {
        let manifests: Vec<_> = manifests.iter().filter(|manifest| manifest.deleted > 0).collect();
        let program = Arc::new(self.program.deletions(&self.table)?);
        let read = |manifest: &&ManifestFile| -> Result<Vec<RecordBatch>> {
            self.rows(&program, manifest, 1)?.collect()
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

impl ManifestSource for EntrySource {
    type Manifest = ManifestFile;

    fn start(&mut self, manifests: &mut VecDeque<ManifestFile>, threads: usize) -> Result<()> {
        if self.program.role.is_live() {
            self.deleted = Arc::new(self.read_deleted(manifests, threads)?);
            manifests.retain(|manifest| manifest.added > 0);
        }
        Ok(())
    }

    fn open(&self, manifest: &ManifestFile, threads: usize) -> Result<Batches> {
        self.rows(&self.program, manifest, threads)
    }
}
