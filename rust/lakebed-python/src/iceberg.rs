//! `lakebed.iceberg`.

use std::sync::Arc;

use lakebed::iceberg::manifest::{EntryColumns, EntryReader, Known, ManifestHeader, Statuses};
use lakebed::iceberg::manifest_list::{ManifestFile, read_manifest_list};
use lakebed::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::boundary::detached;
use crate::columnar::decoding;
use crate::file::read_whole;
use crate::source::{Source, in_path};
use crate::stream::BatchStream;

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
        let open = || {
            let columns = Arc::new(EntryColumns::new(columns.as_deref())?);
            let manifest: Option<ManifestFile> =
                listed.map(serde_json::from_str).transpose().map_err(|error| {
                    Error::new(ErrorKind::Argument, format!("not a listed manifest: {error}"))
                })?;
            let bytes = source.read()?;
            let header = ManifestHeader::read(&bytes, decoding.limits)?;
            let known = Known { manifest, spec_id: header.spec_id, partition: header.partition };
            EntryReader::open(bytes, &columns, known, Statuses::ALL, &decoding, threads)
        };
        let reader = open().map_err(|error| in_path(error, path.as_deref()))?;
        let schema = Arc::clone(reader.schema());
        let batches = reader.map(move |batch| batch.map_err(|error| in_path(error, path.as_deref())));
        Ok(BatchStream::new(schema, Box::new(batches)))
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
