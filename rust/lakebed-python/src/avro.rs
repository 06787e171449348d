//! `lakebed.avro`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lakebed_avro::schema::from_arrow;
use lakebed_avro::{Block, Blocks, Program, Projection, ReadOptions, Reader, Schema, WriteOptions, Writer};
use pyo3::prelude::*;

use crate::arguments::Limits;
use crate::boundary::{checked, detached};
use crate::caller_stream::caller_stream;
use crate::sink::{Encoding, Sink, Target, WriteResult, write_into};
use crate::source::Source;
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
    limits: Limits,
    threads: Option<usize>,
) -> PyResult<BatchStream> {
    let options = ReadOptions { limits: limits.0, threads: self::threads(threads), ..Default::default() };
    detached(py, || {
        let reader = source.located(|file| {
            let (header, blocks) = Blocks::open(file.open()?, options.limits)?;
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
        })?;
        Ok(BatchStream::of_open_file(Arc::clone(reader.schema()), source.batches(reader)))
    })
}

/// The schema and the other entries.
type Header = (String, HashMap<String, Vec<u8>>);

#[pyfunction]
pub fn avro_header(py: Python<'_>, source: Source, limits: Limits) -> PyResult<Header> {
    let read = |file: &Source| {
        let (header, _) = Blocks::open(file.open()?, limits.0)?;
        Ok((header.schema()?.to_owned(), header.metadata.into_iter().collect()))
    };
    detached(py, || source.located(read))
}

#[pyfunction]
pub fn avro_blocks(py: Python<'_>, source: Source, limits: Limits) -> PyResult<BatchStream> {
    let read = |file: &Source| {
        let (_, blocks) = Blocks::open(file.open()?, limits.0)?;
        let blocks = blocks.collect::<lakebed_avro::Result<Vec<_>>>()?;
        let column = |value: fn(&Block) -> u64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(blocks.iter().map(|block| value(block) as i64)))
        };
        let columns = [
            ("offset", column(|block| block.offset)),
            ("row_count", column(|block| block.count)),
            ("size_in_bytes", column(|block| block.payload.len() as u64)),
        ];
        Ok(RecordBatch::try_from_iter(columns)?)
    };
    detached(py, || source.located(read)).map(BatchStream::of)
}

/// What Python's `lakebed.avro` says of a file that is written.
#[derive(FromPyObject)]
pub struct Writing {
    schema: Option<String>,
    encoding: Encoding,
    metadata: Vec<(String, Vec<u8>)>,
    overwrite: bool,
    limits: Limits,
}

#[pyfunction]
pub fn avro_write(data: &Bound<'_, PyAny>, sink: Option<Sink>, writing: Writing) -> WriteResult {
    let py = data.py();
    let Writing { schema, encoding, metadata, overwrite, limits } = writing;
    let batches = caller_stream(data)?;
    let options = WriteOptions { metadata, ..checked(py, || encoding.options(limits))? };
    write_into(py, Target(sink, overwrite), |sink| {
        let text = schema.map_or_else(|| from_arrow(&batches.schema()), Ok)?;
        let mut writer = Writer::new(sink, &text, &batches.schema(), options)?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.finish()?;
        Ok(())
    })
}
