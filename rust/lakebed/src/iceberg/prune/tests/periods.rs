//! Periods of times around 1970, as Iceberg's Java library writes them: no matching one is dropped, and none that
//! does not match is claimed.

use arrow_array::types::{Date32Type, Int32Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use serde_json::json;

use super::*;
use crate::iceberg::transform::Transform;
use crate::iceberg::types::Type;
use crate::text::civil_from_days;

const DAY: i64 = 86_400;

/// Whole periods between 1970 and a time, in ticks since then: `ChronoUnit.between`, which rounds towards 1970.
fn between(transform: &Transform, ticks: i64, per_second: i64) -> i64 {
    let (per_hour, per_day) = (3600 * per_second, DAY * per_second);
    let (days, rest) = (ticks.div_euclid(per_day), ticks.rem_euclid(per_day));
    let (year, month, day) = civil_from_days(days);
    let months = (year - 1970) * 12 + (month - 1);
    let begun = i64::from(ticks < 0 && (day, rest) != (1, 0));
    match transform {
        Transform::Hour => ticks / per_hour,
        Transform::Day => ticks / per_day,
        Transform::Month => months + begun,
        Transform::Year => year - 1970 + i64::from(ticks < 0 && (month, day, rest) != (1, 1, 0)),
        other => panic!("{other} has no periods"),
    }
}

/// `DateTimeUtil.convertMicros` and `convertNanos`, line by line.
fn java(transform: &Transform, ticks: i64, per_second: i64) -> i64 {
    if ticks >= 0 {
        return between(transform, ticks, per_second);
    }
    let epoch_second = ticks.div_euclid(per_second);
    let adjustment = (ticks + 1).rem_euclid(per_second);
    between(transform, epoch_second * per_second + adjustment, per_second) - 1
}

/// `DateTimeUtil.convertDays`.
fn java_of_days(transform: &Transform, days: i64) -> i64 {
    match transform {
        Transform::Day => days,
        _ if days >= 0 => between(transform, days * DAY, 1),
        _ => between(transform, (days + 1) * DAY, 1) - 1,
    }
}

fn source(ty: &Type) -> (Schema, i64) {
    let name = match ty {
        Type::Date => "date",
        Type::Timestamp => "timestamp",
        Type::Timestamptz => "timestamptz",
        Type::TimestampNs => "timestamp_ns",
        Type::TimestamptzNs => "timestamptz_ns",
        other => panic!("{other} has no periods"),
    };
    let fields = json!([{"id": 1, "name": "t", "required": false, "type": name}]);
    let schema = Schema::from_json(&json!({"type": "struct", "fields": fields})).expect("a schema");
    let per_second = match ty {
        Type::Date => 1,
        Type::Timestamp | Type::Timestamptz => 1_000_000,
        _ => 1_000_000_000,
    };
    (schema, per_second)
}

fn spec(transform: &Transform) -> PartitionSpec {
    let text = transform.to_string();
    let field = json!({"source-id": 1, "field-id": 1000, "name": "p", "transform": text});
    PartitionSpec::from_json(&json!({"spec-id": 0, "fields": [field]})).expect("a spec")
}

/// A value of a column as a literal: days of dates, ticks of timestamps.
fn literal(ty: &Type, value: i64, per_second: i64) -> String {
    let days = if *ty == Type::Date { value } else { value.div_euclid(DAY * per_second) };
    let (year, month, day) = civil_from_days(days);
    if *ty == Type::Date {
        return format!("DATE '{year:04}-{month:02}-{day:02}'");
    }
    let rest = value.rem_euclid(DAY * per_second);
    let (second, ticks) = (rest / per_second, rest % per_second);
    let fraction = format!("{:09}", ticks * (1_000_000_000 / per_second));
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("TIMESTAMP '{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction}'")
}

/// Values around the starts of periods before and after 1970.
fn values(ty: &Type, per_second: i64) -> Vec<i64> {
    let days = [-731, -730, -365, -62, -31, -1, 0, 31, 365];
    let starts = days.map(|day| day * DAY).into_iter().chain([-7200, -3600, 3600]);
    if *ty == Type::Date {
        return days.into_iter().flat_map(|day| [day - 1, day, day + 1]).collect();
    }
    let near = [-1, 0, 1, per_second - 2, per_second - 1, per_second, 2 * per_second - 1];
    let near = starts.flat_map(|start| near.map(|ticks| start * per_second + ticks));
    let mut values: Vec<i64> = near.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// The period of each value as three kinds of writers compute it: exactly, as Java does, and as Java did before 0.11.
fn periods(transform: &Transform, ty: &Type, values: &[i64], per_second: i64) -> Vec<i64> {
    let of = |value: i64| {
        if *ty == Type::Date {
            let old = if *transform == Transform::Day { value } else { between(transform, value * DAY, 1) };
            let exact = java_of_days(transform, value);
            return [exact, exact, old];
        }
        let towards_1970 = between(transform, value, per_second);
        // What Java intends: one unit nearer to 1970, so that no value is the start of a period.
        let exact = if value < 0 { between(transform, value + 1, per_second) - 1 } else { towards_1970 };
        [exact, java(transform, value, per_second), towards_1970]
    };
    values.iter().flat_map(|value| of(*value)).collect()
}

fn array_of(transform: &Transform, periods: &[i64]) -> ArrayRef {
    let periods = periods.iter().map(|period| i32::try_from(*period).expect("32 bits"));
    match transform {
        Transform::Day => Arc::new(PrimitiveArray::<Date32Type>::from_iter_values(periods)),
        _ => Arc::new(PrimitiveArray::<Int32Type>::from_iter_values(periods)),
    }
}

/// A filter on `t`, and which values match it.
type Filter = (String, Box<dyn Fn(i64) -> bool>);

fn filters(ty: &Type, value: i64, next: i64, per_second: i64) -> Vec<Filter> {
    let (one, two) = (literal(ty, value, per_second), literal(ty, next, per_second));
    vec![
        (format!("t < {one}"), Box::new(move |t| t < value)),
        (format!("t <= {one}"), Box::new(move |t| t <= value)),
        (format!("t > {one}"), Box::new(move |t| t > value)),
        (format!("t >= {one}"), Box::new(move |t| t >= value)),
        (format!("t = {one}"), Box::new(move |t| t == value)),
        (format!("t <> {one}"), Box::new(move |t| t != value)),
        (format!("t IN ({one}, {two})"), Box::new(move |t| t == value || t == next)),
        (format!("t NOT IN ({one}, {two})"), Box::new(move |t| t != value && t != next)),
        (format!("t BETWEEN {one} AND {two}"), Box::new(move |t| value <= t && t <= next)),
        (format!("t NOT BETWEEN {one} AND {two}"), Box::new(move |t| !(value <= t && t <= next))),
    ]
}

fn projected(schema: &Schema, spec: &PartitionSpec, text: &str, mode: Mode) -> BoundPredicate {
    let partition = PartitionType::unify(std::slice::from_ref(spec), &[schema]);
    let filter = Predicate::parse(text).expect("a filter");
    let filter =
        RowFilter::new(&filter, schema, &partition, Names::Exact, Logic::TwoValued).expect("a filter");
    project(&filter, spec, &partition, mode).expect("a projection")
}

/// Compares the projections of many filters with the rows of each partition.
fn check(transform: &Transform, ty: &Type) {
    let (schema, per_second) = source(ty);
    let spec = spec(transform);
    let values = values(ty, per_second);
    let tuples = [array_of(transform, &periods(transform, ty, &values, per_second))];
    for (place, value) in values.iter().enumerate() {
        let next = values[(place + 3).min(values.len() - 1)];
        for (text, matches) in filters(ty, *value, next, per_second) {
            let of = |mode| {
                let projection = projected(&schema, &spec, &text, mode);
                projection.evaluate(&tuples, tuples[0].len()).expect("an answer")
            };
            let (may, must) = (of(Mode::Inclusive), of(Mode::Strict));
            for (row, value) in values.iter().flat_map(|value| [value; 3]).enumerate() {
                let place = || format!("{transform} of {ty}: {text}, {value}, writer {}", row % 3);
                assert!(may.value(row) || !matches(*value), "lost: {}", place());
                assert!(!must.value(row) || matches(*value), "claimed: {}", place());
            }
        }
    }
}

#[test]
fn no_writer_s_file_is_lost_or_claimed() {
    for transform in [Transform::Year, Transform::Month, Transform::Day, Transform::Hour] {
        for ty in [Type::Timestamp, Type::Timestamptz, Type::TimestampNs, Type::TimestamptzNs] {
            check(&transform, &ty);
        }
        if transform != Transform::Hour {
            check(&transform, &Type::Date);
        }
    }
}

#[test]
fn java_is_one_too_low_where_the_fraction_is_all_nines() {
    for per_second in [1_000_000, 1_000_000_000] {
        let after = |second: i64, ticks: i64| java(&Transform::Hour, second * per_second + ticks, per_second);
        assert_eq!(after(-3600, per_second - 1), -2);
        assert_eq!([after(-3600, 0), after(-3600, per_second - 2), after(-3599, 0)], [-1; 3]);
        assert_eq!(after(-3599, per_second - 1), -1);
        for transform in [Transform::Year, Transform::Month, Transform::Day] {
            assert_eq!(
                java(&transform, (1 - 31 * DAY) * per_second - 1, per_second),
                match transform {
                    Transform::Day => -32,
                    Transform::Month => -2,
                    _ => -1,
                }
            );
        }
    }
    // Dates are whole days, so nothing is rounded.
    assert_eq!([-366, -365, -1, 0].map(|days| java_of_days(&Transform::Year, days)), [-2, -1, -1, 0]);
}

/// Only where a period may be one too low does a projection include the one below.
#[test]
fn projections_are_only_as_wide_as_writers_are_imprecise() {
    let asked = |text: &str, mode| {
        let (schema, _) = source(&Type::TimestamptzNs);
        spelled(&projected(&schema, &spec(&Transform::Hour), text, mode).node)
    };
    let inclusive = |text: &str| asked(text, Mode::Inclusive);
    let at = |second: &str| format!("TIMESTAMP '1969-12-31T23:00:{second}+00:00'");
    assert_eq!(inclusive(&format!("t = {}", at("00.999999999"))), "0 IN [Int(-2), Int(-1), Int(0)]");
    assert_eq!(inclusive(&format!("t = {}", at("00.999999998"))), "0 IN [Int(-1), Int(0)]");
    assert_eq!(inclusive(&format!("t = {}", at("01.999999999"))), "0 IN [Int(-1), Int(0)]");
    assert_eq!(inclusive(&format!("t >= {}", at("00.999999999"))), "0 >= [Int(-2)]");
    assert_eq!(inclusive(&format!("t > {}", at("00.999999998"))), "0 >= [Int(-2)]");
    assert_eq!(inclusive(&format!("t > {}", at("00.999999999"))), "0 >= [Int(-1)]");
    assert_eq!(inclusive(&format!("t >= {}", at("01"))), "0 >= [Int(-1)]");
    let strict = |text: &str| asked(text, Mode::Strict);
    assert_eq!(strict(&format!("t < {}", at("00.999999999"))), "0 < [Int(-2)]");
    assert_eq!(strict(&format!("t <= {}", at("00.999999999"))), "0 < [Int(-1)]");
    assert_eq!(strict(&format!("t <> {}", at("00.999999999"))), "0 NOT IN [Int(-2), Int(-1), Int(0)]");
}
