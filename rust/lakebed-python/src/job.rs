//! Jobs, as the process that plans one has it, and as those have it that do some of it.

use std::sync::{Arc, Mutex};

use arrow_array::{RecordBatch, StructArray};
use arrow_buffer::Buffer;
use lakebed::columnar::Decoding;
use lakebed::distributed::{self, Distributed, Process, SentJob};
use lakebed::format::FORMATS;
use lakebed::scan::{self, Batches, Content};
use lakebed::{Error, ErrorKind};
use lakebed_avro::Limits;
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrow::{SchemaCapsule, import_batch};
use crate::boundary::detached;
use crate::caller_stream::{caller_stream, sent};
use crate::interpreter::{attached, call_method, cause};
use crate::limits::{decoding, extract};
use crate::source::Source;
use crate::storage::storage_of;
use crate::stream::{Batch, BatchStream};
use crate::table::Table;
use crate::view::newest_of;

/// The attributes of Python's `lakebed.view.Bounds`.
#[derive(FromPyObject)]
pub struct Bounds {
    at_once: usize,
    small_bytes: Option<u64>,
    delete_bytes: u64,
    deleting_bytes: u64,
    deletions: u64,
    task_bytes: u64,
    parts: Option<u32>,
    groups: usize,
    answer: Option<Py<PyAny>>,
}

/// A job that is planned.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Planned(distributed::Planned);

impl Planned {
    pub fn of(py: Python<'_>, scan: &dyn Distributed, bounds: Bounds) -> PyResult<Option<Planned>> {
        let answer = bounds.answer.as_ref().map(|answer| caller_stream(answer.bind(py))).transpose()?;
        detached(py, || {
            let answer = answer.map(|rows| rows.map(sent).collect::<lakebed::Result<_>>()).transpose()?;
            let bounds = distributed::Bounds {
                at_once: bounds.at_once,
                small_bytes: bounds.small_bytes,
                delete_bytes: bounds.delete_bytes,
                deleting_bytes: bounds.deleting_bytes,
                deletions: bounds.deletions,
                task_bytes: bounds.task_bytes,
                parts: bounds.parts,
                groups: bounds.groups,
                answer,
            };
            Ok(scan.job(&bounds)?.map(Planned))
        })
    }
}

fn batches(rows: Vec<RecordBatch>) -> Vec<Batch> {
    rows.into_iter().map(|rows| Batch(Arc::new(StructArray::from(rows)))).collect()
}

#[pymethods]
impl Planned {
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
            dict.set_item("divisible", one.divisible)?;
            Ok(dict)
        };
        self.0.manifests.iter().map(manifest).collect()
    }

    #[getter]
    fn shuffles(&self) -> Vec<usize> {
        self.0.shuffles()
    }

    fn made(&self, py: Python<'_>) -> PyResult<Vec<(usize, Vec<Batch>)>> {
        let made = detached(py, || self.0.made())?;
        Ok(made.into_iter().map(|(stage, rows)| (stage, batches(rows))).collect())
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &detached(py, || self.0.to_bytes())?))
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
    fn new(py: Python<'_>, job: &[u8], limits: &Bound<'_, PyAny>) -> PyResult<Job> {
        let decoding = decoding(limits)?;
        detached(py, || Ok(Job { job: Arc::new(SentJob::read(job, &FORMATS)?), decoding }))
    }

    fn map(&self, py: Python<'_>, manifests: Py<PyAny>) -> PyResult<BatchStream> {
        let process = self.process(py, None, None, None)?;
        self.stage(py, 0, || self.job.map(Manifests(manifests), process))
    }

    fn map_paths(
        &self,
        py: Python<'_>,
        paths: Vec<String>,
        storage: Option<Py<PyAny>>,
        concurrent_reads: usize,
    ) -> PyResult<BatchStream> {
        let process = self.process(py, storage, Some(concurrent_reads), None)?;
        self.stage(py, 0, || self.job.map_paths(&paths, process))
    }

    fn listed(&self, py: Python<'_>, scan: &crate::table::Scan) -> PyResult<BatchStream> {
        self.stage(py, 0, || Ok(self.job.packed(scan.0.listed(self.job.parts())?)))
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
        let process = self.process(py, storage, None, table)?;
        let pieces: Batches = Box::new(caller_stream(pieces)?.map(sent));
        self.stage(py, stage, || self.job.reduce(stage, pieces, process))
    }

    fn reduce_all(
        &self,
        py: Python<'_>,
        pieces: &Bound<'_, PyAny>,
        made: Vec<(usize, Bound<'_, PyAny>)>,
    ) -> PyResult<BatchStream> {
        let (process, pieces) = (self.process(py, None, None, None)?, caller_stream(pieces)?);
        let made = made.into_iter().map(|(stage, rows)| Ok((stage, import_batch(&rows)?)));
        let made = made.collect::<PyResult<Vec<_>>>()?;
        self.stage(py, usize::MAX, || {
            self.job.reduce_all(pieces.map(sent).collect::<lakebed::Result<_>>()?, &made, &process)
        })
    }
}

impl Job {
    fn process(
        &self,
        py: Python<'_>,
        storage: Option<Py<PyAny>>,
        concurrent_reads: Option<usize>,
        table: Option<distributed::TableToLookAt>,
    ) -> PyResult<Process> {
        let (storage, decoding) = (storage_of(py, storage, concurrent_reads)?, self.decoding.clone());
        Ok(Process { storage, decoding, table })
    }

    fn stage(
        &self,
        py: Python<'_>,
        stage: usize,
        make: impl FnOnce() -> lakebed::Result<Batches> + Send,
    ) -> PyResult<BatchStream> {
        detached(py, || Ok(BatchStream::new(self.job.schema_of(stage)?, make()?)))
    }
}

/// Manifests that Python gives: an iterator of paths and contents.
struct Manifests(Py<PyAny>);

impl Iterator for Manifests {
    type Item = lakebed::Result<(String, Content)>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = attached(|py| {
            let next = match call_method(self.0.bind(py), "__next__", ()) {
                Err(error) if error.is_instance_of::<PyStopIteration>(py) => return Ok(None),
                next => next.and_then(|next| next.extract::<(String, GivenContent)>()),
            };
            let failed = |raised| Error::new(ErrorKind::Io, "reading manifests").caused_by(cause(py, raised));
            next.map(Some).map_err(failed)
        });
        next.and_then(|next| next.map(|(path, content)| Ok((path, content.take()?))).transpose()).transpose()
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
    /// # Errors
    /// Those of reading a path; `Argument` for a share that was taken before.
    fn take(self) -> lakebed::Result<Content> {
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
    /// Its header, where only the blocks from byte `start` to byte `end` are meant.
    header: Option<Vec<u8>>,
}

/// The content of a piece of a manifest. `None` where no block belongs to its range.
#[pyfunction]
pub fn read_share(
    py: Python<'_>,
    storage: Option<Py<PyAny>>,
    piece: Piece,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Option<Share>> {
    let Piece { path, length, start, end, header } = piece;
    let limits: Limits = extract(limits)?;
    let storage = storage_of(py, storage, None)?;
    detached(py, || {
        let storage = storage.as_ref();
        let content = match header {
            Some(header) => Content::of_range(storage, &path, length, start..end, Buffer::from_vec(header))
                .map_err(|error| error.in_file(&path))?,
            None => Some(Content::of_file(storage, &path, length, &limits)?),
        };
        Ok(content.map(|content| Share(Mutex::new(Some(content)))))
    })
}

/// The header of each manifest, given by path and recorded length, that may be read in ranges.
#[pyfunction]
pub fn divisible(
    py: Python<'_>,
    storage: Option<Py<PyAny>>,
    manifests: Vec<(String, u64)>,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Vec<Option<Py<PyBytes>>>> {
    let limits: Limits = extract(limits)?;
    let storage = storage_of(py, storage, None)?;
    let headers = detached(py, || scan::divisible(&storage, manifests, limits))?;
    let bytes = |header: Buffer| PyBytes::new(py, &header).unbind();
    Ok(headers.into_iter().map(|header| header.map(bytes)).collect())
}

/// The columns of the view `health`, the same for all tables.
#[pyfunction]
pub fn health_schema(py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<SchemaCapsule> {
    detached(py, || Ok(SchemaCapsule(lakebed::health::schema(columns.as_deref())?)))
}
