//! `lakebed.rewrite_paths`.

use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_buffer::Buffer;
use bytes::Bytes;
use lakebed::rewrite_paths::{MovedTexts, PositionDeletes, RewritePaths, Since};
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::arrow::import_array;
use crate::boundary::detached;
use crate::interpreter::{attached, call_method, cause};
use crate::storage::storage_of;
use crate::stream::Batch;
use crate::table::{Scan, Table};
use crate::view::Options;

/// A snapshot's id, or the path or name of a metadata file.
#[derive(FromPyObject)]
pub enum Before {
    Snapshot(i64),
    Metadata(String),
}

/// What Python's `lakebed.rewriting` gives.
#[derive(FromPyObject)]
pub struct Rewriting {
    prefixes: Vec<(String, String)>,
    to: String,
    storage: Option<Py<PyAny>>,
    since: Option<Before>,
}

/// Writes the metadata. Returns the files to copy.
#[pyfunction]
pub fn rewrite_paths(
    py: Python<'_>,
    table: &Bound<'_, Table>,
    rewriting: Rewriting,
    options: Options,
) -> PyResult<Scan> {
    let Rewriting { prefixes, to, storage, since } = rewriting;
    let since = since.map(|since| match since {
        Before::Snapshot(id) => Since::Snapshot(id),
        Before::Metadata(name) => Since::Metadata(name),
    });
    let Options(options) = options;
    let target = storage_of(py, storage, None)?;
    let position_deletes = Arc::new(PythonDeletes);
    let job = RewritePaths { prefixes, to, target, since, threads: options.threads, position_deletes };
    let table = table.get();
    detached(py, || table.0.rewrite_paths(&job, options)).map(Scan)
}

/// Writes Parquet with `lakebed._position_deletes`.
struct PythonDeletes;

impl PositionDeletes for PythonDeletes {
    fn parquet(&self, bytes: Buffer, moved: MovedTexts) -> Result<Buffer> {
        // Errors of the core are passed through Python unchanged.
        let refused: Arc<Mutex<Option<Error>>> = Arc::default();
        let kept = Arc::clone(&refused);
        let moved: MovedTexts = Arc::new(move |paths| {
            moved(paths).map_err(|error| {
                let again = Error::new(error.kind(), error.message().to_owned()).at(error.location().clone());
                if let Ok(mut kept) = kept.lock() {
                    *kept = Some(error);
                }
                again
            })
        });
        let written = |py: Python<'_>| -> PyResult<PyBackedBytes> {
            let module = py.import("lakebed._position_deletes")?;
            let data = PyBytes::new(py, &bytes);
            Ok(call_method(&module, "rewritten", (data, PathMover { moved }))?.extract()?)
        };
        let written = attached(|py| Ok(written(py).map_err(|raised| cause(py, raised))))?;
        let written = written.map_err(|error| {
            if let Some(refused) = refused.lock().ok().and_then(|mut refused| refused.take()) {
                return refused;
            }
            Error::new(ErrorKind::Mismatch, "position deletes that pyarrow could not rewrite")
                .caused_by(error)
        })?;
        Ok(Buffer::from(Bytes::from_owner(written)))
    }
}

/// Replaces the prefixes of paths.
#[pyclass(frozen, module = "lakebed._native")]
pub struct PathMover {
    moved: MovedTexts,
}

#[pymethods]
impl PathMover {
    /// The new paths of an Arrow array of texts without nulls.
    fn moved(&self, py: Python<'_>, paths: &Bound<'_, PyAny>) -> PyResult<Batch> {
        let paths = import_array(paths)?;
        let texts = paths.as_string_opt::<i32>().ok_or_else(|| PyTypeError::new_err("paths are text"))?;
        Ok(Batch(Arc::new(detached(py, || (self.moved)(texts))?)))
    }
}
