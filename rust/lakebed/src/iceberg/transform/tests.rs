use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Decimal128Array, Int32Array, Int64Array, TimestampMicrosecondArray};
use serde_json::Value;

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::test_values::{array, ty};
use crate::test_data::cases;

/// The transform, the type and the value of a case.
fn case(case: &Value) -> (Transform, Type, ArrayRef) {
    let source = ty(case["type"].as_str().expect("a type"));
    let value = array(&source, &case["value"]);
    (Transform::parse(case["transform"].as_str().unwrap_or("identity")), source, value)
}

#[test]
fn values_of_other_projects() {
    for body in cases("iceberg_transform.json") {
        let (transform, source, value) = case(&body);
        let result = transform.result_type(&source);
        let applied = transform.apply(&value, &source).expect("a partition value");
        assert_eq!(&applied, &array(&result, &body["expect"]), "{}", body["id"]);
        assert_eq!(applied.data_type(), &result.arrow());
    }
}

#[test]
fn hashes_of_other_projects() {
    for body in cases("iceberg_bucket_hash.json") {
        let (_, source, value) = case(&body);
        let hash = hashes(&value, &source).expect("a hash").value(0);
        assert_eq!(Some(i64::from(hash)), body["expect"].as_i64(), "{}", body["id"]);
    }
}

/// The test values of the specification, appendix B.
#[test]
fn row_22_hashes_of_the_specification() {
    for (text, value, expected) in [
        ("boolean", json(true), 1_392_991_556),
        ("int", json(34), 2_017_239_379),
        ("long", json(34), 2_017_239_379),
        ("decimal(9, 2)", json("14.20"), -500_754_589),
        ("date", json("2017-11-16"), -653_330_422),
        ("time", json("22:31:08"), -662_762_989),
        ("timestamptz", json("2017-11-16T22:31:08+00:00"), -2_047_944_441),
        ("timestamp_ns", json("2017-11-16T22:31:08.000001001"), -1_207_196_810),
        ("string", json("34"), -427_558_391),
        ("string", json(""), 0),
        ("fixed[4]", json("00010203"), -188_683_207),
    ] {
        let source = ty(text);
        assert_eq!(hashes(&array(&source, &value), &source).unwrap().value(0), expected, "{text} {value}");
    }
}

fn json(value: impl Into<Value>) -> Value {
    value.into()
}

#[test]
fn paths_of_other_projects() {
    for body in cases("iceberg_human_string.json") {
        let (transform, source, value) = case(&body);
        let applied = transform.apply(&value, &source).expect("a partition value");
        let texts = transform.texts(&applied, &transform.result_type(&source)).expect("a text");
        assert_eq!(body["expect"], texts.value(0), "{}", body["id"]);
    }
}

#[test]
fn texts_are_those_of_java() {
    for (text, value, expected) in [
        ("boolean", json(true), "true"),
        ("float", json(1.5), "1.5"),
        ("double", json(1e23), "1.0E23"),
        ("decimal(38, 10)", json("0.0000003668"), "3.668E-7"),
        ("decimal(38, 10)", json("-0.0000021712"), "-0.0000021712"),
        ("decimal(9, 2)", json("0.00"), "0.00"),
        ("decimal(9, -20)", json("2E+20"), "2E+20"),
        ("decimal(9, 8)", json("-0.00000010"), "-1.0E-7"),
        ("date", json("0001-02-03"), "0001-02-03"),
        ("time", json("00:12:28"), "00:12:28"),
        ("time", json("19:36:00.372860"), "19:36:00.372860"),
        ("time", json("10:15:00"), "10:15"),
        ("timestamp", json("1968-06-26T13:06:06.600000"), "1968-06-26T13:06:06.6"),
        ("timestamptz", json("1969-03-18T13:37:00+00:00"), "1969-03-18T13:37:00+00:00"),
        ("timestamp_ns", json("1970-01-01T00:00:00.000000001"), "1970-01-01T00:00:00.000000001"),
        ("uuid", json("F79C3E09-677C-4BBD-A479-3F349CB785E7"), "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        ("binary", json("03e7"), "A+c="),
        ("binary", json("ffffff"), "////"),
        ("fixed[1]", json("00"), "AA=="),
        ("string", Value::Null, "null"),
        ("binary", json(""), ""),
    ] {
        let source = ty(text);
        let texts = Transform::Identity.texts(&array(&source, &value), &source).expect("a text");
        assert_eq!(texts.value(0), expected, "{text} {value}");
    }
    for (transform, value, expected) in [
        (Transform::Year, Some(-1970), "0000"),
        (Transform::Year, Some(10_000 - 1970), "10000"),
        (Transform::Month, Some(-1), "1969-12"),
        (Transform::Hour, Some(-1), "1969-12-31-23"),
        (Transform::Hour, None, "null"),
        (Transform::Bucket(4), Some(3), "3"),
        (Transform::Void, Some(3), "null"),
    ] {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![value]));
        assert_eq!(transform.texts(&values, &Type::Int).unwrap().value(0), expected, "{transform}");
    }
}

#[test]
fn transforms_are_parsed_in_any_case_and_never_fail() {
    for (text, transform) in [
        ("identity", Transform::Identity),
        ("BUCKET[16]", Transform::Bucket(16)),
        ("Truncate[3]", Transform::Truncate(3)),
        (" Year", Transform::Year),
        ("void", Transform::Void),
        ("bucket[0]", Transform::Unknown("bucket[0]".to_owned())),
        ("bucket[4294967296]", Transform::Unknown("bucket[4294967296]".to_owned())),
        ("bucket[+4]", Transform::Unknown("bucket[+4]".to_owned())),
        ("Zorder(a, b)", Transform::Unknown("Zorder(a, b)".to_owned())),
        ("", Transform::Unknown(String::new())),
    ] {
        assert_eq!(Transform::parse(text), transform, "{text}");
        assert_eq!(Transform::parse(&transform.to_string()), transform, "{text}");
    }
}

#[test]
fn result_types() {
    let timestamp = Type::Timestamp;
    for (transform, result) in [
        (Transform::Identity, Type::Timestamp),
        (Transform::Bucket(2), Type::Int),
        (Transform::Month, Type::Int),
        (Transform::Day, Type::Date),
        (Transform::Void, Type::Timestamp),
        (Transform::Unknown("x".to_owned()), Type::String),
    ] {
        assert_eq!(transform.result_type(&timestamp), result, "{transform}");
    }
    assert_eq!(Transform::Truncate(2).result_type(&Type::Unknown), Type::Unknown);
    assert_eq!(Transform::Day.result_type(&Type::Unknown), Type::Date);
}

/// The engine is one too low here; times are truncated exactly.
#[test]
fn row_24_times_before_1970_are_cut_towards_the_past() {
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![
        Some(-3_599_000_001),
        Some(-3_600_000_001),
        Some(-1),
        None,
        Some(i64::MIN),
    ]));
    let error = Transform::Hour.apply(&micros, &Type::Timestamp).expect_err("beyond 32 bits");
    assert_eq!(error.kind(), ErrorKind::Timestamp);
    let hours = Transform::Hour.apply(&micros.slice(0, 4), &Type::Timestamp).unwrap();
    assert_eq!(hours.as_primitive(), &Int32Array::from(vec![Some(-1), Some(-2), Some(-1), None]));
    for transform in [Transform::Year, Transform::Month, Transform::Day] {
        transform.apply(&micros, &Type::Timestamp).unwrap_or_else(|error| panic!("{transform}: {error}"));
    }
}

#[test]
fn row_23_truncation_keeps_type_and_nulls() {
    let decimals = Decimal128Array::from(vec![Some(1065), None, Some(-1)]);
    let decimals = decimals.with_precision_and_scale(9, 2).unwrap();
    let cut = Transform::Truncate(50).apply(&(Arc::new(decimals) as ArrayRef), &ty("decimal(9, 2)")).unwrap();
    let expected = Decimal128Array::from(vec![Some(1050), None, Some(-50)]);
    assert_eq!(cut.as_primitive(), &expected.with_precision_and_scale(9, 2).unwrap());
    let least: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN]));
    let wrapped = Transform::Truncate(100).apply(&least, &Type::Long).unwrap();
    assert_eq!(wrapped.as_primitive(), &Int64Array::from(vec![9_223_372_036_854_775_716]));
    let text = array(&Type::String, &json("a😎日x"));
    assert_eq!(
        Transform::Truncate(3).apply(&text, &Type::String).unwrap().as_string::<i32>().value(0),
        "a😎日"
    );
}

#[test]
fn sources_that_a_transform_does_not_take() {
    for (transform, source) in [
        (Transform::Bucket(2), "double"),
        (Transform::Bucket(2), "boolean"),
        (Transform::Truncate(2), "fixed[3]"),
        (Transform::Truncate(2), "date"),
        (Transform::Year, "time"),
        (Transform::Hour, "date"),
        (Transform::Identity, "variant"),
        (Transform::Unknown("x".to_owned()), "int"),
    ] {
        let values = array(&ty(source), &Value::Null);
        let error = transform.apply(&values, &ty(source)).expect_err(source);
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{transform} {source}");
    }
    let longs = array(&Type::Long, &json(1));
    assert_eq!(Transform::Identity.apply(&longs, &Type::Int).expect_err("int64").kind(), ErrorKind::Argument);
}
