//! `lakebed.find_tables`.

use lakebed::finding::TablesBelow;
use lakebed::format::FORMATS;
use pyo3::prelude::*;

use crate::boundary::detached;
use crate::storage::storage_of;
use crate::table::Scan;
use crate::view::Options;

/// The tables at a folder and below it.
#[pyfunction]
#[pyo3(signature = (prefix, storage, concurrent_reads, options))]
pub fn find_tables(
    py: Python<'_>,
    prefix: &str,
    storage: Option<Py<PyAny>>,
    concurrent_reads: Option<usize>,
    options: Options,
) -> PyResult<Scan> {
    let storage = storage_of(py, storage, concurrent_reads)?;
    let found = detached(py, || TablesBelow::new(prefix, &FORMATS, storage, options.0))?;
    Ok(Scan(Box::new(found)))
}
