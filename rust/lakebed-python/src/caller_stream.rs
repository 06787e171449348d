//! Streams that Python gives.

use std::sync::Arc;

use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;

use crate::arrow::{import_batch, import_schema, import_stream};
use crate::boundary::checked;
use crate::interpreter::{attempted, call_method};

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

/// All rows of what Python gives, as one batch.
pub fn rows_of(object: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let stream = caller_stream(object)?;
    checked(object.py(), || {
        let schema = stream.schema();
        concat_batches(&schema, &stream.collect::<Result<Vec<_>>>()?).map_err(argument)
    })
}

/// Its errors are `Argument` with the text of a C stream, or `Io` with the exception of a reader.
impl Iterator for CallerStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        match &mut self.batches {
            Batches::Stream(stream) => stream.next().map(|batch| batch.map_err(argument)),
            Batches::Reader(reader) => {
                let batch = attempted("the given stream failed", |py| pulled(reader.bind(py)));
                batch.and_then(|batch| batch.map(|batch| self.of_schema(&batch)).transpose()).transpose()
            }
        }
    }
}

impl CallerStream {
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Refuses a batch of other types than the stream said.
    fn of_schema(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let types = |schema: &Schema| -> Vec<_> {
            schema.fields().iter().map(|field| field.data_type().clone()).collect()
        };
        if types(&batch.schema()) != types(&self.schema) {
            let message = "a batch has other columns than its stream";
            return Err(argument(ArrowError::SchemaError(message.to_owned())));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.schema(), batch.columns().to_vec(), &options).map_err(argument)
    }
}

fn pulled(reader: &Bound<'_, PyAny>) -> PyResult<Option<RecordBatch>> {
    match call_method(reader, "read_next_batch", ()) {
        Ok(batch) => import_batch(&batch).map(Some),
        Err(error) if error.is_instance_of::<PyStopIteration>(reader.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

fn argument(error: ArrowError) -> Error {
    Error::new(ErrorKind::Argument, error.to_string())
}
