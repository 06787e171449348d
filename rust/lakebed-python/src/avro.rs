//! `lakebed.avro`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchReader};
use lakebed::Result;
use lakebed_avro::schema::from_arrow;
use lakebed_avro::{Block, Blocks, Program, Projection, ReadOptions, Reader, Schema, WriteOptions, Writer};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::boundary::detached;
use crate::caller_stream::{caller_stream, sent};
use crate::error::write_error_to_python;
use crate::limits::extract;
use crate::sink::{Encoding, Sink, write_into};
use crate::source::{Source, in_path};
use crate::stream::BatchStream;

/// Threads inside a call: one per processor, or fewer. More would not be faster, and each takes memory.
pub fn threads(wanted: Option<usize>) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    wanted.map_or(processors, |wanted| wanted.min(processors))
}

#[pyfunction]
pub fn avro_read(
    py: Python<'_>,
    source: Source,
    columns: Option<Vec<String>>,
    schema: Option<String>,
    limits: &Bound<'_, PyAny>,
    threads: Option<usize>,
) -> PyResult<BatchStream> {
    let options =
        ReadOptions { limits: extract(limits)?, threads: self::threads(threads), ..Default::default() };
    detached(py, || {
        let path = source.path().map(str::to_owned);
        let open = || -> Result<Reader> {
            let (header, blocks) = Blocks::open(source.open()?, options.limits)?;
            let writer = Schema::parse(header.schema()?, &options.limits)?;
            let projection = columns.map_or(Projection::All, Projection::Paths);
            let program = match schema {
                None => Program::resolve(&writer, &projection, &[])?,
                Some(text) => {
                    let reader = Schema::parse_reader(&text, &options.limits)?;
                    Program::resolve_as(&writer, &reader, &projection, &[])?
                }
            };
            Ok(Reader::new(&header, blocks, Arc::new(program), None, options))
        };
        let reader = open().map_err(|error| in_path(error, path.as_deref()))?;
        let schema = Arc::clone(reader.schema());
        let batches = reader.map(move |batch| batch.map_err(|error| in_path(error.into(), path.as_deref())));
        Ok(BatchStream::of_open_file(schema, Box::new(batches)))
    })
}

#[pyfunction]
pub fn avro_header(
    py: Python<'_>,
    source: Source,
    limits: &Bound<'_, PyAny>,
) -> PyResult<(String, HashMap<String, Vec<u8>>)> {
    let limits = extract(limits)?;
    detached(py, || {
        let path = source.path().map(str::to_owned);
        let read = || -> Result<_> {
            let (header, _) = Blocks::open(source.open()?, limits)?;
            let schema = header.schema()?.to_owned();
            Ok((schema, header.metadata.into_iter().collect()))
        };
        read().map_err(|error| in_path(error, path.as_deref()))
    })
}

#[pyfunction]
pub fn avro_blocks(py: Python<'_>, source: Source, limits: &Bound<'_, PyAny>) -> PyResult<BatchStream> {
    let limits = extract(limits)?;
    detached(py, || {
        let path = source.path().map(str::to_owned);
        let read = || -> Result<RecordBatch> {
            let (_, blocks) = Blocks::open(source.open()?, limits)?;
            let blocks = blocks.collect::<lakebed_avro::Result<Vec<_>>>()?;
            let column = |value: fn(&Block) -> u64| -> ArrayRef {
                Arc::new(Int64Array::from_iter_values(blocks.iter().map(|block| value(block) as i64)))
            };
            let columns = [
                ("offset", column(|block| block.offset)),
                ("row_count", column(|block| block.count)),
                ("size_in_bytes", column(|block| block.payload.len() as u64)),
            ];
            RecordBatch::try_from_iter(columns)
                .map_err(|error| lakebed::Error::new(lakebed::ErrorKind::Argument, error.to_string()))
        };
        let batch = read().map_err(|error| in_path(error, path.as_deref()))?;
        Ok(BatchStream::new(batch.schema(), Box::new(std::iter::once(Ok(batch)))))
    })
}

/// The attributes of Python's `lakebed.avro._Writing`.
#[derive(FromPyObject)]
pub struct Writing<'py> {
    schema: Option<String>,
    encoding: Encoding,
    metadata: Vec<(String, Vec<u8>)>,
    overwrite: bool,
    limits: Bound<'py, PyAny>,
}

#[pyfunction]
pub fn avro_write<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    sink: Option<Sink>,
    writing: Writing<'py>,
) -> PyResult<Option<Py<PyBytes>>> {
    let Writing { schema, encoding, metadata, overwrite, limits } = writing;
    let limits = extract(&limits)?;
    let batches = caller_stream(data)?;
    let options = encoding.options(limits).map_err(|error| write_error_to_python(py, error))?;
    let options = WriteOptions { metadata, ..options };
    write_into(py, sink, overwrite, |sink| {
        let text = schema.map_or_else(|| from_arrow(&batches.schema()), Ok)?;
        let mut writer = Writer::new(sink, &text, &batches.schema(), options)?;
        for batch in batches {
            writer.write(&sent(batch)?)?;
        }
        writer.finish()?;
        Ok(())
    })
}
