//! `lakebed.open_table`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::StructArray;
use lakebed::distributed::{Distributed, Exchanged, Part, SingleProcess};
use lakebed::format::FORMATS;
use lakebed::location::Guarded;
use lakebed::reach::{OrphanOptions, Retention};
use lakebed::relocate::Relocated;
use lakebed::scan::{Batches, DeletesAs, ScanOptions};
use lakebed::table::{self, Newest, Place};
use lakebed::view::View;
use lakebed::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::{SchemaCapsule, export_schema, import_batch};
use crate::boundary::detached;
use crate::caller_stream::{caller_stream, sent};
use crate::exchange::PieceStream;
use crate::grouping;
use crate::interpreter::{attached, call, cause};
use crate::limits::decoding;
use crate::listing::stream_of;
use crate::notes::warn;
use crate::storage::storage_of;
use crate::stream::{Batch, BatchStream};

/// A table on one branch at one snapshot; without a snapshot where it has none.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Table(pub Arc<dyn table::Table>);

#[pymethods]
impl Table {
    #[staticmethod]
    #[allow(clippy::too_many_arguments)] // the arguments of `open_table`
    fn open(
        py: Python<'_>,
        location: &str,
        format: Option<&str>,
        storage: Option<Py<PyAny>>,
        relocate: Vec<(String, String)>,
        allowed: Option<Vec<String>>,
        limits: &Bound<'_, PyAny>,
        concurrent_reads: Option<usize>,
    ) -> PyResult<Table> {
        let decoding = decoding(limits)?;
        let mut storage = storage_of(py, storage, concurrent_reads)?;
        let moved: Vec<String> = relocate.iter().map(|(_, now)| now.clone()).collect();
        storage = Arc::new(detached(py, || Guarded::of_table(storage, location, moved, allowed))?);
        if !relocate.is_empty() {
            storage = Arc::new(Relocated::new(storage, location, relocate));
        }
        Table::warned(py, detached(py, || FORMATS.open(location, format, storage, decoding))?)
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

    #[pyo3(signature = (*, snapshot=None, tag=None, branch=None, timestamp=None, watermark=None))]
    fn at(
        &self,
        py: Python<'_>,
        snapshot: Option<i64>,
        tag: Option<String>,
        branch: Option<String>,
        timestamp: Option<i64>,
        watermark: Option<i64>,
    ) -> PyResult<Table> {
        let place = [
            snapshot.map(Place::Snapshot),
            tag.map(Place::Tag),
            branch.map(Place::Branch),
            timestamp.map(Place::Timestamp),
            watermark.map(Place::Watermark),
        ];
        let table = detached(py, || {
            let place = place.into_iter().flatten().next();
            self.0.at(&place.ok_or_else(|| {
                Error::new(ErrorKind::Argument, "at() takes a snapshot, tag, branch, timestamp or watermark")
            })?)
        });
        Table::warned(py, table?)
    }

    fn refreshed(&self, py: Python<'_>) -> PyResult<Table> {
        Table::warned(py, detached(py, || self.0.refreshed())?)
    }

    #[allow(clippy::too_many_arguments)] // the keywords that every view takes
    #[pyo3(signature = (
        view, columns, r#where, stats, limit, threads, deletes=None, row_limit=None, small_bytes=None
    ))]
    fn scan(
        &self,
        py: Python<'_>,
        view: &str,
        columns: Option<Vec<String>>,
        r#where: Option<String>,
        stats: Option<Vec<String>>,
        limit: Option<usize>,
        threads: Option<usize>,
        deletes: Option<&str>,
        row_limit: Option<u64>,
        small_bytes: Option<u64>,
    ) -> PyResult<Scan> {
        let threads = threads.unwrap_or(0);
        detached(py, || {
            let deletes = deletes.map(deletes_as).transpose()?.unwrap_or_default();
            let options = ScanOptions {
                columns,
                filter: r#where,
                stats,
                limit,
                row_limit,
                threads,
                deletes,
                small_bytes,
            };
            self.0.scan(View::named(view)?, options)
        })
        .map(Scan)
    }

    #[allow(clippy::too_many_arguments)] // the keywords that every view takes
    #[pyo3(signature = (before, after, columns, r#where, stats, limit, threads))]
    fn diff(
        &self,
        py: Python<'_>,
        before: Version,
        after: Version,
        columns: Option<Vec<String>>,
        r#where: Option<String>,
        stats: Option<Vec<String>>,
        limit: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<Scan> {
        let threads = threads.unwrap_or(0);
        let options =
            ScanOptions { columns, filter: r#where, stats, limit, threads, ..ScanOptions::default() };
        detached(py, || self.0.diff(&before.into(), &after.into(), options)).map(Scan)
    }

    #[allow(clippy::too_many_arguments)] // the keywords that every view takes
    #[pyo3(signature = (after, columns, r#where, stats, limit, threads))]
    fn appends(
        &self,
        py: Python<'_>,
        after: Option<Version>,
        columns: Option<Vec<String>>,
        r#where: Option<String>,
        stats: Option<Vec<String>>,
        limit: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<Scan> {
        let threads = threads.unwrap_or(0);
        let options =
            ScanOptions { columns, filter: r#where, stats, limit, threads, ..ScanOptions::default() };
        detached(py, || self.0.appends(after.map(Place::from).as_ref(), options)).map(Scan)
    }

    #[pyo3(signature = (columns, r#where, limit, threads))]
    fn growth(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        r#where: Option<String>,
        limit: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<Scan> {
        let options = selection(columns, r#where, limit, threads);
        detached(py, || self.0.growth(options)).map(alone)
    }

    #[pyo3(signature = (columns, r#where, stats, limit, threads))]
    fn file_history(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        r#where: Option<String>,
        stats: Option<Vec<String>>,
        limit: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<Scan> {
        let options = ScanOptions { stats, ..selection(columns, r#where, limit, threads) };
        detached(py, || self.0.file_history(options)).map(alone)
    }

    #[pyo3(signature = (data_files, columns, r#where, limit, threads))]
    fn verify(
        &self,
        py: Python<'_>,
        data_files: bool,
        columns: Option<Vec<String>>,
        r#where: Option<String>,
        limit: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<Scan> {
        let options = selection(columns, r#where, limit, threads);
        detached(py, || self.0.verify(data_files, options)).map(Scan)
    }

    #[pyo3(signature = (columns, r#where, limit, threads))]
    fn reachable(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        r#where: Option<String>,
        limit: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<Scan> {
        let options = selection(columns, r#where, limit, threads);
        detached(py, || self.0.reachable(options)).map(Scan)
    }

    #[allow(clippy::too_many_arguments)] // the arguments of `Table.orphans`
    #[pyo3(signature = (
        before_ms, listing, newest, equal_schemes, equal_authorities, columns, r#where, limit, threads
    ))]
    fn orphans(
        &self,
        py: Python<'_>,
        before_ms: Option<i64>,
        listing: Option<Py<PyAny>>,
        newest: Option<Py<PyAny>>,
        equal_schemes: Vec<(String, String)>,
        equal_authorities: Vec<(String, String)>,
        columns: Option<Vec<String>>,
        r#where: Option<String>,
        limit: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<Scan> {
        let listing = listing.map(stream_of);
        let which = OrphanOptions { before_ms, equal_schemes, equal_authorities, listing };
        let options = selection(columns, r#where, limit, threads);
        let newest = newest.map(newest_of);
        detached(py, || self.0.orphans(which, newest, options)).map(Scan)
    }

    #[allow(clippy::too_many_arguments)] // the arguments of `Table.expire_plan`
    #[pyo3(signature = (
        older_than_ms, retain_last, now_ms, newest, of_newest, columns, r#where, limit, threads
    ))]
    fn expire_plan(
        &self,
        py: Python<'_>,
        older_than_ms: Option<i64>,
        retain_last: Option<i32>,
        now_ms: i64,
        newest: Option<Py<PyAny>>,
        of_newest: bool,
        columns: Option<Vec<String>>,
        r#where: Option<String>,
        limit: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<Scan> {
        let retention = Retention { older_than_ms, retain_last, now_ms };
        let options = selection(columns, r#where, limit, threads);
        let newest = newest.map(newest_of);
        detached(py, || self.0.expire_plan(retention, newest, of_newest, options)).map(Scan)
    }

    #[getter]
    fn metadata_tables(&self) -> Vec<&'static str> {
        self.0.metadata_tables()
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
    ) -> PyResult<Scan> {
        let options = selection(columns, r#where, limit, threads);
        detached(py, || self.0.metadata_scan(name, options)).map(alone)
    }
}

/// The manifests of each side, whether entries are combined, the work, rows that are made already, and what was
/// read of the table.
type ExchangeParts = (String, bool, String, Vec<Batch>, Option<String>);

/// The newest version of a table, as a callable of Python's returns it.
fn newest_of(newest: Py<PyAny>) -> Newest {
    Arc::new(move || {
        let table = |py: Python<'_>| Ok(Arc::clone(&call(newest.bind(py), ())?.cast::<Table>()?.get().0));
        attached(|py| {
            let failed = |raised| {
                Error::new(ErrorKind::Io, "the newest version of the table").caused_by(cause(py, raised))
            };
            table(py).map_err(failed)
        })
    })
}

impl Table {
    /// The table, after its notes were issued as warnings.
    pub fn warned(py: Python<'_>, table: Box<dyn table::Table>) -> PyResult<Table> {
        warn(py, &table.notes())?;
        Ok(Table(Arc::from(table)))
    }
}

/// A snapshot's id, or the name of a tag or branch.
#[derive(FromPyObject)]
enum Version {
    Id(i64),
    Name(String),
}

impl From<Version> for Place {
    fn from(version: Version) -> Place {
        match version {
            Version::Id(id) => Place::Snapshot(id),
            Version::Name(name) => Place::Named(name),
        }
    }
}

/// A view or a metadata table: its schema is known, its rows are not read yet.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Scan(Box<dyn Distributed>);

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
        detached(py, || self.0.deletes()).map(alone)
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

/// The options of views without statistics.
fn selection(
    columns: Option<Vec<String>>,
    filter: Option<String>,
    limit: Option<usize>,
    threads: Option<usize>,
) -> ScanOptions {
    ScanOptions { columns, filter, limit, threads: threads.unwrap_or(0), ..ScanOptions::default() }
}

/// A scan that only this process can run.
pub fn alone(scan: Box<dyn lakebed::scan::Scan>) -> Scan {
    Scan(Box::new(SingleProcess(scan)))
}

/// How a plan shows deletes, from the value of the argument.
fn deletes_as(word: &str) -> lakebed::Result<DeletesAs> {
    match word {
        "list" => Ok(DeletesAs::Files),
        "ids" => Ok(DeletesAs::Ids),
        _ => Err(Error::new(ErrorKind::Argument, format!("deletes is \"list\" or \"ids\", not {word:?}"))),
    }
}

fn to_json(value: &impl serde::Serialize) -> lakebed::Result<String> {
    serde_json::to_string(value).map_err(|error| Error::new(ErrorKind::Argument, error.to_string()))
}
