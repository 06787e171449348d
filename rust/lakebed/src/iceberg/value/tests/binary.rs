use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, StringArray, new_null_array};
use serde_json::{Value, json};

use crate::error::ErrorKind;
use crate::iceberg::test_values::{array, ty};
use crate::iceberg::types::Type;
use crate::iceberg::value::text::parse_hex;
use crate::iceberg::value::{decode, decode_bounds, encode, from_json, to_json};
use crate::test_data::{Random, cases};

fn binary(hex: &[&str]) -> BinaryArray {
    hex.iter().map(|hex| parse_hex(hex)).collect()
}

/// The value of one bound.
fn bound(text: &str, hex: &str) -> Value {
    to_json(&decode_bounds(&binary(&[hex]), &ty(text)), &ty(text)).expect("a JSON value").remove(0)
}

#[test]
fn values_of_other_projects() {
    for case in cases("iceberg_single_value_binary.json") {
        let (id, source) = (&case["id"], ty(case["type"].as_str().unwrap()));
        if case["expect"] != "bytes" {
            let value = from_json(std::slice::from_ref(&case["value"]), &source);
            assert_eq!(value.expect_err("refused").kind(), ErrorKind::Decimal, "{id}");
            continue;
        }
        let (value, bytes) = (array(&source, &case["value"]), binary(&[case["bytes"].as_str().unwrap()]));
        assert_eq!(&decode(&bytes, &source).unwrap(), &value, "{id}");
        assert_eq!(&decode_bounds(&bytes, &source), &value, "{id}");
        if case["direction"] == "both" {
            assert_eq!(encode(&value, &source).unwrap(), bytes, "{id}");
        }
    }
}

/// The examples of the specification's appendix D, and bytes that engines wrote.
#[test]
fn examples_of_every_type() {
    for (text, value, hex) in [
        ("boolean", json!(false), "00"),
        ("int", json!(-1), "ffffffff"),
        ("date", json!("2017-11-16"), "4e440000"),
        ("time", json!("22:31:08.123456"), "406509e012000000"),
        ("timestamp", json!("2017-11-16T22:31:08.123456"), "40a5282d215e0500"),
        ("timestamptz", json!("2017-11-16T22:31:08.123456+00:00"), "40a5282d215e0500"),
        ("timestamptz_ns", json!("2017-11-16T22:31:08.123456789+00:00"), "1585c56698b1f714"),
        ("float", json!(1.0), "0000803f"),
        ("double", json!(-0.0), "0000000000000080"),
        ("decimal(9, 2)", json!("-9969.53"), "f0c9a7"),
        ("string", json!(""), ""),
        ("fixed[2]", json!("00ff"), "00ff"),
        ("binary", json!(""), ""),
    ] {
        let source = ty(text);
        let (values, bytes) = (array(&source, &value), binary(&[hex]));
        assert_eq!(encode(&values, &source).unwrap(), bytes, "{text}");
        assert_eq!(to_json(&decode(&bytes, &source).unwrap(), &source).unwrap(), [value], "{text}");
    }
}

#[test]
fn nulls_stay_null() {
    for text in ["boolean", "long", "decimal(9, 2)", "string", "uuid", "fixed[3]", "geometry", "variant"] {
        let (source, nulls) = (ty(text), BinaryArray::new_null(2));
        let decoded = decode(&nulls, &source).unwrap();
        assert_eq!(&decoded, &new_null_array(&source.arrow(), 2));
        assert_eq!(encode(&decoded, &source).unwrap(), nulls, "{text}");
    }
    assert_eq!(decode(&BinaryArray::new_null(2), &Type::Unknown).unwrap().len(), 2);
}

#[test]
fn wrong_bytes_are_errors_with_their_record_and_unknown_as_bounds() {
    for (text, hex, kind) in [
        ("boolean", "", ErrorKind::Length),
        ("boolean", "0001", ErrorKind::Length),
        ("int", "010203", ErrorKind::Length),
        ("date", "0100000000000000", ErrorKind::Length),
        ("time", "01000000", ErrorKind::Length),
        ("timestamptz", "01000000", ErrorKind::Length),
        ("float", "000000000000f03f", ErrorKind::Length),
        ("decimal(3, 2)", "03e8", ErrorKind::Decimal),
        ("decimal(3, 2)", "", ErrorKind::Length),
        ("string", "ff", ErrorKind::Utf8),
        ("uuid", "f79c3e09", ErrorKind::Length),
        ("fixed[3]", "0102", ErrorKind::Length),
    ] {
        let values: BinaryArray = [None, parse_hex(hex)].into_iter().collect();
        let error = decode(&values, &ty(text)).expect_err(text);
        assert_eq!((error.kind(), error.location().record), (kind, Some(1)), "{text}");
        assert_eq!(bound(text, hex), Value::Null, "{text} {hex}");
    }
}

#[test]
fn bounds_of_older_types_are_promoted() {
    for (text, hex, value) in [
        ("long", "feffffff", json!(-2)),
        ("int", "feffffffffffffff", json!(-2)),
        ("int", "0000000001000000", Value::Null),
        ("double", "0000803f", json!(1.0)),
        ("timestamp", "ffffffff", json!("1969-12-31T00:00:00")),
        ("timestamp", "ffffff7f", Value::Null),
        ("timestamp_ns", "01000000", json!("1970-01-02T00:00:00")),
        ("timestamp_ns", "ffffff7f", Value::Null),
        ("decimal(18, 2)", "ff7f", json!("-1.29")),
        ("decimal(18, 2)", "ffffffffffffffffffffffffffffffffffffff7f", json!("-1.29")),
    ] {
        assert_eq!(bound(text, hex), value, "{text} {hex}");
    }
    assert_eq!(decode(&binary(&["feffffff"]), &Type::Long).expect_err("strict").kind(), ErrorKind::Length);
}

#[test]
fn nested_types_have_no_single_values() {
    let list = Type::from_json(
        &json!({"type": "list", "element-id": 1, "element": "int", "element-required": true}),
    );
    let (list, values) = (list.unwrap(), binary(&["01"]));
    assert_eq!(decode(&values, &list).expect_err("nested").kind(), ErrorKind::Unsupported);
    assert_eq!(decode(&values, &Type::Unknown).expect_err("unknown").kind(), ErrorKind::Unsupported);
    assert_eq!(&decode_bounds(&values, &list), &new_null_array(&list.arrow(), 1));
    let nulls = new_null_array(&list.arrow(), 1);
    assert_eq!(encode(&nulls, &list).expect_err("nested").kind(), ErrorKind::Unsupported);
}

#[test]
fn values_that_are_not_of_their_type_are_not_encoded() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![None, Some("no uuid")]));
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let bytes: ArrayRef = Arc::new(binary(&["0102", "01"]));
    for (values, text, kind, record) in [
        (&texts, "uuid", ErrorKind::Uuid, Some(1)),
        (&bytes, "fixed[2]", ErrorKind::Length, Some(1)),
        (&longs, "int", ErrorKind::Argument, None),
    ] {
        let error = encode(values, &ty(text)).expect_err(text);
        assert_eq!((error.kind(), error.location().record), (kind, record), "{text}");
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for text in ["boolean", "int", "timestamp", "decimal(38, 38)", "string", "uuid", "fixed[4]", "geometry"] {
        for _ in 0..200 {
            let length = random.below(24);
            let bytes: Vec<u8> = (0..length).map(|_| random.below(256).to_le_bytes()[0]).collect();
            let values = BinaryArray::from(vec![bytes.as_slice()]);
            let bounds = decode_bounds(&values, &ty(text));
            // A value that is read strictly is the same as a bound.
            if let Ok(strict) = decode(&values, &ty(text)) {
                assert_eq!(&strict, &bounds, "{text} {bytes:02x?}");
            }
        }
    }
}
