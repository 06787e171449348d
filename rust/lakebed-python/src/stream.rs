//! Passes record batches to Python.

use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use lakebed::notes::Notes;
use lakebed::predicate::{BoundPredicate, Predicate};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::arrow::{export_array, export_schema, export_stream, import_batch, import_schema};
use crate::boundary::{detached, drop_detached};
use crate::notes::warn;

/// Batches, or the error that ends them.
pub type Batches = Box<dyn Iterator<Item = lakebed::Result<RecordBatch>> + Send>;

/// One record batch or array, handed over through the Arrow PyCapsule interface.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Batch(pub ArrayRef);

#[pymethods]
impl Batch {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The interface lets a producer answer with its own type.
        let _ = requested_schema;
        export_array(py, self.0.as_ref())
    }
}

/// Record batches pulled one by one.
#[pyclass(frozen, module = "lakebed._native")]
pub struct BatchStream {
    schema: SchemaRef,
    batches: Mutex<Option<Batches>>,
    notes: Notes,
}

impl BatchStream {
    pub fn new(schema: SchemaRef, batches: Batches) -> BatchStream {
        BatchStream { schema, batches: Mutex::new(Some(batches)), notes: Notes::default() }
    }

    /// Adds the notes on the files of the batches; they become warnings while batches are pulled.
    pub fn with_notes(mut self, notes: Notes) -> BatchStream {
        self.notes = notes;
        self
    }

    fn taken() -> PyErr {
        PyRuntimeError::new_err("this stream was consumed already")
    }
}

impl Drop for BatchStream {
    fn drop(&mut self) {
        if let Ok(batches) = self.batches.get_mut() {
            drop_detached(batches.take());
        }
    }
}

#[pymethods]
impl BatchStream {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.lock().map_err(|_| BatchStream::taken())?.take();
        let batches = batches.ok_or_else(BatchStream::taken)?;
        export_stream(py, Box::new(Exported { schema: Arc::clone(&self.schema), batches: Some(batches) }))
    }

    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let next = detached(py, || {
            // A poisoned lock means an earlier call panicked: there is nothing more to give.
            let Ok(mut batches) = self.batches.lock() else { return Ok(None) };
            let next = batches.as_mut().and_then(Iterator::next);
            if !matches!(next, Some(Ok(_))) {
                *batches = None;
            }
            next.transpose()
        })?;
        warn(py, &self.notes)?;
        Ok(next.map(|batch| Batch(Arc::new(StructArray::from(batch)))))
    }

    /// The rows that a filter keeps; this stream is handed over.
    fn filter(&self, condition: &Filter) -> PyResult<BatchStream> {
        let batches = self.batches.lock().map_err(|_| BatchStream::taken())?.take();
        let batches = batches.ok_or_else(BatchStream::taken)?;
        let filter = Arc::clone(&condition.0);
        let kept = batches.map(move |rows| lakebed::view::matching(&rows?, &filter));
        let stream = BatchStream::new(Arc::clone(&self.schema), Box::new(kept));
        Ok(stream.with_notes(self.notes.clone()))
    }
}

/// A filter on the columns of some rows.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Filter(Arc<BoundPredicate>);

#[pymethods]
impl Filter {
    #[new]
    fn new(py: Python<'_>, schema: &Bound<'_, PyAny>, r#where: &str) -> PyResult<Filter> {
        let schema = import_schema(schema)?;
        detached(py, || Ok(Filter(Arc::new(Predicate::parse(r#where)?.bind(&schema)?))))
    }

    /// The rows of a batch that it keeps.
    fn matching(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<Batch> {
        let rows = import_batch(rows)?;
        let kept = detached(py, || lakebed::view::matching(&rows, &self.0))?;
        Ok(Batch(Arc::new(StructArray::from(kept))))
    }
}

/// The same batches behind the C stream, whose errors are texts.
struct Exported {
    schema: SchemaRef,
    batches: Option<Batches>,
}

impl Drop for Exported {
    fn drop(&mut self) {
        drop_detached(self.batches.take());
    }
}

impl Iterator for Exported {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Some callers pull while they hold the interpreter, which threads in here may have to wait for.
        let pull = || Python::attach(|py| py.detach(|| self.batches.as_mut()?.next()));
        let next = std::panic::catch_unwind(std::panic::AssertUnwindSafe(pull));
        match next {
            Ok(next) => Some(next?.map_err(|error| ArrowError::ExternalError(Box::new(error)))),
            Err(_) => Some(Err(ArrowError::ComputeError("panic in lakebed".to_owned()))),
        }
    }
}

impl RecordBatchReader for Exported {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
