//! What callers ask of a table: a view, its options, and the state that they mean, as types.

use std::sync::Arc;

use arrow_array::RecordBatch;
use lakebed::columnar::Decoding;
use lakebed::iceberg::Keys;
use lakebed::reach::{Listing, OrphanOptions, Retention};
use lakebed::repair::{Described, RepairKind};
use lakebed::scan::{Batches, DeletesAs, ScanOptions};
use lakebed::table::{self, Newest};
use lakebed::{Error, ErrorKind, view};
use lakebed_avro::ErrorKind as AvroKind;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::arguments::{Limits, of_attributes};
use crate::arrow::SchemaCapsule;
use crate::boundary::{checked, detached};
use crate::caller_stream::{caller_stream, rows_of};
use crate::interpreter::{attempted, call};
use crate::stream::Batch;
use crate::table::Table;

/// A view, with what only it takes.
#[pyclass(frozen, module = "lakebed._native")]
pub struct View(pub view::View);

#[pymethods]
impl View {
    #[classattr]
    const SNAPSHOTS: View = View(view::View::Snapshots);
    #[classattr]
    const REFS: View = View(view::View::Refs);
    #[classattr]
    const CHANGELOGS: View = View(view::View::Changelogs);
    #[classattr]
    const SCHEMAS: View = View(view::View::Schemas);
    #[classattr]
    const MANIFESTS: View = View(view::View::Manifests);
    #[classattr]
    const ENTRIES: View = View(view::View::Entries);
    #[classattr]
    const FILES: View = View(view::View::Files);
    #[classattr]
    const PARTITIONS: View = View(view::View::Partitions);
    #[classattr]
    const BUCKETS: View = View(view::View::Buckets);
    #[classattr]
    const HEALTH: View = View(view::View::Health);
    #[classattr]
    const DELETES: View = View(view::View::Deletes);
    #[classattr]
    const PLAN: View = View(view::View::Plan);
    #[classattr]
    const INDEXES: View = View(view::View::Indexes);
    #[classattr]
    const GROWTH: View = View(view::View::Growth);
    #[classattr]
    const FILE_HISTORY: View = View(view::View::FileHistory);
    #[classattr]
    const COLUMNS: View = View(view::View::Columns);
    #[classattr]
    const REACHABLE: View = View(view::View::Reachable);

    #[staticmethod]
    fn diff(before: &Place, after: &Place) -> View {
        View(view::View::Diff { before: before.0.clone(), after: after.0.clone() })
    }

    #[staticmethod]
    fn appends(after: Option<&Place>) -> View {
        View(view::View::Appends { after: after.map(|place| place.0.clone()) })
    }

    #[staticmethod]
    fn changes(after: Option<&Place>) -> View {
        View(view::View::Changes { after: after.map(|place| place.0.clone()) })
    }

    #[staticmethod]
    fn overlap(columns: Option<Vec<String>>) -> View {
        View(view::View::Overlap { columns })
    }

    #[staticmethod]
    fn compaction_plan(options: Vec<(String, String)>) -> View {
        View(view::View::CompactionPlan { options })
    }

    #[staticmethod]
    fn dangling_deletes(now_ms: i64) -> View {
        View(view::View::DanglingDeletes { now_ms })
    }

    #[staticmethod]
    fn repair_plan(
        py: Python<'_>,
        kinds: Option<Vec<String>>,
        described: Option<(Vec<String>, Py<PyAny>)>,
        now_ms: i64,
    ) -> PyResult<View> {
        let kinds = checked(py, || RepairKind::named(kinds.as_deref()))?;
        let described = described.map(|(stats, compare)| described_by(stats, compare));
        Ok(View(view::View::RepairPlan { kinds, described, now_ms }))
    }

    #[staticmethod]
    fn verify(data_files: bool) -> View {
        View(view::View::Verify { data_files })
    }

    #[staticmethod]
    fn metadata_table(name: String) -> View {
        View(view::View::MetadataTable(name))
    }

    #[staticmethod]
    fn orphans(
        before_ms: Option<i64>,
        now_ms: i64,
        listing: Option<Py<PyAny>>,
        newest: Option<Py<PyAny>>,
        equal_schemes: Vec<(String, String)>,
        equal_authorities: Vec<(String, String)>,
    ) -> View {
        let listing = listing.map(listing_of);
        let which = OrphanOptions { before_ms, now_ms, equal_schemes, equal_authorities, listing };
        View(view::View::Orphans { which, newest: newest.map(newest_of) })
    }

    #[staticmethod]
    fn totals(orphans: Option<&View>) -> View {
        View(view::View::Totals { orphans: orphans.map(|view| Box::new(view.0.clone())) })
    }

    #[staticmethod]
    fn expire_plan(
        older_than_ms: Option<i64>,
        retain_last: Option<i32>,
        now_ms: i64,
        newest: Option<Py<PyAny>>,
    ) -> View {
        let retention = Retention { older_than_ms, retain_last, now_ms };
        View(view::View::ExpirePlan { retention, newest: newest.map(newest_of) })
    }

    #[staticmethod]
    fn freed(before: String, newest: Option<Py<PyAny>>) -> View {
        View(view::View::Freed { before, newest: newest.map(newest_of) })
    }
}

/// The newest version of a table, as a callable of Python's returns it.
pub fn newest_of(newest: Py<PyAny>) -> Newest {
    let table = move |py: Python<'_>| Ok(Arc::clone(&call(newest.bind(py), ())?.cast::<Table>()?.get().0));
    Arc::new(move || attempted("the newest version of the table", &table))
}

/// How files are decoded, within these limits, with what unwraps keys: a callable of Python's.
pub fn decoding_of(limits: Limits, keys: Option<Py<PyAny>>) -> Decoding {
    Decoding::from(limits.0).with_keys(keys.map(keys_of))
}

/// What a callable unwraps; what it raises is the cause of the error.
fn keys_of(unwrap: Py<PyAny>) -> Keys {
    Keys::new(move |wrapped, id| {
        let unwrapped = |py: Python<'_>| {
            let key = call(unwrap.bind(py), (PyBytes::new(py, wrapped), id))?;
            Ok(Zeroizing::new(key.extract::<Vec<u8>>()?))
        };
        attempted("unwrapping a key", unwrapped).map_err(|mut error| {
            let kind = ErrorKind::Avro(AvroKind::Encryption);
            let failed = Error::new(kind, format!("what unwraps keys did not unwrap one of {id:?}"));
            match error.take_source() {
                Some(raised) if !error.is_interruption() => failed.caused_by(raised),
                _ => error,
            }
        })
    })
}

/// What a callable says of data files, which it takes as one batch: a stream of repairs.
fn described_by(stats: Vec<String>, compare: Py<PyAny>) -> Described {
    let compare = move |files: RecordBatch| {
        attempted("data files were not compared", |py| {
            rows_of(&call(compare.bind(py), (Py::new(py, Batch::from(files))?,))?)
        })
    };
    Described { stats, compare: Arc::new(compare) }
}

/// The listing of a callable that returns a new Arrow stream each time.
fn listing_of(open: Py<PyAny>) -> Listing {
    let stream = move |py: Python<'_>| caller_stream(&call(open.bind(py), ())?);
    Arc::new(move || Ok(Box::new(attempted("the listing failed", &stream)?) as Batches))
}

/// A state of a table.
#[pyclass(frozen, module = "lakebed._native")]
pub struct Place(pub table::Place);

#[pymethods]
impl Place {
    #[staticmethod]
    fn snapshot(id: i64) -> Place {
        Place(table::Place::Snapshot(id))
    }

    #[staticmethod]
    fn tag(name: String) -> Place {
        Place(table::Place::Tag(name))
    }

    #[staticmethod]
    fn branch(name: String) -> Place {
        Place(table::Place::Branch(name))
    }

    #[staticmethod]
    fn named(name: String) -> Place {
        Place(table::Place::Named(name))
    }

    #[staticmethod]
    fn timestamp(millis: i64) -> Place {
        Place(table::Place::Timestamp(millis))
    }

    #[staticmethod]
    fn watermark(watermark: i64) -> Place {
        Place(table::Place::Watermark(watermark))
    }
}

/// The keywords of a view: the attributes of Python's `lakebed.view.Options`.
pub struct Options(pub ScanOptions);

impl FromPyObject<'_, '_> for Options {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Options> {
        let delete_ids: bool = given.getattr("delete_ids")?.extract()?;
        let threads: Option<usize> = given.getattr("threads")?.extract()?;
        Ok(Options(of_attributes!(given, ScanOptions {
            columns, filter, stats, limit, row_limit, small_bytes;
            table_filter: given.getattr("where")?.extract()?,
            threads: threads.unwrap_or(0),
            deletes: if delete_ids { DeletesAs::Ids } else { DeletesAs::Files }
        })))
    }
}

/// The columns of the view `health`, the same for all tables.
#[pyfunction]
pub fn health_schema(py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<SchemaCapsule> {
    detached(py, || Ok(SchemaCapsule(lakebed::health::schema(columns.as_deref())?)))
}
