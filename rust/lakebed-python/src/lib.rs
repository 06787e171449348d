//! The door between Python and lakebed: converts, detaches, maps errors. No logic.
use pyo3::prelude::*;

#[pymodule]
fn _native(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
