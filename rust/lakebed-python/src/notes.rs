//! What is odd about files, on its way to become warnings.

use lakebed::notes::Notes;
use pyo3::prelude::*;

/// Warns of the notes made since the last time.
pub fn warn(py: Python<'_>, notes: &Notes) -> PyResult<()> {
    let notes = notes.take();
    if !notes.is_empty() {
        py.import("lakebed._notes")?.call_method1("warn", (notes,))?;
    }
    Ok(())
}
