//! The fields of Paimon's manifest records (Paimon's `ManifestEntry.java`, `DataFileMeta.java`,
//! `ManifestFileMeta.java`, `IndexManifestEntry.java`, `SimpleStats.java`). No other module knows their names
//! on disk.

use std::sync::Arc;

use arrow_array::{Array, BinaryArray, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields};

use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::field::{FieldSpec, binary, int32, int64, ints, longs, optional, utf8, wall_clock};
use crate::record::carried::Recognition;
use crate::record::{column, typed};

/// The format version in every record: 2 in manifests and manifest lists, 1 in index manifests.
pub const VERSION: &str = "_VERSION";

/// The supported version.
pub const MANIFEST_VERSION: i64 = 2;

/// The supported version of index manifests.
pub const INDEX_MANIFEST_VERSION: i64 = 1;

const fn required(
    disk: &'static str,
    column: &'static str,
    data_type: fn() -> DataType,
    doc: &'static str,
) -> FieldSpec {
    FieldSpec { required: true, ..optional(disk, column, data_type, doc) }
}

fn int8() -> DataType {
    DataType::Int8
}
fn strings() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)))
}

/// `SimpleStats` as stored: two serialised BinaryRows, and a null count for each of their columns.
pub fn simple_stats() -> DataType {
    DataType::Struct(Fields::from(vec![
        Field::new("min_values", DataType::Binary, true),
        Field::new("max_values", DataType::Binary, true),
        Field::new("null_counts", longs(), true),
    ]))
}

/// What errors call an array whose name only the caller knows.
pub(crate) const VALUES: &str = "values";

/// A column of [`simple_stats`].
pub(crate) struct SimpleStats<'a> {
    pub(crate) lower: &'a BinaryArray,
    pub(crate) upper: &'a BinaryArray,
    lists: &'a ListArray,
    counts: &'a Int64Array,
}

impl<'a> SimpleStats<'a> {
    /// The column `name` of `rows`.
    ///
    /// # Errors
    /// `Required` for a column that is not there, `Mismatch` for one of another type.
    pub(crate) fn of(rows: &'a RecordBatch, name: &str) -> Result<SimpleStats<'a>> {
        let stats = column::<StructArray>(rows, name)?;
        let [lower, upper, lists] = stats.columns() else {
            return Err(Error::new(ErrorKind::Mismatch, "statistics are three columns").in_field(name));
        };
        let lists: &ListArray = typed(lists, name)?;
        let counts = typed(lists.values(), name)?;
        Ok(SimpleStats { lower: typed(lower, name)?, upper: typed(upper, name)?, lists, counts })
    }

    /// The null count of the column at `position` of a row's statistics, where it is known.
    pub(crate) fn null_count(&self, row: usize, position: usize) -> Option<i64> {
        let [start, end] = [row, row + 1].map(|at| self.lists.value_offsets()[at] as usize);
        let item = Some(position).filter(|at| self.lists.is_valid(row) && *at < end - start)? + start;
        self.counts.is_valid(item).then(|| self.counts.value(item))
    }
}

/// The texts of a row's list; `None` where the list is null.
///
/// # Errors
/// `Mismatch` for a list of another type.
pub(crate) fn texts_at(list: &ListArray, row: usize) -> Result<Option<StringArray>> {
    list.is_valid(row).then(|| typed::<StringArray>(&list.value(row), "item").cloned()).transpose()
}

/// Where an index file has the deletion vector of each data file; the format itself names the fields `f0` to
/// `f2`.
fn deletion_vector_ranges() -> DataType {
    let range = Fields::from(vec![
        // The data file.
        Field::new("f0", DataType::Utf8, true),
        // Where its vector begins [bytes].
        Field::new("f1", DataType::Int32, true),
        // Its length [bytes]; see the module `deletion_vector`.
        Field::new("f2", DataType::Int32, true),
        // Rows it deletes; null where the writer did not record it.
        Field::new("cardinality", DataType::Int64, true),
    ]);
    DataType::List(Arc::new(Field::new("item", DataType::Struct(range), true)))
}

/// The rows and columns that a global index covers; the range includes its last row.
fn global_index() -> DataType {
    DataType::Struct(Fields::from(vec![
        Field::new("row_range_start", DataType::Int64, true),
        Field::new("row_range_end", DataType::Int64, true),
        Field::new("index_field_id", DataType::Int32, true),
        Field::new("extra_field_ids", ints(), true),
        Field::new("index_meta", DataType::Binary, true),
        Field::new("source_meta", DataType::Binary, true),
    ]))
}

/// A manifest entry: one change of one data file. The fields of the file follow those of the entry.
pub const ENTRY: [FieldSpec; 25] = [
    required("_KIND", "kind", int8, "0 the file was added, 1 it was deleted"),
    required("_PARTITION", "partition", binary, "partition values, a serialised BinaryRow"),
    required("_BUCKET", "bucket", int32, "bucket number, -2 postponed"),
    required("_TOTAL_BUCKETS", "total_buckets", int32, "buckets of the partition, -1 unaware or dynamic"),
    required("_FILE._FILE_NAME", "file_name", utf8, "name in its bucket's folder"),
    required("_FILE._FILE_SIZE", "file_size", int64, "size [bytes]"),
    required("_FILE._ROW_COUNT", "row_count", int64, "physical rows, deleting ones included"),
    required("_FILE._MIN_KEY", "min_key", binary, "first key, a serialised BinaryRow"),
    required("_FILE._MAX_KEY", "max_key", binary, "last key, a serialised BinaryRow"),
    required("_FILE._KEY_STATS", "key_stats", simple_stats, "statistics of the trimmed primary key"),
    required("_FILE._VALUE_STATS", "value_stats", simple_stats, "statistics of the columns"),
    required("_FILE._MIN_SEQUENCE_NUMBER", "min_sequence_number", int64, "smallest sequence number"),
    required("_FILE._MAX_SEQUENCE_NUMBER", "max_sequence_number", int64, "largest sequence number"),
    required("_FILE._SCHEMA_ID", "schema_id", int64, "schema the file was written with"),
    required("_FILE._LEVEL", "level", int32, "level of the merge tree, 0 for append tables"),
    required("_FILE._EXTRA_FILES", "extra_files", strings, "side files in the same folder"),
    optional("_FILE._CREATION_TIME", "creation_time", wall_clock, "the writer's own wall clock, no zone"),
    optional("_FILE._DELETE_ROW_COUNT", "delete_row_count", int64, "rows that delete or retract"),
    optional("_FILE._EMBEDDED_FILE_INDEX", "embedded_file_index", binary, "small file index, inline"),
    optional("_FILE._FILE_SOURCE", "file_source", int32, "0 written, 1 compacted"),
    optional("_FILE._VALUE_STATS_COLS", "value_stats_cols", strings, "columns of value_stats; null: all"),
    optional("_FILE._EXTERNAL_PATH", "external_path", utf8, "full path where outside the table"),
    optional("_FILE._FIRST_ROW_ID", "first_row_id", int64, "id of the first row"),
    optional("_FILE._WRITE_COLS", "write_cols", strings, "columns in the file; null: all"),
    optional("_FILE._WRITE_COLS_SEQUENCES", "write_cols_sequences", longs, "sequence of each of write_cols"),
];

/// A manifest list's record: one manifest.
pub const LIST: [FieldSpec; 14] = [
    required("_FILE_NAME", "file_name", utf8, "name in the folder `manifest`"),
    required("_FILE_SIZE", "file_size", int64, "size [bytes]"),
    required("_NUM_ADDED_FILES", "num_added_files", int64, "entries that add a file"),
    required("_NUM_DELETED_FILES", "num_deleted_files", int64, "entries that delete one"),
    required("_PARTITION_STATS", "partition_stats", simple_stats, "bounds of the entries' partitions"),
    required("_SCHEMA_ID", "schema_id", int64, "largest schema id of the entries"),
    optional("_MIN_BUCKET", "min_bucket", int32, "smallest bucket; null: unknown"),
    optional("_MAX_BUCKET", "max_bucket", int32, "largest bucket; null: unknown"),
    optional("_MIN_LEVEL", "min_level", int32, "smallest level; null: unknown"),
    optional("_MAX_LEVEL", "max_level", int32, "largest level; null: unknown"),
    optional("_MIN_ROW_ID", "min_row_id", int64, "smallest row id; null: unknown"),
    optional("_MAX_ROW_ID", "max_row_id", int64, "largest row id; null: unknown"),
    optional("_TOTAL_BUCKETS", "total_buckets", int32, "buckets of every entry's partition; null: unknown"),
    optional("_EXTRA_FILES", "extra_files", strings, "side files of the manifest; null: unknown"),
];

/// Whether a field of a writer's schema, in the record at that path, is known.
pub(crate) fn known(table: &[FieldSpec], record: &str, field: &Value) -> Recognition {
    let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
    let path = if record.is_empty() { name.to_owned() } else { format!("{record}.{name}") };
    if path == VERSION {
        return Recognition::Field;
    }
    if let Some(spec) = table.iter().find(|spec| spec.disk == path) {
        return match (spec.data_type)() {
            DataType::Struct(_) => Recognition::Record(path),
            DataType::List(item) if matches!(item.data_type(), DataType::Struct(_)) => {
                Recognition::List(path)
            }
            _ => Recognition::Field,
        };
    }
    if let Some(spec) = table.iter().find(|spec| spec.disk == record) {
        return if has_member(&(spec.data_type)(), name) { Recognition::Field } else { Recognition::No };
    }
    let below = |spec: &FieldSpec| spec.disk.strip_prefix(&path).is_some_and(|rest| rest.starts_with('.'));
    if table.iter().any(below) { Recognition::Record(path) } else { Recognition::No }
}

/// Whether the records of a column, or of its lists, have a field of that name.
fn has_member(column: &DataType, name: &str) -> bool {
    match column {
        DataType::Struct(fields) => fields.iter().any(|field| *field.name() == member_name(name)),
        DataType::List(item) => has_member(item.data_type(), name),
        _ => false,
    }
}

/// The Arrow name of a field of a record in a column: `_ROW_RANGE_END` becomes `row_range_end`, `f0` stays
/// `f0`.
pub(crate) fn member_name(disk: &str) -> String {
    disk.trim_start_matches('_').to_lowercase()
}

/// The column of the index manifest with the vectors of an index file.
pub(crate) const RANGES: &str = "deletions_vectors_ranges";

/// An index manifest's record: one index file.
pub const INDEX: [FieldSpec; 10] = [
    required("_KIND", "kind", int8, "0 the file was added"),
    required("_PARTITION", "partition", binary, "partition values, a serialised BinaryRow"),
    required("_BUCKET", "bucket", int32, "bucket number"),
    required("_INDEX_TYPE", "index_type", utf8, "HASH, DELETION_VECTORS or the kind of a global index"),
    required("_FILE_NAME", "file_name", utf8, "name in the folder `index`, or beside the data"),
    required("_FILE_SIZE", "file_size", int64, "size [bytes]"),
    required("_ROW_COUNT", "row_count", int64, "keys, deletion vectors or rows covered"),
    optional(
        "_DELETIONS_VECTORS_RANGES",
        RANGES,
        deletion_vector_ranges,
        "the vector of each data file, in file order",
    ),
    optional("_EXTERNAL_PATH", "external_path", utf8, "full path where outside the table"),
    optional("_GLOBAL_INDEX", "global_index", global_index, "what a global index covers"),
];
