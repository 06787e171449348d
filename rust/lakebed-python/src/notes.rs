//! Turns notes on files into warnings.

use lakebed::notes::Notes;
use pyo3::prelude::*;

/// Warns of the notes added since the last call.
pub fn warn(py: Python<'_>, notes: &Notes) -> PyResult<()> {
    let notes = notes.take();
    if !notes.is_empty() {
        py.import("lakebed._notes")?.call_method1("warn", (notes,))?;
    }
    Ok(())
}
