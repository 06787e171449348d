//! Rows and ranges: nulls, NaN, signed zeros, byte order, unknown and malformed bounds.

use super::*;

#[test]
fn null_is_matched_only_by_tests_for_null() {
    let values: ArrayRef = array::<Int32Array, _>(vec![Some(1), None, Some(3)]);
    let table = [
        ("c0 = 1", [true, false, false]),
        ("NOT c0 = 1", [false, false, true]),
        ("c0 <= 3", [true, false, true]),
        ("c0 = NULL", [false, false, false]),
        ("NOT c0 = NULL", [false, false, false]),
        ("c0 <=> NULL", [false, true, false]),
        ("c0 <=> 1", [true, false, false]),
        ("NOT c0 <=> 1", [false, true, true]),
        ("NOT c0 <=> NULL", [true, false, true]),
        ("c0 IS NULL", [false, true, false]),
        ("c0 IS NOT NULL", [true, false, true]),
        ("c0 IN (3, NULL, 1)", [true, false, true]),
        ("c0 IN (NULL)", [false, false, false]),
        ("c0 NOT IN (3)", [true, false, false]),
        ("c0 NOT IN (3, NULL)", [false, false, false]),
        ("c0 BETWEEN 2 AND 3", [false, false, true]),
        ("c0 NOT BETWEEN 2 AND 3", [true, false, false]),
        ("c0 BETWEEN 1 AND NULL", [false, false, false]),
        ("c0 NOT BETWEEN 2 AND NULL", [false, false, false]),
        ("c0 = 1 OR c0 IS NULL", [true, true, false]),
        ("TRUE AND NOT FALSE", [true, true, true]),
    ];
    for (text, expected) in table {
        assert_eq!(rows(text, &values), expected, "{text}");
    }
}

#[test]
fn floats_are_in_total_order() {
    let values: ArrayRef = array::<Float64Array, _>(vec![-0.0, 0.0, -f64::NAN, f64::INFINITY]);
    let table = [
        ("c0 = 0.0", [false, true, false, false]),
        ("c0 < 0.0", [true, false, false, false]),
        ("c0 = -0.0", [true, false, false, false]),
        ("c0 = 'NaN'", [false, false, true, false]),
        ("c0 > 'Infinity'", [false, false, true, false]),
        ("is_nan(c0)", [false, false, true, false]),
        ("NOT is_nan(c0)", [true, true, false, true]),
    ];
    for (text, expected) in table {
        assert_eq!(rows(text, &values), expected, "{text}");
    }
}

#[test]
fn texts_and_bytes_are_in_unsigned_byte_order() {
    let texts: ArrayRef = array::<StringArray, _>(vec!["a", "é", "z%z"]);
    assert_eq!(rows("c0 > 'z'", &texts), [false, true, true]);
    assert_eq!(rows("c0 LIKE '_'", &texts), [true, true, false]);
    assert_eq!(rows("c0 NOT LIKE 'z!%_' ESCAPE '!'", &texts), [true, true, false]);
    assert_eq!(rows("starts_with(c0, 'z')", &texts), [false, false, true]);
    let bytes: ArrayRef = array::<BinaryArray, _>(vec![[0x7f].as_slice(), &[0x80]]);
    assert_eq!(rows("c0 > X'7f'", &bytes), [false, true]);
    assert_eq!(rows("starts_with(c0, X'80')", &bytes), [false, true]);
}

#[test]
fn ranges_that_cannot_match_are_pruned() {
    let (lower, upper): (ArrayRef, ArrayRef) =
        (array::<Int32Array, _>(vec![3]), array::<Int32Array, _>(vec![7]));
    let table = [
        ("c0 = 2", false),
        ("c0 = 3", true),
        ("c0 = 8", false),
        ("c0 <=> 8", false),
        ("c0 < 3", false),
        ("c0 <= 3", true),
        ("c0 > 7", false),
        ("c0 >= 7", true),
        ("c0 IN (1, 2, 8, 9)", false),
        ("c0 IN (1, 5, 9)", true),
        ("c0 NOT IN (3, 7)", true),
        ("c0 BETWEEN 8 AND 9", false),
        ("c0 BETWEEN 1 AND 3", true),
        ("c0 BETWEEN 4 AND 5", true),
        ("c0 NOT BETWEEN 3 AND 7", false),
        ("c0 NOT BETWEEN 4 AND 7", true),
        ("c0 IS NULL", false),
        ("c0 IS NOT NULL", true),
        ("c0 IS DISTINCT FROM NULL", true),
        ("c0 = 1 OR c0 = 5", true),
        ("c0 = 5 AND c0 = 1", false),
        ("FALSE", false),
        ("TRUE", true),
    ];
    for (text, expected) in table {
        assert_eq!(may_match(text, &lower, &upper, Some(0), Some(10)), expected, "{text}");
        assert!(may_match(text, &upper, &lower, None, Some(10)) || text == "FALSE", "crossed: {text}");
    }
    for (text, expected) in [("c0 <> 3", false), ("c0 <> 4", true), ("c0 NOT IN (1, 3)", false)] {
        assert_eq!(may_match(text, &lower, &lower, Some(1), Some(10)), expected, "{text}");
    }
    assert!(may_match("c0 IS DISTINCT FROM 3", &lower, &lower, Some(1), Some(10)));
    assert!(!may_match("c0 IS DISTINCT FROM 3", &lower, &lower, Some(0), Some(10)));
}

#[test]
fn unknown_ranges_are_kept() {
    let unknown: ArrayRef = array::<Int32Array, _>(vec![None::<i32>]);
    let three: ArrayRef = array::<Int32Array, _>(vec![3]);
    let table = [
        // nulls, rows, comparison, IS NULL, IS NOT NULL
        (Some(0), Some(3), true, false, true),
        (Some(3), Some(3), false, true, false),
        (Some(4), Some(3), true, true, true),
        (Some(-1), Some(3), true, true, true),
        (None, Some(3), true, true, true),
        (Some(3), None, true, true, true),
        (Some(0), None, true, false, true),
        (Some(0), Some(0), false, false, false),
    ];
    for (nulls, rows, comparison, is_null, is_not_null) in table {
        let asked = |text| may_match(text, &unknown, &unknown, nulls, rows);
        assert_eq!(asked("c0 = 5"), comparison, "{nulls:?} of {rows:?}");
        assert_eq!(asked("c0 NOT BETWEEN 1 AND 2"), comparison);
        assert_eq!(asked("c0 IS NULL"), is_null, "{nulls:?} of {rows:?}");
        assert_eq!(asked("c0 IS NOT NULL"), is_not_null, "{nulls:?} of {rows:?}");
    }
    // One bound alone is used.
    assert!(!may_match("c0 < 3", &three, &unknown, None, None));
    assert!(may_match("c0 > 9", &three, &unknown, None, None));
    assert!(!may_match("c0 > 3", &unknown, &three, None, None));
    assert!(bind("c0 = 5", &three).may_match(&[], 2).unwrap().iter().all(|kept| kept));
}

#[test]
fn nan_may_hide_beyond_float_bounds() {
    let bound = |value: f64| -> ArrayRef { array::<Float64Array, _>(vec![value]) };
    let asked = |text, lower, upper| may_match(text, &bound(lower), &bound(upper), Some(0), Some(9));
    assert!(asked("c0 > 5", 1.0, 2.0));
    assert!(asked("c0 <> 1", 1.0, 1.0));
    assert!(asked("c0 = 'NaN'", 1.0, 2.0));
    assert!(!asked("c0 = 5", 1.0, 2.0));
    assert!(!asked("c0 < 1", 1.0, 2.0));
    assert!(!asked("c0 BETWEEN 3 AND 4", 1.0, 2.0));
    assert!(asked("c0 < 1", f64::NAN, 2.0));
    assert!(asked("c0 = -0.0", 0.0, 1.0));
    assert!(asked("c0 = 0.0", -1.0, -0.0));
}

/// NaN is larger than any other value, in both formats and beside any values.
#[test]
fn files_that_may_hold_nan_are_kept_by_filters_that_nan_matches() {
    let bounds: ArrayRef = array::<Float64Array, _>(vec![0.0]);
    let table = [
        ("c0 > -0.0", true),
        ("c0 > 0.0", true),
        ("c0 >= 5", true),
        ("c0 <> 0", true),
        ("c0 NOT IN (0.0, 1)", true),
        ("c0 NOT BETWEEN -1 AND 1", true),
        ("c0 = 'NaN'", true),
        ("c0 <= 'NaN'", true),
        ("c0 BETWEEN 5 AND 'NaN'", true),
        ("is_nan(c0)", true),
        ("c0 > 'NaN'", false),
        ("c0 <> 'NaN' AND c0 < -1", false),
        ("c0 = 5", false),
        ("c0 < -1", false),
        ("c0 BETWEEN 1 AND 5", false),
    ];
    let nans = [None, Some(1), Some(0)].map(|nans| Int64Array::from(vec![nans]));
    for logic in [Logic::TwoValued, Logic::ThreeValued] {
        for (text, matches_nan) in table {
            let column = Column::new(0, DataType::Float64);
            let bound = parse(text).bind_with(logic, &mut |_| Ok(column.clone())).unwrap();
            let asked = |nans: &Int64Array, values: i64| {
                let (values, nulls) = (Int64Array::from(vec![values]), Int64Array::from(vec![0]));
                let counts = Counts { values: Some(&values), nulls: Some(&nulls), nans: Some(nans) };
                let contents = Contents::from_counts(1, counts);
                let known = [Some(ColumnRanges { lower: bounds.clone(), upper: bounds.clone(), contents })];
                let answers = [bound.may_match(&known, 1), bound.must_match(&known, 1)];
                answers.map(|answer| answer.unwrap().value(0))
            };
            // NaN of unknown number, and counted, beside a zero; then none; then NaN alone.
            assert_eq!(asked(&nans[0], 9)[0], matches_nan || text == "c0 <= 'NaN'", "{text} {logic:?}");
            assert_eq!(asked(&nans[1], 9)[0], matches_nan, "{text} {logic:?}");
            let of_zero = bound.evaluate(std::slice::from_ref(&bounds), 1).unwrap().value(0);
            // The sign of bounds that are zeros is not reliable.
            let is_open = logic == Logic::ThreeValued && text.contains('0');
            assert!(asked(&nans[2], 9)[0] == of_zero || is_open, "{text} {logic:?}");
            // Only tests on which engines agree certainly match.
            let agreed = ["c0 <> 0", "c0 NOT IN (0.0, 1)", "is_nan(c0)"].contains(&text);
            assert_eq!(asked(&nans[1], 1), [matches_nan, agreed], "{text} {logic:?}");
        }
    }
}

#[test]
fn prefixes_prune_by_text_bounds() {
    let text = |value: &str| -> ArrayRef { array::<StringArray, _>(vec![value]) };
    let asked = |filter, lower, upper| may_match(filter, &text(lower), &text(upper), Some(0), Some(9));
    assert!(asked("starts_with(c0, 'ab')", "aa", "abz"));
    assert!(asked("starts_with(c0, 'ab')", "abc", "b"));
    assert!(!asked("starts_with(c0, 'ab')", "ac", "b"));
    assert!(!asked("starts_with(c0, 'ab')", "a", "aa"));
    assert!(!asked("NOT starts_with(c0, 'ab')", "ab", "abz"));
    assert!(asked("NOT starts_with(c0, 'ab')", "ab", "ac"));
    assert!(!asked("c0 LIKE 'x%'", "a", "b"));
    assert!(asked("c0 LIKE 'a_x'", "a", "b"));
    assert!(!asked("c0 LIKE 'a_x'", "b", "c"));
    assert!(asked("c0 LIKE '%x'", "a", "b"));
    assert!(!asked("c0 NOT LIKE 'a%'", "a", "ab"));
    assert!(asked("c0 NOT LIKE 'a%b'", "a", "ab"));
}

#[test]
fn two_valued_logic_has_nulls_on_one_side_and_one_zero() {
    let values: ArrayRef = array::<Float64Array, _>(vec![Some(1.0), None, Some(-0.0), Some(f64::NAN)]);
    let column = Column::new(0, DataType::Float64);
    let rows = |text: &str| -> Vec<bool> {
        let bound = parse(text).bind_with(Logic::TwoValued, &mut |_| Ok(column.clone())).unwrap();
        bound.evaluate(std::slice::from_ref(&values), 4).unwrap().iter().collect()
    };
    let table = [
        ("c0 = 1", [true, false, false, false]),
        ("c0 <> 1", [false, true, true, true]),
        ("c0 NOT IN (1, 5)", [false, true, true, true]),
        ("c0 = 0", [false, false, true, false]),
        ("c0 < 0", [false, false, false, false]),
        ("c0 < 5", [true, false, true, false]),
        ("NOT is_nan(c0)", [true, true, true, false]),
        ("c0 <> NULL", [false, false, false, false]),
    ];
    for (text, expected) in table {
        assert_eq!(rows(text), expected, "{text}");
    }
}

#[test]
fn counts_and_bounds_prove_that_every_row_matches() {
    let bounds = |value: i32| -> ArrayRef { array::<Int32Array, _>(vec![value]) };
    let asked = |text, nulls: Option<i64>, lower, upper| {
        let (values, nulls) = (Int64Array::from(vec![10]), Int64Array::from(vec![nulls]));
        let counts = Counts { values: Some(&values), nulls: Some(&nulls), nans: None };
        let contents = Contents::from_counts(1, counts);
        let known = [Some(ColumnRanges { lower: bounds(lower), upper: bounds(upper), contents })];
        bind(text, &bounds(lower)).must_match(&known, 1).unwrap().value(0)
    };
    assert!(asked("c0 < 8", Some(0), 3, 7));
    assert!(!asked("c0 < 8", Some(1), 3, 7));
    assert!(!asked("c0 < 8", None, 3, 7));
    assert!(!asked("c0 < 7", Some(0), 3, 7));
    assert!(asked("c0 = 3", Some(0), 3, 3));
    assert!(asked("c0 IN (1, 3)", Some(0), 3, 3));
    assert!(!asked("c0 IN (3, 7)", Some(0), 3, 7));
    assert!(asked("c0 NOT IN (1, 9)", Some(0), 3, 7));
    assert!(asked("c0 IS NULL", Some(10), 3, 3));
    assert!(asked("c0 IS NOT NULL", Some(0), 3, 7));
    assert!(!bind("c0 < 8", &bounds(3)).must_match(&[], 1).unwrap().value(0));
}

#[test]
fn arrays_of_another_shape_are_refused() {
    let values: ArrayRef = array::<Int32Array, _>(vec![1]);
    let texts: ArrayRef = array::<StringArray, _>(vec!["1"]);
    let bound = bind("c0 = 1", &values);
    for (columns, rows) in [(vec![], 1), (vec![texts], 1), (vec![values.clone()], 2)] {
        assert_eq!(bound.evaluate(&columns, rows).unwrap_err().kind(), ErrorKind::Argument);
    }
}
