//! Manifests of a table as sources of rows.

use std::sync::Arc;

use super::{Batches, Content, Format, ManifestSource, ManifestStream, OpenManifest, ScanOptions, threads};
use crate::error::Result;
use crate::storage::Storage;

/// Makes rows of a manifest that was read.
type Open<F> = dyn Fn(&Arc<<F as Format>::Program>, OpenManifest<'_, <F as Format>::Manifest>) -> Result<Batches>
    + Send
    + Sync;

/// The rows that a program makes of manifests of a table.
pub(crate) struct EntrySource<F: Format> {
    program: Arc<F::Program>,
    table: F,
    open: Box<Open<F>>,
}

impl<F: Format> EntrySource<F> {
    pub(crate) fn new(program: Arc<F::Program>, table: F) -> EntrySource<F> {
        EntrySource { program, table, open: Box::new(F::rows) }
    }

    /// The same source, whose rows are made by `open`.
    pub(crate) fn opening(
        self,
        open: impl Fn(&Arc<F::Program>, OpenManifest<'_, F::Manifest>) -> Result<Batches> + Send + Sync + 'static,
    ) -> EntrySource<F> {
        EntrySource { open: Box::new(open), ..self }
    }

    /// The program that makes rows of entries.
    pub(crate) fn program(&self) -> &Arc<F::Program> {
        &self.program
    }

    /// The rows of `manifests`, in their order.
    pub(crate) fn stream(self, manifests: Vec<F::Manifest>, options: &ScanOptions) -> Batches {
        Box::new(ManifestStream::new(self, manifests, threads(options.threads)))
    }

    /// Opens a manifest by its bytes.
    pub(crate) fn opened(
        &self,
        manifest: &F::Manifest,
        content: Content,
        threads: usize,
        rows: impl FnOnce(&Arc<F::Program>, OpenManifest<'_, F::Manifest>) -> Result<Batches>,
    ) -> Result<Batches> {
        let path = self.table.path_of(manifest);
        let part = content.part.clone();
        let rows = rows(&self.program, OpenManifest { path: &path, recorded: manifest, content, threads });
        let Some(part) = part else { return rows };
        let rows = rows.map_err(|error| part.in_whole_file(error))?;
        Ok(Box::new(rows.map(move |rows| rows.map_err(|error| part.in_whole_file(error)))))
    }
}

impl<F: Format> ManifestSource for EntrySource<F> {
    type Manifest = F::Manifest;

    fn start(&mut self, manifests: &mut Vec<F::Manifest>, threads: usize) -> Result<()> {
        self.table.start(&mut self.program, manifests, threads)
    }

    fn storage(&self) -> &dyn Storage {
        self.table.core().storage().as_ref()
    }

    fn size(&self, manifest: &F::Manifest) -> u64 {
        F::size_of(manifest).unwrap_or(0)
    }

    fn read(&self, manifest: &F::Manifest) -> Result<Content> {
        self.table.read_manifest(&self.program, manifest)
    }

    fn open(&self, manifest: &F::Manifest, content: Content, threads: usize) -> Result<Batches> {
        self.opened(manifest, content, threads, |program, manifest| (self.open)(program, manifest))
    }
}
