//! Passes record batches to Python.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::SchemaRef;
use lakebed::location::without_credentials_in;
use lakebed::notes::Notes;
use lakebed::predicate::{self, BoundPredicate, Predicate};
use lakebed::scan::Batches;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::arrow::{export_array, export_schema, export_stream, import_batch, import_schema};
use crate::boundary::detached;
use crate::interpreter::{is_raised, raise_what_ends, released};
use crate::turns::Turns;

/// One record batch or array, handed over through the Arrow PyCapsule interface.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Batch(pub ArrayRef);

impl From<RecordBatch> for Batch {
    fn from(rows: RecordBatch) -> Batch {
        Batch(Arc::new(StructArray::from(rows)))
    }
}

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
    batches: Turns<Batches>,
    notes: Notes,
}

impl BatchStream {
    pub fn new(schema: SchemaRef, batches: Batches) -> BatchStream {
        BatchStream { schema, batches: Turns::new(batches), notes: Notes::default() }
    }

    /// A stream of one batch.
    pub fn of(batch: RecordBatch) -> BatchStream {
        BatchStream::new(batch.schema(), Box::new(std::iter::once(Ok(batch))))
    }

    /// A stream of open files, of which a forked process shares the position.
    pub fn of_open_file(schema: SchemaRef, batches: Batches) -> BatchStream {
        BatchStream { schema, batches: Turns::of_this_process(batches), notes: Notes::default() }
    }

    /// Adds the notes on the files of the batches; they become warnings while batches are pulled.
    pub fn with_notes(mut self, notes: Notes) -> BatchStream {
        self.notes = notes;
        self
    }

    /// The batches for another owner.
    fn handed(&self, py: Python<'_>) -> PyResult<Turns<Batches>> {
        let batches = detached(py, || self.batches.hand_over())?;
        batches.ok_or_else(|| PyRuntimeError::new_err("this stream was consumed already"))
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
        let batches = self.handed(py)?;
        // Errors of a C stream are texts.
        let next = move || released(|| next_of(&batches).map_err(as_text));
        export_stream(py, Arc::clone(&self.schema), Box::new(next))
    }

    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let next = detached(py, || next_of(&self.batches))?;
        warn(py, &self.notes)?;
        Ok(next.map(Batch::from))
    }

    /// The rows that a filter keeps; this stream is handed over.
    fn filter(&self, py: Python<'_>, condition: &Filter) -> PyResult<BatchStream> {
        let (batches, filter) = (self.handed(py)?, Arc::clone(&condition.predicate));
        let rows = std::iter::from_fn(move || next_of(&batches).transpose());
        let kept = rows.map(move |rows| lakebed::view::matching(&rows?, &filter));
        let stream = BatchStream::new(Arc::clone(&self.schema), Box::new(kept));
        Ok(stream.with_notes(self.notes.clone()))
    }
}

/// A filter on the columns of some rows, bound to their schema, and the columns that it tests.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Filter {
    predicate: Arc<BoundPredicate>,
    columns: Vec<String>,
}

#[pymethods]
impl Filter {
    #[new]
    fn new(py: Python<'_>, schema: &Bound<'_, PyAny>, r#where: &str) -> PyResult<Filter> {
        let schema = import_schema(schema)?;
        detached(py, || {
            let predicate = Predicate::parse(r#where)?;
            let columns = predicate.columns().into_iter().map(str::to_owned).collect();
            Ok(Filter { predicate: Arc::new(predicate.bind(&schema)?), columns })
        })
    }

    #[getter]
    fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows of a batch that it keeps.
    fn matching(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<Batch> {
        let rows = import_batch(rows)?;
        detached(py, || Ok(lakebed::view::matching(&rows, &self.predicate)?.into()))
    }
}

/// The columns that a condition reads, each once.
#[pyfunction]
pub fn columns_of(py: Python<'_>, condition: &str) -> PyResult<Vec<String>> {
    detached(py, || Ok(Predicate::parse(condition)?.columns().into_iter().map(str::to_owned).collect()))
}

/// The digits of a number of bytes that is written as in filters, with a unit or without.
#[pyfunction]
pub fn byte_count(text: &str) -> Option<String> {
    predicate::byte_count(text)
}

/// An error in a text, with the exception of a storage; what ends a program is raised besides.
fn as_text(error: lakebed::Error) -> String {
    let text = match std::error::Error::source(&error).filter(|cause| is_raised(*cause)) {
        Some(raised) => format!("{error}: {raised}"),
        None => error.to_string(),
    };
    raise_what_ends(error);
    text
}

/// The next batch; nothing after an error or the end.
fn next_of(batches: &Turns<Batches>) -> lakebed::Result<Option<RecordBatch>> {
    batches.take_turn(|batches| {
        let next = batches.as_mut().and_then(Iterator::next);
        if !matches!(next, Some(Ok(_))) {
            *batches = None;
        }
        next.transpose()
    })
}

/// Warns of the notes added since the last call.
pub fn warn(py: Python<'_>, notes: &Notes) -> PyResult<()> {
    let notes = notes.take();
    if !notes.is_empty() {
        let notes: Vec<_> = notes.iter().map(|note| without_credentials_in(note)).collect();
        py.import("lakebed._notes")?.call_method1("warn", (notes,))?;
    }
    Ok(())
}
