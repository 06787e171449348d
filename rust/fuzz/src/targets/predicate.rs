//! Filters and statistics: the text of a filter, a zero byte, and bytes from which rows are made.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array,
    Int64Array, StringArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow_schema::{Field, Schema};
use arrow_select::take::take;
use lakebed::iceberg::types::Type;
use lakebed::iceberg::value::{decode, decode_bounds, encode};
use lakebed::predicate::{Column, ColumnRanges, Contents, Counts, Logic, Predicate};
use lakebed::{Error, ErrorKind};

use super::{assert_message, sample};

pub fn run(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
    let (text, bytes) = input.split_at(end);
    bounds(bytes);
    let Ok(text) = std::str::from_utf8(text) else { return };
    let predicate = match Predicate::parse(text) {
        Ok(predicate) => predicate,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Predicate);
            assert!(error.message().ends_with('^') || text.len() > 1 << 10, "no place: {error}");
            return assert_message(&error.to_string());
        }
    };
    printed(&predicate);
    for logic in [Logic::ThreeValued, Logic::TwoValued, Logic::Sql] {
        evaluated(&predicate, logic, bytes);
    }
}

/// The text of a predicate parses to the same predicate, and so does its double negation.
fn printed(predicate: &Predicate) {
    let text = predicate.to_string();
    match Predicate::parse(&text) {
        Ok(again) => assert_eq!(&again, predicate, "{text}"),
        Err(error) => assert!(
            error.message().contains("nested") || error.message().contains("at most"),
            "{text}: {error}"
        ),
    }
    assert_eq!(&predicate.clone().negate().negate(), predicate);
}

/// The bytes of the input, then zeros.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// One of a few values or none, so that rows often equal bounds and literals.
    fn choice<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        of.get(usize::from(self.next()) % (of.len() + 1)).copied()
    }
}

const COLUMNS: usize = 8;

/// The values from which a column is made, in Java's ascending order.
fn values(column: usize) -> ArrayRef {
    match column {
        0 => Arc::new(Int32Array::from(vec![i32::MIN, -1, 0, 1, 2, i32::MAX])),
        1 => Arc::new(Int64Array::from(vec![i64::MIN, -5, 0, 7, 1 << 40])),
        2 => Arc::new(Float64Array::from(vec![f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.5, f64::NAN])),
        3 => Arc::new(StringArray::from(vec!["", "a", "ab", "abc", "b", "é"])),
        4 => Arc::new(BooleanArray::from(vec![false, true])),
        5 => Arc::new(Date32Array::from(vec![-719_162, -1, 0, 1, 20_000])),
        6 => {
            let values = Decimal128Array::from(vec![-99_999, -150, 0, 99, 150]);
            Arc::new(values.with_precision_and_scale(5, 2).expect("five digits"))
        }
        _ => Arc::new(TimestampMicrosecondArray::from(vec![-1, 0, 1_000_000, 1_700_000_000_000_000])),
    }
}

/// The rows of a column, and the statistics that a writer would record.
fn column(number: usize, rows: usize, bytes: &mut Bytes<'_>) -> (ArrayRef, ColumnRanges) {
    let values = values(number);
    let places: Vec<u32> = (0..values.len() as u32).collect();
    let rows: Vec<Option<u32>> = (0..rows).map(|_| bytes.choice(&places)).collect();
    let pick =
        |rows: Vec<Option<u32>>| take(&values, &UInt32Array::from(rows), None).expect("places of values");
    let is_nan = |place: &u32| number == 2 && *place == 5;
    let flags = bytes.next();
    let known = |bit: u8| flags & (1 << bit) == 0;
    let bounded = |place: &u32| known(0) || !is_nan(place);
    let lower = rows.iter().flatten().copied().filter(bounded).min().filter(|_| known(1));
    let upper = rows.iter().flatten().copied().filter(bounded).max().filter(|_| known(2));
    let count = |bit: u8, count: usize| Int64Array::from(vec![known(bit).then_some(count as i64)]);
    let nulls = rows.iter().filter(|row| row.is_none()).count();
    let nans = rows.iter().flatten().filter(|place| is_nan(place)).count();
    let (all, nulls, nans) = (count(3, rows.len()), count(4, nulls), count(5, nans));
    let counts = Counts { values: Some(&all), nulls: Some(&nulls), nans: Some(&nans) };
    let ranges = ColumnRanges {
        lower: pick(vec![lower]),
        upper: pick(vec![upper]),
        contents: Contents::from_counts(1, counts),
    };
    (pick(rows), ranges)
}

/// What ranges say is true of all rows that they are of: no match is dropped, no miss promised.
fn evaluated(predicate: &Predicate, logic: Logic, bytes: &[u8]) {
    let mut bytes = Bytes(bytes.get(1..).unwrap_or_default());
    let rows = 1 + usize::from(bytes.next() % 4);
    let columns: Vec<(ArrayRef, ColumnRanges)> =
        (0..COLUMNS).map(|number| column(number, rows, &mut bytes)).collect();
    let fields: Vec<Field> = (columns.iter().enumerate())
        .map(|(number, (array, _))| Field::new(format!("c{number}"), array.data_type().clone(), true))
        .collect();
    let schema = Schema::new(fields);
    let bound = match logic {
        Logic::ThreeValued => predicate.bind(&schema),
        Logic::TwoValued | Logic::Sql => predicate.bind_with(logic, &mut |term| {
            let found = schema.fields().find(&term.column).filter(|_| term.transform.is_none());
            let unknown = || Error::new(ErrorKind::FilterColumn, "no such column");
            found.map(|(index, field)| Column::new(index, field.data_type().clone())).ok_or_else(unknown)
        }),
    };
    let is_of_filter = |kind| matches!(kind, ErrorKind::Predicate | ErrorKind::FilterColumn);
    let Ok(bound) = bound.map_err(|error| assert!(is_of_filter(error.kind()), "{error}")) else {
        return;
    };
    let (arrays, ranges): (Vec<_>, Vec<_>) =
        columns.into_iter().map(|(array, known)| (array, Some(known))).unzip();
    let matches = bound.evaluate(&arrays, rows).expect("columns as they were bound");
    let may = bound.may_match(&ranges, 1).expect("ranges as they were bound").value(0);
    let must = bound.must_match(&ranges, 1).expect("ranges as they were bound").value(0);
    // For Iceberg's ranges no NaN is beyond a bound, for its rows every NaN is.
    let has_nan = |row: usize| {
        logic != Logic::ThreeValued && arrays[2].is_valid(row) && bound.columns().contains(&2) && {
            let floats = arrays[2].as_any().downcast_ref::<Float64Array>().expect("a column of floats");
            floats.value(row).is_nan()
        }
    };
    for row in 0..rows {
        assert!(
            may || has_nan(row) || !matches.value(row),
            "{predicate} drops row {row}: {arrays:?}, {ranges:?}"
        );
        assert!(!must || matches.value(row), "{predicate} promises row {row}: {arrays:?}, {ranges:?}");
    }
    let unknown = vec![None; COLUMNS];
    let blind = bound.may_match(&unknown, 1).expect("nothing is known").value(0);
    assert!(blind || matches.count_set_bits() == 0, "{predicate} drops rows of unknown ranges");
    for (row, no) in negated(predicate, &schema, &arrays, rows, logic).into_iter().enumerate() {
        assert!(!(no && matches.value(row)), "{predicate} and its negation: row {row} of {arrays:?}");
    }
}

/// Whether the negation matches each row.
fn negated(
    predicate: &Predicate,
    schema: &Schema,
    arrays: &[ArrayRef],
    rows: usize,
    logic: Logic,
) -> Vec<bool> {
    if logic != Logic::ThreeValued {
        return Vec::new();
    }
    let bound = predicate.clone().negate().bind(schema).expect("what is bound can be negated");
    bound.evaluate(arrays, rows).expect("columns as they were bound").iter().collect()
}

/// Single values as Iceberg's bounds hold them: read strictly, leniently, and written again.
fn bounds(bytes: &[u8]) {
    const TYPES: [Type; 12] = [
        Type::Boolean,
        Type::Int,
        Type::Long,
        Type::Float,
        Type::Double,
        Type::Date,
        Type::Time,
        Type::Timestamp,
        Type::String,
        Type::Uuid,
        Type::Binary,
        Type::Decimal { precision: 9, scale: 2 },
    ];
    let ty = &TYPES[sample(bytes) as usize % TYPES.len()];
    let value = bytes.get(1..).unwrap_or_default();
    let values = BinaryArray::from(vec![Some(value), None]);
    let lenient = decode_bounds(&values, ty);
    lenient.to_data().validate_full().unwrap_or_else(|error| panic!("{ty:?}: {error}"));
    assert!(lenient.len() == 2 && lenient.is_null(1));
    match decode(&values, ty) {
        Ok(strict) => {
            assert!(strict.is_valid(0) && strict.is_null(1));
            assert!(lenient.is_null(0) || *lenient == *strict, "{ty:?}: {lenient:?}, strictly {strict:?}");
            let encoded = encode(&strict, ty).expect("what was decoded");
            assert_eq!(*decode(&encoded, ty).expect("what was encoded"), *strict);
        }
        Err(error) => {
            assert_eq!(error.location().record, Some(0), "{error:?}");
            assert_message(&error.to_string());
        }
    }
}
