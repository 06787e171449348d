//! Jobs, as the process that plans one has it, and as those have it that do some of it.

use std::sync::{Arc, Mutex};

use arrow_buffer::Buffer;
use lakebed::columnar::Decoding;
use lakebed::distributed::{self, Process, SentJob};
use lakebed::format::FORMATS;
use lakebed::scan::{self, Batches, Content, DivisibleManifest};
use lakebed::storage::Storage;
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::Limits;
use crate::arrow::{SchemaCapsule, import_batch};
use crate::boundary::detached;
use crate::cache::{Cache, cache_of};
use crate::caller_stream::caller_stream;
use crate::interpreter::{attempted, call_method};
use crate::source::Source;
use crate::storage::{Reads, storage_for, storage_of};
use crate::stream::{Batch, BatchStream};
use crate::table::{Scan, Table};
use crate::view::{decoding_of, newest_of};

/// A job that is planned.
#[pyclass(frozen, module = "lakebed._native")]
pub struct JobPlan(pub distributed::JobPlan);

#[pymethods]
impl JobPlan {
    #[getter]
    fn schema(&self, py: Python<'_>) -> PyResult<SchemaCapsule> {
        detached(py, || Ok(SchemaCapsule(self.0.schema()?)))
    }

    #[getter]
    fn looks_again(&self) -> bool {
        self.0.job.job().looks_again()
    }

    #[getter]
    fn reads_manifests(&self) -> bool {
        self.0.job.job().reads_manifests()
    }

    #[getter]
    fn is_question(&self) -> bool {
        self.0.is_question
    }

    #[getter]
    fn manifests<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let manifest = |one: &distributed::PlannedManifest| {
            let dict = PyDict::new(py);
            dict.set_item("path", &one.path)?;
            dict.set_item("size", one.size)?;
            dict.set_item("added", one.added)?;
            dict.set_item("deleted", one.deleted)?;
            dict.set_item("entries", one.entries)?;
            dict.set_item("divisible", one.divisible)?;
            dict.set_item("counted", one.counted)?;
            Ok(dict)
        };
        self.0.manifests.iter().map(manifest).collect()
    }

    #[getter]
    fn shuffles(&self) -> Vec<usize> {
        self.0.shuffles()
    }

    fn made(&self, py: Python<'_>) -> PyResult<Vec<(usize, Vec<Batch>)>> {
        let made = detached(py, || self.0.made())?.into_iter();
        Ok(made.map(|(stage, rows)| (stage, rows.into_iter().map(Batch::from).collect())).collect())
    }

    fn to_bytes(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        detached(py, || self.0.to_bytes())
    }
}

/// A job in a process that does some of it.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Job {
    job: Arc<SentJob>,
    decoding: Decoding,
}

#[pymethods]
impl Job {
    #[new]
    fn new(
        py: Python<'_>,
        job: &[u8],
        limits: Limits,
        keys: Option<Py<PyAny>>,
        cache: Option<Py<Cache>>,
    ) -> PyResult<Job> {
        let decoding = decoding_of(limits, keys).with_cache(cache_of(cache));
        detached(py, || Ok(Job { job: Arc::new(SentJob::read(job, &FORMATS)?), decoding }))
    }

    fn map(&self, py: Python<'_>, manifests: Py<PyAny>) -> PyResult<BatchStream> {
        let process = self.process(storage_of(py, None, None)?);
        self.stage(py, 0, || self.job.map(Manifests(manifests), process))
    }

    fn map_paths(
        &self,
        py: Python<'_>,
        paths: Vec<String>,
        storage: Option<Py<PyAny>>,
        concurrent_reads: usize,
    ) -> PyResult<BatchStream> {
        let reads = Some(Reads::Own(concurrent_reads));
        let process = self.process(storage_for(py, storage, reads, self.decoding.has_cache())?);
        self.stage(py, 0, || self.job.map_paths(&paths, process))
    }

    fn listed(&self, py: Python<'_>, scan: &Scan) -> PyResult<BatchStream> {
        self.stage(py, 0, || Ok(self.job.packed(scan.0.listed()?)))
    }

    #[pyo3(signature = (stage, pieces, storage=None, table=None, newest=None))]
    fn reduce(
        &self,
        py: Python<'_>,
        stage: usize,
        pieces: &Bound<'_, PyAny>,
        storage: Option<Py<PyAny>>,
        table: Option<&Table>,
        newest: Option<Py<PyAny>>,
    ) -> PyResult<BatchStream> {
        let table = table.map(|table| (Arc::clone(&table.0), newest.map(newest_of)));
        let storage = storage_for(py, storage, None, self.decoding.has_cache())?;
        let process = Process { table, ..self.process(storage) };
        let pieces = Box::new(caller_stream(pieces)?);
        self.stage(py, stage, || self.job.reduce(stage, pieces, process))
    }

    fn reduce_all(
        &self,
        py: Python<'_>,
        pieces: &Bound<'_, PyAny>,
        made: Vec<(usize, Bound<'_, PyAny>)>,
    ) -> PyResult<BatchStream> {
        let (process, pieces) = (self.process(storage_of(py, None, None)?), caller_stream(pieces)?);
        let made = made.into_iter().map(|(stage, rows)| Ok((stage, import_batch(&rows)?)));
        let made = made.collect::<PyResult<Vec<_>>>()?;
        self.stage(py, usize::MAX, || self.job.reduce_all(pieces.collect::<Result<_>>()?, &made, &process))
    }
}

impl Job {
    fn process(&self, storage: Arc<dyn Storage>) -> Process {
        Process { storage, decoding: self.decoding.clone(), table: None }
    }

    fn stage(
        &self,
        py: Python<'_>,
        stage: usize,
        make: impl FnOnce() -> Result<Batches> + Send,
    ) -> PyResult<BatchStream> {
        detached(py, || Ok(BatchStream::new(self.job.schema_of(stage)?, make()?)))
    }
}

/// Manifests that Python gives: an iterator of paths and contents.
struct Manifests(Py<PyAny>);

impl Iterator for Manifests {
    type Item = Result<(String, Content)>;

    fn next(&mut self) -> Option<Result<(String, Content)>> {
        let next = attempted("reading manifests", |py| match call_method(self.0.bind(py), "__next__", ()) {
            Err(error) if error.is_instance_of::<PyStopIteration>(py) => Ok(None),
            next => next?.extract::<(String, GivenContent)>().map(Some),
        });
        next.transpose().map(|next| next.and_then(|(path, content)| Ok((path, content.take()?))))
    }
}

/// The content of a manifest, or of a part of it, as Python passes it.
#[derive(FromPyObject)]
enum GivenContent {
    /// The result of [`read_share`].
    Share(Py<Share>),
    /// The whole manifest.
    Whole(Source),
}

impl GivenContent {
    /// The bytes; a share has them once.
    fn take(self) -> Result<Content> {
        match self {
            GivenContent::Whole(source) => Ok(source.read()?.into()),
            GivenContent::Share(share) => {
                let content = share.get().0.lock().ok().and_then(|mut content| content.take());
                content.ok_or_else(|| Error::new(ErrorKind::Argument, "the share was taken before"))
            }
        }
    }
}

/// The part of a manifest that a range has; it can be mapped once.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Share(Mutex<Option<Content>>);

/// The attributes of `lakebed.spark.inputs.Piece`.
#[derive(FromPyObject)]
pub struct Piece {
    path: String,
    /// The recorded length of the manifest.
    length: u64,
    start: u64,
    end: u64,
    /// Its header, where only the blocks or row groups from byte `start` to byte `end` are meant.
    header: Option<Vec<u8>>,
    /// The columns that it needs of the row groups before.
    counted: Vec<String>,
}

/// The content of a piece of a manifest. `None` where no block or row group belongs to its range.
#[pyfunction]
pub fn read_share(
    py: Python<'_>,
    storage: Option<Py<PyAny>>,
    piece: Piece,
    limits: Limits,
    cache: Option<Py<Cache>>,
) -> PyResult<Option<Share>> {
    let Piece { path, length, start, end, header, counted } = piece;
    let (storage, cache) = (storage_for(py, storage, None, cache.is_some())?, cache_of(cache));
    detached(py, || {
        let content = match (header, cache) {
            (Some(header), _) => {
                let (header, needs) = (Buffer::from_vec(header), (counted.as_slice(), &limits.0));
                Content::of_range(storage.as_ref(), &path, length, start..end, header, needs)
                    .map_err(|error| error.in_file(&path))?
            }
            (None, Some(cache)) => Some(Content::of_cached_file(&cache, &storage, &path, length, &limits.0)?),
            (None, None) => Some(Content::of_file(storage.as_ref(), &path, length, &limits.0)?),
        };
        Ok(content.map(|content| Share(Mutex::new(Some(content)))))
    })
}

/// The items of `lakebed.view.Manifest`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Manifest {
    path: String,
    size: u64,
    entries: Option<u64>,
    counted: Vec<String>,
}

/// The header of each manifest that may be read in ranges.
#[pyfunction]
pub fn divisible(
    py: Python<'_>,
    storage: Option<Py<PyAny>>,
    manifests: Vec<Manifest>,
    limits: Limits,
) -> PyResult<Vec<Option<Vec<u8>>>> {
    let storage = storage_of(py, storage, None)?;
    let of = |Manifest { path, size, entries, counted }| DivisibleManifest {
        path,
        length: size,
        entries,
        is_counted: !counted.is_empty(),
    };
    let manifests = manifests.into_iter().map(of).collect();
    let headers = detached(py, || scan::divisible(&storage, manifests, limits.0))?;
    Ok(headers.into_iter().map(|header| header.map(|header| header.to_vec())).collect())
}
