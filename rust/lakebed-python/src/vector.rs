//! `read_deletion_vector` of both formats.

use std::sync::Arc;

use lakebed::deletion_vector::{DeletionVector, VectorRange};
use lakebed::iceberg::deletion_vector as iceberg;
use lakebed::paimon::deletion_vector as paimon;
use pyo3::prelude::*;

use crate::boundary::detached;
use crate::limits::extract;
use crate::source::{Source, in_path};
use crate::stream::Batch;

/// Decodes the vector that begins with some bytes.
type Decode = fn(&[u8], VectorRange) -> lakebed::Result<DeletionVector>;

#[pyfunction]
pub fn paimon_read_deletion_vector(
    py: Python<'_>,
    source: Source,
    offset: i64,
    length: i64,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Batch> {
    positions(py, source, (offset, length), limits, paimon::span, paimon::decode_vector)
}

#[pyfunction]
pub fn iceberg_read_deletion_vector(
    py: Python<'_>,
    source: Source,
    offset: i64,
    length: i64,
    limits: &Bound<'_, PyAny>,
) -> PyResult<Batch> {
    positions(py, source, (offset, length), limits, |range| range.length, iceberg::decode_vector)
}

/// The positions of one vector; bytes given as `source` are those from its offset on.
fn positions(
    py: Python<'_>,
    source: Source,
    (offset, length): (i64, i64),
    limits: &Bound<'_, PyAny>,
    span: fn(&VectorRange) -> u64,
    decode: Decode,
) -> PyResult<Batch> {
    let limits = extract(limits)?;
    detached(py, || {
        let path = source.path().map(str::to_owned);
        let read = || {
            let range = VectorRange::new(offset, length)?;
            let bytes = source.read_range(range.offset, span(&range))?;
            decode(&bytes, range)?.positions(&limits)
        };
        let positions = read().map_err(|error| in_path(error, path.as_deref()))?;
        Ok(Batch(Arc::new(positions)))
    })
}
