//! ORC and Parquet files by way of pyarrow.

use std::sync::Arc;

use arrow_array::{LargeBinaryArray, RecordBatch};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::SchemaRef;
use lakebed::columnar::{ColumnarFile, ColumnarFormat, ColumnarReader, Decoding};
use lakebed::{Error, ErrorKind, Result};
use lakebed_avro::ErrorKind as AvroKind;
use pyo3::exceptions::{
    PyIndexError, PyKeyError, PyMemoryError, PyNotImplementedError, PyOSError, PyValueError,
};
use pyo3::prelude::*;

use crate::arrow::{import_batch, import_schema};
use crate::limits::extract;
use crate::stream::Batch;

/// How files are decoded under a `lakebed.Limits`, with pyarrow for what is not Avro.
pub fn decoding(limits: &Bound<'_, PyAny>) -> PyResult<Decoding> {
    Ok(Decoding { limits: extract(limits)?, columnar: Some(Arc::new(Pyarrow)) })
}

/// Calls `lakebed._columnar`; attaches to the interpreter only for that.
struct Pyarrow;

impl ColumnarReader for Pyarrow {
    fn open(&self, format: ColumnarFormat, bytes: Buffer, columns: &[String]) -> Result<ColumnarFile> {
        Python::attach(|py| {
            let open = || -> PyResult<ColumnarFile> {
                let module = py.import("lakebed._columnar")?;
                let arguments = (format.name(), Batch(Arc::new(one_value(bytes)?)), columns.to_vec());
                let file = module.call_method1("open_file", arguments)?;
                let schema: SchemaRef = Arc::new(import_schema(&file.getattr("schema")?)?);
                let batches = Batches { batches: file.getattr("batches")?.unbind(), format };
                Ok(ColumnarFile {
                    schema,
                    rows: file.getattr("rows")?.extract()?,
                    bytes: file.getattr("bytes")?.extract()?,
                    batches: Box::new(batches),
                })
            };
            open().map_err(|error| failed(py, format, error))
        })
    }
}

/// Bytes as the only value of an array, shared.
fn one_value(bytes: Buffer) -> PyResult<LargeBinaryArray> {
    let offsets = OffsetBuffer::from_lengths([bytes.len()]);
    LargeBinaryArray::try_new(offsets, bytes, None).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A Python iterator of record batches.
struct Batches {
    batches: Py<PyAny>,
    format: ColumnarFormat,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        Python::attach(|py| {
            let next = self.batches.bind(py).try_iter().and_then(|mut batches| batches.next().transpose());
            let batch = next.and_then(|batch| batch.map(|batch| import_batch(&batch)).transpose());
            batch.map_err(|error| failed(py, self.format, error)).transpose()
        })
    }
}

/// What pyarrow raised, as an error of the file: its exceptions are also Python's own. Anything else is
/// no matter of the file, and comes back as it was raised.
fn failed(py: Python<'_>, format: ColumnarFormat, error: PyErr) -> Error {
    let is = |class: &Bound<'_, PyAny>| error.matches(py, class).unwrap_or(false);
    let broken = [
        py.get_type::<PyOSError>(),
        py.get_type::<PyValueError>(),
        py.get_type::<PyKeyError>(),
        py.get_type::<PyIndexError>(),
    ];
    let kind = if is(&py.get_type::<PyNotImplementedError>()) {
        ErrorKind::Unsupported
    } else if is(&py.get_type::<PyMemoryError>()) {
        ErrorKind::Avro(AvroKind::Limit)
    } else if broken.iter().any(|class| is(class)) {
        ErrorKind::Avro(AvroKind::Codec)
    } else {
        ErrorKind::Io
    };
    let words = error.value(py).to_string();
    let words = words.lines().next().unwrap_or_default();
    Error::new(kind, format!("pyarrow does not read this {} file: {words}", format.name())).caused_by(error)
}
