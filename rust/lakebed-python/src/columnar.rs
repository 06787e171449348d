//! ORC and Parquet, encoded by pyarrow.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use lakebed::columnar::{Codec, Encoder, Format};
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::{PyException, PyImportError, PyMemoryError, PyNotImplementedError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::interpreter::{attached, call_method, cause};
use crate::storage::buffer_of;
use crate::stream::Batch;

/// Calls `lakebed._columnar`; attaches to the interpreter only for that.
#[derive(Debug)]
pub struct PyarrowEncoder;

impl Encoder for PyarrowEncoder {
    fn encode(&self, rows: &RecordBatch, format: Format, codec: Codec) -> Result<Buffer> {
        let batch = Batch::from(rows.clone());
        let (codec, level) = match codec {
            Codec::None => ("none", None),
            Codec::Snappy => ("snappy", None),
            Codec::Deflate => ("deflate", None),
            Codec::Lz4 => ("lz4", None),
            Codec::Zstandard { level } => ("zstd", Some(level)),
        };
        let encoded = |py: Python<'_>| -> PyResult<PyBackedBytes> {
            let module = py.import("lakebed._columnar")?;
            let encoded = match format {
                Format::Orc => call_method(&module, "orc", (batch, codec)),
                Format::Parquet => call_method(&module, "parquet", (batch, codec, level)),
            };
            Ok(encoded?.extract()?)
        };
        attached(|py| encoded(py).map(buffer_of).map_err(|error| failed(py, error, format)))
    }
}

fn failed(py: Python<'_>, error: PyErr, format: Format) -> Error {
    let lacks =
        error.is_instance_of::<PyImportError>(py) || error.is_instance_of::<PyNotImplementedError>(py);
    let kind = if error.is_instance_of::<PyMemoryError>(py) {
        ErrorKind::Avro(lakebed_avro::ErrorKind::Limit)
    } else if lacks {
        ErrorKind::Unsupported
    } else if error.is_instance_of::<PyException>(py) {
        ErrorKind::Internal
    } else {
        // An interrupt, for example: it is raised again unchanged.
        ErrorKind::Io
    };
    let message = format!("manifests in {} that pyarrow could not write: {}", format.name(), error.value(py));
    Error::new(kind, message).caused_by(cause(py, error))
}
