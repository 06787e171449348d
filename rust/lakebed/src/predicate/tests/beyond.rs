//! Literals beyond the range of a column's type are compared as numbers.

use arrow_array::{TimestampMicrosecondArray, TimestampNanosecondArray};

use super::super::op::OperatorForm;
use super::super::{Leaf, Operator};
use super::*;

const FLOATS: [f32; 7] = [f32::NEG_INFINITY, f32::MIN, -0.0, 1.5, f32::MAX, f32::INFINITY, f32::NAN];

fn of_floats(matching: &[usize]) -> Vec<bool> {
    // The last row is null.
    (0..=FLOATS.len()).map(|row| matching.contains(&row)).collect()
}

#[test]
fn floats_are_beyond_such_literals_only_where_they_are_infinite_or_nan() {
    let singles: Vec<Option<f32>> = FLOATS.into_iter().map(Some).chain([None]).collect();
    let doubles = singles.iter().map(|value| {
        value.map(|value| match value {
            f32::MAX => f64::MAX,
            f32::MIN => f64::MIN,
            other => f64::from(other),
        })
    });
    let doubles: ArrayRef = array::<Float64Array, _>(doubles.collect());
    let singles: ArrayRef = array::<Float32Array, _>(singles);
    let table: [(&str, &[usize]); 23] = [
        ("c0 > 1E400", &[5, 6]),
        ("c0 >= 1E400", &[5, 6]),
        ("c0 < 1E400", &[0, 1, 2, 3, 4]),
        ("c0 <= 1E400", &[0, 1, 2, 3, 4]),
        ("c0 > -1E400", &[1, 2, 3, 4, 5, 6]),
        ("c0 >= -1E400", &[1, 2, 3, 4, 5, 6]),
        ("c0 < -1E400", &[0]),
        ("c0 <= -1E400", &[0]),
        ("c0 = 1E400", &[]),
        ("c0 <=> -1E400", &[]),
        ("c0 <> 1E400", &[0, 1, 2, 3, 4, 5, 6]),
        ("NOT c0 <=> 1E400", &[0, 1, 2, 3, 4, 5, 6, 7]),
        ("c0 IN (1E400, 1.5, -1E400)", &[3]),
        ("c0 NOT IN (1E400, 1.5)", &[0, 1, 2, 4, 5, 6]),
        ("c0 NOT IN (1E400, NULL)", &[]),
        ("c0 BETWEEN -1E400 AND 1E400", &[1, 2, 3, 4]),
        ("c0 BETWEEN 1.5 AND 1E400", &[3, 4]),
        ("c0 BETWEEN 1E400 AND 'NaN'", &[5, 6]),
        ("c0 NOT BETWEEN -1E400 AND 1E400", &[0, 5, 6]),
        ("c0 NOT BETWEEN 1E400 AND 2E400", &[0, 1, 2, 3, 4, 5, 6]),
        ("c0 NOT BETWEEN NULL AND 1E400", &[]),
        ("NOT (c0 > 1E400)", &[0, 1, 2, 3, 4]),
        ("NOT (c0 <= '-1E400')", &[1, 2, 3, 4, 5, 6]),
    ];
    for (text, matching) in table {
        assert_eq!(rows(text, &doubles), of_floats(matching), "{text}");
        assert_eq!(rows(&text.replace("E400", "E247"), &singles), of_floats(matching), "{text}");
        let long = text.replace("E400", &"0".repeat(400));
        assert_eq!(rows(&long, &singles), of_floats(matching), "{text}, all digits");
    }
    // A literal that rounds to the greatest float is not above it.
    assert_eq!(rows("c0 >= 3.40282350E38", &singles), of_floats(&[4, 5, 6]));
    // The bound filter can be printed and parsed again.
    let written = bind("c0 BETWEEN 0 AND 1E247", &singles).node.written().to_string();
    assert_eq!(rows(&written, &singles), of_floats(&[3, 4]));
}

#[test]
fn decimals_and_integers_beyond_a_column() {
    let decimals = Decimal128Array::from(vec![Some(-99_999), Some(0), Some(99_999), None]);
    let decimals: ArrayRef = Arc::new(decimals.with_precision_and_scale(5, 2).unwrap());
    let longs: ArrayRef = array::<Int64Array, _>(vec![Some(i64::MIN), Some(0), Some(i64::MAX), None]);
    let ints: ArrayRef = array::<Int32Array, _>(vec![Some(i32::MIN), Some(0), Some(i32::MAX), None]);
    let (all, none) = ([true, true, true, false], [false; 4]);
    let table = [
        ("c0 < L", all),
        ("c0 <= L", all),
        ("c0 > L", none),
        ("c0 >= -L", all),
        ("c0 <= -L", none),
        ("c0 = L", none),
        ("c0 <> -L", all),
        ("c0 IN (L, 0)", [false, true, false, false]),
        ("c0 NOT IN (-L, 0)", [true, false, true, false]),
        ("c0 BETWEEN 0 AND L", [false, true, true, false]),
        ("c0 NOT BETWEEN -L AND 0", [false, false, true, false]),
        ("NOT (c0 < L)", none),
        ("c0 NOT BETWEEN L AND L", all),
    ];
    let literals: [(&ArrayRef, &[&str]); 3] = [
        (&decimals, &["1000", "1E3", "1000.00", "99999.99", "1E40", "1E99999999"]),
        (&longs, &["9223372036854775808", "1E19", "1E40", "1E99999999"]),
        (&ints, &["2147483648", "3E9", "1E40", "123456789012345678901234567890123456789012"]),
    ];
    for (column, literals) in literals {
        for literal in literals {
            for (text, expected) in table {
                // The least integer has no negation.
                let text = text.replace("-L", &format!("-{literal}0")).replace('L', literal);
                assert_eq!(rows(&text, column), expected, "{text} on {:?}", column.data_type());
            }
        }
    }
    // Fractions that no value has are refused, in the range and beyond it.
    for (text, column) in
        [("c0 < 0.001", &decimals), ("c0 < 1000.001", &decimals), ("c0 < 3000000000.5", &ints)]
    {
        assert!(try_bind(text, column.data_type()).is_err(), "{text}");
    }
}

#[test]
fn text_operators_on_numbers_are_refused_with_any_literal() {
    for text in ["starts_with(c0, '1E400')", "c0 LIKE '1E400'", "NOT starts_with(c0, '1E400')"] {
        for data_type in [DataType::Float32, DataType::Float64, DataType::Int32, DataType::Decimal128(5, 2)] {
            assert_eq!(try_bind(text, &data_type).unwrap_err().kind(), ErrorKind::Predicate, "{text}");
        }
    }
}

/// A FLOAT column with literals beyond its range gives the answers of a DOUBLE column with the same values.
#[test]
fn a_narrow_column_answers_as_the_wide_one() {
    let mut random = Random(9);
    let (mut kept, mut beyond) = (0, 0);
    for _ in 0..4000 {
        let value = *random.pick(&FLOATS);
        let (narrow, wide): (ArrayRef, ArrayRef) =
            (array::<Float32Array, _>(vec![value]), array::<Float64Array, _>(vec![f64::from(value)]));
        let literal = |random: &mut Random| {
            *random.pick(&["1E247", "-1E247", "-1E39", "1.5", "'Infinity'", "'-Infinity'", "'NaN'", "0.0"])
        };
        let operators: Vec<_> = Operator::all().filter(|operator| operator.is_comparison()).collect();
        let operator = *random.pick(&operators);
        let count = match operator.row().form {
            OperatorForm::Infix => 1,
            OperatorForm::Between => 2,
            _ => 1 + random.below(3),
        };
        let literals = (0..count).map(|_| match parse(&format!("c0 = {}", literal(&mut random))) {
            Predicate::Leaf(Leaf { mut literals, .. }) => literals.remove(0),
            other => panic!("{other}"),
        });
        let literals: Vec<Literal> = literals.collect();
        beyond += u32::from(literals.iter().any(|literal| literal.to_string().contains('E')));
        let text = Predicate::leaf("c0", operator, literals).to_string();
        let matches = rows(&text, &narrow)[0];
        assert_eq!(matches, rows(&text, &wide)[0], "{text} on {value}");
        // Bounds do not include NaN.
        let bound = |narrow: &ArrayRef| match value.is_nan() {
            true => array::<Float32Array, _>(vec![1.0]),
            false => narrow.clone(),
        };
        let may = may_match(&text, &bound(&narrow), &bound(&narrow), Some(0), Some(2));
        assert!(may || !matches, "{text} on {value}");
        kept += u32::from(may);
    }
    assert!(
        beyond > 1000 && (500..3900).contains(&kept),
        "{kept} kept, {beyond} beyond: it would not notice"
    );
}

#[test]
fn times_beyond_a_column() {
    let nanos: ArrayRef =
        array::<TimestampNanosecondArray, _>(vec![Some(i64::MIN), Some(0), Some(i64::MAX), None]);
    let micros: ArrayRef =
        array::<TimestampMicrosecondArray, _>(vec![Some(i64::MIN), Some(0), Some(i64::MAX), None]);
    let days: ArrayRef = array::<Date32Array, _>(vec![Some(i32::MIN), Some(0), Some(i32::MAX), None]);
    let (all, none) = ([true, true, true, false], [false; 4]);
    for (column, late, early) in [
        (&nanos, "'9999-12-31'", "'0001-01-01 00:00:00.5'"),
        (&nanos, "TIMESTAMP '2262-04-11 23:47:16.854775808'", "DATE '1677-09-21'"),
        (&micros, "'9999999-12-31'", "'-9999999-01-01'"),
        (&days, "'9999999-12-31'", "DATE '-9999999-01-01'"),
    ] {
        for (text, matching) in [
            (format!("c0 < {late}"), all),
            (format!("c0 <= {late}"), all),
            (format!("c0 > {late}"), none),
            (format!("c0 >= {late}"), none),
            (format!("c0 = {late}"), none),
            (format!("c0 <> {late}"), all),
            (format!("c0 > {early}"), all),
            (format!("c0 <= {early}"), none),
            (format!("c0 BETWEEN {early} AND {late}"), all),
            (format!("c0 BETWEEN '1970-01-01' AND {late}"), [false, true, true, false]),
            (format!("c0 NOT BETWEEN {early} AND '1970-01-01'"), [false, false, true, false]),
            (format!("c0 IN ({early}, '1970-01-01', {late})"), [false, true, false, false]),
            (format!("c0 NOT IN ({early}, '1970-01-01')"), [true, false, true, false]),
        ] {
            assert_eq!(rows(&text, column), matching, "{text}");
        }
    }
    // The first and the last of a column are within.
    assert_eq!(rows("c0 >= '2262-04-11 23:47:16.854775807'", &nanos), [false, false, true, false]);
    assert_eq!(rows("c0 <= '1677-09-21 00:12:43.145224192'", &nanos), [true, false, false, false]);
}
