mod golden;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Decimal128Array, Float32Array, Int32Array, Int64Array,
    NullArray, StringArray, StructArray, TimestampMillisecondArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field, TimeUnit};
use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::test_values::ty;
use crate::iceberg::transform::Transform;
use crate::iceberg::types::Schema;
use crate::test_data::shared;

const UUID: &str = "f79c3e09-677c-4bbd-a479-3f349cb785e7";

fn schema(columns: &[(i32, &str, &str)]) -> Schema {
    let field =
        |(id, name, ty): &(i32, &str, &str)| json!({"id": id, "name": name, "required": false, "type": ty});
    let fields: Vec<Value> = columns.iter().map(field).collect();
    Schema::from_json(&json!({"type": "struct", "fields": fields})).expect("a schema")
}

fn spec(id: i32, fields: &[(i32, i32, &str, &str)]) -> PartitionSpec {
    let field = |(source, id, name, transform): &(i32, i32, &str, &str)| json!({"source-id": source, "field-id": id, "name": name, "transform": transform});
    let fields: Vec<Value> = fields.iter().map(field).collect();
    PartitionSpec::from_json(&json!({"spec-id": id, "fields": fields})).expect("a spec")
}

/// The fields as Java prints them.
fn printed(partition: &PartitionType) -> Vec<String> {
    let text = |unified: &UnifiedField| {
        format!("{}: {}: optional {}", unified.field.field_id, unified.field.name, unified.ty)
    };
    partition.fields.iter().map(text).collect()
}

/// Tuples of those columns, one where there are none.
fn tuples(columns: Vec<(&str, ArrayRef)>) -> StructArray {
    let rows = columns.first().map_or(1, |(_, column)| column.len());
    let fields = columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
    let fields = fields.collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    StructArray::try_new_with_length(fields, columns, None, rows).expect("tuples")
}

#[test]
fn specs_of_version_1_have_ids_from_1000() {
    let fields = json!([
        {"source-id": 1, "name": "a", "transform": "identity"},
        {"source-ids": [2], "name": "b_day", "transform": "day"},
        {"source-ids": [2, 3], "name": "z", "transform": "bucket[4]"},
    ]);
    let spec = PartitionSpec::from_fields(7, &fields).unwrap();
    let ids: Vec<(i32, &str)> =
        spec.fields.iter().map(|field| (field.field_id, field.name.as_str())).collect();
    assert_eq!((spec.spec_id, ids), (7, vec![(1000, "a"), (1001, "b_day"), (1002, "z")]));
    assert_eq!(spec.fields[1].transform, Transform::Day);
    assert_eq!(spec.fields[2].transform, Transform::Unknown("bucket[4]".to_owned()));
}

#[test]
fn broken_specs_are_refused() {
    let with_id = json!({"source-id": 1, "field-id": 1000, "name": "a", "transform": "identity"});
    let without = json!({"source-id": 1, "name": "b", "transform": "identity"});
    for (fields, kind) in [
        (json!([with_id, without]), ErrorKind::Required),
        (json!([with_id, with_id]), ErrorKind::Json),
        (json!([{"source-id": 1, "name": "a"}]), ErrorKind::Required),
        (json!([{"name": "a", "transform": "void"}]), ErrorKind::Required),
        (json!([{"source-id": "1", "name": "a", "transform": "void"}]), ErrorKind::Json),
        (json!({}), ErrorKind::Json),
    ] {
        assert_eq!(PartitionSpec::from_fields(0, &fields).expect_err("refused").kind(), kind, "{fields}");
    }
}

#[test]
fn all_void_is_unpartitioned() {
    assert!(spec(0, &[]).is_unpartitioned());
    assert!(spec(0, &[(1, 1000, "a", "void"), (2, 1001, "b", "VOID")]).is_unpartitioned());
    assert!(!spec(0, &[(1, 1000, "a", "void"), (2, 1001, "b", "day")]).is_unpartitioned());
}

#[test]
fn fields_are_unified_by_id() {
    let now = schema(&[(1, "id", "long"), (2, "at", "timestamp"), (3, "city", "string")]);
    let specs = [
        spec(0, &[(3, 1000, "city", "identity"), (9, 1004, "gone", "identity")]),
        spec(1, &[(3, 1000, "city", "identity"), (2, 1002, "month", "month"), (1, 1001, "b", "bucket[4]")]),
        spec(2, &[(3, 1000, "town", "void"), (2, 1002, "at_month", "void"), (1, 1001, "b2", "bucket[4]")]),
    ];
    let unified = PartitionType::unify(&specs, &[&now]);
    let expected = ["1000: town: optional string", "1001: b2: optional int", "1002: at_month: optional int"];
    assert_eq!(printed(&unified), expected);
    assert_eq!(unified.fields[0].field.transform, Transform::Identity);
    let before = schema(&[(9, "gone", "decimal(9, 2)"), (1, "id", "int")]);
    let whole = PartitionType::unify(&specs, &[&now, &before]);
    assert_eq!(printed(&whole)[3], "1004: gone: optional decimal(9, 2)");
}

#[test]
fn ids_that_specs_of_version_1_reuse_stay_apart() {
    let now = schema(&[(1, "a", "int"), (2, "b", "string")]);
    let specs = [spec(0, &[(1, 1000, "p", "identity")]), spec(1, &[(2, 1000, "p", "identity")])];
    let unified = PartitionType::unify(&specs, &[&now]);
    assert_eq!(printed(&unified), ["1000: p: optional string", "1000: p_1000: optional int"]);
    let old = tuples(vec![("1000", Arc::new(Int32Array::from(vec![7])))]);
    let aligned = unified.align(&old, &specs[0]).unwrap();
    assert!(aligned.column(0).is_null(0));
    assert_eq!(aligned.column(1).as_primitive(), &Int32Array::from(vec![7]));
}

#[test]
fn tuples_are_aligned_by_id() {
    let now = schema(&[(1, "id", "long"), (2, "city", "string"), (3, "n", "int")]);
    let specs = [
        spec(0, &[(2, 1000, "city", "identity"), (1, 1001, "id", "identity"), (3, 1002, "n", "void")]),
        spec(1, &[(1, 1001, "id", "identity"), (3, 1002, "n", "identity")]),
    ];
    let unified = PartitionType::unify(&specs, &[&now]);
    let stored = tuples(vec![
        ("1002", Arc::new(StringArray::from(vec!["void is not", "looked at"]))),
        ("1001", Arc::new(Int32Array::from(vec![Some(-1), None]))),
        ("7", Arc::new(Int32Array::from(vec![0, 0]))),
    ]);
    let aligned = unified.align(&stored, &specs[0]).unwrap();
    assert_eq!(aligned.data_type(), &unified.arrow());
    assert_eq!(aligned.column_by_name("id").unwrap().as_primitive(), &Int64Array::from(vec![Some(-1), None]));
    assert_eq!(aligned.column_by_name("city").unwrap().null_count(), 2);
    assert_eq!(aligned.column_by_name("n").unwrap().null_count(), 2);
    let none = PartitionType::unify(&[spec(0, &[])], &[&now]);
    assert_eq!(none.align(&stored, &spec(0, &[])).unwrap().len(), 2);
}

/// One stored array, read as the given type by a table with one identity column.
fn aligned(stored: ArrayRef, text: &str) -> crate::Result<ArrayRef> {
    let spec = spec(0, &[(1, 1000, "c", "identity")]);
    let unified = PartitionType::unify(std::slice::from_ref(&spec), &[&schema(&[(1, "c", text)])]);
    Ok(Arc::clone(unified.align(&tuples(vec![("1000", stored)]), &spec)?.column(0)))
}

#[test]
fn stored_forms_of_writers_are_read_as_the_type() {
    let nanos = TimestampNanosecondArray::from(vec![1]).with_timezone("+00:00");
    let millis = TimestampMillisecondArray::from(vec![-1]);
    let uuid =
        vec![0xf7, 0x9c, 0x3e, 0x09, 0x67, 0x7c, 0x4b, 0xbd, 0xa4, 0x79, 0x3f, 0x34, 0x9c, 0xb7, 0x85, 0xe7];
    let cases: [(ArrayRef, &str, Value); 16] = [
        (Arc::new(Int32Array::from(vec![7])), "long", json!(7)),
        (Arc::new(Int64Array::from(vec![7])), "int", json!(7)),
        (Arc::new(Float32Array::from(vec![1.5])), "double", json!(1.5)),
        (Arc::new(Int32Array::from(vec![-1])), "date", json!("1969-12-31")),
        (Arc::new(Date32Array::from(vec![-1])), "timestamp", json!("1969-12-31T00:00:00")),
        (Arc::new(Date32Array::from(vec![1])), "timestamp_ns", json!("1970-01-02T00:00:00")),
        (Arc::new(Int64Array::from(vec![1])), "time", json!("00:00:00.000001")),
        (Arc::new(Int64Array::from(vec![1])), "timestamptz", json!("1970-01-01T00:00:00.000001+00:00")),
        (Arc::new(millis), "timestamptz", json!("1969-12-31T23:59:59.999+00:00")),
        (Arc::new(nanos), "timestamptz_ns", json!("1970-01-01T00:00:00.000000001+00:00")),
        (Arc::new(BinaryArray::from(vec![b"\xff\xff\xff\x80".as_slice()])), "decimal(5, 2)", json!("-1.28")),
        (Arc::new(StringArray::from(vec![UUID.to_uppercase()])), "uuid", json!(UUID)),
        (Arc::new(BinaryArray::from(vec![uuid.as_slice()])), "uuid", json!(UUID)),
        (Arc::new(BinaryArray::from(vec![b"ab".as_slice()])), "fixed[2]", json!("6162")),
        (Arc::new(StringArray::from(vec!["ab"])), "binary", json!("6162")),
        (Arc::new(NullArray::new(1)), "string", Value::Null),
    ];
    for (stored, text, expected) in cases {
        let read = aligned(stored, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(crate::iceberg::value::to_json(&read, &ty(text)).unwrap(), [expected], "{text}");
    }
    let narrow = Decimal128Array::from(vec![999]).with_precision_and_scale(3, 2).unwrap();
    let wide = aligned(Arc::new(narrow), "decimal(9, 2)").unwrap();
    assert_eq!(wide.as_primitive::<Decimal128Type>().value_as_string(0), "9.99");
}

#[test]
fn values_of_another_type_are_refused_with_their_record() {
    let bytes = |bytes: &[u8]| Arc::new(BinaryArray::from(vec![None, Some(bytes)])) as ArrayRef;
    for (stored, text, kind, record) in [
        (bytes(b"\x7f\xff"), "decimal(4, 2)", "decimal", Some(1)),
        (bytes(b""), "decimal(4, 2)", "decimal", Some(1)),
        (bytes(b"ab"), "fixed[3]", "length", Some(1)),
        (bytes(b"ab"), "uuid", "uuid", Some(1)),
        (bytes(b"\xff"), "string", "utf8", None),
        (Arc::new(Int64Array::from(vec![0, 1 << 40])), "int", "int-range", Some(1)),
        (Arc::new(Date32Array::from(vec![0, i32::MAX])), "timestamp_ns", "timestamp", Some(1)),
        (Arc::new(Int64Array::from(vec![0])), "string", "schema", None),
        (Arc::new(Int64Array::from(vec![0])), "decimal(9, 2)", "schema", None),
    ] {
        let error = aligned(stored, text).expect_err(text);
        assert_eq!((error.kind().name(), error.location().record), (kind, record), "{text}");
        assert_eq!(error.location().field.as_deref(), Some("c"));
    }
}

#[test]
fn paths_are_those_of_the_engine() {
    let now =
        schema(&[(1, "9 a.b", "string"), (2, "m", "date"), (3, "col umn", "long"), (4, "x", "timestamptz")]);
    let specs = [
        spec(0, &[(4, 1001, "x", "identity"), (1, 1000, "9 a.b", "identity")]),
        spec(
            1,
            &[
                (2, 1002, "😎 m", "month"),
                (3, 1003, "col umn bucket", "void"),
                (1, 1000, "9 a.b", "identity"),
            ],
        ),
    ];
    let unified = PartitionType::unify(&specs, &[&now]);
    let stored = tuples(vec![
        ("1000", Arc::new(StringArray::from(vec![Some("gamma ray/ü%*"), None]))),
        ("1001", Arc::new(Int64Array::from(vec![118_206_243_500_000, 0]))),
        ("1002", Arc::new(Int32Array::from(vec![-19, 0]))),
    ]);
    let paths = |spec: &PartitionSpec| {
        let aligned = unified.align(&stored, spec).unwrap();
        let paths = unified.paths(&aligned, spec).unwrap();
        paths.iter().map(|path| path.unwrap().to_owned()).collect::<Vec<String>>()
    };
    assert_eq!(
        paths(&specs[0]),
        [
            "x=1973-09-30T03%3A04%3A03.5%2B00%3A00/9+a.b=gamma+ray%2F%C3%BC%25*",
            "x=1970-01-01T00%3A00%3A00%2B00%3A00/9+a.b=null"
        ]
    );
    assert_eq!(
        paths(&specs[1]),
        [
            "%F0%9F%98%8E+m=1968-06/col+umn+bucket=null/9+a.b=gamma+ray%2F%C3%BC%25*",
            "%F0%9F%98%8E+m=1970-01/col+umn+bucket=null/9+a.b=null"
        ]
    );
    assert_eq!(unified.arrow_fields().len(), 4);
    let zone = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    assert_eq!(unified.arrow_fields()[1].data_type(), &zone);
}

#[test]
fn tuples_of_other_types_are_not_errors_of_a_file() {
    let partition = PartitionType::unify(&[spec(0, &[])], &[&schema(&[])]);
    let mut numbers = PartitionNumbers::new(&partition).expect("no fields");
    let spec_ids: ArrayRef = Arc::new(Int32Array::from(vec![0]));
    assert_eq!(numbers.number(&spec_ids, &tuples(Vec::new())).expect("a partition"), [0]);
    let text: ArrayRef = Arc::new(StringArray::from(vec!["0"]));
    let error = numbers.number(&text, &tuples(Vec::new())).expect_err("spec ids are int32");
    assert_eq!(error.kind(), ErrorKind::Internal);
}
