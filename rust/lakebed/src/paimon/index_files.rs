//! The index files of a snapshot, and their paths (Paimon's `IndexFileHandler.java`,
//! `IndexPathFactory.java`).

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BinaryArray, BooleanArray, Int8Array, Int32Array, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;

use super::fields::{INDEX, known};
use super::index_manifest::read_index_manifest;
use super::manifest::ADD;
use super::paths::{DataPaths, index_file, is_file_name};
use super::prune::PartitionPredicate;
use super::table::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{carried, column, find, record_schema};
use crate::storage::total_size;

/// The kind of index files that hold deletion vectors.
pub(crate) const DELETION_VECTORS: &str = "DELETION_VECTORS";

/// Index files as an index manifest records them.
#[derive(Debug, Clone)]
pub(crate) struct IndexFiles {
    /// The columns of [`INDEX`].
    pub(crate) entries: RecordBatch,
    /// The full path of each.
    pub(crate) paths: StringArray,
}

impl IndexFiles {
    /// No index files.
    pub(crate) fn none() -> IndexFiles {
        let entries = RecordBatch::new_empty(record_schema(&INDEX.iter().collect::<Vec<_>>()));
        IndexFiles { entries, paths: StringArray::new_null(0) }
    }

    /// The index files of the table's snapshot in the partitions and buckets that `filter` keeps, in the
    /// order of the index manifest. Reads only the index manifest.
    ///
    /// # Errors
    /// Those of reading the index manifest; `Mismatch` for a DELETE entry, which index manifests must not
    /// have, and for a name that is not a file name.
    pub(crate) fn read(table: &Table, filter: Option<&PartitionPredicate>) -> Result<IndexFiles> {
        let name = table.snapshot().and_then(|snapshot| snapshot.index_manifest.as_ref());
        name.map_or_else(|| Ok(IndexFiles::none()), |name| IndexFiles::of(table, name, filter))
    }

    /// The index files that an index manifest of the table names; else as [`IndexFiles::read`].
    ///
    /// # Errors
    /// As [`IndexFiles::read`].
    pub(crate) fn of(table: &Table, name: &str, filter: Option<&PartitionPredicate>) -> Result<IndexFiles> {
        let path = table.manifest_path(name);
        let read = || {
            let entries = read_index_manifest(table.read_recorded(&path, None)?, None, table.decoding())?;
            check(&entries)?;
            let kept = filter.map_or_else(|| Ok(entries.clone()), |filter| keep(&entries, filter))?;
            Ok(IndexFiles { paths: paths(table, &kept)?, entries: kept })
        };
        read().map_err(|error: Error| error.in_file(&path))
    }

    /// All entries, followed by columns with unknown fields of other writers.
    ///
    /// # Errors
    /// As [`IndexFiles::read`]; `Unsupported` for unknown fields in ORC or Parquet.
    pub(crate) fn read_carrying(table: &Table) -> Result<RecordBatch> {
        let Some(path) = IndexFiles::manifest_of(table) else { return Ok(IndexFiles::none().entries) };
        let read = || {
            let bytes = table.read_recorded(&path, None)?;
            let limits = table.decoding().limits;
            let carried = carried::read(&bytes, &|record, field| known(&INDEX, record, field), limits)?;
            let entries = read_index_manifest(bytes, None, table.decoding())?;
            check(&entries)?;
            carried::with(&entries, carried.as_ref())
        };
        read().map_err(|error: Error| error.in_file(&path))
    }

    /// The path of the index manifest of the table's snapshot.
    pub(crate) fn manifest_of(table: &Table) -> Option<String> {
        let name = table.snapshot()?.index_manifest.as_ref()?;
        Some(table.manifest_path(name))
    }

    /// The index files of one kind.
    pub(crate) fn of_type(&self, index_type: &str) -> Result<IndexFiles> {
        let types = column::<StringArray>(&self.entries, "index_type")?;
        let keep = types.iter().map(|found| Some(found == Some(index_type)));
        let keep: BooleanArray = keep.collect();
        let paths = self.paths.iter().zip(&keep).filter(|(_, keep)| *keep == Some(true));
        Ok(IndexFiles {
            paths: paths.map(|(path, _)| path).collect(),
            entries: filtered(&self.entries, &keep)?,
        })
    }

    /// The number of index files.
    pub(crate) fn len(&self) -> usize {
        self.entries.num_rows()
    }

    /// The recorded size of all of them \[bytes\].
    pub(crate) fn bytes(&self) -> u64 {
        let sizes = self.entries.column_by_name("file_size");
        let sizes = sizes.and_then(|sizes| sizes.as_primitive_opt::<Int64Type>());
        let sizes = sizes.into_iter().flat_map(|sizes| sizes.values());
        total_size(sizes.map(|size| size.unsigned_abs()))
    }

    /// The `length` index files from `start` on; the range must exist.
    pub(crate) fn slice(&self, start: usize, length: usize) -> IndexFiles {
        IndexFiles { entries: self.entries.slice(start, length), paths: self.paths.slice(start, length) }
    }
}

fn check(entries: &RecordBatch) -> Result<()> {
    let kinds = column::<Int8Array>(entries, "kind")?;
    let names = column::<StringArray>(entries, "file_name")?;
    let rows = kinds.values().iter().zip(names);
    for (row, (kind, name)) in rows.enumerate() {
        let name = name.unwrap_or_default();
        let wrong = match (*kind == ADD, is_file_name(name)) {
            (true, true) => continue,
            (true, false) => Error::new(ErrorKind::Mismatch, format!("not a file name: {name:?}")),
            (false, _) => {
                Error::new(ErrorKind::Mismatch, format!("entry of kind {kind} in an index manifest"))
            }
        };
        return Err(wrong.in_record(row as u64));
    }
    Ok(())
}

fn keep(entries: &RecordBatch, filter: &PartitionPredicate) -> Result<RecordBatch> {
    let partitions = column::<BinaryArray>(entries, "partition")?;
    let buckets = column::<Int32Array>(entries, "bucket")?;
    let rows = partitions.iter().zip(buckets.values());
    let keep = rows.map(|(partition, bucket)| {
        filter.matches(partition.unwrap_or_default(), i64::from(*bucket)).map(Some)
    });
    filtered(entries, &keep.collect::<Result<BooleanArray>>()?)
}

fn filtered(entries: &RecordBatch, keep: &BooleanArray) -> Result<RecordBatch> {
    filter_record_batch(entries, keep).map_err(Into::into)
}

/// The external path where there is one; else beside the data where the table is configured so; else in the
/// folder `index`, where global indexes always are.
fn paths(table: &Table, entries: &RecordBatch) -> Result<StringArray> {
    let external = column::<StringArray>(entries, "external_path")?;
    let global = find(entries, "global_index")?;
    let names = column::<StringArray>(entries, "file_name")?;
    let beside_data = table.schema().option("index-file-in-data-file-dir");
    let beside_data = beside_data.is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let beside = beside_data.then(|| DataPaths::new(table.location(), table.schema()).of(entries, external));
    let beside = beside.transpose()?;
    let path = |(row, name): (usize, Option<&str>)| match &beside {
        _ if external.is_valid(row) => external.value(row).to_owned(),
        Some(paths) if global.is_null(row) => paths.value(row).to_owned(),
        _ => format!("{}/{}", table.location(), index_file(name.unwrap_or_default())),
    };
    Ok(StringArray::from_iter_values(names.iter().enumerate().map(path)))
}
