//! The entries of manifests as rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_buffer::Buffer;

use super::program::EntryProgram;
use crate::error::Result;
use crate::paimon::identity::Deleted;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::table::Table;
use crate::scan::{Batches, ManifestSource, ManifestStream};
use crate::storage::Storage;

/// How a manifest is opened, and what is made of its entries.
pub(super) struct EntrySource {
    program: Arc<EntryProgram>,
    table: Table,
    deleted: Arc<Deleted>,
}

impl EntrySource {
    pub(super) fn new(program: Arc<EntryProgram>, table: Table) -> EntrySource {
        EntrySource { program, table, deleted: Arc::default() }
    }

    /// The files that entries of any manifest delete. They are read first, as Paimon's
    /// `AbstractFileStoreScan.java` does, so that added files can be streamed.
    pub(super) fn read_deleted(&self, manifests: &[ManifestFile], threads: usize) -> Result<Deleted> {
        let manifests = manifests.iter().filter(|manifest| manifest.deleted > 0).cloned().collect();
        let program = Arc::new(self.program.deletions(&self.table)?);
        let source = EntrySource::new(program, self.table.clone());
        let mut deleted = Deleted::default();
        for batch in ManifestStream::new(source, manifests, threads) {
            deleted.extend(batch?.column(0).as_binary::<i32>());
        }
        Ok(deleted)
    }
}

impl ManifestSource for EntrySource {
    type Manifest = ManifestFile;

    fn start(&mut self, manifests: &mut Vec<ManifestFile>, threads: usize) -> Result<()> {
        if self.program.role.is_live() {
            if manifests.iter().any(|manifest| manifest.deleted > 0 && manifest.added > 0) {
                self.table = self.table.clone().keeping();
            }
            self.deleted = Arc::new(self.read_deleted(manifests, threads)?);
            manifests.retain(|manifest| manifest.added > 0);
        }
        Ok(())
    }

    fn storage(&self) -> &dyn Storage {
        self.table.storage().as_ref()
    }

    fn size(&self, manifest: &ManifestFile) -> u64 {
        manifest.file_size
    }

    fn read(&self, manifest: &ManifestFile) -> Result<Buffer> {
        let path = self.table.manifest_path(&manifest.file_name);
        self.table.read_recorded(&path, Some(manifest.file_size))
    }

    fn open(&self, manifest: &ManifestFile, bytes: Buffer, threads: usize) -> Result<Batches> {
        let path = self.table.manifest_path(&manifest.file_name);
        let entries =
            self.program.open(bytes, Some(manifest), threads).map_err(|error| error.in_file(&path))?;
        let (program, deleted) = (Arc::clone(&self.program), Arc::clone(&self.deleted));
        let name = manifest.file_name.clone();
        Ok(Box::new(entries.map(move |entries| {
            let rows = entries.and_then(|entries| program.rows(&entries, &name, &deleted));
            rows.map_err(|error| error.in_file(&path))
        })))
    }
}
