//! `lakebed.paimon`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use lakebed::columnar::Decoding;
use lakebed::paimon::binary_row;
use lakebed::paimon::deletion_vector::{decode_vector, span};
use lakebed::paimon::hash_index::read_hash_index;
use lakebed::paimon::index_manifest::read_index_manifest;
use lakebed::paimon::manifest::{EntryFilter, EntryReader, entry_columns};
use lakebed::paimon::manifest_list::read_manifest_list;
use lakebed::paimon::schema::TableSchema;
use lakebed::paimon::snapshot::Tag;
use lakebed::paimon::write::{
    FileKind, FileOptions, Layout, RecordWriter, memory_size, schema_file, snapshot_file,
};
use lakebed::{Error, ErrorKind, Result};
use pyo3::prelude::*;

use crate::arguments::{Limits, constants};
use crate::arrow::{import_array, import_schema};
use crate::boundary::{checked, detached};
use crate::caller_stream::caller_stream;
use crate::sink::{Encoding, Sink, Target, WriteResult, write_into};
use crate::source::{Source, read_deletion_vector};
use crate::stream::{Batch, BatchStream};

fn argument(message: String) -> Error {
    Error::new(ErrorKind::Argument, message)
}

/// Binary of either offset width as binary of 32-bit offsets.
fn binary(array: &ArrayRef) -> Result<BinaryArray> {
    if let Some(array) = array.as_binary_opt::<i32>() {
        return Ok(array.clone());
    }
    let wrong = || argument(format!("rows are binary, not {}", array.data_type()));
    let array = array.as_binary_opt::<i64>().ok_or_else(wrong)?;
    let small = i32::try_from(array.values().len()).is_ok();
    small.then(|| array.iter().collect()).ok_or_else(|| argument("more than 2 GiB of rows".to_owned()))
}

#[pyfunction]
pub fn decode_rows(py: Python<'_>, binary: &Bound<'_, PyAny>, types: &Bound<'_, PyAny>) -> PyResult<Batch> {
    let (array, types) = (import_array(binary)?, import_schema(types)?);
    detached(py, || Ok(Batch(Arc::new(binary_row::decode_rows(&self::binary(&array)?, &types.fields)?))))
}

#[pyfunction]
pub fn encode_rows(r#struct: &Bound<'_, PyAny>, types: Option<&Bound<'_, PyAny>>) -> PyResult<Batch> {
    let (array, types) = (import_array(r#struct)?, types.map(import_schema).transpose()?);
    detached(r#struct.py(), || {
        let wrong = || argument(format!("rows are a struct array, not {}", array.data_type()));
        let rows = array.as_struct_opt().ok_or_else(wrong)?;
        let fields = types.as_ref().map_or(rows.fields(), |types| &types.fields);
        Ok(Batch(Arc::new(binary_row::encode_rows(rows, fields)?)))
    })
}

constants! {
    /// A kind of file of records.
    PaimonFileKind(FileKind) { MANIFEST = Manifest, MANIFEST_LIST = List, INDEX_MANIFEST = Index }
}

/// The bytes of an option such as `128 mb`.
#[pyfunction]
pub fn paimon_memory_size(text: &str) -> Option<u64> {
    memory_size(text)
}

/// Reads a file of records; `threads` decode a manifest.
#[pyfunction]
pub fn paimon_read_records(
    py: Python<'_>,
    kind: &PaimonFileKind,
    source: Source,
    columns: Option<Vec<String>>,
    limits: Limits,
    threads: Option<usize>,
) -> PyResult<BatchStream> {
    let threads = crate::avro::threads(threads);
    let (decoding, columns) = (Decoding::from(limits.0), columns.as_deref());
    detached(py, || {
        let read = match kind.0 {
            FileKind::Manifest => {
                let (wanted, filter) = (entry_columns(columns)?, EntryFilter::default());
                let reader = source.located(|file| {
                    EntryReader::open(file.read()?, &wanted, filter, None, &decoding, threads)
                })?;
                return Ok(BatchStream::new(Arc::clone(reader.schema()), source.batches(reader)));
            }
            FileKind::List => read_manifest_list,
            FileKind::Index => read_index_manifest,
        };
        source.located(|file| read(file.read()?, columns, &decoding)).map(BatchStream::of)
    })
}

#[pyfunction]
pub fn paimon_read_deletion_vector(
    py: Python<'_>,
    source: Source,
    offset: i64,
    length: i64,
    limits: Limits,
) -> PyResult<Batch> {
    read_deletion_vector(py, &source, (offset, length), limits, span, decode_vector)
}

#[pyfunction]
pub fn paimon_read_hash_index(py: Python<'_>, source: Source) -> PyResult<Batch> {
    detached(py, || Ok(Batch(Arc::new(source.located(|file| read_hash_index(&file.read()?))?))))
}

#[pyfunction]
pub fn paimon_read_snapshot(py: Python<'_>, source: Source) -> PyResult<String> {
    checked_text(py, &source, Tag::from_json)
}

#[pyfunction]
pub fn paimon_read_schema(py: Python<'_>, source: Source) -> PyResult<String> {
    checked_text(py, &source, TableSchema::from_json)
}

/// The text of a JSON file that `check` accepts, without the NULs that may follow it.
fn checked_text<T>(py: Python<'_>, source: &Source, check: fn(&[u8]) -> Result<T>) -> PyResult<String> {
    let read = |file: &Source| {
        let bytes = file.read()?;
        check(&bytes)?;
        lakebed::json_text(&bytes).map(str::to_owned)
    };
    detached(py, || source.located(read))
}

/// What Python's `lakebed.paimon` says of a file that is written.
#[derive(FromPyObject)]
pub struct Options {
    layout: String,
    encoding: Encoding,
    overwrite: bool,
    limits: Limits,
}

#[pyfunction]
pub fn paimon_write_records(
    py: Python<'_>,
    kind: &PaimonFileKind,
    data: &Bound<'_, PyAny>,
    sink: Option<Sink>,
    options: Options,
) -> WriteResult {
    let (kind, target) = (kind.0, Target(sink, options.overwrite));
    let options = checked(py, || {
        let layout = Layout::named(&options.layout)?;
        Ok(FileOptions::new(layout, options.encoding.options(options.limits)?))
    })?;
    let batches = caller_stream(data)?;
    write_into(py, target, |sink| {
        let mut writer = RecordWriter::new(sink, kind, options)?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.finish()?;
        Ok(())
    })
}

#[pyfunction]
pub fn paimon_write_snapshot(py: Python<'_>, json: &str, target: Target) -> WriteResult {
    write_into(py, target, |sink| Ok(sink.write_all(snapshot_file(json.as_bytes())?.as_bytes())?))
}

#[pyfunction]
pub fn paimon_write_schema(py: Python<'_>, json: &str, target: Target) -> WriteResult {
    write_into(py, target, |sink| Ok(sink.write_all(schema_file(json.as_bytes())?.as_bytes())?))
}
