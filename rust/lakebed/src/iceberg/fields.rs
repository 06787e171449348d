//! The fields of Iceberg's manifest lists and manifests (Iceberg specification, "Manifest Lists" and
//! "Manifests"): their ids, and their names on disk. How writers write them in each version is in
//! `write/layout.rs`.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use serde_json::Value;

pub(crate) use crate::field::{DATA, EQUALITY_DELETES, POSITION_DELETES};
use crate::field::{FieldSpec, binary, int32, int64, ints, longs, optional, utf8};
use crate::record::carried::Recognition;

const fn field(
    id: i32,
    disk: &'static str,
    column: &'static str,
    data_type: fn() -> DataType,
    doc: &'static str,
) -> FieldSpec {
    FieldSpec { id: Some(id), ..optional(disk, column, data_type, doc) }
}

const fn required(field: FieldSpec) -> FieldSpec {
    FieldSpec { required: true, ..field }
}

const fn alias(field: FieldSpec, aliases: &'static [&'static str]) -> FieldSpec {
    FieldSpec { aliases, ..field }
}

fn boolean() -> DataType {
    DataType::Boolean
}

fn by_field_id(values: DataType) -> DataType {
    let entry = vec![Field::new("key", DataType::Int32, false), Field::new("value", values, true)];
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entry.into()), false)), false)
}
fn long_by_field_id() -> DataType {
    by_field_id(DataType::Int64)
}
fn bytes_by_field_id() -> DataType {
    by_field_id(DataType::Binary)
}

/// A placeholder for partition tuples: their fields are those of a manifest's own spec.
fn tuple() -> DataType {
    DataType::Struct(Fields::empty())
}

fn field_summaries() -> DataType {
    let summary: Fields = FIELD_SUMMARY.iter().map(FieldSpec::arrow).collect();
    DataType::List(Arc::new(Field::new("item", DataType::Struct(summary), true)))
}

/// The column of partition tuples, and its path in an entry.
pub(crate) const PARTITION: &str = "partition";
pub(crate) const PARTITION_ON_DISK: &str = "data_file.partition";
/// The path of the file's record count in an entry.
pub(crate) const RECORD_COUNT_ON_DISK: &str = "data_file.record_count";

/// Records that hold other fields and are not columns themselves.
pub(crate) const HOLDERS: [(i32, &str); 1] = [(2, "data_file")];

/// The list of a manifest's partition summaries, whose records are read one by one.
pub(crate) const PARTITIONS_ON_DISK: &str = "partitions";
const PARTITIONS_ID: i32 = 507;

/// Fields of a data file that the specification deprecates: they are neither read nor written.
const DEPRECATED: [i32; 4] = [105, 106, 107, 111];

/// The known field that matches a field of a writer's schema, by id or name. `record` is the record that
/// holds it, empty at the top.
pub(crate) fn known(tables: &[&[FieldSpec]], record: &str, field: &Value) -> Recognition {
    let specs = || tables.iter().copied().flatten();
    let id = field.get("field-id").and_then(Value::as_i64).and_then(|id| i32::try_from(id).ok());
    let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
    let holds =
        |holder: &str| specs().any(|spec| spec.disk.split_once('.').is_some_and(|(of, _)| of == holder));
    let holder = HOLDERS.iter().find(|(of, called)| id == Some(*of) || id.is_none() && name == *called);
    if let Some((_, called)) = holder.filter(|(_, called)| record.is_empty() && holds(called)) {
        return Recognition::Record((*called).to_owned());
    }
    let is_list = id == Some(PARTITIONS_ID) || id.is_none() && name == PARTITIONS_ON_DISK;
    if is_list && record.is_empty() && holds(PARTITIONS_ON_DISK) {
        return Recognition::List(PARTITIONS_ON_DISK.to_owned());
    }
    let is_called = |spec: &FieldSpec| {
        let (of, last) = spec.disk.rsplit_once('.').unwrap_or(("", spec.disk));
        of == record && (last == name || spec.aliases.contains(&name))
    };
    let is_known = specs().any(|spec| id.is_some() && spec.id == id || is_called(spec));
    let is_deprecated = !record.is_empty() && id.is_some_and(|id| DEPRECATED.contains(&id));
    if is_known || is_deprecated { Recognition::Field } else { Recognition::No }
}

/// The fields of a manifest list's records, in the order of Iceberg's `ManifestFile.java`.
pub static LIST: [FieldSpec; 16] = [
    required(field(500, "manifest_path", "manifest_path", utf8, "location of the manifest")),
    field(501, "manifest_length", "manifest_length", int64, "its size [bytes]; null where unknown"),
    required(field(502, "partition_spec_id", "partition_spec_id", int32, "the spec of all its entries")),
    field(517, "content", "content", int32, "0 data files, 1 delete files"),
    field(515, "sequence_number", "sequence_number", int64, "number of the commit that added it; 0 in v1"),
    field(516, "min_sequence_number", "min_sequence_number", int64, "lowest of its live files; 0 in v1"),
    field(503, "added_snapshot_id", "added_snapshot_id", int64, "the snapshot that added it"),
    alias(
        field(504, "added_files_count", "added_files_count", int32, "entries ADDED; null where unknown"),
        &["added_data_files_count"],
    ),
    alias(
        field(505, "existing_files_count", "existing_files_count", int32, "entries EXISTING, likewise"),
        &["existing_data_files_count"],
    ),
    alias(
        field(506, "deleted_files_count", "deleted_files_count", int32, "entries DELETED, likewise"),
        &["deleted_data_files_count"],
    ),
    field(512, "added_rows_count", "added_rows_count", int64, "rows of ADDED entries; null where unknown"),
    field(513, "existing_rows_count", "existing_rows_count", int64, "rows of EXISTING entries, likewise"),
    field(514, "deleted_rows_count", "deleted_rows_count", int64, "rows of DELETED entries, likewise"),
    field(507, "partitions", "partitions", field_summaries, "one summary a field of the spec; null: none"),
    field(519, "key_metadata", "key_metadata", binary, "what decrypts the manifest"),
    field(520, "first_row_id", "first_row_id", int64, "first row id of ADDED files without one of their own"),
];

/// The fields of a partition field's summary (Iceberg's `PartitionFieldSummary`).
pub static FIELD_SUMMARY: [FieldSpec; 4] = [
    field(509, "partitions.contains_null", "contains_null", boolean, "whether some value is null"),
    field(518, "partitions.contains_nan", "contains_nan", boolean, "whether some is NaN; null: unknown"),
    field(510, "partitions.lower_bound", "lower_bound", binary, "single value below all others; null: none"),
    field(511, "partitions.upper_bound", "upper_bound", binary, "single value above all others; null: none"),
];

/// The fields of an entry and of its file, in the order of Iceberg's metadata tables.
///
/// `block_size_in_bytes`, `file_ordinal`, `sort_columns` and `distinct_counts`, which the specification
/// deprecates, are not read. [`PARTITION`] has the fields of the manifest's own spec.
pub static ENTRY: [FieldSpec; 25] = [
    required(field(0, "status", "status", int32, "0 EXISTING, 1 ADDED, 2 DELETED")),
    field(1, "snapshot_id", "snapshot_id", int64, "the snapshot that added or, if DELETED, removed the file"),
    field(3, "sequence_number", "sequence_number", int64, "data sequence number"),
    field(
        4,
        "file_sequence_number",
        "file_sequence_number",
        int64,
        "number of the commit that added the file",
    ),
    field(134, "data_file.content", "content", int32, "0 data, 1 position deletes, 2 equality deletes"),
    required(field(100, "data_file.file_path", "file_path", utf8, "location of the file, byte for byte")),
    required(field(
        101,
        "data_file.file_format",
        "file_format",
        utf8,
        "avro, orc, parquet or puffin, in any case",
    )),
    field(141, "data_file.spec_id", "spec_id", int32, "partition spec of the file"),
    field(102, PARTITION_ON_DISK, PARTITION, tuple, "partition tuple"),
    required(field(
        103,
        RECORD_COUNT_ON_DISK,
        "record_count",
        int64,
        "rows; deleted rows of a deletion vector",
    )),
    required(field(
        104,
        "data_file.file_size_in_bytes",
        "file_size_in_bytes",
        int64,
        "size of the file [bytes]",
    )),
    field(108, "data_file.column_sizes", "column_sizes", long_by_field_id, "bytes of a column"),
    field(109, "data_file.value_counts", "value_counts", long_by_field_id, "values, null and NaN included"),
    field(110, "data_file.null_value_counts", "null_value_counts", long_by_field_id, "null values"),
    field(137, "data_file.nan_value_counts", "nan_value_counts", long_by_field_id, "NaN values"),
    field(125, "data_file.lower_bounds", "lower_bounds", bytes_by_field_id, "single value below all others"),
    field(128, "data_file.upper_bounds", "upper_bounds", bytes_by_field_id, "single value above all others"),
    field(131, "data_file.key_metadata", "key_metadata", binary, "what decrypts the file"),
    field(132, "data_file.split_offsets", "split_offsets", longs, "where the file may be split [bytes]"),
    field(135, "data_file.equality_ids", "equality_ids", ints, "columns that an equality delete compares"),
    field(140, "data_file.sort_order_id", "sort_order_id", int32, "sort order of the rows"),
    field(142, "data_file.first_row_id", "first_row_id", int64, "row id of the file's first row"),
    field(
        143,
        "data_file.referenced_data_file",
        "referenced_data_file",
        utf8,
        "the one file it deletes from",
    ),
    field(
        144,
        "data_file.content_offset",
        "content_offset",
        int64,
        "where the deletion vector starts [bytes]",
    ),
    field(145, "data_file.content_size_in_bytes", "content_size_in_bytes", int64, "its size [bytes]"),
];

/// The fields of a position delete file (Iceberg specification, "Position Delete Files"). [`ROW`] has
/// the fields of the table.
pub static POSITION_DELETE: [FieldSpec; 3] = [
    required(field(FILE_PATH_ID, "file_path", "file_path", utf8, "the data file, byte for byte")),
    required(field(2_147_483_545, "pos", "pos", int64, "position of the deleted row, from 0")),
    field(2_147_483_544, ROW, ROW, tuple, "the deleted row, where the writer kept it"),
];

/// The id of `file_path` in position delete files (`MetadataColumns.java`).
pub(crate) const FILE_PATH_ID: i32 = 2_147_483_546;
/// The column of deleted rows.
pub(crate) const ROW: &str = "row";

/// The fields of a partition statistics file (Iceberg specification, "Partition Statistics File";
/// `PartitionStatistics.java`), in the engine's order. [`PARTITION`] has the partition fields of all specs.
pub static PARTITION_STATS: [FieldSpec; 13] = [
    required(field(1, PARTITION, PARTITION, tuple, "partition tuple")),
    required(field(2, "spec_id", "spec_id", int32, "partition spec of the tuple")),
    required(field(3, "data_record_count", "data_record_count", int64, "rows of data files")),
    required(field(4, "data_file_count", "data_file_count", int32, "data files")),
    required(field(
        5,
        "total_data_file_size_in_bytes",
        "total_data_file_size_in_bytes",
        int64,
        "size of the data files [bytes]",
    )),
    field(
        6,
        "position_delete_record_count",
        "position_delete_record_count",
        int64,
        "rows of position delete files and deletion vectors",
    ),
    field(
        7,
        "position_delete_file_count",
        "position_delete_file_count",
        int32,
        "position delete files, without deletion vectors",
    ),
    field(
        8,
        "equality_delete_record_count",
        "equality_delete_record_count",
        int64,
        "rows of equality delete files",
    ),
    field(9, "equality_delete_file_count", "equality_delete_file_count", int32, "equality delete files"),
    field(
        10,
        "total_record_count",
        "total_record_count",
        int64,
        "rows after deletes, where the writer counted them",
    ),
    field(11, LAST_UPDATED_AT, LAST_UPDATED_AT, int64, "time of the last change [ms since 1970 UTC]"),
    field(12, "last_updated_snapshot_id", "last_updated_snapshot_id", int64, "snapshot of the last change"),
    field(13, DV_COUNT, DV_COUNT, int32, "deletion vectors (version 3)"),
];

pub(crate) const LAST_UPDATED_AT: &str = "last_updated_at";
pub(crate) const DV_COUNT: &str = "dv_count";

/// `file_format` of deletion vectors; writers use any case.
pub(crate) const PUFFIN: &str = "PUFFIN";
