//! Writes the files of a copy, phase by phase.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arrow_buffer::Buffer;
use lakebed_avro::Limits;

use super::{Prefixes, RewritePaths};
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::pipeline::{Pipeline, Sink, Source, Width};
use crate::reach::Kind;
use crate::relocate::below;
use crate::storage::{Storage, present, read_recorded};
use crate::write::commit::WrittenFiles;
use crate::write::{make_folder, publish_new};

/// A file to be written.
#[derive(Debug, Clone)]
pub(crate) struct CopyJob {
    pub(crate) kind: Kind,
    /// Its path, as the walk over the table names it.
    pub(crate) path: String,
    /// Its path in the metadata, if that differs.
    pub(crate) recorded_path: Option<String>,
    /// Its size \[bytes\], if known.
    pub(crate) size: Option<u64>,
    /// Whether it is written; of a file that was copied before only the new length is needed.
    pub(crate) is_new: bool,
    /// Whether it may be missing; it is then left out.
    pub(crate) may_be_gone: bool,
}

/// The result for a file.
#[derive(Debug, Clone)]
pub(crate) struct FileCopy {
    pub(crate) kind: Kind,
    /// Where it was written, and its future path.
    pub(crate) staged: String,
    pub(crate) target: String,
    pub(crate) length: u64,
    /// Whether it was written in this copy.
    pub(crate) is_new: bool,
}

/// The lengths of rewritten files, by their old paths.
pub(crate) type Lengths = HashMap<String, FileCopy>;

/// Writes files of one table.
pub(crate) struct Copier {
    source: Arc<dyn Storage>,
    limits: Limits,
    threads: usize,
    shared: Arc<CopyTarget>,
    copied: Arc<Lengths>,
    /// Receives notes on missing files.
    notes: Notes,
}

/// Where files are written.
struct CopyTarget {
    prefixes: Arc<Prefixes>,
    target: Arc<dyn Storage>,
    /// The future location of the table, and the folder that is written instead of it now.
    new_location: String,
    to: String,
    written: Mutex<WrittenFiles>,
}

impl Copier {
    /// For the table whose location in its metadata is `location`, and which is read from `source`.
    ///
    /// # Errors
    /// `Location` where no prefix covers the location; `Unsupported` for a read-only target.
    pub(crate) fn new(
        job: &RewritePaths,
        prefixes: Arc<Prefixes>,
        location: &str,
        source: &Arc<dyn Storage>,
        limits: Limits,
        notes: Notes,
    ) -> Result<Copier> {
        let to = job.to.trim_end_matches('/').to_owned();
        if !job.target.is_committable() {
            let message = "the storage is read-only: to= must be a local folder, one on a store of obstore, or \
                one of another lakebed.storage.PublishingStorage";
            return Err(Error::new(ErrorKind::Unsupported, message).in_file(&to));
        }
        let new_location = prefixes.moved(location)?;
        let written = Mutex::new(WrittenFiles::on(Arc::clone(&job.target)));
        let shared = CopyTarget { prefixes, target: Arc::clone(&job.target), new_location, to, written };
        Ok(Copier {
            source: Arc::clone(source),
            limits,
            threads: job.threads,
            shared: Arc::new(shared),
            copied: Arc::default(),
            notes,
        })
    }

    /// Reads files, and writes the result of `rewrite` for each, given its path, its bytes, and the lengths
    /// so far.
    ///
    /// # Errors
    /// Those of reading, of `rewrite` and of writing; `Io` for an existing file.
    pub(crate) fn copy<F>(&mut self, files: Vec<CopyJob>, rewrite: F) -> Result<()>
    where
        F: Fn(&str, Buffer, &Lengths) -> Result<Buffer> + Send + Sync + 'static,
    {
        let copying = CopyPhase {
            source: Arc::clone(&self.source),
            limits: self.limits,
            shared: Arc::clone(&self.shared),
            copied: Arc::clone(&self.copied),
            rewrite,
        };
        let width = match files.len() {
            0 | 1 => Width::ONE,
            _ => Width::new(self.source.as_ref(), crate::scan::threads(self.threads)),
        };
        let all = Pipeline::new(copying, files.clone(), width).at_once();
        let mut made = Vec::with_capacity(files.len());
        for (file, copied) in files.into_iter().zip(all) {
            match copied? {
                Some(copied) => made.push((file.path, copied)),
                None => self.notes.add(format!("{} is gone, and is left out of the copy", file.path)),
            }
        }
        // The pipeline has ended, so nothing else holds it.
        Arc::make_mut(&mut self.copied).extend(made);
        Ok(())
    }

    /// Keeps the written files.
    pub(crate) fn keep(self) -> Arc<Lengths> {
        if let Ok(mut written) = self.shared.written.lock() {
            let none = WrittenFiles::on(Arc::clone(&self.shared.target));
            std::mem::replace(&mut *written, none).keep();
        }
        self.copied
    }
}

/// One phase.
struct CopyPhase<F> {
    source: Arc<dyn Storage>,
    limits: Limits,
    shared: Arc<CopyTarget>,
    copied: Arc<Lengths>,
    rewrite: F,
}

impl<F> Source for CopyPhase<F>
where
    F: Fn(&str, Buffer, &Lengths) -> Result<Buffer> + Send + Sync + 'static,
{
    type Request = CopyJob;
    type Bytes = Option<Buffer>;
    type Output = Option<FileCopy>;

    fn size(&self, job: &CopyJob) -> u64 {
        job.size.unwrap_or(0)
    }

    fn read(&self, job: &CopyJob) -> Result<Option<Buffer>> {
        let read = read_recorded(self.source.as_ref(), &job.path, job.size, &self.limits);
        if job.may_be_gone { present(read) } else { read.map(Some) }
    }

    fn make(&self, job: &CopyJob, bytes: Option<Buffer>, give: Sink<'_, Option<FileCopy>>) -> Result<()> {
        give(bytes.map(|bytes| self.copied(job, bytes)).transpose()?);
        Ok(())
    }

    fn interrupted(&self) -> Result<()> {
        self.source.interrupted()
    }
}

impl<F> CopyPhase<F>
where
    F: Fn(&str, Buffer, &Lengths) -> Result<Buffer>,
{
    fn copied(&self, job: &CopyJob, bytes: Buffer) -> Result<FileCopy> {
        let made = (self.rewrite)(&job.path, bytes, &self.copied);
        let made = made.map_err(|error| error.in_file(&job.path))?;
        let target = self.shared.prefixes.moved(job.recorded_path.as_deref().unwrap_or(&job.path))?;
        let staged = self.shared.staged(&target);
        if job.is_new {
            self.shared.write(&staged, &made)?;
        }
        let length = made.len() as u64;
        Ok(FileCopy { kind: job.kind, staged, target, length, is_new: job.is_new })
    }
}

impl CopyTarget {
    /// Where the file with the future path `target` is written. A file that will be outside of the table's
    /// folder is put into a folder with the name of its bucket or first folder.
    fn staged(&self, target: &str) -> String {
        let rest = below(target, &self.new_location).unwrap_or_else(|| {
            let path = target.split_once("://").map_or(target, |(_, path)| path);
            path.trim_start_matches('/')
        });
        format!("{}/{rest}", self.to)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<()> {
        if self.target.is_local() {
            make_folder(self.target.as_ref(), path)?;
            self.target.create(path, bytes)?;
        } else {
            // A store would replace an existing file, which would then be removed with the others after an
            // error.
            publish_new(self.target.as_ref(), path, bytes)?;
        }
        if let Ok(mut written) = self.written.lock() {
            written.push(path.to_owned());
        }
        Ok(())
    }
}
