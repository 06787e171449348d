//! Sums that Spark's executors compute and combine.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader, StructArray};
use lakebed::distributed::{self, Prerequisite};
use lakebed::format::FORMATS;
use lakebed::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::arrow::{SchemaCapsule, import_batch};
use crate::boundary::detached;
use crate::caller_stream::{caller_stream, sent};
use crate::limits::decoding;
use crate::stream::Batch;
use crate::task::GivenContent;
use crate::turns::Turns;

fn argument(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, message)
}

/// The prerequisite with that name in Python.
pub fn prerequisite(word: &str) -> lakebed::Result<Prerequisite> {
    match word {
        "deleted" => Ok(Prerequisite::Deleted),
        "vectors" => Ok(Prerequisite::Vectors),
        _ => Err(argument(format!("unknown kind of rows {word:?}"))),
    }
}

/// Groups of live files, from manifests and from other sums.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Grouping(Turns<Box<dyn distributed::Grouping>>);

impl Grouping {
    fn locked<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn distributed::Grouping) -> lakebed::Result<T> + Send,
    ) -> PyResult<T> {
        detached(py, || {
            self.0.take_turn(|groups| match groups {
                Some(groups) => work(groups.as_mut()),
                None => Err(argument("an earlier call failed")),
            })
        })
    }
}

#[pymethods]
impl Grouping {
    #[new]
    fn new(py: Python<'_>, task: &str, limits: &Bound<'_, PyAny>) -> PyResult<Grouping> {
        let decoding = decoding(limits)?;
        let groups = detached(py, || FORMATS.group_task(task)?.start(decoding))?;
        Ok(Grouping(Turns::new(groups)))
    }

    fn read(&self, py: Python<'_>, path: &str, content: GivenContent) -> PyResult<()> {
        self.locked(py, |groups| groups.read(path, content.take()?))
    }

    fn add(&self, py: Python<'_>, files: &Bound<'_, PyAny>) -> PyResult<()> {
        let files = import_batch(files)?;
        self.locked(py, |groups| groups.add(&files))
    }

    fn merge(&self, py: Python<'_>, sums: &Bound<'_, PyAny>) -> PyResult<()> {
        let sums = import_batch(sums)?;
        self.locked(py, |groups| groups.merge(&sums))
    }

    fn know(&self, py: Python<'_>, what: &str, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let rows = import_batch(rows)?;
        self.locked(py, |groups| groups.know(prerequisite(what)?, &rows))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.locked(py, |groups| Ok(groups.count()))
    }

    fn drain(&self, py: Python<'_>) -> PyResult<Batch> {
        Ok(batch(self.locked(py, |groups| groups.drain())?))
    }

    fn rows(&self, py: Python<'_>) -> PyResult<Batch> {
        Ok(batch(self.locked(py, |groups| groups.rows())?))
    }
}

#[pyfunction]
pub fn health_row(py: Python<'_>, task: &str, parts: &Bound<'_, PyAny>) -> PyResult<Batch> {
    let parts: Box<dyn RecordBatchReader + Send> = Box::new(caller_stream(parts)?);
    let row = detached(py, || {
        let mut parts = parts.map(sent);
        FORMATS.group_task(task)?.health_row(&mut parts)
    })?;
    Ok(batch(row))
}

#[pyfunction]
pub fn health_schema(py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<SchemaCapsule> {
    detached(py, || Ok(SchemaCapsule(lakebed::health::schema(columns.as_deref())?)))
}

fn batch(rows: RecordBatch) -> Batch {
    Batch(Arc::new(StructArray::from(rows)))
}
