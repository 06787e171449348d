use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef, Int32Array, StringArray, StructArray, TimestampMillisecondArray};
use arrow_array::{ListArray, MapArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as ArrowType, Field, Fields, TimeUnit};
use serde_json::{Value, json};

use super::*;
use crate::error::{ErrorKind, Result};
use crate::json::MAX_TYPE_DEPTH;
use crate::notes::Notes;

fn parse(text: &str) -> Result<DataType> {
    DataType::from_json(&Value::String(text.to_owned()))
}

fn kind(text: &str) -> TypeKind {
    parse(text).expect("a type").kind
}

#[test]
fn texts_print_canonically() {
    for (input, printed) in [
        ("DECIMAL(2, 2)", "DECIMAL(2, 2)"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        ("VARCHAR(10) NOT NULL", "VARCHAR(10) NOT NULL"),
        ("BYTES", "BYTES"),
        ("bytes not null", "BYTES NOT NULL"),
        ("DECIMAL(4,1)", "DECIMAL(4, 1)"),
        ("decimal(7)", "DECIMAL(7, 0)"),
        ("NUMERIC", "DECIMAL(10, 0)"),
        ("dec ( 38 , 38 )", "DECIMAL(38, 38)"),
        ("CHAR", "CHAR(1)"),
        ("VARCHAR", "VARCHAR(1)"),
        ("varchar(2147483647)", "STRING"),
        ("BINARY", "BINARY(1)"),
        ("VARBINARY(2147483647)", "BYTES"),
        ("INTEGER", "INT"),
        ("  int\tnull ", "INT"),
        ("DOUBLE PRECISION NOT  NULL", "DOUBLE NOT NULL"),
        ("TIME", "TIME(0)"),
        ("TIME(3) WITHOUT TIME ZONE", "TIME(3)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP(0) WITHOUT TIME ZONE NOT NULL", "TIMESTAMP(0) NOT NULL"),
        ("timestamp_ltz(9)", "TIMESTAMP(9) WITH LOCAL TIME ZONE"),
        ("TIMESTAMP_LTZ", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        ("VARIANT", "VARIANT"),
        ("BLOB NOT NULL", "BLOB NOT NULL"),
        ("GEOMETRY", "GEOMETRY(OGC:CRS84)"),
        ("GEOMETRY('EPSG 4326')", "GEOMETRY('EPSG 4326')"),
        ("GEOMETRY('it''s')", "GEOMETRY('it''s')"),
        ("GEOMETRY(`4x`)", "GEOMETRY('4x')"),
        ("GEOGRAPHY", "GEOGRAPHY(OGC:CRS84, spherical)"),
        ("GEOGRAPHY(x, KARNEY)", "GEOGRAPHY(x, karney)"),
        ("INT ARRAY", "ARRAY<INT>"),
        ("INT NOT NULL ARRAY NOT NULL", "ARRAY<INT NOT NULL> NOT NULL"),
        ("INT MULTISET", "MULTISET<INT>"),
        ("VECTOR<FLOAT, 3>", "VECTOR<FLOAT, 3>"),
        ("vector<double precision not null,2> not null", "VECTOR<DOUBLE NOT NULL, 2> NOT NULL"),
    ] {
        assert_eq!(parse(input).expect(input).to_string(), printed);
    }
}

#[test]
fn texts_outside_the_grammar_are_refused() {
    for input in [
        "",
        " ",
        "FOO",
        "ARRAY<INT>",
        "MAP<INT, INT>",
        "ROW<a INT>",
        "MULTISET<INT>",
        "ARRAY",
        "INT INT",
        "INT NOT",
        "NOT NULL",
        "INT ARRAY ARRAY",
        "CHAR(0)",
        "CHAR()",
        "CHAR(1",
        "CHAR(-1)",
        "CHAR(1, 2)",
        "VARCHAR(2147483648)",
        "VARCHAR(99999999999999999999)",
        "STRING(3)",
        "DECIMAL(39, 0)",
        "DECIMAL(0, 0)",
        "DECIMAL(2, 3)",
        "DECIMAL(300)",
        "TIME(10)",
        "TIMESTAMP(10)",
        "TIMESTAMP(256)",
        "TIMESTAMP WITH TIME ZONE",
        "TIMESTAMP WITH",
        "TIMESTAMP WITHOUT",
        "GEOMETRY('')",
        "GEOMETRY(1)",
        "GEOMETRY(",
        "GEOGRAPHY(x, flat)",
        "VECTOR<STRING, 3>",
        "VECTOR<INT, 0>",
        "VECTOR<INT>",
        "VECTOR<INT ARRAY, 1>",
        "VECTOR<VECTOR<INT, 1>, 1>",
        "'INT'",
        "`INT`",
        "INT'",
        "é",
        "INTERVAL YEAR",
    ] {
        let error = parse(input).expect_err(input);
        assert_eq!(error.kind(), ErrorKind::Type, "{input}");
        assert!(error.message().contains(&format!("{input:?}")), "{error}");
    }
    for long in [format!("CHAR({})", "(".repeat(100_000)), "x".repeat(100_000), "1".repeat(100_000)] {
        assert!(parse(&long).expect_err("not a type").message().len() < 500);
    }
}

#[test]
fn constructed_types_are_objects() {
    for text in [
        r#"{"type":"ARRAY NOT NULL","element":"INT NOT NULL"}"#,
        r#"{"type":"MULTISET","element":"STRING"}"#,
        r#"{"type":"MAP","key":"STRING","value":{"type":"ARRAY","element":"DECIMAL(10, 2)"}}"#,
        r#"{"type":"VECTOR NOT NULL","element":"FLOAT","length":3}"#,
        r#"{"type":"ROW","fields":[{"id":5,"name":"a","type":"INT","description":"d","defaultValue":"1"}]}"#,
    ] {
        let json: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(DataType::from_json(&json).expect(text).to_json().to_string(), text);
    }
    let row = json!({"type": "ROW NOT NULL", "fields": [
        {"id": 1, "name": "a`b", "type": "INT", "description": "it's", "defaultValue": "7"},
        {"id": 2, "name": "c", "type": "STRING NOT NULL"},
    ]});
    let printed = "ROW<`a``b` INT COMMENT 'it''s' DEFAULT 7, `c` STRING NOT NULL> NOT NULL";
    assert_eq!(DataType::from_json(&row).expect("a row").to_string(), printed);
}

#[test]
fn malformed_objects_are_refused() {
    for (json, kind) in [
        (json!({}), ErrorKind::Json),
        (json!({"type": 3}), ErrorKind::Json),
        (json!({"type": "FOO"}), ErrorKind::Type),
        (json!({"type": "ARRAY<INT>", "element": "INT"}), ErrorKind::Type),
        (json!({"type": "ARRAY"}), ErrorKind::Json),
        (json!({"type": "MAP", "key": "INT"}), ErrorKind::Json),
        (json!({"type": "MAP", "key": "INT", "value": "FOO"}), ErrorKind::Type),
        (json!({"type": "ROW", "fields": {}}), ErrorKind::Json),
        (json!({"type": "ROW", "fields": [3]}), ErrorKind::Json),
        (json!({"type": "ROW", "fields": [{"id": 1, "name": "a"}]}), ErrorKind::Json),
        (json!({"type": "ROW", "fields": [{"id": 1, "type": "INT"}]}), ErrorKind::Json),
        (json!({"type": "ROW", "fields": [{"id": 1e20, "name": "a", "type": "INT"}]}), ErrorKind::Json),
        (
            json!({"type": "ROW", "fields": [{"id": 4294967296i64, "name": "a", "type": "INT"}]}),
            ErrorKind::Json,
        ),
        (
            json!({"type": "ROW", "fields": [{"name": "a", "type": "INT"}, {"name": "a", "type": "INT"}]}),
            ErrorKind::Json,
        ),
        (json!({"type": "VECTOR", "element": "STRING", "length": 3}), ErrorKind::Type),
        (json!({"type": "VECTOR", "element": "INT", "length": -3}), ErrorKind::Type),
        (json!(3), ErrorKind::Type),
        (Value::Null, ErrorKind::Type),
    ] {
        assert_eq!(DataType::from_json(&json).expect_err(&json.to_string()).kind(), kind, "{json}");
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth| (0..depth).fold(json!("INT"), |ty, _| json!({"type": "ARRAY", "element": ty}));
    for depth in [64, 65, MAX_TYPE_DEPTH] {
        assert!(DataType::from_json(&nested(depth)).is_ok());
    }
    assert_eq!(
        DataType::from_json(&nested(MAX_TYPE_DEPTH + 1)).expect_err("too deep").kind(),
        ErrorKind::Type
    );
}

#[test]
fn fields_without_id_are_numbered_depth_first() {
    let row = json!({"type": "ROW", "fields": [
        {"name": "a", "type": {"type": "ROW", "fields": [{"name": "b", "type": "INT"}]}},
        {"name": "c", "type": "INT"},
    ]});
    let TypeKind::Row(fields) = DataType::from_json(&row).expect("a row").kind else { panic!("a row") };
    let TypeKind::Row(inner) = &fields[0].ty.kind else { panic!("a row") };
    assert_eq!([fields[0].id, inner[0].id, fields[1].id], [0, 1, 2]);
}

#[test]
fn arrow_types_are_those_of_the_table() {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond};
    let utc = || Some("UTC".into());
    for (text, storage, view) in [
        ("BOOLEAN", ArrowType::Boolean, ArrowType::Boolean),
        ("BIGINT", ArrowType::Int64, ArrowType::Int64),
        ("DECIMAL(10, 2)", ArrowType::Decimal128(10, 2), ArrowType::Decimal128(10, 2)),
        ("CHAR(3)", ArrowType::Utf8, ArrowType::Utf8),
        ("BLOB", ArrowType::Binary, ArrowType::Binary),
        ("TIME(9)", ArrowType::Time32(Millisecond), ArrowType::Time32(Millisecond)),
        ("TIMESTAMP(3)", ArrowType::Timestamp(Millisecond, None), ArrowType::Timestamp(Microsecond, None)),
        ("TIMESTAMP(4)", ArrowType::Timestamp(Microsecond, None), ArrowType::Timestamp(Microsecond, None)),
        ("TIMESTAMP(7)", ArrowType::Timestamp(Nanosecond, None), ArrowType::Timestamp(Nanosecond, None)),
        (
            "TIMESTAMP_LTZ(0)",
            ArrowType::Timestamp(Millisecond, utc()),
            ArrowType::Timestamp(Microsecond, utc()),
        ),
    ] {
        let ty = parse(text).expect(text);
        assert_eq!((ty.storage_type(), ty.view_type()), (storage, view), "{text}");
    }
    let variant = parse("VARIANT NOT NULL").expect("a type").storage_field("v");
    assert_eq!(variant.metadata().get("paimon.type").map(AsRef::as_ref), Some("VARIANT"));
    assert!(!variant.is_nullable());
    assert!(parse("INT NOT NULL").expect("a type").view_field("i").is_nullable());
    let multiset = DataType::nullable(kind("STRING NOT NULL MULTISET")).storage_type();
    let entries = Fields::from(vec![
        Field::new("key", ArrowType::Utf8, false),
        Field::new("value", ArrowType::Int32, false),
    ]);
    assert_eq!(
        multiset,
        ArrowType::Map(Arc::new(Field::new("entries", ArrowType::Struct(entries), false)), false)
    );
    let vector = Arc::new(Field::new("item", ArrowType::Float32, true));
    assert_eq!(
        DataType::nullable(kind("VECTOR<FLOAT, 3>")).storage_type(),
        ArrowType::FixedSizeList(vector, 3)
    );
}

fn millis(values: Vec<Option<i64>>) -> ArrayRef {
    Arc::new(TimestampMillisecondArray::from(values).with_timezone("UTC"))
}

fn row_type(ty: Value) -> DataType {
    DataType::from_json(&json!({"type": "ROW", "fields": [{"id": 0, "name": "t", "type": ty}]}))
        .expect("a row")
}

#[test]
fn widening_shares_what_it_does_not_change() {
    let strings: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let same = widen(&strings, &ArrowType::Utf8).expect("the same");
    assert!(Arc::ptr_eq(&strings, &same));
    let wrong = widen(&strings, &ArrowType::Int32).expect_err("another type");
    assert_eq!(wrong.kind(), ErrorKind::Argument);
}

#[test]
fn widening_multiplies_times_at_any_depth() {
    let offsets = OffsetBuffer::from_lengths([2, 0, 1]);
    let times = millis(vec![Some(1), None, Some(-3)]);
    let expect = |array: &dyn Array| {
        let times = array.as_primitive::<TimestampMicrosecondType>();
        assert_eq!(times.iter().collect::<Vec<_>>(), [Some(1000), None, Some(-3000)]);
        assert_eq!(times.timezone(), Some("UTC"));
    };

    let ty = row_type(json!({"type": "ARRAY", "element": "TIMESTAMP_LTZ(3)"}));
    let item = Arc::new(Field::new("item", times.data_type().clone(), true));
    let nulls = Some(NullBuffer::from(vec![true, false, true]));
    let list = ListArray::new(item, offsets.clone(), Arc::clone(&times), nulls);
    let ArrowType::Struct(fields) = ty.storage_type() else { panic!("a struct") };
    let row: ArrayRef = Arc::new(StructArray::new(fields, vec![Arc::new(list)], None));
    let wide = widen(&row, &ty.view_type()).expect("wider");
    assert_eq!(*wide.data_type(), ty.view_type());
    let list = wide.as_struct().column(0).as_list::<i32>();
    assert!(list.is_null(1));
    expect(list.values());

    let ty = DataType::from_json(&json!({"type": "MAP", "key": "INT", "value": "TIMESTAMP_LTZ(3)"}));
    let ty = ty.expect("a map");
    let ArrowType::Map(entries, _) = ty.storage_type() else { panic!("a map") };
    let ArrowType::Struct(fields) = entries.data_type() else { panic!("a struct") };
    let keys: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let rows = StructArray::new(fields.clone(), vec![Arc::clone(&keys), times], None);
    let map: ArrayRef = Arc::new(MapArray::new(Arc::clone(&entries), offsets, rows, None, false));
    let wide = widen(&map, &ty.view_type()).expect("wider");
    assert_eq!(*wide.data_type(), ty.view_type());
    expect(wide.as_map().values());
    let (before, after) = (keys.to_data(), wide.as_map().keys().to_data());
    assert_eq!(before.buffers()[0].as_ptr(), after.buffers()[0].as_ptr());
}

#[test]
fn a_time_beyond_a_unit_of_arrow_is_null_with_a_note() {
    let utc = || Some("UTC".into());
    let last = 9_223_372_036_854_775;
    let nanos = |values: Vec<Option<i128>>| exact_times(values);
    for (times, to, shown) in [
        (
            millis(vec![Some(last), Some(last + 1), None]),
            ArrowType::Timestamp(TimeUnit::Microsecond, utc()),
            1,
        ),
        (
            millis(vec![Some(i64::MIN), Some(i64::MAX), Some(-1)]),
            ArrowType::Timestamp(TimeUnit::Microsecond, utc()),
            1,
        ),
        (
            nanos(vec![Some(i64::MAX.into()), Some(i128::from(i64::MAX) + 1), Some(i64::MIN.into()), None]),
            ArrowType::Timestamp(TimeUnit::Nanosecond, None),
            2,
        ),
        (
            nanos(vec![Some(i128::from(i64::MAX) * 1000 + 999), Some(i128::from(i64::MAX) * 1000 + 1000)]),
            ArrowType::Timestamp(TimeUnit::Microsecond, None),
            1,
        ),
    ] {
        let notes = Notes::default();
        let array = show(&times, &to, "until", &notes).expect("times");
        assert_eq!((array.data_type(), array.len() - array.null_count()), (&to, shown));
        let expected = format!(
            "times of \"until\" that do not fit Arrow's type for it, {to}, are shown as null: filters compare them \
            as they are"
        );
        assert_eq!(notes.take(), [expected]);
        assert_eq!(widen(&times, &to).expect("times").null_count(), array.null_count());
    }
    let (notes, to) = (Notes::default(), ArrowType::Timestamp(TimeUnit::Microsecond, utc()));
    assert!(show(&millis(vec![None, Some(0)]), &to, "until", &notes).is_ok() && notes.take().is_empty());
}
