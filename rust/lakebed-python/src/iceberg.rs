//! `lakebed.iceberg`.

use std::io::Write;
use std::sync::Arc;

use arrow_schema::DataType;
use lakebed::columnar::Decoding;
use lakebed::iceberg::deletion_vector::decode_vector;
use lakebed::iceberg::manifest::{EntryColumns, EntryReader, ManifestContext, ManifestHeader, Statuses};
use lakebed::iceberg::manifest_list::{ManifestFile, read_manifest_list};
use lakebed::iceberg::metadata::MetadataFile;
use lakebed::iceberg::partition::PartitionSpec;
use lakebed::iceberg::prune::Names;
use lakebed::iceberg::value;
use lakebed::iceberg::write::{
    FormatVersion, ListHeader, ManifestContent, ManifestLayout, metadata_bytes, metadata_text,
    write_manifest, write_manifest_list,
};
use lakebed::notes::Notes;
use lakebed::scan::ExpressionForm;
use lakebed::storage::Local;
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::arguments::Limits;
use crate::arrow::{import_array, import_schema};
use crate::boundary::detached;
use crate::caller_stream::caller_stream;
use crate::iceberg_commit::iceberg_table;
use crate::sink::{Encoding, Sink, Target, WriteResult, write_into};
use crate::source::{Source, read_deletion_vector};
use crate::stream::{Batch, BatchStream};
use crate::table::Table;

/// The entries of one manifest; `listed` is its `ManifestFile` in JSON.
#[pyfunction]
pub fn iceberg_read_manifest(
    py: Python<'_>,
    source: Source,
    columns: Option<Vec<String>>,
    listed: Option<&str>,
    limits: Limits,
    threads: Option<usize>,
) -> PyResult<BatchStream> {
    let threads = crate::avro::threads(threads);
    let (decoding, notes) = (Decoding::from(limits.0), Notes::default());
    detached(py, || {
        let reader = source.located(|file| {
            let columns = Arc::new(EntryColumns::new(columns.as_deref())?);
            let wrong = |error| Error::new(ErrorKind::Argument, format!("not a listed manifest: {error}"));
            let manifest = listed.map(serde_json::from_str::<ManifestFile>).transpose().map_err(wrong)?;
            let bytes = file.read()?;
            let ManifestHeader { spec_id, partition, spec, .. } = ManifestHeader::read(&bytes, &decoding)?;
            let (notes, nothing) = (notes.clone(), ManifestContext::default());
            let known = ManifestContext { manifest, spec_id, partition, spec, notes, ..nothing };
            EntryReader::open(bytes, &columns, known, Statuses::ALL, &decoding, threads)
        })?;
        Ok(BatchStream::new(Arc::clone(reader.schema()), source.batches(reader)).with_notes(notes))
    })
}

#[pyfunction]
pub fn iceberg_read_manifest_list(
    py: Python<'_>,
    source: Source,
    columns: Option<Vec<String>>,
    limits: Limits,
) -> PyResult<BatchStream> {
    let read = |file: &Source| read_manifest_list(file.read()?, columns.as_deref(), &limits.0.into());
    detached(py, || source.located(read)).map(BatchStream::of)
}

#[pyfunction]
pub fn iceberg_read_deletion_vector(
    py: Python<'_>,
    source: Source,
    offset: i64,
    length: i64,
    limits: Limits,
) -> PyResult<Batch> {
    read_deletion_vector(py, &source, (offset, length), limits, |range| range.length, decode_vector)
}

/// The inflated JSON of a metadata file, after checking that it is the metadata of a table.
#[pyfunction]
pub fn iceberg_read_metadata(py: Python<'_>, source: Source, limits: Limits) -> PyResult<String> {
    let read = |file: &Source| match file {
        Source::Path(path) => MetadataFile::open(path, Arc::new(Local), limits.0)?.to_json(),
        Source::Bytes { bytes, .. } => MetadataFile::of_bytes(bytes.clone(), limits.0).to_json(),
    };
    detached(py, || source.located(read))
}

/// `types` is a schema of one field, which has the type of the values.
#[pyfunction]
pub fn decode_values(py: Python<'_>, binary: &Bound<'_, PyAny>, types: &Bound<'_, PyAny>) -> PyResult<Batch> {
    let (array, types) = (import_array(binary)?, import_schema(types)?);
    detached(py, || {
        let ty = types.fields.first().map_or(&DataType::Null, |field| field.data_type());
        Ok(Batch(value::decode_values(&array, ty)?))
    })
}

#[pyfunction]
pub fn encode_values(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Batch> {
    let array = import_array(array)?;
    detached(py, || Ok(Batch(Arc::new(value::encode_values(&array)?))))
}

/// The SQL text of the filter that an expression is.
#[pyfunction]
pub fn iceberg_filter(
    py: Python<'_>,
    table: &Table,
    expression: &str,
    case_sensitive: bool,
) -> PyResult<String> {
    let names = if case_sensitive { Names::Exact } else { Names::AnyCase };
    detached(py, || Ok(iceberg_table(table)?.filter_of(expression, names)?.to_string()))
}

/// The JSON of the expression that the SQL text of a filter is.
#[pyfunction]
pub fn iceberg_expression(py: Python<'_>, table: &Table, filter: &str, form: Form) -> PyResult<String> {
    detached(py, || Ok(iceberg_table(table)?.expression_of(filter, form.0)?.to_string()))
}

/// The form of an expression, by its name in Python.
pub struct Form(pub ExpressionForm);

impl<'py> FromPyObject<'_, 'py> for Form {
    type Error = PyErr;

    fn extract(name: Borrowed<'_, 'py, PyAny>) -> PyResult<Form> {
        match name.extract()? {
            "term" => Ok(Form(ExpressionForm::Term)),
            "operand" => Ok(Form(ExpressionForm::Operand)),
            other => Err(PyValueError::new_err(format!("form is \"term\" or \"operand\", not {other:?}"))),
        }
    }
}

/// JSON that Python's own writer made.
pub(crate) fn parsed(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(|error| Error::new(ErrorKind::Json, error.to_string()))
}

/// What Python's `lakebed.iceberg` says of a manifest that is written.
#[derive(FromPyObject)]
pub struct ManifestForm {
    schema: String,
    spec: String,
    format_version: i32,
    content: String,
}

#[pyfunction]
pub fn iceberg_write_manifest(
    py: Python<'_>,
    entries: &Bound<'_, PyAny>,
    target: Target,
    form: ManifestForm,
    encoding: Encoding,
    limits: Limits,
) -> WriteResult {
    let batches = caller_stream(entries)?;
    write_into(py, target, |sink: &mut dyn Write| {
        let version = FormatVersion::try_from(form.format_version)?;
        let content = ManifestContent::named(&form.content)?;
        let spec = match parsed(&form.spec)? {
            fields @ Value::Array(_) => PartitionSpec::from_fields(0, &fields)?,
            spec => PartitionSpec::from_json(&spec)?,
        };
        let columns = batches.schema();
        let layout = ManifestLayout::new(version, content, &parsed(&form.schema)?, &spec, &columns)?;
        write_manifest(&columns, batches, &layout, sink, encoding.options(limits)?).map(drop)
    })
}

/// What Python's `lakebed.iceberg` says of a manifest list that is written.
#[derive(FromPyObject)]
pub struct Header {
    format_version: i32,
    snapshot_id: i64,
    parent_snapshot_id: Option<i64>,
    sequence_number: i64,
    first_row_id: Option<i64>,
}

#[pyfunction]
pub fn iceberg_write_manifest_list(
    py: Python<'_>,
    manifests: &Bound<'_, PyAny>,
    target: Target,
    header: Header,
    encoding: Encoding,
    limits: Limits,
) -> WriteResult {
    let batches = caller_stream(manifests)?;
    let Header { format_version, snapshot_id, parent_snapshot_id, sequence_number, first_row_id } = header;
    write_into(py, target, |sink: &mut dyn Write| {
        let version = FormatVersion::try_from(format_version)?;
        let header = ListHeader { version, snapshot_id, parent_snapshot_id, sequence_number, first_row_id };
        let columns = batches.schema();
        write_manifest_list(&columns, batches, &header, sink, encoding.options(limits)?).map(drop)
    })
}

#[pyfunction]
pub fn iceberg_write_metadata(py: Python<'_>, metadata: &str, target: Target, limits: Limits) -> WriteResult {
    let name = if let Target(Some(Sink::Path(path)), _) = &target { path.clone() } else { String::new() };
    write_into(py, target, |sink: &mut dyn Write| {
        Ok(sink.write_all(&metadata_bytes(metadata_text(metadata, limits.0)?, &name)?)?)
    })
}
