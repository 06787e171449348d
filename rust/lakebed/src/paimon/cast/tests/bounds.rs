//! Which casts of bounds are bounds again: by rule, and by casting values between them.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMillisecondType,
};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use super::*;

/// The bounds of `lower` and `upper` cast, as text.
fn bounds(from: &str, lower: &str, upper: &str, to: &str) -> [Option<String>; 2] {
    let given = [lower, upper].map(|text| values(from, &[(text != "null").then_some(text)]));
    let cast = cast_bounds([&given[0], &given[1]], &data_type(from), &data_type(to)).expect("bounds");
    cast.map(|bound| printed(&bound, to).remove(0))
}

#[test]
fn bounds_hold_or_are_null() {
    let both = |lower: &str, upper: &str| [Some(lower.to_owned()), Some(upper.to_owned())];
    for (from, lower, upper, to, expected) in [
        ("INT", "-5", "10", "BIGINT", Some(("-5", "10"))),
        ("INT", "-5", "127", "TINYINT", Some(("-5", "127"))),
        ("INT", "-5", "128", "TINYINT", None),
        ("INT", "0", "256", "TINYINT", None),
        ("INT", "null", "10", "TINYINT", None),
        ("DECIMAL(10, 2)", "-128.99", "127.99", "TINYINT", Some(("-128", "127"))),
        ("DECIMAL(10, 2)", "-129.00", "1.00", "TINYINT", None),
        ("BOOLEAN", "false", "true", "INT", Some(("0", "1"))),
        ("FLOAT", "2.6", "5.1", "DOUBLE", Some(("2.5999999046325684", "5.099999904632568"))),
        ("DOUBLE", "3.0", "NaN", "FLOAT", Some(("3.0", "NaN"))),
        ("DOUBLE", "3.0", "4.0", "INT", None),
        ("DOUBLE", "3.0", "NaN", "DECIMAL(5, 1)", None),
        ("DECIMAL(10, 4)", "0.5005", "1.0010", "DECIMAL(6, 1)", Some(("0.5", "1.0"))),
        ("INT", "1", "99999", "DECIMAL(5, 2)", None),
        ("INT", "-1", "1", "BOOLEAN", None),
        ("INT", "9", "10", "STRING", None),
        ("STRING", "17", "17", "INT", None),
        ("STRING", "abc", "abd", "VARCHAR(2)", Some(("ab", "ab"))),
        ("STRING", "a", "b", "CHAR(2)", None),
        ("STRING", "a", "b", "BINARY(2)", Some(("a\0", "b\0"))),
        ("DATE", "2019-07-23", "2019-07-28", "TIMESTAMP(3)", Some(("2019-07-23T00:00", "2019-07-28T00:00"))),
        ("DATE", "2019-07-23", "9999-12-31", "TIMESTAMP(9)", Some(("2019-07-23T00:00", "9999-12-31T00:00"))),
        ("TIMESTAMP(6)", "1970-01-01 10:00:00", "1970-01-02 09:00:00", "DATE", Some(("0", "1"))),
        ("TIMESTAMP(6)", "1970-01-01 10:00:00", "1970-01-02 09:00:00", "TIME(3)", None),
        ("TIMESTAMP(3)", "1970-01-01", "2024-01-01", "INT", Some(("0", "1704067200"))),
        ("TIMESTAMP(3)", "1970-01-01", "2044-01-01", "INT", None),
        ("TIMESTAMP(3)", "1970-01-01", "1970-01-02", "TIMESTAMP(3) WITH LOCAL TIME ZONE", None),
    ] {
        let wanted = expected.map_or([None, None], |(lower, upper)| both(lower, upper));
        assert_eq!(bounds(from, lower, upper, to), wanted, "{lower}..{upper} from {from} to {to}");
    }
    assert_eq!(bounds("INT", "null", "7", "DOUBLE"), [None, Some("7.0".into())]);
}

/// Values of each type in ascending order, with the special ones.
const SORTED: [(&str, &[&str]); 9] = [
    ("TINYINT", &["-128", "-1", "0", "1", "127"]),
    ("INT", &["-2147483648", "-70000", "-129", "-1", "0", "3", "127", "128", "16777217", "2147483647"]),
    ("BIGINT", &["-9223372036854775808", "-3000000000", "-1", "0", "255", "256", "9223372036854775807"]),
    ("DOUBLE", &["-Infinity", "-1e300", "-2.5", "-0.0", "0.0", "1e-300", "2.5", "16777217", "1e300", "NaN"]),
    ("DECIMAL(20, 3)", &["-99999999999999999.999", "-0.050", "0.000", "0.049", "0.050", "127.999", "9.9e15"]),
    ("STRING", &["", "\t", " ", "10", "9", "a", "a\t", "a ", "ab", "é", "é漢", "😀"]),
    ("BYTES", &["", "a", "ab", "abc", "b"]),
    ("DATE", &["0000-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"]),
    (
        "TIMESTAMP(6)",
        &[
            "0001-01-01",
            "1969-12-31 23:59:58.5",
            "1969-12-31 23:59:59.999999",
            "1970-01-01",
            "2024-02-29 10:00:00.123456",
            "9999-12-31",
        ],
    ),
];

const TARGETS: [&str; 19] = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(5, 2)",
    "DECIMAL(38, 1)",
    "STRING",
    "VARCHAR(1)",
    "CHAR(2)",
    "BYTES",
    "BINARY(2)",
    "DATE",
    "TIME(3)",
    "TIMESTAMP(0)",
    "TIMESTAMP(9)",
    "TIMESTAMP(3) WITH LOCAL TIME ZONE",
];

#[test]
fn casts_of_values_are_within_the_casts_of_bounds() {
    let mut held = 0;
    for (from, sorted) in SORTED {
        for to in TARGETS {
            for (low, lower) in sorted.iter().enumerate() {
                for (high, upper) in sorted.iter().enumerate().skip(low) {
                    let bounds = [lower, upper].map(|text| values(from, &[Some(*text)]));
                    let types = (data_type(from), data_type(to));
                    let [least, most] =
                        cast_bounds([&bounds[0], &bounds[1]], &types.0, &types.1).expect("bounds");
                    let between: Vec<Option<&str>> =
                        sorted[low..=high].iter().map(|text| Some(*text)).collect();
                    let between = cast(&values(from, &between), &types.0, &types.1).expect("a cast");
                    for row in 0..between.len() {
                        let place = format!("{:?} of {from} to {to}, {lower}..{upper}", sorted[low + row]);
                        if least.is_valid(0) || most.is_valid(0) {
                            assert!(between.is_valid(row), "{place} is lost");
                            assert!(order(&least, 0, &between, row).is_le(), "{place} is below");
                            assert!(order(&between, row, &most, 0).is_le(), "{place} is above");
                            held += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(held > 3000, "only {held} values were within bounds");
}

/// The order of two values as in statistics: floats in Java's total order, texts by their bytes.
fn order(left: &ArrayRef, i: usize, right: &ArrayRef, j: usize) -> Ordering {
    fn of<T: ArrowPrimitiveType<Native: Ord>>(l: &ArrayRef, i: usize, r: &ArrayRef, j: usize) -> Ordering {
        l.as_primitive::<T>().value(i).cmp(&r.as_primitive::<T>().value(j))
    }
    match left.data_type() {
        ArrowType::Boolean => left.as_boolean().value(i).cmp(&right.as_boolean().value(j)),
        ArrowType::Int8 => of::<Int8Type>(left, i, right, j),
        ArrowType::Int16 => of::<Int16Type>(left, i, right, j),
        ArrowType::Int32 => of::<Int32Type>(left, i, right, j),
        ArrowType::Int64 => of::<Int64Type>(left, i, right, j),
        ArrowType::Decimal128(..) => of::<Decimal128Type>(left, i, right, j),
        ArrowType::Date32 => of::<Date32Type>(left, i, right, j),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => of::<TimestampMillisecondType>(left, i, right, j),
        ArrowType::Decimal256(..) => of::<Decimal256Type>(left, i, right, j),
        ArrowType::Float32 => left
            .as_primitive::<Float32Type>()
            .value(i)
            .total_cmp(&right.as_primitive::<Float32Type>().value(j)),
        ArrowType::Float64 => left
            .as_primitive::<Float64Type>()
            .value(i)
            .total_cmp(&right.as_primitive::<Float64Type>().value(j)),
        ArrowType::Utf8 => left.as_string::<i32>().value(i).cmp(right.as_string::<i32>().value(j)),
        ArrowType::Binary => left.as_binary::<i32>().value(i).cmp(right.as_binary::<i32>().value(j)),
        other => panic!("no order of {other}"),
    }
}

#[test]
fn only_short_decimals_lose_values() {
    for (from, to, expected) in [
        ("INT", "DECIMAL(12, 2)", false),
        ("INT", "DECIMAL(11, 2)", true),
        ("DECIMAL(3, 2)", "DECIMAL(2, 1)", true),
        ("DECIMAL(3, 2)", "DECIMAL(3, 1)", false),
        ("DECIMAL(3, 2)", "DECIMAL(3, 2)", false),
        ("DOUBLE", "DECIMAL(38, 0)", true),
        ("BIGINT", "INT", false),
    ] {
        let (from, to) = (data_type(from), data_type(to));
        assert_eq!(may_overflow(&from.kind, &to.kind), expected, "{from} to {to}");
    }
}
