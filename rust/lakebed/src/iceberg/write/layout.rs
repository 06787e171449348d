//! The records of manifests and manifest lists in each format version, as Iceberg types: which fields exist,
//! in which order, and which are required (Iceberg's `V1Metadata.java`, `V2Metadata.java` and
//! `V3Metadata.java`).

use std::sync::Arc;

use super::FormatVersion;
use super::FormatVersion::{V1, V2, V3};
use crate::iceberg::types::{FieldRef, NestedField, Type};

/// The id of the partition tuple in an entry's file.
const PARTITION_ID: i32 = 102;

/// A field that version 1 requires and that nobody reads.
pub(super) const BLOCK_SIZE: &str = "block_size_in_bytes";

/// A field of a record on disk.
struct WrittenField {
    id: i32,
    name: &'static str,
    ty: fn() -> Type,
    since: FormatVersion,
    until: FormatVersion,
    /// The first version in which it is required, if there is one.
    required: Option<FormatVersion>,
}

const fn optional(id: i32, name: &'static str, ty: fn() -> Type) -> WrittenField {
    WrittenField { id, name, ty, since: V1, until: V3, required: None }
}

const fn required(id: i32, name: &'static str, ty: fn() -> Type) -> WrittenField {
    WrittenField { required: Some(V1), ..optional(id, name, ty) }
}

const fn since(since: FormatVersion, field: WrittenField) -> WrittenField {
    WrittenField { since, ..field }
}

/// The fields of an entry, without its file, which is last.
static ENTRY: [WrittenField; 4] = [
    required(0, "status", || Type::Int),
    optional(1, "snapshot_id", || Type::Long),
    since(V2, optional(3, "sequence_number", || Type::Long)),
    since(V2, optional(4, "file_sequence_number", || Type::Long)),
];

/// The fields of an entry's file; the tuple has the type of the manifest's spec.
static FILE: [WrittenField; 21] = [
    since(V2, required(134, "content", || Type::Int)),
    required(100, "file_path", || Type::String),
    required(101, "file_format", || Type::String),
    required(PARTITION_ID, "partition", || Type::Struct(Vec::new())),
    required(103, "record_count", || Type::Long),
    required(104, "file_size_in_bytes", || Type::Long),
    WrittenField { until: V1, ..required(105, BLOCK_SIZE, || Type::Long) },
    optional(108, "column_sizes", || by_field_id([117, 118], Type::Long)),
    optional(109, "value_counts", || by_field_id([119, 120], Type::Long)),
    optional(110, "null_value_counts", || by_field_id([121, 122], Type::Long)),
    optional(137, "nan_value_counts", || by_field_id([138, 139], Type::Long)),
    optional(125, "lower_bounds", || by_field_id([126, 127], Type::Binary)),
    optional(128, "upper_bounds", || by_field_id([129, 130], Type::Binary)),
    optional(131, "key_metadata", || Type::Binary),
    optional(132, "split_offsets", || list(133, Type::Long)),
    since(V2, optional(135, "equality_ids", || list(136, Type::Int))),
    optional(140, "sort_order_id", || Type::Int),
    since(V3, optional(142, "first_row_id", || Type::Long)),
    since(V2, optional(143, "referenced_data_file", || Type::String)),
    since(V3, optional(144, "content_offset", || Type::Long)),
    since(V3, optional(145, "content_size_in_bytes", || Type::Long)),
];

const PATH: WrittenField = required(500, "manifest_path", || Type::String);
const LENGTH: WrittenField = required(501, "manifest_length", || Type::Long);
const SPEC: WrittenField = required(502, "partition_spec_id", || Type::Int);
const SNAPSHOT: WrittenField = required(503, "added_snapshot_id", || Type::Long);
const PARTITIONS: WrittenField = optional(507, "partitions", || list(508, Type::Struct(summary())));
const KEY_METADATA: WrittenField = optional(519, "key_metadata", || Type::Binary);

const fn count(id: i32, name: &'static str, ty: fn() -> Type) -> WrittenField {
    WrittenField { required: Some(V2), ..optional(id, name, ty) }
}

const ADDED_FILES: WrittenField = count(504, "added_files_count", || Type::Int);
const EXISTING_FILES: WrittenField = count(505, "existing_files_count", || Type::Int);
const DELETED_FILES: WrittenField = count(506, "deleted_files_count", || Type::Int);
const ADDED_ROWS: WrittenField = count(512, "added_rows_count", || Type::Long);
const EXISTING_ROWS: WrittenField = count(513, "existing_rows_count", || Type::Long);
const DELETED_ROWS: WrittenField = count(514, "deleted_rows_count", || Type::Long);

/// The record of a list in version 1, which has another order.
static FIRST_LIST: [WrittenField; 12] = [
    PATH,
    LENGTH,
    SPEC,
    SNAPSHOT,
    ADDED_FILES,
    EXISTING_FILES,
    DELETED_FILES,
    PARTITIONS,
    ADDED_ROWS,
    EXISTING_ROWS,
    DELETED_ROWS,
    KEY_METADATA,
];

/// The record of a list in later versions.
static LIST: [WrittenField; 16] = [
    PATH,
    LENGTH,
    SPEC,
    required(517, "content", || Type::Int),
    required(515, "sequence_number", || Type::Long),
    required(516, "min_sequence_number", || Type::Long),
    SNAPSHOT,
    ADDED_FILES,
    EXISTING_FILES,
    DELETED_FILES,
    ADDED_ROWS,
    EXISTING_ROWS,
    DELETED_ROWS,
    PARTITIONS,
    KEY_METADATA,
    since(V3, optional(520, "first_row_id", || Type::Long)),
];

/// The fields of a partition field's summary.
static SUMMARY: [WrittenField; 4] = [
    required(509, "contains_null", || Type::Boolean),
    optional(518, "contains_nan", || Type::Boolean),
    optional(510, "lower_bound", || Type::Binary),
    optional(511, "upper_bound", || Type::Binary),
];

fn summary() -> Vec<FieldRef> {
    fields(&SUMMARY, V1)
}

fn by_field_id([key, value]: [i32; 2], values: Type) -> Type {
    let key = NestedField::new(key, "key", true, Type::Int);
    Type::Map(Arc::new(key), Arc::new(NestedField::new(value, "value", true, values)))
}

fn list(element: i32, ty: Type) -> Type {
    Type::List(Arc::new(NestedField::new(element, "element", true, ty)))
}

impl WrittenField {
    fn is_of(&self, version: FormatVersion) -> bool {
        (self.since..=self.until).contains(&version)
    }

    fn field(&self, version: FormatVersion) -> FieldRef {
        let is_required = self.required.is_some_and(|since| since <= version);
        Arc::new(NestedField::new(self.id, self.name, is_required, (self.ty)()))
    }
}

fn fields(all: &[WrittenField], version: FormatVersion) -> Vec<FieldRef> {
    all.iter().filter(|field| field.is_of(version)).map(|field| field.field(version)).collect()
}

/// The fields of a manifest's entry; `partition` are the fields of its partition tuple.
pub(super) fn manifest_entry(version: FormatVersion, partition: &[FieldRef]) -> Vec<FieldRef> {
    let file = fields(&FILE, version).into_iter().map(|field| match field.id {
        PARTITION_ID => {
            let tuple = Type::Struct(partition.to_vec());
            Arc::new(NestedField::new(field.id, field.name.clone(), true, tuple))
        }
        _ => field,
    });
    let file = NestedField::new(2, "data_file", true, Type::Struct(file.collect()));
    fields(&ENTRY, version).into_iter().chain([Arc::new(file)]).collect()
}

/// The fields of a manifest list's record.
pub(super) fn manifest_file(version: FormatVersion) -> Vec<FieldRef> {
    fields(if version == V1 { &FIRST_LIST[..] } else { &LIST[..] }, version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::FieldSpec;
    use crate::iceberg::fields;

    /// Whether the field table of the reader has the field with the same id and name.
    fn is_known(specs: &[FieldSpec], field: &WrittenField) -> bool {
        specs.iter().any(|spec| spec.id == Some(field.id) && spec.column == field.name)
    }

    #[test]
    fn written_fields_are_in_the_field_tables() {
        let file = FILE.iter().filter(|field| field.name != BLOCK_SIZE);
        for field in ENTRY.iter().chain(file) {
            assert!(is_known(&fields::ENTRY, field), "{}", field.name);
        }
        for field in FIRST_LIST.iter().chain(&LIST) {
            assert!(is_known(&fields::LIST, field), "{}", field.name);
        }
        assert!(SUMMARY.iter().all(|field| is_known(&fields::FIELD_SUMMARY, field)));
        // Except the spec, of which a manifest has only one.
        let count = fields::ENTRY.len();
        assert_eq!((ENTRY.len() + FILE.len(), LIST.len()), (count, fields::LIST.len()));
    }

    #[test]
    fn versions_have_their_own_fields() {
        let names = |version| {
            let entry = manifest_entry(version, &[]);
            let Some(Type::Struct(file)) = entry.last().map(|file| file.ty.clone()) else {
                return Vec::new();
            };
            file.iter().map(|field| field.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!((names(V1).len(), names(V2).len(), names(V3).len()), (15, 17, 20));
        assert_eq!([V1, V2, V3].map(|version| manifest_file(version).len()), [12, 15, 16]);
        let counts = |version| manifest_file(version).iter().filter(|field| field.required).count();
        assert_eq!((counts(V1), counts(V2)), (4, 13));
    }
}
