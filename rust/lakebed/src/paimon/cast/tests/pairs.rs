//! Every pair of types, value by value, as in Paimon's `CastExecutorTest.java` and Java itself.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int8Type, Int16Type, Int32Type};
use arrow_array::{Decimal128Array, Float64Array, Int64Array};

use super::*;
use crate::test_data::Random;

/// From, value, to, result.
type Case = (&'static str, &'static str, &'static str, Option<&'static str>);

fn check(cases: &[Case]) {
    for (from, value, to, expected) in cases {
        let got =
            cast(&values(from, &[Some(value), None]), &data_type(from), &data_type(to)).expect("a cast");
        assert_eq!(*got.data_type(), data_type(to).exact_type());
        let wanted = [expected.map(str::to_owned), None];
        assert_eq!(printed(&got, to), wanted, "{value:?} from {from} to {to}");
    }
}

#[test]
fn numbers_to_integers_and_booleans() {
    check(&[
        ("BOOLEAN", "true", "TINYINT", Some("1")),
        ("BOOLEAN", "false", "BIGINT", Some("0")),
        ("TINYINT", "-5", "BIGINT", Some("-5")),
        ("INT", "300", "TINYINT", Some("44")),
        ("INT", "-129", "TINYINT", Some("127")),
        ("BIGINT", "2147483648", "INT", Some("-2147483648")),
        ("BIGINT", "70000", "SMALLINT", Some("4464")),
        ("DOUBLE", "-2.9", "INT", Some("-2")),
        ("DOUBLE", "1e300", "BIGINT", Some("9223372036854775807")),
        ("FLOAT", "1e30", "INT", Some("2147483647")),
        ("FLOAT", "1e30", "TINYINT", Some("-1")),
        ("DOUBLE", "-1e30", "SMALLINT", Some("0")),
        ("DOUBLE", "NaN", "INT", Some("0")),
        ("DECIMAL(10, 2)", "-12.99", "INT", Some("-12")),
        ("DECIMAL(10, 0)", "300", "TINYINT", Some("44")),
        ("DECIMAL(38, 0)", "18446744073709551617", "BIGINT", Some("1")),
        ("INT", "-3", "BOOLEAN", Some("true")),
        ("BIGINT", "0", "BOOLEAN", Some("false")),
        ("DOUBLE", "1", "BOOLEAN", None),
        ("DECIMAL(3, 1)", "1", "BOOLEAN", None),
    ]);
}

#[test]
fn numbers_to_floats() {
    check(&[
        ("BOOLEAN", "true", "FLOAT", Some("1.0")),
        ("INT", "16777217", "FLOAT", Some("1.6777216E7")),
        ("BIGINT", "9007199254740993", "DOUBLE", Some("9.007199254740992E15")),
        ("FLOAT", "2.6", "DOUBLE", Some("2.5999999046325684")),
        ("FLOAT", "NaN", "DOUBLE", Some("NaN")),
        ("DOUBLE", "-0.0", "FLOAT", Some("-0.0")),
        ("DOUBLE", "1e300", "FLOAT", Some("Infinity")),
        ("DECIMAL(10, 2)", "12.34", "DOUBLE", Some("12.34")),
        ("DECIMAL(30, 2)", "12345678901234567890.12", "DOUBLE", Some("1.2345678901234567E19")),
        ("DECIMAL(4, 2)", "0.10", "FLOAT", Some("0.1")),
    ]);
}

#[test]
fn numbers_to_decimals() {
    check(&[
        ("BOOLEAN", "true", "DECIMAL(3, 1)", Some("1.0")),
        ("INT", "123", "DECIMAL(5, 2)", Some("123.00")),
        ("INT", "1234", "DECIMAL(5, 2)", None),
        (
            "BIGINT",
            "-9223372036854775808",
            "DECIMAL(38, 19)",
            Some("-9223372036854775808.0000000000000000000"),
        ),
        ("BIGINT", "9223372036854775807", "DECIMAL(38, 38)", None),
        ("DOUBLE", "2.5", "DECIMAL(2, 0)", Some("3")),
        ("DOUBLE", "-2.5", "DECIMAL(2, 0)", Some("-3")),
        ("FLOAT", "2.6", "DECIMAL(20, 16)", Some("2.5999999046325684")),
        ("DOUBLE", "NaN", "DECIMAL(5, 2)", None),
        ("DOUBLE", "1e-30", "DECIMAL(5, 2)", Some("0.00")),
        ("DECIMAL(10, 4)", "0.5005", "DECIMAL(6, 1)", Some("0.5")),
        ("DECIMAL(10, 4)", "0.0500", "DECIMAL(6, 1)", Some("0.1")),
        ("DECIMAL(10, 4)", "-0.0500", "DECIMAL(6, 1)", Some("-0.1")),
        ("DECIMAL(3, 2)", "9.99", "DECIMAL(2, 1)", None),
        ("DECIMAL(38, 0)", "99999999999999999999999999999999999999", "DECIMAL(38, 1)", None),
    ]);
}

#[test]
fn anything_to_texts_and_bytes() {
    check(&[
        ("BOOLEAN", "false", "STRING", Some("false")),
        ("BOOLEAN", "false", "CHAR(3)", Some("fal")),
        ("INT", "-17", "STRING", Some("-17")),
        ("INT", "17", "CHAR(4)", Some("17  ")),
        ("BIGINT", "12345", "VARCHAR(3)", Some("123")),
        ("DOUBLE", "1e10", "STRING", Some("1.0E10")),
        ("DECIMAL(10, 2)", "-0.05", "STRING", Some("-0.05")),
        ("DATE", "2024-02-29", "STRING", Some("2024-02-29")),
        ("DATE", "2024-02-29", "VARCHAR(4)", None),
        ("TIME(3)", "01:02:03.4", "STRING", Some("01:02:03.4")),
        ("TIMESTAMP(3)", "2024-02-29 10:00:00", "STRING", Some("2024-02-29 10:00:00.000")),
        ("STRING", "é漢字😀", "VARCHAR(3)", Some("é漢字")),
        ("STRING", "é漢", "CHAR(3)", Some("é漢 ")),
        ("STRING", "x", "CHAR(2147483647)", None),
        ("BYTES", "abc", "STRING", Some("abc")),
        ("STRING", "abc", "BYTES", Some("abc")),
        ("STRING", "abc", "BINARY(2)", Some("ab")),
        ("BYTES", "abc", "BINARY(5)", Some("abc\0\0")),
        ("BINARY(3)", "abc", "VARBINARY(5)", Some("abc")),
        ("INT", "1", "BYTES", None),
    ]);
}

#[test]
fn texts_to_numbers() {
    check(&[
        ("STRING", "YES", "BOOLEAN", Some("true")),
        ("STRING", "f", "BOOLEAN", Some("false")),
        ("STRING", "2", "BOOLEAN", None),
        ("STRING", "17", "INT", Some("17")),
        ("STRING", "-17.99", "INT", Some("-17")),
        ("STRING", "+.5", "INT", Some("0")),
        ("STRING", " 17", "INT", None),
        ("STRING", "1e3", "INT", None),
        ("STRING", "128", "TINYINT", None),
        ("STRING", "-9223372036854775808", "BIGINT", Some("-9223372036854775808")),
        ("STRING", "", "INT", None),
        ("STRING", "-", "INT", None),
        ("STRING", " 1.5f ", "FLOAT", Some("1.5")),
        ("STRING", "-Infinity", "DOUBLE", Some("-Infinity")),
        ("STRING", "inf", "DOUBLE", None),
        ("STRING", "0x1p3", "DOUBLE", None),
        ("STRING", "12.345e1", "DECIMAL(5, 1)", Some("123.5")),
        ("STRING", ".05", "DECIMAL(5, 1)", Some("0.1")),
        ("STRING", "1e99999", "DECIMAL(5, 1)", None),
        ("STRING", "1e-99999", "DECIMAL(5, 1)", Some("0.0")),
        ("STRING", "1 2", "DECIMAL(5, 1)", None),
    ]);
}

#[test]
fn texts_to_dates_and_times() {
    check(&[
        ("STRING", "2024-02-29", "DATE", Some("19782")),
        ("STRING", "2024-2", "DATE", Some("19754")),
        ("STRING", "2024-02-29 10:00:00", "DATE", Some("19782")),
        ("STRING", "2023-02-29", "DATE", None),
        ("STRING", "17", "DATE", Some("17")),
        ("STRING", "x", "DATE", None),
        ("STRING", "10:00:00.1235", "TIME(3)", Some("36000124")),
        ("STRING", "10:01", "TIME(0)", Some("36060000")),
        ("STRING", "10:00:00-08:00", "TIME(0)", Some("7200000")),
        ("STRING", "10-08:00", "TIME(0)", None),
        ("STRING", "", "TIME(0)", None),
        ("STRING", "2024-02-29T10:00", "TIMESTAMP(3)", Some("2024-02-29T10:00")),
        ("STRING", "2024-02-29 10:00:00.123456789", "TIMESTAMP(6)", Some("2024-02-29T10:00:00.123456")),
        ("STRING", "2024-02-30", "TIMESTAMP(3)", Some("2024-02-29T00:00")),
        ("STRING", "2024-02-32", "TIMESTAMP(3)", None),
        ("STRING", "2024-02-29 10:00", "TIMESTAMP(3)", None),
        ("STRING", "1500", "TIMESTAMP(3)", Some("1970-01-01T00:00:01.500")),
        ("STRING", "1500", "TIMESTAMP(3) WITH LOCAL TIME ZONE", None),
    ]);
}

#[test]
fn dates_and_times() {
    const LTZ: &str = "TIMESTAMP(3) WITH LOCAL TIME ZONE";
    check(&[
        ("DATE", "2024-02-29", "TIMESTAMP(3)", Some("2024-02-29T00:00")),
        ("DATE", "2024-02-29", LTZ, Some("2024-02-29T00:00")),
        ("DATE", "9999-12-31", "TIMESTAMP(9)", Some("9999-12-31T00:00")),
        ("TIME(3)", "01:02:03.004", "TIMESTAMP(6)", Some("1970-01-01T01:02:03.004")),
        ("TIMESTAMP(6)", "1969-12-31 23:59:59.999999", "DATE", Some("-1")),
        ("TIMESTAMP(6)", "1969-12-31 23:59:59.999999", "TIME(3)", Some("86399999")),
        ("TIMESTAMP(9)", "2024-02-29 10:00:00.123456789", "TIMESTAMP(6)", Some("2024-02-29T10:00:00.123456")),
        ("TIMESTAMP(9)", "2024-02-29 10:00:00.123456789", "TIMESTAMP(1)", Some("2024-02-29T10:00:00.100")),
        ("TIMESTAMP(3)", "1969-12-31 23:59:58.500", "TIMESTAMP(0)", Some("1969-12-31T23:59:59")),
        ("TIMESTAMP(9)", "1969-12-31 23:59:59.999999999", "TIMESTAMP(6)", Some("1969-12-31T23:59:59.999999")),
        ("TIMESTAMP(3)", "2024-02-29 10:00:00.5", LTZ, Some("2024-02-29T10:00:00.500")),
        ("TIMESTAMP(3)", "1969-12-31 23:59:58.500", "BIGINT", Some("-1")),
        (LTZ, "2024-02-29 10:00:00", "INT", Some("1709200800")),
        ("TIMESTAMP(3)", "2024-02-29 10:00:00", "SMALLINT", None),
        ("INT", "-1", "TIMESTAMP(3)", Some("1969-12-31T23:59:59")),
        ("BIGINT", "9223372036854775807", "TIMESTAMP(3)", None),
        ("SMALLINT", "1", "TIMESTAMP(3)", None),
        ("DATE", "2024-02-29", "INT", None),
    ]);
}

#[test]
fn integers_keep_their_low_bits() {
    let mut random = Random(7);
    let wide: Vec<i64> = (0..2000).map(|_| (random.below(1 << 31) as i64) << random.below(33)).collect();
    let array: ArrayRef = Arc::new(Int64Array::from(wide.clone()));
    let to = |ty: &str| cast(&array, &data_type("BIGINT"), &data_type(ty)).expect("a cast");
    let (tiny, small, int) = (to("TINYINT"), to("SMALLINT"), to("INT"));
    for (row, value) in wide.into_iter().enumerate() {
        let bits = i128::from(value).rem_euclid(1 << 32);
        assert_eq!(i128::from(int.as_primitive::<Int32Type>().value(row) as u32), bits);
        assert_eq!(i128::from(small.as_primitive::<Int16Type>().value(row) as u16), bits % (1 << 16));
        assert_eq!(i128::from(tiny.as_primitive::<Int8Type>().value(row) as u8), bits % (1 << 8));
    }
}

#[test]
fn decimals_round_half_up() {
    let mut random = Random(11);
    for _ in 0..2000 {
        let (from, to) = (random.below(19) as i8, random.below(19) as i8);
        let value = random.below(1 << 31) as i128 * random.below(1 << 20) as i128 - (1 << 40);
        let array = Decimal128Array::from(vec![value]).with_precision_and_scale(38, from).expect("a decimal");
        let types = [format!("DECIMAL(38, {from})"), format!("DECIMAL(38, {to})")];
        let got = cast(&(Arc::new(array) as ArrayRef), &data_type(&types[0]), &data_type(&types[1]));
        let got = got.expect("a cast").as_primitive::<Decimal128Type>().value(0);
        // |value × 10^to − got × 10^from| is at most half a unit of 10^from; on the half, away from 0.
        let (exact, unit) = (value * 10_i128.pow(to as u32), 10_i128.pow(from as u32));
        let distance = (got * unit - exact) * 2;
        let half_up =
            distance.abs() < unit || (distance.abs() == unit && distance.signum() == exact.signum());
        assert!(half_up, "{value} from {} to {}: {got}", types[0], types[1]);
    }
}

#[test]
fn doubles_truncate_and_saturate() {
    let given = [0.0, -0.5, 1e9, -1e9, 3e9, -3e9, 1e19, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let array: ArrayRef = Arc::new(Float64Array::from(given.to_vec()));
    let got = cast(&array, &data_type("DOUBLE"), &data_type("INT")).expect("a cast");
    for (value, got) in given.into_iter().zip(got.as_primitive::<Int32Type>().values()) {
        let limits = (f64::from(i32::MIN), f64::from(i32::MAX));
        let wanted = if value.is_nan() { 0.0 } else { value.trunc().clamp(limits.0, limits.1) };
        assert_eq!(f64::from(*got), wanted);
    }
}

#[test]
fn another_storage_type_is_refused() {
    let error = cast(&values("INT", &[Some("1")]), &data_type("BIGINT"), &data_type("INT"));
    assert_eq!(error.expect_err("not a BIGINT").kind(), ErrorKind::Argument);
}
