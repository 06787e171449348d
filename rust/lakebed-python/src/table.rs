//! `lakebed.open_table`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::StructArray;
use lakebed::distributed::{Distributed, Exchanged, Part};
use lakebed::format::FORMATS;
use lakebed::location::Guarded;
use lakebed::relocate::Relocated;
use lakebed::scan::Batches;
use lakebed::table;
use lakebed::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::{SchemaCapsule, export_schema, import_batch};
use crate::boundary::detached;
use crate::caller_stream::{caller_stream, sent};
use crate::exchange::PieceStream;
use crate::grouping;
use crate::limits::decoding;
use crate::notes::warn;
use crate::storage::storage_of;
use crate::stream::{Batch, BatchStream};
use crate::view::{Options, Place, View};

/// A table on one branch at one snapshot; without a snapshot where it has none.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Table(pub Arc<dyn table::Table>);

/// The attributes of `lakebed.table.opening.Opening` that say how a table is read.
#[derive(FromPyObject)]
struct Opening<'py> {
    path: String,
    storage: Option<Py<PyAny>>,
    moved: Vec<(String, String)>,
    allowed: Option<Vec<String>>,
    limits: Bound<'py, PyAny>,
    reads: Option<usize>,
}

#[pymethods]
impl Table {
    #[staticmethod]
    fn open(py: Python<'_>, opening: Opening<'_>, format: Option<&str>) -> PyResult<Table> {
        let Opening { path, storage, moved, allowed, limits, reads } = opening;
        let decoding = decoding(&limits)?;
        let mut storage = storage_of(py, storage, reads)?;
        let there: Vec<String> = moved.iter().map(|(_, now)| now.clone()).collect();
        storage = Arc::new(detached(py, || Guarded::of_table(storage, &path, there, allowed))?);
        if !moved.is_empty() {
            storage = Arc::new(Relocated::new(storage, &path, moved));
        }
        Table::warned(py, detached(py, || FORMATS.open(&path, format, storage, decoding))?)
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.0.format()
    }

    #[getter]
    fn format_version(&self) -> Option<i32> {
        self.0.format_version()
    }

    #[getter]
    fn location(&self) -> &str {
        self.0.location()
    }

    #[getter]
    fn snapshot_id(&self) -> Option<i64> {
        self.0.snapshot_id()
    }

    #[getter]
    fn properties(&self) -> BTreeMap<String, String> {
        self.0.properties()
    }

    #[getter]
    fn branch(&self) -> &str {
        self.0.branch()
    }

    #[getter]
    fn tag(&self) -> Option<&str> {
        self.0.tag()
    }

    #[getter]
    fn data_schema(&self) -> SchemaCapsule {
        SchemaCapsule(self.0.data_schema())
    }

    #[getter]
    fn key_schema(&self) -> SchemaCapsule {
        SchemaCapsule(self.0.key_schema())
    }

    /// Takes and returns record batches as struct arrays.
    fn partitions_of(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<Batch> {
        let rows = import_batch(rows)?;
        let partitions = detached(py, || self.0.partitions_of(&rows))?;
        Ok(Batch(Arc::new(StructArray::from(partitions))))
    }

    fn at(&self, py: Python<'_>, place: &Place) -> PyResult<Table> {
        Table::warned(py, detached(py, || self.0.at(&place.0))?)
    }

    fn refreshed(&self, py: Python<'_>) -> PyResult<Table> {
        Table::warned(py, detached(py, || self.0.refreshed())?)
    }

    /// Resolves a view.
    fn scan(&self, py: Python<'_>, view: &View, options: Options) -> PyResult<Scan> {
        detached(py, || self.0.scan(view.0.clone(), options.0)).map(Scan)
    }

    #[getter]
    fn metadata_tables(&self) -> Vec<&'static str> {
        self.0.metadata_tables()
    }
}

/// The manifests of each side, whether entries are combined, the work, rows that are made already, and what was
/// read of the table.
type ExchangeParts = (String, bool, String, Vec<Batch>, Option<String>);

impl Table {
    /// The table, after its notes were issued as warnings.
    pub fn warned(py: Python<'_>, table: Box<dyn table::Table>) -> PyResult<Table> {
        warn(py, &table.notes())?;
        Ok(Table(Arc::from(table)))
    }
}

/// A view or a metadata table: its schema is known, its rows are not read yet.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Scan(pub Box<dyn Distributed>);

#[pymethods]
impl Scan {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, self.0.schema())
    }

    fn stream(&self, py: Python<'_>) -> PyResult<BatchStream> {
        let batches = detached(py, || self.0.stream())?;
        Ok(BatchStream::new(Arc::clone(self.0.schema()), batches).with_notes(self.0.notes()))
    }

    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || to_json(&serde_json::json!({ "steps": self.0.explain()? })))
    }

    fn deletes(&self, py: Python<'_>) -> PyResult<Scan> {
        detached(py, || self.0.deletes()).map(Scan)
    }

    fn scan_tasks(&self, py: Python<'_>) -> PyResult<String> {
        let answer = detached(py, || to_json(&self.0.scan_tasks()?))?;
        warn(py, &self.0.notes())?;
        Ok(answer)
    }

    fn manifests(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || to_json(&self.0.manifests()?))
    }

    fn task(&self, py: Python<'_>, part: &str) -> PyResult<String> {
        detached(py, || {
            let part = match part {
                "rows" => Part::Rows,
                "added" => Part::Added,
                "deleted" => Part::Deleted,
                _ => return Err(Error::new(ErrorKind::Argument, format!("unknown part {part:?}"))),
            };
            self.0.task(part)?.to_text()
        })
    }

    #[getter]
    fn decides_together(&self) -> bool {
        self.0.decides_together()
    }

    /// The manifests of each side as JSON, whether entries must be shuffled by part, the work as JSON, and rows that
    /// are made already.
    fn exchange(&self, py: Python<'_>, equality_ids: Vec<i32>) -> PyResult<ExchangeParts> {
        detached(py, || {
            let Exchanged { exchange, sides, together, made, seen } = self.0.exchange(&equality_ids)?;
            let made = made.into_iter().map(|rows| Batch(Arc::new(StructArray::from(rows)))).collect();
            Ok((to_json(&sides)?, together, exchange.to_text()?, made, seen))
        })
    }

    fn looked_again(&self, py: Python<'_>, rows: &Bound<'_, PyAny>, seen: &str) -> PyResult<BatchStream> {
        let rows: Batches = Box::new(caller_stream(rows)?.map(sent));
        let rows = detached(py, || self.0.looked_again(rows, seen))?;
        Ok(BatchStream::new(Arc::clone(self.0.schema()), rows))
    }

    fn listed(&self, py: Python<'_>, parts: u32) -> PyResult<PieceStream> {
        detached(py, || self.0.listed(parts).map(PieceStream::new))
    }

    fn side(&self, py: Python<'_>, side: i32) -> PyResult<Vec<Batch>> {
        detached(py, || {
            self.0.side(side)?.map(|rows| Ok(Batch(Arc::new(StructArray::from(rows?))))).collect()
        })
    }

    fn group_task(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || self.0.group_task()?.to_text())
    }

    fn known(&self, py: Python<'_>, what: &str) -> PyResult<Batch> {
        let rows = detached(py, || self.0.prerequisite(grouping::prerequisite(what)?))?;
        Ok(Batch(Arc::new(StructArray::from(rows))))
    }
}

fn to_json(value: &impl serde::Serialize) -> lakebed::Result<String> {
    serde_json::to_string(value).map_err(|error| Error::new(ErrorKind::Argument, error.to_string()))
}
