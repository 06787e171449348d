//! Entries distributed to parts, and rows made of the entries of a part.

use std::sync::Arc;

use arrow_array::StructArray;
use arrow_schema::SchemaRef;
use lakebed::columnar::Decoding;
use lakebed::distributed::{self, Gather, Pieces};
use lakebed::format::FORMATS;
use lakebed::scan::Batches;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::arrow::{SchemaCapsule, import_batch};
use crate::boundary::detached;
use crate::limits::decoding;
use crate::storage::storage_of;
use crate::stream::{Batch, BatchStream};
use crate::task::GivenContent;
use crate::turns::Turns;

/// A scan's work on manifests whose entries are combined.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Exchange {
    exchange: Box<dyn distributed::Exchange>,
    decoding: Decoding,
}

#[pymethods]
impl Exchange {
    #[new]
    fn new(py: Python<'_>, task: &str, limits: &Bound<'_, PyAny>) -> PyResult<Exchange> {
        let decoding = decoding(limits)?;
        detached(py, || Ok(Exchange { exchange: FORMATS.exchange(task)?, decoding }))
    }

    #[getter]
    fn schema(&self, py: Python<'_>) -> PyResult<SchemaCapsule> {
        detached(py, || Ok(SchemaCapsule(self.exchange.schema()?)))
    }

    fn partitioner(&self, py: Python<'_>, parts: u32) -> PyResult<ManifestPartitioner> {
        let decoding = self.decoding.clone();
        detached(py, || self.exchange.partitioner(decoding, parts).map(ManifestPartitioner))
    }

    fn reading(
        &self,
        py: Python<'_>,
        storage: Option<Py<PyAny>>,
        concurrent_reads: usize,
        paths: Vec<String>,
        parts: u32,
    ) -> PyResult<PieceStream> {
        let (storage, decoding) = (storage_of(py, storage, Some(concurrent_reads))?, self.decoding.clone());
        detached(py, || self.exchange.reading(storage, decoding, &paths, parts).map(PieceStream::new))
    }

    #[pyo3(signature = (storage=None))]
    fn gather(&self, py: Python<'_>, storage: Option<Py<PyAny>>) -> PyResult<PartRows> {
        let storage = storage_of(py, storage, None)?;
        detached(py, || {
            let (mut gather, schema) = (self.exchange.gather()?, self.exchange.schema()?);
            gather.open_through(storage);
            Ok(PartRows { gather: Turns::new(gather), schema })
        })
    }
}

/// Distributes the entries of manifests to parts.
#[pyclass(frozen, module = "lakebed._native")]
pub struct ManifestPartitioner(distributed::ManifestPartitioner);

#[pymethods]
impl ManifestPartitioner {
    fn pieces(&self, py: Python<'_>, path: &str, content: GivenContent) -> PyResult<PieceStream> {
        detached(py, || {
            let pieces = (self.0)(path, content.take()?.whole()?)?;
            Ok(PieceStream::new(pieces))
        })
    }
}

/// Entries by side, pulled batch by batch.
#[pyclass(frozen, module = "lakebed._native")]
pub struct PieceStream(Turns<Pieces>);

impl PieceStream {
    pub fn new(pieces: Pieces) -> PieceStream {
        PieceStream(Turns::new(pieces))
    }
}

#[pymethods]
impl PieceStream {
    fn next_piece(&self, py: Python<'_>) -> PyResult<Option<(i32, Batch)>> {
        let next = detached(py, || {
            self.0.take_turn(|pieces| {
                let next = pieces.as_mut().and_then(Iterator::next);
                if !matches!(next, Some(Ok(_))) {
                    *pieces = None;
                }
                next.transpose()
            })
        })?;
        Ok(next.map(|(side, rows)| (side, Batch(Arc::new(StructArray::from(rows))))))
    }
}

/// Makes the rows of one part.
#[pyclass(frozen, module = "lakebed._native")]
pub struct PartRows {
    gather: Turns<Box<dyn Gather>>,
    schema: SchemaRef,
}

#[pymethods]
impl PartRows {
    fn push(&self, py: Python<'_>, side: i32, rows: &Bound<'_, PyAny>) -> PyResult<BatchStream> {
        let rows = import_batch(rows)?;
        self.rows(py, |gather| gather.push(side, rows))
    }

    fn finish(&self, py: Python<'_>) -> PyResult<BatchStream> {
        self.rows(py, |gather| gather.finish())
    }
}

impl PartRows {
    fn rows(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&mut dyn Gather) -> lakebed::Result<Batches> + Send,
    ) -> PyResult<BatchStream> {
        let make = |gather: &mut Option<Box<dyn Gather>>| gather.as_mut().map(|gather| make(gather.as_mut()));
        let rows = detached(py, || self.gather.take_turn(|gather| make(gather).transpose()))?;
        let rows = rows.ok_or_else(|| PyRuntimeError::new_err("an earlier call panicked"))?;
        Ok(BatchStream::new(self.schema.clone(), rows))
    }
}
