//! ORC and Parquet, encoded by pyarrow; and the footers of files of both.

use std::borrow::Cow;
use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use lakebed::columnar::{
    Bound, Codec, Encoder, Format, OrcColumn, OrcSummary, ParquetElement, ParquetSummary, Statistics,
    orc_summary, parquet_summary,
};
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::{PyException, PyImportError, PyMemoryError, PyNotImplementedError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::arguments::Limits;
use crate::boundary::detached;
use crate::interpreter::{attached, call_method, cause};
use crate::source::Source;
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

/// The footer of a file as Python gets it.
#[derive(IntoPyObject)]
pub enum Footer<Column> {
    /// The number of last bytes that are needed.
    #[pyo3(transparent)]
    Needs(u64),
    /// Rows, offsets of stripes or row groups, the types in pre-order, and what is known of those with values; of ORC
    /// of all.
    Read(u64, Vec<u64>, Vec<Column>, Vec<Counts>),
}

/// A type of ORC: its kind, its children and their names, attributes, precision and scale.
type OrcType = (u64, Vec<u64>, Vec<String>, HashMap<String, String>, (u64, u64));

/// A type of Parquet: its name, its values, repetition, number of children, and field id.
type ParquetType = (String, String, i64, i64, Option<i64>);

/// Values, nulls, bytes, and bounds.
type Counts = (Option<u64>, Option<u64>, Option<u64>, Option<Value>, Option<Value>);

/// A bound.
#[derive(IntoPyObject)]
pub enum Value {
    #[pyo3(transparent)]
    Integer(i128),
    #[pyo3(transparent)]
    Float(f64),
    #[pyo3(transparent)]
    Text(String),
    #[pyo3(transparent)]
    Bytes(Cow<'static, [u8]>),
    #[pyo3(transparent)]
    Boolean(bool),
}

impl From<Bound> for Value {
    fn from(bound: Bound) -> Value {
        match bound {
            Bound::Integer(value) => Value::Integer(value),
            Bound::Float(value) => Value::Float(value),
            Bound::Text(value) => Value::Text(value),
            Bound::Bytes(value) => Value::Bytes(value.into()),
            Bound::Boolean(value) => Value::Boolean(value),
        }
    }
}

fn counts(known: Statistics) -> Counts {
    let Statistics { values, nulls, bytes, lower, upper } = known;
    (values, nulls, bytes, lower.map(Value::from), upper.map(Value::from))
}

#[pyfunction]
pub fn orc_footer(py: Python<'_>, end: Source, file_bytes: u64, limits: Limits) -> PyResult<Footer<OrcType>> {
    let read = detached(py, || end.located(|end| Ok(orc_summary(end.read()?, file_bytes, limits.0)?)))?;
    Ok(match read {
        Err(needed) => Footer::Needs(needed),
        Ok(OrcSummary { rows, stripes, columns }) => {
            let column = |of: OrcColumn| {
                let known = counts(of.statistics.unwrap_or_default());
                ((of.kind, of.children, of.names, of.attributes, (of.precision, of.scale)), known)
            };
            let (types, known) = columns.into_iter().map(column).unzip();
            Footer::Read(rows, stripes, types, known)
        }
    })
}

#[pyfunction]
pub fn parquet_footer(
    py: Python<'_>,
    end: Source,
    file_bytes: u64,
    limits: Limits,
) -> PyResult<Footer<ParquetType>> {
    let read = detached(py, || end.located(|end| Ok(parquet_summary(&end.read()?, file_bytes, limits.0)?)))?;
    Ok(match read {
        Err(needed) => Footer::Needs(needed),
        Ok(ParquetSummary { rows, row_groups, elements, statistics }) => {
            let element = |of: ParquetElement| (of.name, of.values, of.repetition, of.children, of.field_id);
            let types = elements.into_iter().map(element).collect();
            Footer::Read(rows, row_groups, types, statistics.into_iter().map(counts).collect())
        }
    })
}
