//! `lakebed.open_table`.

use std::collections::BTreeMap;
use std::sync::Arc;

use lakebed::distributed::{Bounds, Distributed};
use lakebed::finding::TablesBelow;
use lakebed::format::FORMATS;
use lakebed::repair::rewrite_hints;
use lakebed::table;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arguments::{Limits, of_attributes};
use crate::arrow::{SchemaCapsule, export_schema, import_batch};
use crate::boundary::{checked, detached};
use crate::cache::{Cache, cache_of};
use crate::caller_stream::caller_stream;
use crate::iceberg::Form;
use crate::job::JobPlan;
use crate::storage::{Reads, storage_for, storage_of, table_storage};
use crate::stream::{Batch, BatchStream, warn};
use crate::view::{Options, Place, View, decoding_of};

/// A table on one branch at one snapshot; without a snapshot where it has none.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Table(pub Arc<dyn table::LakeTable>);

/// The attributes of `lakebed.table.opening.Opening` that say how a table is read.
#[derive(FromPyObject)]
struct Opening {
    path: String,
    storage: Option<Py<PyAny>>,
    moved: Vec<(String, String)>,
    allowed: Option<Vec<String>>,
    limits: Limits,
    reads: Option<Reads>,
    keys: Option<Py<PyAny>>,
    cache: Option<Py<Cache>>,
}

#[pymethods]
impl Table {
    #[staticmethod]
    fn open(py: Python<'_>, opening: Opening, format: Option<&str>) -> PyResult<Table> {
        let Opening { path, storage, moved, allowed, limits, reads, keys, cache } = opening;
        let storage = storage_for(py, storage, reads, cache.is_some())?;
        let storage = detached(py, || table_storage(storage, &path, moved, allowed))?;
        let decoding = decoding_of(limits, keys).with_cache(cache_of(cache));
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

    /// What tells the table from all others.
    fn identity(&self, py: Python<'_>) -> PyResult<Option<String>> {
        detached(py, || self.0.identity())
    }

    fn tables_within(&self, py: Python<'_>, is_of_catalog: bool) -> PyResult<Vec<String>> {
        detached(py, || self.0.tables_within(is_of_catalog))
    }

    fn rewrite_hints(&self, py: Python<'_>, paths: Vec<String>) -> PyResult<()> {
        checked(py, || rewrite_hints(self.0.as_ref(), &paths))
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
        detached(py, || self.0.partitions_of(&rows)).map(Batch::from)
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

    /// Of each partition spec the fields of partitions that it does not have.
    fn absent_partition_fields(&self, py: Python<'_>) -> PyResult<BTreeMap<i32, Vec<String>>> {
        detached(py, || self.0.absent_partition_fields())
    }

    #[getter]
    fn metadata_tables(&self) -> Vec<&'static str> {
        self.0.metadata_tables()
    }
}

impl Table {
    /// The table, after its notes were issued as warnings.
    pub fn warned(py: Python<'_>, table: Box<dyn table::LakeTable>) -> PyResult<Table> {
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
        detached(py, || Ok(serde_json::json!({ "steps": self.0.explain()? }).to_string()))
    }

    fn deletes(&self, py: Python<'_>) -> PyResult<Scan> {
        detached(py, || self.0.deletes()).map(Scan)
    }

    /// As the objects that `json.loads` makes.
    fn scan_tasks<'py>(&self, py: Python<'py>, form: Form) -> PyResult<Bound<'py, PyAny>> {
        let answer = detached(py, || self.0.scan_tasks(form.0))?;
        warn(py, &self.0.notes())?;
        py.import("json")?.call_method1("loads", (answer,))
    }

    /// Takes the attributes of Python's `lakebed.view.Bounds`.
    fn job(&self, py: Python<'_>, bounds: &Bound<'_, PyAny>) -> PyResult<Option<JobPlan>> {
        let answer: Option<Bound<'_, PyAny>> = bounds.getattr("answer")?.extract()?;
        let answer = answer.map(|rows| caller_stream(&rows)).transpose()?;
        let bounds = of_attributes!(bounds, Bounds {
            at_once, small_bytes, delete_bytes, deleting_bytes, deletions, task_bytes, sum_bytes, parts, groups;
            answer: None
        });
        detached(py, || {
            let answer = answer.map(Iterator::collect).transpose()?;
            Ok(self.0.job(&Bounds { answer, ..bounds })?.map(JobPlan))
        })
    }

    #[getter]
    fn is_light(&self) -> bool {
        self.0.is_light()
    }
}

/// The tables at a folder and below it.
#[pyfunction]
pub fn find_tables(
    py: Python<'_>,
    prefix: &str,
    storage: Option<Py<PyAny>>,
    concurrent_reads: Option<Reads>,
    options: Options,
) -> PyResult<Scan> {
    let storage = storage_of(py, storage, concurrent_reads)?;
    let found = detached(py, || TablesBelow::new(prefix, &FORMATS, storage, options.0))?;
    Ok(Scan(Box::new(found)))
}
