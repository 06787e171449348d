//! The changes that commits to Paimon tables make, as types.

use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, RecordBatchReader, StringArray};
use arrow_select::concat::concat_batches;
use lakebed::paimon::write::{
    BranchStart, Change, Compaction, FileSelection, IndexFilesChange, ManifestCompaction, RefChange,
    RollbackTo, SchemaChange,
};
use lakebed::predicate::Predicate;
use lakebed::reach::Retention;
use lakebed::{Error, ErrorKind};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arrow::import_array;
use crate::boundary::detached;
use crate::caller_stream::{caller_stream, sent};
use crate::error::write_error_to_python;

/// One change of a Paimon table; a commit makes one or several.
#[pyclass(frozen, module = "lakebed._native")]
pub struct PaimonChange(pub Change);

#[pymethods]
impl PaimonChange {
    #[staticmethod]
    fn append_files(
        py: Python<'_>,
        files: &Bound<'_, PyAny>,
        changelog: Option<Bound<'_, PyAny>>,
        check: bool,
    ) -> PyResult<PaimonChange> {
        let changelog = changelog.map(|changelog| rows(py, &changelog)).transpose()?;
        Ok(PaimonChange(Change::AppendFiles { files: rows(py, files)?, changelog, check }))
    }

    #[staticmethod]
    fn overwrite_files(
        py: Python<'_>,
        files: Option<Bound<'_, PyAny>>,
        removed: Option<Bound<'_, PyAny>>,
        r#where: Option<&str>,
    ) -> PyResult<PaimonChange> {
        let added = files.map(|files| rows(py, &files)).transpose()?;
        let paths = removed.map(|paths| Ok::<_, PyErr>(FileSelection::Paths(texts(&paths)?))).transpose()?;
        let condition = r#where.map(|text| detached(py, || Predicate::parse(text))).transpose()?;
        let removed = paths.into_iter().chain(condition.map(FileSelection::Where)).collect();
        Ok(PaimonChange(Change::OverwriteFiles { removed, added }))
    }

    #[staticmethod]
    fn overwrite_partitions(
        py: Python<'_>,
        files: &Bound<'_, PyAny>,
        partition: Option<Bound<'_, PyAny>>,
    ) -> PyResult<PaimonChange> {
        let removed = match partition {
            None => FileSelection::PartitionsOfAdded,
            Some(partition) => {
                let values = import_array(&partition)?;
                let values = values.as_struct_opt().cloned();
                FileSelection::Partition(
                    values.ok_or_else(|| PyTypeError::new_err("a partition is a struct"))?,
                )
            }
        };
        Ok(PaimonChange(Change::OverwriteFiles { removed: vec![removed], added: Some(rows(py, files)?) }))
    }

    #[staticmethod]
    fn replace_files(
        py: Python<'_>,
        removed: &Bound<'_, PyAny>,
        added: &Bound<'_, PyAny>,
        changelog: Option<Bound<'_, PyAny>>,
        index_files: Option<Bound<'_, PyAny>>,
        removed_index_files: &Bound<'_, PyAny>,
    ) -> PyResult<PaimonChange> {
        let changelog = changelog.map(|changelog| rows(py, &changelog)).transpose()?;
        let vectors =
            index_files.map(|added| index_files_change(py, &added, removed_index_files)).transpose()?;
        let (removed, added) = (texts(removed)?, rows(py, added)?);
        Ok(PaimonChange(Change::CompactFiles(Compaction { removed, added, changelog, vectors })))
    }

    #[staticmethod]
    fn add_deletes(
        py: Python<'_>,
        index_files: &Bound<'_, PyAny>,
        removed: &Bound<'_, PyAny>,
    ) -> PyResult<PaimonChange> {
        let change = index_files_change(py, index_files, removed)?;
        Ok(PaimonChange(Change::ReplaceDeletionVectors(change)))
    }

    #[staticmethod]
    fn rewrite_manifests(target_bytes: Option<u64>, sort: bool, memory_bytes: Option<usize>) -> PaimonChange {
        PaimonChange(Change::CompactManifests(ManifestCompaction { target_bytes, sort, memory_bytes }))
    }

    /// Schema changes as a JSON array, in the form of Paimon's REST catalogs.
    #[staticmethod]
    fn update_schema(py: Python<'_>, changes: &str) -> PyResult<PaimonChange> {
        let changes = SchemaChange::from_json(changes).map_err(|error| write_error_to_python(py, error))?;
        Ok(PaimonChange(Change::AlterTable(changes)))
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
    fn create_branch(name: String, start: Option<Snapshot>) -> PaimonChange {
        let start = match start {
            None => BranchStart::Empty,
            Some(Snapshot::Id(id)) => BranchStart::Snapshot(id),
            Some(Snapshot::OfTag(tag)) => BranchStart::Tag(tag),
        };
        PaimonChange(Change::Ref(RefChange::CreateBranch { name, start }))
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
    fn rollback_to(target: Snapshot) -> PaimonChange {
        let target = match target {
            Snapshot::Id(id) => RollbackTo::Snapshot(id),
            Snapshot::OfTag(tag) => RollbackTo::Tag(tag),
        };
        PaimonChange(Change::Ref(RefChange::RollbackTo(target)))
    }

    #[staticmethod]
    fn expire_snapshots(older_than_ms: Option<i64>, retain_last: Option<i32>, now_ms: i64) -> PaimonChange {
        PaimonChange(Change::Ref(RefChange::ExpireSnapshots(Retention {
            older_than_ms,
            retain_last,
            now_ms,
        })))
    }
}

/// A snapshot by its number, or by the name of its tag.
#[derive(FromPyObject)]
enum Snapshot {
    Id(i64),
    OfTag(String),
}

/// All rows of a caller, as one batch.
fn rows(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let batches = caller_stream(data)?;
    let rows = detached(py, || {
        let schema = batches.schema();
        let whole = |batches: Vec<RecordBatch>| {
            concat_batches(&schema, &batches)
                .map_err(|error| Error::new(ErrorKind::Argument, error.to_string()))
        };
        Ok(batches.map(sent).collect::<lakebed::Result<_>>().and_then(whole))
    })?;
    rows.map_err(|error| write_error_to_python(py, error))
}

/// Paths or names.
fn texts(array: &Bound<'_, PyAny>) -> PyResult<StringArray> {
    let texts = import_array(array)?;
    texts.as_string_opt::<i32>().cloned().ok_or_else(|| PyTypeError::new_err("paths are strings"))
}

fn index_files_change(
    py: Python<'_>,
    added: &Bound<'_, PyAny>,
    removed: &Bound<'_, PyAny>,
) -> PyResult<IndexFilesChange> {
    Ok(IndexFilesChange { added: rows(py, added)?, removed: texts(removed)? })
}
