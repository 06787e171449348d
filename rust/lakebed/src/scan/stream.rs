//! The entries of many manifests as one stream of rows.

use std::collections::VecDeque;

use arrow_array::RecordBatch;

use super::{Batches, Content};
use crate::error::Result;
use crate::pipeline::{Pipeline, Sink, Source, Width};
use crate::storage::Storage;

/// What the threads share: how a manifest is read and decoded.
pub(crate) trait ManifestSource: Send + Sync + 'static {
    /// What is known of a manifest before it is read.
    type Manifest: Send + Sync + 'static;

    /// Prepares for reading `manifests`, and may drop some of them.
    fn start(&mut self, _manifests: &mut Vec<Self::Manifest>, _threads: usize) -> Result<()> {
        Ok(())
    }

    /// The storage that manifests are read from.
    fn storage(&self) -> &dyn Storage;

    /// Bytes of a manifest, as recorded.
    fn size(&self, manifest: &Self::Manifest) -> u64;

    /// The bytes of a manifest, or some blocks of it; errors name the manifest.
    fn read(&self, manifest: &Self::Manifest) -> Result<Content>;

    /// The rows of one manifest, in file order; errors name the file.
    fn open(&self, manifest: &Self::Manifest, content: Content, threads: usize) -> Result<Batches>;
}

/// The rows of manifests, in the order of the manifest lists.
///
/// A single manifest is decoded by all threads. So are many, one after another, where the width is one.
/// Otherwise manifests are read by a [`Pipeline`], each decoded by one thread.
pub(crate) struct ManifestStream<S: ManifestSource> {
    threads: usize,
    stage: StreamStage<S>,
}

enum StreamStage<S: ManifestSource> {
    /// Nothing is read yet.
    New(S, Vec<S::Manifest>),
    OneByOne {
        source: S,
        manifests: VecDeque<S::Manifest>,
        open: Option<Batches>,
    },
    Together(Pipeline<ManifestBatches<S>>),
    Ended,
}

impl<S: ManifestSource> ManifestStream<S> {
    pub(crate) fn new(source: S, manifests: Vec<S::Manifest>, threads: usize) -> ManifestStream<S> {
        ManifestStream { threads, stage: StreamStage::New(source, manifests) }
    }

    fn started(mut source: S, mut manifests: Vec<S::Manifest>, threads: usize) -> Result<StreamStage<S>> {
        source.start(&mut manifests, threads)?;
        let width = Width::new(source.storage(), threads);
        if manifests.len() <= 1 || width.is_one() {
            return Ok(StreamStage::OneByOne { source, manifests: manifests.into(), open: None });
        }
        Ok(StreamStage::Together(Pipeline::new(ManifestBatches(source), manifests, width)))
    }

    /// The next batch, which may be empty.
    fn advance(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            match &mut self.stage {
                StreamStage::New(..) => {
                    let StreamStage::New(source, manifests) =
                        std::mem::replace(&mut self.stage, StreamStage::Ended)
                    else {
                        return None;
                    };
                    match ManifestStream::started(source, manifests, self.threads) {
                        Ok(stage) => self.stage = stage,
                        Err(error) => return Some(Err(error)),
                    }
                }
                StreamStage::OneByOne { source, manifests, open } => {
                    if let Some(batch) = open.as_mut().and_then(Iterator::next) {
                        return Some(batch);
                    }
                    let manifest = manifests.pop_front()?;
                    let rows = source
                        .read(&manifest)
                        .and_then(|content| source.open(&manifest, content, self.threads));
                    match rows {
                        Ok(rows) => *open = Some(rows),
                        Err(error) => return Some(Err(error)),
                    }
                }
                StreamStage::Together(manifests) => return manifests.next(),
                StreamStage::Ended => return None,
            }
        }
    }
}

impl<S: ManifestSource> Iterator for ManifestStream<S> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            let next = self.advance();
            match &next {
                Some(Ok(batch)) if batch.num_rows() == 0 => {}
                Some(Ok(_)) => return next,
                _ => {
                    self.stage = StreamStage::Ended;
                    return next;
                }
            }
        }
    }
}

/// Manifests whose rows are given batch by batch, each decoded by one thread.
struct ManifestBatches<S>(S);

impl<S: ManifestSource> Source for ManifestBatches<S> {
    type Request = S::Manifest;
    type Bytes = Content;
    type Output = RecordBatch;

    fn size(&self, manifest: &S::Manifest) -> u64 {
        self.0.size(manifest)
    }

    fn read(&self, manifest: &S::Manifest) -> Result<Content> {
        self.0.read(manifest)
    }

    fn make(&self, manifest: &S::Manifest, content: Content, give: Sink<'_, RecordBatch>) -> Result<()> {
        for batch in self.0.open(manifest, content, 1)? {
            if !give(batch?) {
                break;
            }
        }
        Ok(())
    }

    fn held(&self, batch: &RecordBatch) -> u64 {
        batch.get_array_memory_size() as u64
    }

    fn interrupted(&self) -> Result<()> {
        self.0.storage().interrupted()
    }
}
