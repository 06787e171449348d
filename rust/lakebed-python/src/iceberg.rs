//! `lakebed.iceberg`.

use std::sync::Arc;

use arrow_schema::DataType;
use lakebed::iceberg::manifest::{EntryColumns, EntryReader, ManifestContext, ManifestHeader, Statuses};
use lakebed::iceberg::manifest_list::{ManifestFile, read_manifest_list};
use lakebed::iceberg::metadata::MetadataFile;
use lakebed::iceberg::value;
use lakebed::notes::Notes;
use lakebed::storage::Local;
use lakebed::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::arrow::{import_array, import_schema};
use crate::boundary::detached;
use crate::file::read_whole;
use crate::limits::decoding;
use crate::limits::extract;
use crate::source::{Source, in_path};
use crate::stream::{Batch, BatchStream};

/// The entries of one manifest; `listed` is its `ManifestFile` in JSON.
#[pyfunction]
pub fn iceberg_read_manifest(
    py: Python<'_>,
    source: Source,
    columns: Option<Vec<String>>,
    listed: Option<&str>,
    limits: &Bound<'_, PyAny>,
    threads: Option<usize>,
) -> PyResult<BatchStream> {
    let threads = crate::avro::threads(threads);
    let decoding = decoding(limits)?;
    detached(py, || {
        let path = source.path().map(str::to_owned);
        let notes = Notes::default();
        let open = || {
            let columns = Arc::new(EntryColumns::new(columns.as_deref())?);
            let manifest: Option<ManifestFile> =
                listed.map(serde_json::from_str).transpose().map_err(|error| {
                    Error::new(ErrorKind::Argument, format!("not a listed manifest: {error}"))
                })?;
            let bytes = source.read()?;
            let header = ManifestHeader::read(&bytes, decoding.limits)?;
            let known = ManifestContext {
                manifest,
                spec_id: header.spec_id,
                partition: header.partition,
                spec: header.spec,
                notes: notes.clone(),
                ..ManifestContext::default()
            };
            EntryReader::open(bytes, &columns, known, Statuses::ALL, &decoding, threads)
        };
        let reader = open().map_err(|error| in_path(error, path.as_deref()))?;
        let schema = Arc::clone(reader.schema());
        let batches = reader.map(move |batch| batch.map_err(|error| in_path(error, path.as_deref())));
        Ok(BatchStream::new(schema, Box::new(batches)).with_notes(notes))
    })
}

#[pyfunction]
pub fn iceberg_read_manifest_list(
    py: Python<'_>,
    source: Source,
    columns: Option<Vec<String>>,
    limits: &Bound<'_, PyAny>,
) -> PyResult<BatchStream> {
    read_whole(py, source, limits, |bytes, decoding| read_manifest_list(bytes, columns.as_deref(), decoding))
}

/// The inflated JSON of a metadata file, after checking that it is the metadata of a table.
#[pyfunction]
pub fn iceberg_read_metadata(py: Python<'_>, source: Source, limits: &Bound<'_, PyAny>) -> PyResult<String> {
    let limits = extract(limits)?;
    detached(py, || match source {
        Source::Path(path) => MetadataFile::open(&path, Arc::new(Local), limits)?.to_json(),
        Source::Bytes { bytes, uri } => {
            let text = MetadataFile::of_bytes(bytes, limits).to_json();
            text.map_err(|error| in_path(error, uri.as_deref()))
        }
    })
}

/// `types` is a schema of one field, which has the type of the values.
#[pyfunction]
pub fn decode_values(py: Python<'_>, binary: &Bound<'_, PyAny>, types: &Bound<'_, PyAny>) -> PyResult<Batch> {
    let (array, types) = (import_array(binary)?, import_schema(types)?);
    detached(py, || {
        let field = types.fields.first();
        let ty = field.map_or(&DataType::Null, |field| field.data_type());
        Ok(Batch(value::decode_values(&array, ty)?))
    })
}

#[pyfunction]
pub fn encode_values(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Batch> {
    let array = import_array(array)?;
    detached(py, || Ok(Batch(Arc::new(value::encode_values(&array)?))))
}
