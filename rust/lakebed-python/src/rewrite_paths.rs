//! `lakebed.rewrite_paths`.

use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_buffer::Buffer;
use lakebed::rewrite_paths::{MovedTexts, PositionDeletes, RewritePaths, Since};
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::arguments::{IdOrName, of_attributes};
use crate::arrow::import_array;
use crate::boundary::detached;
use crate::interpreter::{attached, call_method, cause};
use crate::storage::{buffer_of, storage_of};
use crate::stream::Batch;
use crate::table::{Scan, Table};
use crate::view::Options;

/// Writes the metadata, by the attributes that Python's `lakebed.rewriting` gives. Returns the files to copy.
#[pyfunction]
pub fn rewrite_paths(
    py: Python<'_>,
    table: &Table,
    rewriting: &Bound<'_, PyAny>,
    options: Options,
) -> PyResult<Scan> {
    let since: Option<IdOrName> = rewriting.getattr("since")?.extract()?;
    let job = of_attributes!(rewriting, RewritePaths {
        prefixes, to;
        target: storage_of(py, rewriting.getattr("storage")?.extract()?, None)?,
        since: since.map(|since| match since {
            IdOrName::Id(id) => Since::Snapshot(id),
            IdOrName::Name(name) => Since::Metadata(name),
        }),
        threads: options.0.threads,
        position_deletes: Arc::new(PythonDeletes)
    });
    detached(py, || table.0.rewrite_paths(&job, options.0)).map(Scan)
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
        attached(|py| {
            written(py).map(buffer_of).map_err(|raised| {
                let refused = refused.lock().ok().and_then(|mut refused| refused.take());
                let message = "position deletes that pyarrow could not rewrite";
                let failed = || Error::new(ErrorKind::Mismatch, message).caused_by(cause(py, raised));
                refused.unwrap_or_else(failed)
            })
        })
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
