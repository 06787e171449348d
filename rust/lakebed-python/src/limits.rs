//! `lakebed.Limits` to the core's.

use lakebed::Limits;
use lakebed::columnar::Decoding;
use pyo3::prelude::*;

/// Reads the fields of a `lakebed.Limits`, lowered to the hard caps.
pub fn extract(limits: &Bound<'_, PyAny>) -> PyResult<Limits> {
    let bound = |name: &str| limits.getattr(name)?.extract::<u64>();
    let limits = Limits {
        max_header_bytes: bound("max_header_bytes")?,
        max_schema_depth: bound("max_schema_depth")?,
        max_schema_nodes: bound("max_schema_nodes")?,
        max_block_bytes: bound("max_block_bytes")?,
        max_file_bytes: bound("max_file_bytes")?,
        max_rows: bound("max_rows")?,
        max_items: bound("max_items")?,
        max_zero_width_items: bound("max_zero_width_items")?,
        max_cells: bound("max_cells")?,
        max_value_bytes: bound("max_value_bytes")?,
    };
    Ok(limits.capped())
}

/// How files are decoded under a `lakebed.Limits`.
pub fn decoding(limits: &Bound<'_, PyAny>) -> PyResult<Decoding> {
    extract(limits).map(Decoding::from)
}
