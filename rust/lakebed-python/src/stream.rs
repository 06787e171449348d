//! Passes record batches to Python.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{Schema, SchemaRef};
use lakebed::notes::Notes;
use lakebed::predicate::{BoundPredicate, Predicate};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::arrow::{StreamProducer, export_array, export_schema, export_stream, import_batch, import_schema};
use crate::boundary::detached;
use crate::interpreter::{is_raised, raise_what_ends, released};
use crate::notes::warn;
use crate::turns::Turns;

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
    batches: Turns<Batches>,
    notes: Notes,
}

impl BatchStream {
    pub fn new(schema: SchemaRef, batches: Batches) -> BatchStream {
        BatchStream { schema, batches: Turns::new(batches), notes: Notes::default() }
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
        export_stream(py, Box::new(BatchProducer { schema: Arc::clone(&self.schema), batches }))
    }

    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let next = detached(py, || next_of(&self.batches))?;
        warn(py, &self.notes)?;
        Ok(next.map(|batch| Batch(Arc::new(StructArray::from(batch)))))
    }

    /// The rows that a filter keeps; this stream is handed over.
    fn filter(&self, py: Python<'_>, condition: &Filter) -> PyResult<BatchStream> {
        let (batches, filter) = (self.handed(py)?, Arc::clone(&condition.0));
        let rows = std::iter::from_fn(move || next_of(&batches).transpose());
        let kept = rows.map(move |rows| lakebed::view::matching(&rows?, &filter.predicate));
        let stream = BatchStream::new(Arc::clone(&self.schema), Box::new(kept));
        Ok(stream.with_notes(self.notes.clone()))
    }
}

/// A filter on the columns of some rows.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Filter(Arc<Condition>);

/// A filter bound to a schema, and the columns that it tests.
struct Condition {
    predicate: BoundPredicate,
    columns: Vec<String>,
}

impl Condition {
    fn new(text: &str, schema: &Schema) -> lakebed::Result<Condition> {
        let predicate = Predicate::parse(text)?;
        let columns = predicate.columns().into_iter().map(str::to_owned).collect();
        Ok(Condition { predicate: predicate.bind(schema)?, columns })
    }
}

#[pymethods]
impl Filter {
    #[new]
    fn new(py: Python<'_>, schema: &Bound<'_, PyAny>, r#where: &str) -> PyResult<Filter> {
        let schema = import_schema(schema)?;
        detached(py, || Ok(Filter(Arc::new(Condition::new(r#where, &schema)?))))
    }

    /// The names of the columns that it tests.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.columns.clone()
    }

    /// The rows of a batch that it keeps.
    fn matching(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<Batch> {
        let rows = import_batch(rows)?;
        let kept = detached(py, || lakebed::view::matching(&rows, &self.0.predicate))?;
        Ok(Batch(Arc::new(StructArray::from(kept))))
    }
}

/// The same batches behind the C stream, whose errors are texts.
struct BatchProducer {
    schema: SchemaRef,
    batches: Turns<Batches>,
}

impl StreamProducer for BatchProducer {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn next(&self) -> Result<Option<RecordBatch>, String> {
        released(|| next_of(&self.batches).map_err(as_text))
    }
}

/// An error in a text, with the exception of a storage; what ends a program is raised besides.
fn as_text(error: lakebed::Error) -> String {
    let raised = std::error::Error::source(&error).filter(|cause| is_raised(*cause));
    let text = match raised {
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
