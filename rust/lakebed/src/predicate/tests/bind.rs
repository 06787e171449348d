//! Literals are converted to their column's type exactly, or refused.

use arrow_array::Array;
use arrow_array::types::{Int8Type, Int16Type};
use arrow_array::{
    PrimitiveArray, Time32MillisecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray,
};
use arrow_schema::TimeUnit;

use super::*;

/// 2026-01-02T03:04:05 since 1970, in seconds.
const INSTANT: i64 = 1_767_323_045;

#[test]
fn literals_become_values_of_every_type() {
    let decimals = Decimal128Array::from(vec![1234]).with_precision_and_scale(6, 2).unwrap();
    let with_zone = TimestampMicrosecondArray::from(vec![INSTANT * 1_000_000]).with_timezone("UTC");
    let columns: Vec<(ArrayRef, Vec<&str>)> = vec![
        (array::<BooleanArray, _>(vec![true]), vec!["TRUE", "'true'"]),
        (array::<PrimitiveArray<Int8Type>, _>(vec![-128]), vec!["-128", "'-128'", "-1.28e2"]),
        (array::<PrimitiveArray<Int16Type>, _>(vec![32767]), vec!["32767"]),
        (array::<Int32Array, _>(vec![5]), vec!["5", "5.0", "5e0", "0.5E1", "' 5 '"]),
        (array::<Int64Array, _>(vec![i64::MIN]), vec!["-9223372036854775808"]),
        (array::<Float32Array, _>(vec![0.1]), vec!["0.1", "1e-1", "'0.1'"]),
        (array::<Float64Array, _>(vec![f64::NAN]), vec!["'NaN'", "'nan'"]),
        (array::<Float64Array, _>(vec![f64::NEG_INFINITY]), vec!["'-Infinity'", "'-inf'"]),
        (Arc::new(decimals), vec!["12.34", "1234e-2", "0.1234E+2", "'12.340'"]),
        (array::<StringArray, _>(vec!["x"]), vec!["'x'"]),
        (array::<BinaryArray, _>(vec![b"x".as_slice()]), vec!["X'78'", "'x'"]),
        (array::<Date32Array, _>(vec![20_455]), vec!["DATE '2026-01-02'", "'2026-01-02'"]),
        (array::<Date32Array, _>(vec![-719_528]), vec!["'0000-01-01'"]),
        (
            array::<Time32MillisecondArray, _>(vec![11_045_500]),
            vec!["TIME '03:04:05.5'", "'03:04:05.500000'"],
        ),
        (array::<TimestampSecondArray, _>(vec![INSTANT]), vec!["TIMESTAMP '2026-01-02 03:04:05.000'"]),
        (array::<TimestampMillisecondArray, _>(vec![INSTANT * 1000 + 60]), vec!["'2026-01-02T03:04:05.06'"]),
        (
            array::<TimestampNanosecondArray, _>(vec![INSTANT * 1_000_000_000 + 1]),
            vec!["'2026-01-02 03:04:05.000000001'"],
        ),
        (
            Arc::new(with_zone),
            vec![
                "'2026-01-02T03:04:05'",
                "'2026-01-02T03:04:05Z'",
                "TIMESTAMP '2026-01-01 22:04:05.000000-05:00'",
            ],
        ),
        (array::<TimestampSecondArray, _>(vec![1_767_312_000]), vec!["DATE '2026-01-02'", "'2026-01-02'"]),
    ];
    for (array, literals) in columns {
        for literal in literals {
            let text = format!("c0 = {literal}");
            assert_eq!(rows(&text, &array), [true], "{text} of {}", array.data_type());
        }
    }
    let uuid: ArrayRef = array::<BinaryArray, _>(vec![[0x11; 16].as_slice()]);
    assert_eq!(rows("c0 = UUID '11111111-1111-1111-1111-111111111111'", &uuid), [true]);
}

#[test]
fn literals_that_do_not_fit_are_refused_with_the_column() {
    let timestamp = |unit| DataType::Timestamp(unit, None);
    let refusals = [
        (DataType::Int32, "1.5"),
        (DataType::Int32, "'abc'"),
        (DataType::Int32, "TRUE"),
        (DataType::Int64, "1e-999999999"),
        (DataType::Boolean, "1"),
        (DataType::Float32, "16777217"),
        (DataType::Float64, "9007199254740993"),
        (DataType::Float64, "'1,5'"),
        (DataType::Decimal128(4, 2), "1.234"),
        (DataType::Decimal128(4, 2), "100.001"),
        (DataType::Utf8, "5"),
        (DataType::Utf8, "DATE '2026-01-01'"),
        (DataType::Binary, "5"),
        (DataType::Binary, "UUID '1111'"),
        (DataType::Date32, "'2026-13-01'"),
        (DataType::Date32, "'2026-02-29'"),
        (DataType::Date32, "20260101"),
        (DataType::Date32, "TIMESTAMP '2026-01-01 00:00:00'"),
        (DataType::Time32(TimeUnit::Millisecond), "'10:00:00.0001'"),
        (DataType::Time32(TimeUnit::Millisecond), "'24:00'"),
        (timestamp(TimeUnit::Millisecond), "'2026-01-01 00:00:00.0001'"),
        (timestamp(TimeUnit::Millisecond), "'2026-01-01 00:00:00Z'"),
        (timestamp(TimeUnit::Second), "'2026-01-01 00:00+99:00'"),
    ];
    for (data_type, literal) in refusals {
        let error = try_bind(&format!("c0 = {literal}"), &data_type).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Predicate);
        for part in ["\"c0\"", &data_type.to_string(), "cannot take "] {
            assert!(error.message().contains(part), "{error} lacks {part}");
        }
        // A literal may be a secret.
        assert!(!literal.contains('\'') || !error.message().contains(literal), "{error}");
        // It is refused beside a NULL too.
        let beside_null = try_bind(&format!("c0 NOT IN ({literal}, NULL)"), &data_type).unwrap_err();
        assert_eq!(beside_null.message(), error.message());
    }
}

#[test]
fn numbers_beyond_a_column_are_compared_as_numbers() {
    let values: ArrayRef = array::<PrimitiveArray<Int8Type>, _>(vec![Some(-128), None, Some(127)]);
    let (all, none) = ([true, false, true], [false; 3]);
    let table = [
        ("c0 = 128", none),
        ("c0 <> 128", all),
        ("c0 < 128", all),
        ("c0 >= -129", all),
        ("c0 <= -129", none),
        ("c0 > 300", none),
        ("c0 <=> 128", none),
        ("NOT c0 <=> 128", [true; 3]),
        ("c0 IN (128, 127)", [false, false, true]),
        ("c0 IN (128)", none),
        ("c0 NOT IN (128, 127)", [true, false, false]),
        ("c0 NOT IN (128)", all),
        ("c0 NOT IN (128, NULL)", none),
        ("c0 BETWEEN -200 AND 200", all),
        ("c0 BETWEEN -200 AND 0", [true, false, false]),
        ("c0 BETWEEN 0 AND 200", [false, false, true]),
        ("c0 BETWEEN 128 AND 200", none),
        ("c0 NOT BETWEEN -200 AND 0", [false, false, true]),
        ("c0 NOT BETWEEN 0 AND 200", [true, false, false]),
        ("c0 NOT BETWEEN 128 AND 200", all),
        ("c0 NOT BETWEEN -200 AND 200", none),
        ("c0 = 9223372036854775808", none),
    ];
    for (text, expected) in table {
        assert_eq!(rows(text, &values), expected, "{text}");
    }
    let column = Column::new(0, DataType::Int8);
    let bound = parse("c0 <> 128").bind_with(Logic::TwoValued, &mut |_| Ok(column.clone())).unwrap();
    let matches = bound.evaluate(std::slice::from_ref(&values), 3).unwrap();
    assert_eq!(matches.iter().collect::<Vec<_>>(), [true; 3]);
}

#[test]
fn operators_refuse_columns_they_do_not_apply_to() {
    for (text, data_type) in [
        ("is_nan(c0)", DataType::Int32),
        ("starts_with(c0, '1')", DataType::Int32),
        ("c0 LIKE '1%'", DataType::Binary),
        ("c0 LIKE 5", DataType::Utf8),
        (r"c0 LIKE 'a\b'", DataType::Utf8),
        (r"c0 LIKE 'a\'", DataType::Utf8),
        ("c0 LIKE 'a' ESCAPE '!!'", DataType::Utf8),
        ("c0 LIKE 'a' ESCAPE ''", DataType::Utf8),
        ("c0 = 'x'", DataType::Struct(Vec::<Field>::new().into())),
    ] {
        assert_eq!(try_bind(text, &data_type).unwrap_err().kind(), ErrorKind::Predicate, "{text}");
    }
}

#[test]
fn types_that_are_not_compared_are_null_or_not() {
    let column: ArrayRef = arrow_array::new_null_array(&DataType::new_list(DataType::Int32, true), 2);
    assert_eq!(rows("c0 IS NULL", &column), [true, true]);
    assert_eq!(rows("c0 IS NOT NULL", &column), [false, false]);
    let always_null = arrow_array::new_null_array(&DataType::Null, 1);
    assert_eq!(rows("c0 IS NULL OR c0 IS NOT NULL", &always_null), [true]);
    assert_eq!(rows("c0 IS NOT NULL", &always_null), [false]);
}

#[test]
fn an_unknown_column_is_named_with_the_known_ones() {
    let schema = schema(&[DataType::Int32, DataType::Utf8]);
    let error = parse("c0 = 1 AND x.y = 2").bind(&schema).unwrap_err();
    assert_eq!(error.message(), r#"no column "x.y" to filter by; there are: c0, c1"#);
    assert_eq!((error.kind(), error.location().field.as_deref()), (ErrorKind::FilterColumn, Some("x.y")));
    let bound = parse("c1 = 'x' OR c1 IS NULL").bind(&schema).unwrap();
    assert_eq!(bound.columns().iter().copied().collect::<Vec<_>>(), [1]);
}
