//! The entries of many manifests as one stream of rows.

use std::collections::VecDeque;

use arrow_array::RecordBatch;

use super::{Batches, in_parallel};
use crate::error::Result;

/// What threads share: how the rows of one manifest are made.
pub(crate) trait ManifestSource: Send + Sync {
    /// What is known of a manifest before it is read.
    type Manifest: Send + Sync;

    /// Prepares for reading `manifests`, of which it may drop some.
    fn start(&mut self, _manifests: &mut VecDeque<Self::Manifest>, _threads: usize) -> Result<()> {
        Ok(())
    }

    /// The rows of one manifest, in file order; errors say in which file they were found.
    fn open(&self, manifest: &Self::Manifest, threads: usize) -> Result<Batches>;
}

/// The rows of manifests, in the order of the manifest lists.
///
/// With one thread a manifest is read batch by batch; with more, so many manifests at a time, whole.
pub(crate) struct ManifestStream<S: ManifestSource> {
    source: S,
    manifests: VecDeque<S::Manifest>,
    threads: usize,
    started: bool,
    open: Option<Batches>,
    ready: VecDeque<RecordBatch>,
}

impl<S: ManifestSource> ManifestStream<S> {
    pub(crate) fn new(source: S, manifests: Vec<S::Manifest>, threads: usize) -> ManifestStream<S> {
        let (manifests, ready) = (manifests.into(), VecDeque::new());
        ManifestStream { source, manifests, threads, started: false, open: None, ready }
    }

    /// Reads on: one batch with one thread, a manifest a thread with more. False at the end.
    fn fill(&mut self) -> Result<bool> {
        if !self.started {
            self.started = true;
            self.source.start(&mut self.manifests, self.threads)?;
        }
        if self.threads > 1 && self.manifests.len() > 1 {
            let wave: Vec<_> = self.manifests.drain(..self.threads.min(self.manifests.len())).collect();
            let source = &self.source;
            let read = |manifest: &S::Manifest| source.open(manifest, 1)?.collect::<Result<Vec<_>>>();
            self.ready.extend(in_parallel(&wave, &read)?.into_iter().flatten());
            return Ok(true);
        }
        let mut rows = match self.open.take() {
            Some(rows) => rows,
            None => {
                let Some(manifest) = self.manifests.pop_front() else { return Ok(false) };
                self.source.open(&manifest, self.threads)?
            }
        };
        if let Some(batch) = rows.next() {
            self.ready.push_back(batch?);
            self.open = Some(rows);
        }
        Ok(true)
    }
}

impl<S: ManifestSource> Iterator for ManifestStream<S> {
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
