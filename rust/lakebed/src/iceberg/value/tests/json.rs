use serde_json::{Value, json};

use crate::error::ErrorKind;
use crate::iceberg::test_values::ty;
use crate::iceberg::types::Type;
use crate::iceberg::value::{from_json, to_json};
use crate::test_data::cases;

fn struct_type() -> Type {
    let fields = json!([
        {"id": 4, "name": "a", "required": true, "type": "int", "initial-default": 7},
        {"id": 5, "name": "b", "required": false, "type": "string"},
        {"id": 6, "name": "c", "required": true, "type": "int"},
    ]);
    Type::from_json(&json!({"type": "struct", "fields": fields})).unwrap()
}

#[test]
fn values_of_other_projects() {
    for case in cases("iceberg_single_value_json.json") {
        let (id, source) = (&case["id"], Type::from_json(&case["type"]).unwrap());
        let read = from_json(std::slice::from_ref(&case["json"]), &source);
        if case["expect"] == "round-trips" {
            let values = read.unwrap_or_else(|error| panic!("{id}: {error}"));
            assert_eq!(to_json(&values, &source).unwrap(), std::slice::from_ref(&case["json"]), "{id}");
        } else {
            assert_eq!(read.expect_err("refused").location().record, Some(0), "{id}");
        }
    }
}

#[test]
fn forms_that_writers_vary_are_read() {
    for (text, written, plain) in [
        ("binary", json!("00FF"), json!("00ff")),
        (
            "uuid",
            json!("F79C3E09-677C-4BBD-A479-3F349CB785E7"),
            json!("f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        ),
        ("timestamptz", json!("2017-11-16T22:31Z"), json!("2017-11-16T22:31:00+00:00")),
        ("timestamp", json!("2017-11-16T22:31:08.500000"), json!("2017-11-16T22:31:08.5")),
        ("time", json!("10:15"), json!("10:15:00")),
        ("double", json!(1), json!(1.0)),
        ("float", json!(1.23), json!(1.23)),
        ("decimal(5, 2)", json!("+1.20"), json!("1.20")),
        ("decimal(5, 2)", json!("120E-2"), json!("1.20")),
    ] {
        let source = ty(text);
        let values =
            from_json(&[written, Value::Null], &source).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(to_json(&values, &source).unwrap(), [plain, Value::Null], "{text}");
    }
}

#[test]
fn values_of_the_wrong_form_are_refused() {
    for (text, value, kind) in [
        ("int", json!(1u64 << 31), ErrorKind::Json),
        ("int", json!(1.5), ErrorKind::Json),
        ("long", json!("1"), ErrorKind::Json),
        ("boolean", json!(1), ErrorKind::Json),
        ("decimal(5, 2)", json!("1.2"), ErrorKind::Decimal),
        ("decimal(5, 2)", json!("1234.00"), ErrorKind::Decimal),
        ("decimal(5, 2)", json!("--1.20"), ErrorKind::Decimal),
        ("decimal(5, 2)", json!("1.20E"), ErrorKind::Decimal),
        ("decimal(5, 2)", json!("."), ErrorKind::Decimal),
        ("decimal(5, 2)", json!("1.20E-9223372036854775808"), ErrorKind::Decimal),
        ("date", json!("2017-02-29"), ErrorKind::Timestamp),
        ("time", json!("24:00:00"), ErrorKind::Timestamp),
        ("time", json!("10:15:00.0000001"), ErrorKind::Timestamp),
        ("timestamp", json!("2017-11-16T22:31:08+00:00"), ErrorKind::Timestamp),
        ("timestamp", json!("2017-11-16"), ErrorKind::Timestamp),
        ("timestamptz", json!("2017-11-16T22:31:08"), ErrorKind::Timestamp),
        ("timestamp_ns", json!("9999-01-01T00:00:00"), ErrorKind::Timestamp),
        ("uuid", json!("x"), ErrorKind::Uuid),
        ("fixed[2]", json!("00"), ErrorKind::Length),
        ("binary", json!("0"), ErrorKind::Json),
        ("binary", json!("zz"), ErrorKind::Json),
        ("geometry", json!("POINT (30 10)"), ErrorKind::Unsupported),
        ("unknown", json!(1), ErrorKind::Unsupported),
    ] {
        let error = from_json(&[Value::Null, value.clone()], &ty(text)).expect_err(text);
        assert_eq!((error.kind(), error.location().record), (kind, Some(1)), "{text} {value}");
    }
}

#[test]
fn structs_have_the_defaults_of_their_fields() {
    let read = from_json(&[json!({"6": 1}), Value::Null], &struct_type()).unwrap();
    let expected = [json!({"4": 7, "5": null, "6": 1}), Value::Null];
    assert_eq!(to_json(&read, &struct_type()).unwrap(), expected);
    let error = from_json(&[json!({})], &struct_type()).expect_err("c is required");
    assert_eq!(error.kind(), ErrorKind::Required);
}

#[test]
fn maps_have_as_many_values_as_keys() {
    let map = json!({"type": "map", "key-id": 1, "key": "string", "value-id": 2, "value": "date",
        "value-required": false});
    let map = Type::from_json(&map).unwrap();
    let values = [json!({"keys": ["a", "b"], "values": ["2017-11-16", null]}), Value::Null];
    assert_eq!(to_json(&from_json(&values, &map).unwrap(), &map).unwrap(), values);
    for wrong in [json!({"keys": ["a"], "values": []}), json!({"keys": []}), json!([])] {
        assert_eq!(from_json(&[wrong], &map).expect_err("refused").kind(), ErrorKind::Json);
    }
}

#[test]
fn json_has_no_infinities() {
    let values = std::sync::Arc::new(arrow_array::Float64Array::from(vec![f64::NAN])) as _;
    assert_eq!(to_json(&values, &Type::Double).expect_err("NaN").kind(), ErrorKind::Argument);
}
