//! Streams that Python gives.

use std::sync::Arc;

use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;

use crate::arrow::{import_batch, import_schema, import_stream};
use crate::interpreter::{attached, call_method, cause, is_raised};

/// The batches of a caller's stream.
pub struct CallerStream {
    schema: SchemaRef,
    batches: Batches,
}

enum Batches {
    /// A `pyarrow.RecordBatchReader`, pulled in Python, where exceptions stay what they are: the C stream would
    /// make texts of them, of interrupts too.
    Reader(Py<PyAny>),
    Stream(RecordBatchStreamReader),
}

/// The stream of a `pyarrow.RecordBatchReader`, or of anything with `__arrow_c_stream__`; its buffers are
/// shared, not copied.
pub fn caller_stream(object: &Bound<'_, PyAny>) -> PyResult<CallerStream> {
    if object.hasattr("read_next_batch")? {
        let schema = Arc::new(import_schema(&object.getattr("schema")?)?);
        return Ok(CallerStream { schema, batches: Batches::Reader(object.clone().unbind()) });
    }
    let stream = import_stream(object)?;
    Ok(CallerStream { schema: stream.schema(), batches: Batches::Stream(stream) })
}

impl Iterator for CallerStream {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.batches {
            Batches::Stream(stream) => stream.next(),
            Batches::Reader(reader) => {
                let next = attached(|py| {
                    Ok(pulled(reader.bind(py)).map_err(|raised| cause(py, raised)).transpose())
                });
                let next = match next {
                    Ok(next) => next?.map_err(ArrowError::ExternalError),
                    Err(error) => Err(ArrowError::ExternalError(Box::new(error))),
                };
                Some(next.and_then(|batch| self.of_schema(batch)))
            }
        }
    }
}

impl CallerStream {
    /// Refuses a batch of other types than the stream said.
    fn of_schema(&self, batch: RecordBatch) -> std::result::Result<RecordBatch, ArrowError> {
        let types = |schema: &Schema| -> Vec<_> {
            schema.fields().iter().map(|field| field.data_type().clone()).collect()
        };
        if types(&batch.schema()) == types(&self.schema) {
            return RecordBatch::try_new_with_options(
                Arc::clone(&self.schema),
                batch.columns().to_vec(),
                &arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows())),
            );
        }
        Err(ArrowError::SchemaError("a batch has other columns than its stream".to_owned()))
    }
}

impl RecordBatchReader for CallerStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn pulled(reader: &Bound<'_, PyAny>) -> PyResult<Option<RecordBatch>> {
    match call_method(reader, "read_next_batch", ()) {
        Ok(batch) => import_batch(&batch).map(Some),
        Err(error) if error.is_instance_of::<PyStopIteration>(reader.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A batch of a caller's stream.
///
/// # Errors
/// `Argument` with the text of the C stream, or `Io` with the exception of a reader.
pub fn sent(batch: std::result::Result<RecordBatch, ArrowError>) -> Result<RecordBatch> {
    batch.map_err(|error| match error {
        ArrowError::ExternalError(raised) if is_raised(raised.as_ref()) => {
            Error::new(ErrorKind::Io, "the given stream failed").caused_by(raised)
        }
        ArrowError::ExternalError(other) => Error::new(ErrorKind::Argument, other.to_string()),
        error => Error::new(ErrorKind::Argument, error.to_string()),
    })
}
