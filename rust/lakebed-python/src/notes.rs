//! Turns notes on files into warnings.

use lakebed::location::without_credentials_in;
use lakebed::notes::Notes;
use pyo3::prelude::*;

/// Warns of the notes added since the last call.
pub fn warn(py: Python<'_>, notes: &Notes) -> PyResult<()> {
    let notes = notes.take();
    let notes: Vec<_> = notes.iter().map(|note| without_credentials_in(note)).collect();
    if !notes.is_empty() {
        py.import("lakebed._notes")?.call_method1("warn", (notes,))?;
    }
    Ok(())
}
