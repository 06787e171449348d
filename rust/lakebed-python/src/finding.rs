//! `lakebed.find_tables`.

use lakebed::finding::TablesBelow;
use lakebed::format::FORMATS;
use lakebed::scan::ScanOptions;
use pyo3::prelude::*;

use crate::boundary::detached;
use crate::storage::storage_of;
use crate::table::Scan;

/// The tables at a folder and below it.
#[pyfunction]
#[pyo3(signature = (prefix, storage, columns, r#where, limit, concurrent_reads))]
pub fn find_tables(
    py: Python<'_>,
    prefix: &str,
    storage: Option<Py<PyAny>>,
    columns: Option<Vec<String>>,
    r#where: Option<String>,
    limit: Option<usize>,
    concurrent_reads: Option<usize>,
) -> PyResult<Scan> {
    let storage = storage_of(py, storage, concurrent_reads)?;
    let options = ScanOptions { columns, filter: r#where, limit, ..ScanOptions::default() };
    let found = detached(py, || TablesBelow::new(prefix, &FORMATS, storage, options))?;
    Ok(Scan(Box::new(found)))
}
