//! The fields of content entries: the only place with their ids and names.
//!
//! Ids of structs count within the struct, so that 520 is one thing in a manifest list and another in
//! [`MANIFEST_INFO_FIELDS`]. What no released library writes is marked as proposed.

use arrow_schema::DataType;

use crate::field::{binary, int32, int64, utf8};

/// One field of a content entry, or of a struct in it.
pub(super) struct EntryField {
    pub(super) id: i32,
    pub(super) name: &'static str,
    /// Whether an entry without it is invalid, where the struct around it is there.
    pub(super) required: bool,
    pub(super) shape: FieldShape,
}

/// What a field holds.
pub(super) enum FieldShape {
    Value(fn() -> DataType),
    Struct(&'static [EntryField]),
    List(&'static EntryField),
    /// The union of the fields of all partition specs.
    Partition,
    /// A struct for each column of the table that has statistics.
    ContentStats,
}

const fn optional(id: i32, name: &'static str, shape: FieldShape) -> EntryField {
    EntryField { id, name, required: false, shape }
}

const fn required(id: i32, name: &'static str, shape: FieldShape) -> EntryField {
    EntryField { id, name, required: true, shape }
}

const INT: FieldShape = FieldShape::Value(int32);
const LONG: FieldShape = FieldShape::Value(int64);
const TEXT: FieldShape = FieldShape::Value(utf8);
const BINARY: FieldShape = FieldShape::Value(binary);

/// The id of the struct of [`TRACKING`], whose fields are columns of their own.
pub(super) const TRACKING_ID: i32 = 147;

/// What happened to the entry, in the order of Iceberg's `Tracking.java`.
pub(super) static TRACKING: [EntryField; 9] = [
    required(0, STATUS, INT),
    optional(1, SNAPSHOT_ID, LONG),
    optional(3, SEQUENCE_NUMBER, LONG),
    optional(4, FILE_SEQUENCE_NUMBER, LONG),
    optional(5, "dv_snapshot_id", LONG),
    optional(142, FIRST_ROW_ID, LONG),
    optional(6, DELETED_POSITIONS, BINARY),
    optional(7, REPLACED_POSITIONS, BINARY),
    // Proposed with column files.
    optional(160, "latest_column_file_snapshot_id", LONG),
];

/// The fields of an entry but for tracking, in the order of Iceberg's `TrackedFile.java`.
pub(super) static ENTRY: [EntryField; 16] = [
    required(134, CONTENT_TYPE, INT),
    required(157, FORMAT_VERSION, INT),
    required(100, LOCATION, TEXT),
    required(101, "file_format", TEXT),
    required(103, RECORD_COUNT, LONG),
    required(104, FILE_SIZE_IN_BYTES, LONG),
    optional(141, SPEC_ID, INT),
    optional(102, PARTITION, FieldShape::Partition),
    optional(146, CONTENT_STATS, FieldShape::ContentStats),
    optional(140, "sort_order_id", INT),
    optional(148, DELETION_VECTOR, FieldShape::Struct(&DELETION_VECTOR_FIELDS)),
    optional(150, MANIFEST_INFO, FieldShape::Struct(&MANIFEST_INFO_FIELDS)),
    optional(131, "key_metadata", BINARY),
    optional(132, "split_offsets", FieldShape::List(&ELEMENTS[0])),
    optional(135, "equality_ids", FieldShape::List(&ELEMENTS[1])),
    // Proposed; the ids of the list and its elements are those that the rest of the proposal leaves free.
    optional(158, COLUMN_FILES, FieldShape::List(&ELEMENTS[2])),
];

/// Where the deleted rows of a data file are (Iceberg's `DeletionVector.java`).
pub(super) static DELETION_VECTOR_FIELDS: [EntryField; 5] = [
    required(155, LOCATION, TEXT),
    required(144, "offset", LONG),
    required(145, "size_in_bytes", LONG),
    required(156, "cardinality", LONG),
    optional(149, "key_metadata", BINARY),
];

/// What a leaf manifest holds, in the order of Iceberg's `ManifestInfo.java`.
pub(super) static MANIFEST_INFO_FIELDS: [EntryField; 11] = [
    required(504, "added_files_count", INT),
    required(505, "existing_files_count", INT),
    required(506, "deleted_files_count", INT),
    required(520, "replaced_files_count", INT),
    required(512, "added_rows_count", LONG),
    required(513, "existing_rows_count", LONG),
    required(514, "deleted_rows_count", LONG),
    required(521, "replaced_rows_count", LONG),
    required(516, "min_sequence_number", LONG),
    optional(522, DV, BINARY),
    // Delta's text has it; Iceberg took it out before 1.12.
    optional(523, "dv_cardinality", LONG),
];

/// A file with other values of some columns of a data file (proposed).
pub(super) static COLUMN_FILE: [EntryField; 7] = [
    required(161, "format_version", INT),
    required(162, "field_ids", FieldShape::List(&ELEMENTS[3])),
    required(164, LOCATION, TEXT),
    required(165, "file_format", TEXT),
    required(166, "file_size_in_bytes", LONG),
    optional(167, "key_metadata", BINARY),
    optional(168, "split_offsets", FieldShape::List(&ELEMENTS[4])),
];

/// The elements of lists, in the order of the lists above.
static ELEMENTS: [EntryField; 5] = [
    required(133, ELEMENT, LONG),
    required(136, ELEMENT, INT),
    required(159, ELEMENT, FieldShape::Struct(&COLUMN_FILE)),
    required(163, ELEMENT, INT),
    required(169, ELEMENT, LONG),
];
const ELEMENT: &str = "element";

// Columns that the reader looks into.
pub(super) const STATUS: &str = "status";
pub(super) const SNAPSHOT_ID: &str = "snapshot_id";
pub(super) const SEQUENCE_NUMBER: &str = "sequence_number";
pub(super) const FILE_SEQUENCE_NUMBER: &str = "file_sequence_number";
pub(super) const FIRST_ROW_ID: &str = "first_row_id";
pub(super) const DELETED_POSITIONS: &str = "deleted_positions";
pub(super) const REPLACED_POSITIONS: &str = "replaced_positions";
pub(super) const CONTENT_TYPE: &str = "content_type";
pub(super) const LOCATION: &str = "location";
pub(super) const RECORD_COUNT: &str = "record_count";
pub(super) const FORMAT_VERSION: &str = "format_version";
pub(super) const FILE_SIZE_IN_BYTES: &str = "file_size_in_bytes";
pub(super) const SPEC_ID: &str = "spec_id";
pub(super) const PARTITION: &str = "partition";
pub(super) const CONTENT_STATS: &str = "content_stats";
pub(super) const MANIFEST_INFO: &str = "manifest_info";
pub(super) const DV: &str = "dv";
pub(super) const DELETION_VECTOR: &str = "deletion_vector";
pub(super) const COLUMN_FILES: &str = "column_files";

/// The columns that the reader adds: the number of the entry in its manifest, and whether it counts.
pub(super) const POS: &str = "pos";
pub(super) const LIVE: &str = "live";

/// Statuses; of a file that is there with other deletes or column files than before there is one entry REPLACED, and one
/// MODIFIED.
pub(super) const EXISTING: i32 = 0;
pub(super) const ADDED: i32 = 1;
pub(super) const MODIFIED: i32 = 4;
pub(super) const STATUSES: std::ops::RangeInclusive<i32> = EXISTING..=MODIFIED;

/// Contents of entries: data, equality deletes, and manifests of either. Deletion vectors are parts of entries, so that
/// there is no 1, which is position deletes in older versions.
pub(super) const CONTENT_TYPES: [i32; 4] = [0, 2, DATA_MANIFEST, DELETE_MANIFEST];
pub(super) const DATA_MANIFEST: i32 = 3;
pub(super) const DELETE_MANIFEST: i32 = 4;

/// The statistics of one column of a table: their ids are those of its struct and these offsets behind it (Iceberg
/// specification, "Content Stats"; `StatsUtil.java`).
pub(super) mod stats {
    /// The id of the struct of the column with id 0, and what each column has of ids.
    pub(in super::super) const FIRST: i32 = 10_000;
    pub(in super::super) const STEP: i32 = 200;
    /// The first column id that has no struct, since it would be beyond 200,000,000.
    pub(in super::super) const COLUMNS: i32 = 999_950;

    pub(in super::super) const LOWER_BOUND: (i32, &str) = (1, "lower_bound");
    pub(in super::super) const UPPER_BOUND: (i32, &str) = (2, "upper_bound");
    pub(in super::super) const TIGHT_BOUNDS: (i32, &str) = (3, "tight_bounds");
    pub(in super::super) const VALUE_COUNT: (i32, &str) = (4, "value_count");
    pub(in super::super) const NULL_VALUE_COUNT: (i32, &str) = (5, "null_value_count");
    pub(in super::super) const NAN_VALUE_COUNT: (i32, &str) = (6, "nan_value_count");
    pub(in super::super) const AVG_VALUE_SIZE: (i32, &str) = (7, "avg_value_size_in_bytes");
    /// The corners of the box around geometries: x and y, and where there are, z and m.
    pub(in super::super) const LOWER_CORNER: [(i32, &str); 4] = [(10, "x"), (11, "y"), (12, "z"), (13, "m")];
    pub(in super::super) const UPPER_CORNER: [(i32, &str); 4] = [(14, "x"), (15, "y"), (16, "z"), (17, "m")];
}
