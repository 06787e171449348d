use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int8Array,
    Int32Array, MapArray, StringArray, StructArray, Time32MillisecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, new_null_array,
};
use serde_json::{Value, json};

use super::{TextForm, key_texts, partition_texts, texts};
use crate::error::ErrorKind;
use crate::paimon::types::{DataField, DataType};

fn data_type(ty: Value) -> DataType {
    DataType::from_json(&ty).expect("a type")
}

/// The only text of an array of one value, cast and in the form of Java.
fn both(ty: &str, array: impl Array + 'static) -> (String, String) {
    let (array, ty): (ArrayRef, _) = (Arc::new(array), data_type(json!(ty)));
    let text = |form| texts(&array, &ty, form).expect("a text").value(0).to_owned();
    (text(TextForm::Cast), text(TextForm::Java))
}

fn cast(ty: Value, array: &ArrayRef) -> Vec<Option<String>> {
    let texts = texts(array, &data_type(ty), TextForm::Cast).expect("texts");
    texts.iter().map(|text| text.map(str::to_owned)).collect()
}

#[test]
fn scalars_have_two_forms() {
    let same = |text: &str| (text.to_owned(), text.to_owned());
    assert_eq!(both("BOOLEAN", BooleanArray::from(vec![true])), same("true"));
    assert_eq!(both("TINYINT", Int8Array::from(vec![-5])), same("-5"));
    assert_eq!(both("DOUBLE", Float64Array::from(vec![1e10])), same("1.0E10"));
    assert_eq!(both("BYTES", BinaryArray::from(vec![b"a\xff".as_slice()])), same("a\u{fffd}"));
    let decimal = Decimal128Array::from(vec![-5]).with_precision_and_scale(10, 2).expect("a decimal");
    assert_eq!(both("DECIMAL(10, 2)", decimal), same("-0.05"));
    for (text, got) in [
        (("2024-02-29", "19782"), both("DATE", Date32Array::from(vec![19_782]))),
        (("01:02:03", "3723004"), both("TIME(0)", Time32MillisecondArray::from(vec![3_723_004]))),
        (
            ("1970-01-01 00:00:00.000", "1970-01-01T00:00"),
            both("TIMESTAMP(3)", TimestampMillisecondArray::from(vec![0])),
        ),
        (
            ("1970-01-01 00:00:01.500000", "1970-01-01T00:00:01.500"),
            both(
                "TIMESTAMP(6) WITH LOCAL TIME ZONE",
                TimestampMicrosecondArray::from(vec![1_500_000]).with_timezone("UTC"),
            ),
        ),
        (
            ("1969-12-31 23:59:59.999999999", "1969-12-31T23:59:59.999999999"),
            both("TIMESTAMP(9)", TimestampNanosecondArray::from(vec![-1])),
        ),
    ] {
        assert_eq!(got, (text.0.to_owned(), text.1.to_owned()));
    }
}

#[test]
fn constructed_values_print_their_parts() {
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), None]);
    lists.append_null();
    lists.append_value([]);
    let lists: ArrayRef = Arc::new(lists.finish());
    let ty = json!({"type": "ARRAY", "element": "INT"});
    assert_eq!(cast(ty, &lists), [Some("[1, null]".into()), None, Some("[]".into())]);

    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    maps.keys().append_value("a");
    maps.values().append_value(1);
    maps.keys().append_value("b");
    maps.values().append_null();
    maps.append(true).expect("a map");
    let ty = json!({"type": "MAP", "key": "STRING", "value": "INT"});
    let built = maps.finish();
    // The builder uses other names for the parts than the storage type.
    let arrow_schema::DataType::Map(entries, _) = data_type(ty.clone()).storage_type() else {
        panic!("no map")
    };
    let arrow_schema::DataType::Struct(parts) = entries.data_type() else { panic!("no entries") };
    let (offsets, columns) = (built.offsets().clone(), built.entries().columns().to_vec());
    let rows = StructArray::new(parts.clone(), columns, None);
    let map: ArrayRef = Arc::new(MapArray::new(entries, offsets, rows, None, false));
    assert_eq!(cast(ty, &map), [Some("{a -> 1, b -> null}".into())]);

    let fields = json!([{"id": 0, "name": "a", "type": "DATE"}, {"id": 1, "name": "b", "type": "STRING"}]);
    let ty = json!({"type": "ROW", "fields": fields});
    let children: Vec<ArrayRef> =
        vec![Arc::new(Date32Array::from(vec![0])), Arc::new(StringArray::from(vec![None::<&str>]))];
    let arrow_schema::DataType::Struct(arrow) = data_type(ty.clone()).storage_type() else {
        panic!("no row")
    };
    let rows: ArrayRef = Arc::new(StructArray::new(arrow, children, None));
    assert_eq!(cast(ty, &rows), [Some("{1970-01-01, null}".into())]);
}

#[test]
fn partitions_and_keys_differ_in_form_and_brackets() {
    let field = |name: &str, ty: &str| DataField {
        id: 0,
        name: name.to_owned(),
        ty: data_type(json!(ty)),
        description: None,
        default_value: None,
    };
    let fields = [field("d", "DATE"), field("i", "INT")];
    let arrow: arrow_schema::Fields =
        fields.iter().map(|field| field.ty.storage_field(&field.name)).collect();
    let children: Vec<ArrayRef> =
        vec![Arc::new(Date32Array::from(vec![19_782])), Arc::new(Int32Array::from(vec![None]))];
    let rows = StructArray::new(arrow, children, None);
    assert_eq!(partition_texts(&rows, &fields).expect("a text").value(0), "{2024-02-29, null}");
    assert_eq!(key_texts(&rows, &fields).expect("a text").value(0), "[19782, null]");
    let none = StructArray::new_empty_fields(1, None);
    assert_eq!(partition_texts(&none, &[]).expect("a text").value(0), "{}");
    assert_eq!(key_texts(&rows, &[]).expect_err("a field too few").kind(), ErrorKind::Argument);
}

#[test]
fn types_without_text_are_refused_where_they_have_values() {
    let ty = data_type(json!({"type": "VECTOR", "element": "INT", "length": 1}));
    let nulls = new_null_array(&ty.storage_type(), 2);
    assert_eq!(texts(&nulls, &ty, TextForm::Cast).expect("nulls").null_count(), 2);
    let blob: ArrayRef = Arc::new(BinaryArray::from(vec![b"x".as_slice()]));
    let refused = texts(&blob, &data_type(json!("BLOB")), TextForm::Java).expect_err("no text");
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    let wrong = texts(&blob, &data_type(json!("INT")), TextForm::Java).expect_err("another type");
    assert_eq!(wrong.kind(), ErrorKind::Argument);
}
