//! `lakebed.open_table`.

use std::collections::BTreeMap;
use std::sync::Arc;

use lakebed::paimon::{self, MetadataOptions, Role, ScanOptions, View};
use lakebed::storage::{Local, Storage};
use lakebed::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::export_schema;
use crate::boundary::detached;
use crate::columnar::decoding;
use crate::storage::PyStorage;
use crate::stream::BatchStream;

/// A Paimon table on one branch at one snapshot, or at none where it has none.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Table(paimon::Table);

#[pymethods]
impl Table {
    #[staticmethod]
    fn open(
        py: Python<'_>,
        location: &str,
        storage: Option<Py<PyAny>>,
        limits: &Bound<'_, PyAny>,
    ) -> PyResult<Table> {
        let decoding = decoding(limits)?;
        let storage: Arc<dyn Storage> = match storage {
            Some(storage) => Arc::new(PyStorage(storage)),
            None => Arc::new(Local),
        };
        detached(py, || paimon::Table::open(location, storage, decoding)).map(Table)
    }

    #[getter]
    fn format(&self) -> &'static str {
        "paimon"
    }

    #[getter]
    fn location(&self) -> &str {
        self.0.location()
    }

    #[getter]
    fn snapshot_id(&self) -> Option<i64> {
        self.0.snapshot().map(|snapshot| snapshot.id)
    }

    #[getter]
    fn properties(&self) -> BTreeMap<String, String> {
        self.0.schema().options.iter().cloned().collect()
    }

    #[getter]
    fn branch(&self) -> &str {
        self.0.branch()
    }

    #[getter]
    fn tag(&self) -> Option<&str> {
        self.0.tag()
    }

    fn at_branch(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        detached(py, || self.0.at_branch(name)).map(Table)
    }

    fn at_tag(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        detached(py, || self.0.at_tag(name)).map(Table)
    }

    fn at_watermark(&self, py: Python<'_>, watermark: i64) -> PyResult<Table> {
        detached(py, || self.0.at_watermark(watermark)).map(Table)
    }

    fn at_timestamp(&self, py: Python<'_>, millis: i64) -> PyResult<Table> {
        detached(py, || self.0.at_timestamp(millis)).map(Table)
    }

    fn at_snapshot(&self, py: Python<'_>, snapshot_id: i64) -> PyResult<Table> {
        detached(py, || self.0.at_snapshot(snapshot_id)).map(Table)
    }

    #[allow(clippy::too_many_arguments)] // the keywords that every view takes
    #[pyo3(signature = (view, columns, r#where, stats, limit, threads))]
    fn scan(
        &self,
        py: Python<'_>,
        view: &str,
        columns: Option<Vec<String>>,
        r#where: Option<String>,
        stats: Option<Vec<String>>,
        limit: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<Scan> {
        let options = ScanOptions {
            columns,
            filter: r#where,
            stats,
            limit,
            threads: threads.unwrap_or(0),
            ..ScanOptions::default()
        };
        detached(py, || paimon::Scan::new(self.0.clone(), View::named(view)?, options)).map(Scan)
    }

    #[getter]
    fn metadata_tables(&self) -> Vec<&'static str> {
        paimon::metadata_tables()
    }

    #[pyo3(signature = (name, columns, r#where, limit, threads))]
    fn metadata_scan(
        &self,
        py: Python<'_>,
        name: &str,
        columns: Option<Vec<String>>,
        r#where: Option<String>,
        limit: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<MetadataScan> {
        let options = MetadataOptions { columns, filter: r#where, limit, threads: threads.unwrap_or(0) };
        detached(py, || paimon::MetadataScan::new(self.0.clone(), name, options)).map(MetadataScan)
    }
}

/// One view of a table: its schema is known, nothing of its rows is read yet.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Scan(paimon::Scan);

#[pymethods]
impl Scan {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, self.0.schema())
    }

    fn stream(&self, py: Python<'_>) -> PyResult<BatchStream> {
        let stream = detached(py, || self.0.stream())?;
        Ok(BatchStream::new(Arc::clone(stream.schema()), Box::new(stream)))
    }

    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || to_json(&serde_json::json!({ "steps": self.0.explain()? })))
    }

    fn manifests(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || {
            let manifests = self.0.manifests()?.into_iter().map(|(path, manifest)| {
                serde_json::json!({
                    "path": path,
                    "size": manifest.file_size,
                    "added": manifest.added,
                    "deleted": manifest.deleted,
                })
            });
            to_json(&manifests.collect::<Vec<_>>())
        })
    }

    fn task(&self, py: Python<'_>, role: &str) -> PyResult<String> {
        detached(py, || {
            let role = match role {
                "rows" => self.0.role(),
                "added" => Role::Added,
                "deleted" => Role::Deleted,
                _ => return Err(Error::new(ErrorKind::Argument, format!("no role {role:?}"))),
            };
            to_json(&self.0.task(role)?)
        })
    }
}

/// One of the engine's metadata tables: its schema is known, nothing of its rows is read yet.
#[pyclass(frozen, module = "lakebed._native")]
pub struct MetadataScan(paimon::MetadataScan);

#[pymethods]
impl MetadataScan {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, self.0.schema())
    }

    fn stream(&self, py: Python<'_>) -> PyResult<BatchStream> {
        let stream = detached(py, || self.0.stream())?;
        Ok(BatchStream::new(Arc::clone(self.0.schema()), stream))
    }
}

fn to_json(value: &impl serde::Serialize) -> lakebed::Result<String> {
    serde_json::to_string(value).map_err(|error| Error::new(ErrorKind::Argument, error.to_string()))
}
