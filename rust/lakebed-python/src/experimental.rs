//! `lakebed.experimental`.

use std::io::Write;
use std::sync::Arc;

use arrow_select::concat::concat_batches;
use lakebed::Result;
use lakebed::columnar::{Codec, Decoding};
use lakebed::iceberg::content_entry::{
    ContentEntryReader, ContentTree, EntryContext, ListedLeaf, MumblingBitmap, write_content_entries,
};
use lakebed::iceberg::partition::{PartitionSpec, PartitionType};
use lakebed::iceberg::types::Schema;
use lakebed::notes::Notes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::Limits;
use crate::boundary::detached;
use crate::caller_stream::caller_stream;
use crate::columnar::PyarrowEncoder;
use crate::iceberg::parsed;
use crate::sink::{Target, WriteResult, write_into};
use crate::source::Source;
use crate::storage::{storage_of, table_storage};
use crate::stream::{Batch, BatchStream};

/// What the table's metadata says, in JSON: its schemas, the current one first, and its partition specs.
#[derive(FromPyObject)]
pub struct TableTypes {
    schemas: Vec<String>,
    specs: Vec<String>,
    location: Option<String>,
}

/// How a root manifest and its leaves are read.
#[derive(FromPyObject)]
pub struct Tree {
    path: String,
    storage: Option<Py<PyAny>>,
    moved: Vec<(String, String)>,
    columns: Option<Vec<String>>,
    filter: Option<String>,
    table: TableTypes,
    listed: Option<Listed>,
    limits: Limits,
    threads: Option<usize>,
}

/// What a root says of a leaf, and a snapshot of its root.
#[derive(FromPyObject)]
pub struct Listed {
    snapshot_id: Option<i64>,
    sequence_number: Option<i64>,
    first_row_id: Option<i64>,
    record_count: Option<i64>,
    dv: Option<Vec<u8>>,
}

#[pyfunction]
pub fn iceberg_read_content_entries(
    py: Python<'_>,
    source: Source,
    columns: Option<Vec<String>>,
    table: Option<TableTypes>,
    listed: Option<Listed>,
    limits: Limits,
    threads: Option<usize>,
) -> PyResult<BatchStream> {
    let threads = crate::avro::threads(threads);
    let notes = Notes::default();
    detached(py, || {
        let reader = source.located(|file| {
            let mut known = table.map(TableTypes::context).transpose()?.unwrap_or_default();
            known.listed = listed.map(Listed::leaf).transpose()?;
            known.notes = notes.clone();
            let decoding = Decoding::from(limits.0);
            ContentEntryReader::open(file.read()?, columns.as_deref(), known, &decoding, threads)
        })?;
        Ok(BatchStream::new(Arc::clone(reader.schema()), source.batches(reader)).with_notes(notes))
    })
}

#[pyfunction]
pub fn iceberg_read_live_files(py: Python<'_>, tree: Tree) -> PyResult<BatchStream> {
    let Tree { path, storage, moved, columns, filter, table, listed, limits, threads } = tree;
    let storage = storage_of(py, storage, None)?;
    let (threads, notes) = (crate::avro::threads(threads), Notes::default());
    detached(py, || {
        let storage = table_storage(storage, &path, moved, None)?;
        let mut known = table.context()?;
        known.listed = listed.map(Listed::leaf).transpose()?;
        known.notes = notes.clone();
        let decoding = Decoding::from(limits.0);
        let tree = ContentTree { storage, root: path, columns, known, filter, decoding, threads };
        let (schema, rows) = tree.read()?;
        Ok(BatchStream::new(schema, rows).with_notes(notes))
    })
}

impl TableTypes {
    fn context(self) -> Result<EntryContext> {
        let schemas = self.schemas.iter().map(|json| Schema::parse(json.as_bytes()));
        let schemas = schemas.collect::<Result<Vec<_>>>()?;
        let specs = self.specs.iter().map(|json| PartitionSpec::from_json(&parsed(json)?));
        let specs = specs.collect::<Result<Vec<_>>>()?;
        let unified = || Arc::new(PartitionType::unify(&specs, &schemas.iter().collect::<Vec<_>>()));
        let partition = (!specs.is_empty()).then(unified).map(|unified| (specs.into(), unified));
        Ok(EntryContext {
            schema: schemas.into_iter().next().map(Arc::new),
            partition,
            location: self.location,
            ..EntryContext::default()
        })
    }
}

impl Listed {
    fn leaf(self) -> Result<ListedLeaf> {
        let Listed { snapshot_id, sequence_number, first_row_id, record_count, dv } = self;
        let dv = dv.map(|dv| MumblingBitmap::decode(&dv)).transpose();
        let dv = dv.map_err(|error| error.in_field("manifest_info.dv"))?;
        Ok(ListedLeaf { snapshot_id, sequence_number, first_row_id, record_count, dv })
    }
}

/// A manifest of these rows, encoded by pyarrow.
#[pyfunction]
pub fn iceberg_write_content_entries(
    py: Python<'_>,
    entries: &Bound<'_, PyAny>,
    target: Target,
    table: TableTypes,
    codec: Compression,
    limits: Limits,
) -> WriteResult {
    let batches = caller_stream(entries)?;
    write_into(py, target, |sink: &mut dyn Write| {
        let columns = batches.schema();
        let batches = batches.collect::<Result<Vec<_>>>()?;
        let rows = concat_batches(&columns, &batches)?;
        let decoding = Decoding::from(limits.0);
        let bytes = write_content_entries(&rows, &table.context()?, &PyarrowEncoder, codec.0, &decoding)?;
        Ok(sink.write_all(&bytes)?)
    })
}

/// A codec of Parquet, by its name in Python.
pub struct Compression(Codec);

impl<'py> FromPyObject<'_, 'py> for Compression {
    type Error = PyErr;

    fn extract(name: Borrowed<'_, 'py, PyAny>) -> PyResult<Compression> {
        Ok(Compression(match name.extract()? {
            "none" => Codec::None,
            "snappy" => Codec::Snappy,
            "gzip" => Codec::Deflate,
            "zstd" => Codec::Zstandard { level: 3 },
            other => {
                let message = format!("codec is \"none\", \"snappy\", \"gzip\" or \"zstd\", not {other:?}");
                return Err(PyValueError::new_err(message));
            }
        }))
    }
}

#[pyfunction]
pub fn decode_mumbling(py: Python<'_>, bitmap: &[u8], limits: Limits) -> PyResult<Batch> {
    detached(py, || Ok(Batch(Arc::new(MumblingBitmap::decode(bitmap)?.positions(&limits.0)?))))
}

#[pyfunction]
pub fn encode_mumbling<'py>(py: Python<'py>, positions: Vec<i64>) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = detached(py, || Ok(MumblingBitmap::of(positions)?.encode()))?;
    Ok(PyBytes::new(py, &bytes))
}
