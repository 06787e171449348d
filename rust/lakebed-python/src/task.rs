//! A scan's work on manifests, run in the process that reads them.

use std::sync::{Arc, Mutex};

use arrow_buffer::Buffer;
use lakebed::distributed::ReadyTask;
use lakebed::format::FORMATS;
use lakebed::scan::{self, Content};
use lakebed::{Error, ErrorKind};
use lakebed_avro::Limits;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::SchemaCapsule;
use crate::boundary::detached;
use crate::limits::decoding;
use crate::limits::extract;
use crate::source::Source;
use crate::storage::storage_of;
use crate::stream::BatchStream;

/// A scan's work on manifests, independent of the table.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Task(ReadyTask);

#[pymethods]
impl Task {
    #[new]
    fn new(py: Python<'_>, text: &str, limits: &Bound<'_, PyAny>) -> PyResult<Task> {
        let decoding = decoding(limits)?;
        detached(py, || FORMATS.task(text)?.ready(decoding).map(Task))
    }

    #[getter]
    fn schema(&self) -> SchemaCapsule {
        SchemaCapsule(Arc::clone(self.0.schema()))
    }

    fn run(&self, py: Python<'_>, path: &str, content: GivenContent) -> PyResult<BatchStream> {
        detached(py, || {
            let rows = self.0.run(path, content.take()?)?;
            Ok(BatchStream::new(Arc::clone(self.0.schema()), rows))
        })
    }
}

/// The content of a manifest, or of a part of it, as Python passes it.
#[derive(FromPyObject)]
pub enum GivenContent {
    /// The result of [`read_share`].
    Share(Py<Share>),
    /// The whole manifest.
    Whole(Source),
}

impl GivenContent {
    /// # Errors
    /// Those of reading a path; `Argument` for a share that was taken before.
    pub fn take(self) -> lakebed::Result<Content> {
        match self {
            GivenContent::Whole(source) => Ok(source.read()?.into()),
            GivenContent::Share(share) => {
                let content = share.get().0.lock().ok().and_then(|mut content| content.take());
                content.ok_or_else(|| Error::new(ErrorKind::Argument, "the share was taken before"))
            }
        }
    }
}

/// The part of a manifest that a range has; it can be run once.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Share(Mutex<Option<Content>>);

/// The attributes of `lakebed.spark.reading.Piece`.
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
