//! Commits to Paimon tables, and the changes that they make, as types.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use lakebed::columnar::Decoding;
use lakebed::distributed::Distributed;
use lakebed::location::GuardedStorage;
use lakebed::paimon;
use lakebed::paimon::write::{
    self, BranchStart, Change, CommitOptions, CommitOutcome, Compaction, FileSelection, IndexFilesChange,
    ManifestCompaction, Mending, RefChange, RollbackTo, SchemaChange, TableDefinition,
};
use lakebed::predicate::Predicate;
use lakebed::reach::Retention;
use lakebed::scan::{self, Batches, ScanOptions};
use lakebed::table::LakeTable as _;
use lakebed::view::View;
use lakebed::{Error, ErrorKind, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arguments::{IdOrName, Limits, Reviewed, of_attributes};
use crate::arrow::{import_array, import_schema};
use crate::boundary::{checked, detached, detached_as};
use crate::caller_stream::rows_of;
use crate::columnar::PyarrowEncoder;
use crate::error::{commit_error_to_python, to_python};
use crate::storage::storage_of;
use crate::table::{Scan, Table};

/// One change of a Paimon table; a commit makes one or several.
#[pyclass(frozen, module = "lakebed._native")]
pub struct PaimonChange(pub Change);

#[pymethods]
impl PaimonChange {
    #[staticmethod]
    fn append_files(
        files: &Bound<'_, PyAny>,
        changelog: Option<&Bound<'_, PyAny>>,
        check: bool,
    ) -> PyResult<PaimonChange> {
        let changelog = changelog.map(rows_of).transpose()?;
        Ok(PaimonChange(Change::AppendFiles { files: rows_of(files)?, changelog, check }))
    }

    #[staticmethod]
    fn overwrite_files(
        py: Python<'_>,
        files: Option<&Bound<'_, PyAny>>,
        removed: Option<Texts>,
        r#where: Option<&str>,
    ) -> PyResult<PaimonChange> {
        let added = files.map(rows_of).transpose()?;
        let condition = r#where.map(|text| detached(py, || Predicate::parse(text))).transpose()?;
        let paths = removed.map(|Texts(paths)| FileSelection::Paths(paths));
        let removed = paths.into_iter().chain(condition.map(FileSelection::Where)).collect();
        Ok(PaimonChange(Change::OverwriteFiles { removed, added }))
    }

    #[staticmethod]
    fn overwrite_partitions(
        files: &Bound<'_, PyAny>,
        partition: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PaimonChange> {
        let removed = match partition.map(import_array).transpose()? {
            None => FileSelection::PartitionsOfAdded,
            Some(values) => FileSelection::Partition(
                values
                    .as_struct_opt()
                    .cloned()
                    .ok_or_else(|| PyTypeError::new_err("a partition is a struct"))?,
            ),
        };
        Ok(PaimonChange(Change::OverwriteFiles { removed: vec![removed], added: Some(rows_of(files)?) }))
    }

    #[staticmethod]
    fn replace_files(
        removed: Texts,
        added: &Bound<'_, PyAny>,
        changelog: Option<&Bound<'_, PyAny>>,
        index_files: Option<&Bound<'_, PyAny>>,
        removed_index_files: Texts,
        dangling: Vec<(String, i64)>,
    ) -> PyResult<PaimonChange> {
        let changelog = changelog.map(rows_of).transpose()?;
        let vectors = index_files.map(|added| index_files_change(added, removed_index_files)).transpose()?;
        let (removed, added) = (removed.0, rows_of(added)?);
        let compaction = Compaction { removed, added, changelog, vectors, dangling };
        Ok(PaimonChange(Change::CompactFiles(Box::new(compaction))))
    }

    #[staticmethod]
    fn add_deletes(index_files: &Bound<'_, PyAny>, removed: Texts) -> PyResult<PaimonChange> {
        index_files_change(index_files, removed).map(Change::ReplaceDeletionVectors).map(PaimonChange)
    }

    #[staticmethod]
    fn restore_snapshot(snapshot_id: i64) -> PaimonChange {
        PaimonChange(Change::RestoreSnapshot(snapshot_id))
    }

    #[staticmethod]
    fn restore_rows(vectors: Vec<(String, i64)>) -> PaimonChange {
        PaimonChange(Change::RestoreRows(vectors))
    }

    #[staticmethod]
    fn rewrite_manifests(target_bytes: Option<u64>, sort: bool, memory_bytes: Option<usize>) -> PaimonChange {
        PaimonChange(Change::CompactManifests(ManifestCompaction { target_bytes, sort, memory_bytes }))
    }

    #[staticmethod]
    fn mend_manifests(
        leaves_out: bool,
        lists_once: bool,
        relists: bool,
        rows_lost: i64,
        described: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PaimonChange> {
        let described = described.map(rows_of).transpose()?;
        Ok(PaimonChange(Change::MendManifests(Mending {
            leaves_out,
            lists_once,
            relists,
            rows_lost,
            described,
        })))
    }

    /// Schema changes as a JSON array, in the form of Paimon's REST catalogs.
    #[staticmethod]
    fn update_schema(py: Python<'_>, changes: &str) -> PyResult<PaimonChange> {
        checked(py, || SchemaChange::from_json(changes)).map(Change::AlterTable).map(PaimonChange)
    }

    #[staticmethod]
    fn create_tag(
        name: String,
        snapshot: Option<i64>,
        retained_micros: Option<u64>,
        replace: bool,
    ) -> PaimonChange {
        let retained = retained_micros.map(Duration::from_micros);
        PaimonChange(Change::Ref(RefChange::CreateTag { name, snapshot, retained, replace }))
    }

    #[staticmethod]
    fn delete_tag(name: String) -> PaimonChange {
        PaimonChange(Change::Ref(RefChange::DeleteTag(name)))
    }

    #[staticmethod]
    fn create_branch(name: String, start: Option<IdOrName>) -> PaimonChange {
        let start = match start {
            None => BranchStart::Empty,
            Some(IdOrName::Id(id)) => BranchStart::Snapshot(id),
            Some(IdOrName::Name(tag)) => BranchStart::Tag(tag),
        };
        PaimonChange(Change::Ref(RefChange::CreateBranch { name, start }))
    }

    #[staticmethod]
    fn remove_snapshots(ids: Vec<i64>) -> PaimonChange {
        PaimonChange(Change::Ref(RefChange::RemoveSnapshots(ids)))
    }

    #[staticmethod]
    fn delete_branch(name: String) -> PaimonChange {
        PaimonChange(Change::Ref(RefChange::DeleteBranch(name)))
    }

    #[staticmethod]
    fn fast_forward(branch: String) -> PaimonChange {
        PaimonChange(Change::Ref(RefChange::FastForward(branch)))
    }

    #[staticmethod]
    fn rollback_to(target: IdOrName) -> PaimonChange {
        let target = match target {
            IdOrName::Id(id) => RollbackTo::Snapshot(id),
            IdOrName::Name(tag) => RollbackTo::Tag(tag),
        };
        PaimonChange(Change::Ref(RefChange::RollbackTo(target)))
    }

    #[staticmethod]
    fn expire_snapshots(
        older_than_ms: Option<i64>,
        retain_last: Option<i32>,
        now_ms: i64,
        reviewed: Option<Reviewed>,
    ) -> PaimonChange {
        let retention = Retention { older_than_ms, retain_last, now_ms };
        let reviewed = reviewed.map(|reviewed| reviewed.0);
        PaimonChange(Change::Ref(RefChange::ExpireSnapshots { retention, reviewed }))
    }
}

/// Paths or names.
struct Texts(StringArray);

impl FromPyObject<'_, '_> for Texts {
    type Error = PyErr;

    fn extract(array: Borrowed<'_, '_, PyAny>) -> PyResult<Texts> {
        let texts = import_array(&array)?.as_string_opt::<i32>().cloned();
        texts.map(Texts).ok_or_else(|| PyTypeError::new_err("paths are strings"))
    }
}

fn index_files_change(added: &Bound<'_, PyAny>, Texts(removed): Texts) -> PyResult<IndexFilesChange> {
    Ok(IndexFilesChange { added: rows_of(added)?, removed })
}

/// Rows that were worked out before anything was removed, to be read again and again.
struct FreedFiles {
    schema: SchemaRef,
    rows: Vec<RecordBatch>,
}

impl scan::Scan for FreedFiles {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        Ok(Box::new(self.rows.clone().into_iter().map(Ok)))
    }
}

impl Distributed for FreedFiles {}

/// Makes changes to a table, all in one commit, with the attributes that Python's `lakebed.commits.paimon` gives.
/// Returns the table after it, and the files that a removal of snapshots, tags or a branch has freed.
#[pyfunction]
pub fn paimon_commit(
    py: Python<'_>,
    table: &Table,
    changes: Vec<PyRef<'_, PaimonChange>>,
    options: &Bound<'_, PyAny>,
) -> PyResult<(Table, Scan)> {
    let changes: Vec<Change> = changes.iter().map(|change| change.0.clone()).collect();
    let properties: BTreeMap<String, String> = options.getattr("properties")?.extract()?;
    let options = of_attributes!(options, CommitOptions {
        user, identifier, watermark, uuid, zone_offset_millis;
        properties: properties.into_iter().collect(),
        encoder: Some(Arc::new(PyarrowEncoder))
    });
    let own = table.0.as_any().downcast_ref::<paimon::Table>().ok_or_else(|| {
        let message = format!("a Paimon table is expected, not one of {}", table.0.format());
        to_python(py, Error::new(ErrorKind::Unsupported, message))
    })?;
    let (table, freed) = detached_as(py, commit_error_to_python, || {
        let CommitOutcome { table, freed: rows } = write::commit(own, &changes, &options)?;
        let schema = match rows.first() {
            Some(batch) => batch.schema(),
            None => Arc::clone(table.scan(View::Reachable, ScanOptions::default())?.schema()),
        };
        Ok((table, FreedFiles { schema, rows }))
    })?;
    Ok((Table::warned(py, Box::new(table))?, Scan(Box::new(freed))))
}

/// Creates a table with the attributes that Python's `lakebed.creating` gives.
#[pyfunction]
pub fn paimon_create_table(
    py: Python<'_>,
    location: &str,
    storage: Option<Py<PyAny>>,
    table: &Bound<'_, PyAny>,
    limits: Limits,
) -> PyResult<Table> {
    let storage = storage_of(py, storage, None)?;
    let fields: String = table.getattr("fields")?.extract()?;
    let definition = of_attributes!(table, TableDefinition {
        partition_keys, primary_keys, options, comment;
        fields: detached_as(py, commit_error_to_python, || TableDefinition::fields_from_json(&fields))?
    });
    let storage = Arc::new(detached(py, || GuardedStorage::of_table(storage, location, [], None))?);
    let create = || write::create_table(location, storage, &definition, Decoding::from(limits.0));
    detached_as(py, commit_error_to_python, create).map(|table| Table(Arc::new(table)))
}

/// The columns of a schema as `fields` of a schema file, without ids.
#[pyfunction]
pub fn paimon_fields(py: Python<'_>, schema: &Bound<'_, PyAny>) -> PyResult<String> {
    let schema = import_schema(schema)?;
    checked(py, || Ok(serde_json::Value::Array(TableDefinition::fields_from_arrow(&schema)?).to_string()))
}
