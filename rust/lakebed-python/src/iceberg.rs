//! `lakebed.iceberg`.

use lakebed::iceberg::manifest_list::read_manifest_list;
use pyo3::prelude::*;

use crate::file::read_whole;
use crate::source::Source;
use crate::stream::BatchStream;

#[pyfunction]
pub fn iceberg_read_manifest_list(
    py: Python<'_>,
    source: Source,
    columns: Option<Vec<String>>,
    limits: &Bound<'_, PyAny>,
) -> PyResult<BatchStream> {
    read_whole(py, source, limits, |bytes, decoding| read_manifest_list(bytes, columns.as_deref(), decoding))
}
