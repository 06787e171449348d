//! Single files that are read at once.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use lakebed::columnar::Decoding;
use pyo3::prelude::*;

use crate::boundary::detached;
use crate::limits::decoding;
use crate::source::{Source, in_path};
use crate::stream::BatchStream;

/// Reads one file with `read`.
pub(crate) fn read_whole(
    py: Python<'_>,
    source: Source,
    limits: &Bound<'_, PyAny>,
    read: impl FnOnce(Buffer, &Decoding) -> lakebed::Result<RecordBatch> + Send,
) -> PyResult<BatchStream> {
    let decoding = decoding(limits)?;
    detached(py, || {
        let path = source.path().map(str::to_owned);
        let batch = source.read().and_then(|bytes| read(bytes, &decoding));
        let batch = batch.map_err(|error| in_path(error, path.as_deref()))?;
        Ok(BatchStream::new(batch.schema(), Box::new(std::iter::once(Ok(batch)))))
    })
}

/// The text of a JSON file that `check` accepts, without the NULs that may follow it.
pub(crate) fn checked_text<T: Send>(
    py: Python<'_>,
    source: Source,
    check: impl FnOnce(&[u8]) -> lakebed::Result<T> + Send,
) -> PyResult<String> {
    detached(py, || {
        let path = source.path().map(str::to_owned);
        let read = || {
            let bytes = source.read()?;
            check(&bytes)?;
            lakebed::json_text(&bytes).map(str::to_owned)
        };
        read().map_err(|error| in_path(error, path.as_deref()))
    })
}
