//! Compares the metrics of data files and equality deletes, to decide whether a delete can match (Iceberg's
//! `DeleteFileIndex.canContainEqDeletesForFile`).

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, RecordBatch, new_null_array};
use arrow_schema::{DataType, TimeUnit};
use arrow_select::concat::concat;

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::metrics::metric_values;
use crate::iceberg::types::Type;
use crate::iceberg::value::decode_bounds;
use crate::record::typed;

/// The entry's metric maps that are read, in the order of [`StoredStats`].
pub(super) const STATS_INPUT: [&str; 5] =
    ["value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"];

/// A column that equality deletes compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EqualityField {
    /// Its id.
    pub(crate) id: i32,
    /// Its type.
    pub(crate) ty: Type,
    /// Whether every row has a value.
    pub(crate) required: bool,
}

/// The metrics of one column as stored, one row per file.
#[derive(Debug, Clone)]
pub(super) struct StoredStats([ArrayRef; 5]);

impl StoredStats {
    /// The stored metrics in `entries` of each of `ids`.
    pub(super) fn of(entries: &RecordBatch, ids: &[i32]) -> Result<Vec<StoredStats>> {
        let maps = STATS_INPUT.map(|map| metric_values(entries, map, ids));
        let [values, nulls, nans, lower, upper] = maps;
        let parts = [values?, nulls?, nans?, lower?, upper?];
        let of = |place| {
            let mut columns = Vec::with_capacity(parts.len());
            columns.extend(parts.iter().filter_map(|part| part.get(place).cloned()));
            let found = columns.try_into().map(StoredStats);
            found.map_err(|_| Error::new(ErrorKind::Argument, "metrics of a column are missing"))
        };
        (0..ids.len()).map(of).collect()
    }

    /// Unknown metrics of this many files.
    pub(super) fn unknown(files: usize) -> StoredStats {
        let count = || new_null_array(&DataType::Int64, files);
        let bound = || new_null_array(&DataType::Binary, files);
        StoredStats([count(), count(), count(), bound(), bound()])
    }

    /// The rows of all parts, one part after another.
    pub(super) fn concat(parts: &[StoredStats]) -> Result<StoredStats> {
        let joined = |place: usize| -> Result<ArrayRef> {
            let columns: Vec<&dyn Array> =
                parts.iter().filter_map(|part| part.0.get(place).map(AsRef::as_ref)).collect();
            concat(&columns).map_err(Into::into)
        };
        Ok(StoredStats([joined(0)?, joined(1)?, joined(2)?, joined(3)?, joined(4)?]))
    }

    /// The metrics interpreted for the values of `field`.
    ///
    /// # Errors
    /// `Mismatch` for metrics of another type.
    pub(super) fn interpret(&self, field: &EqualityField) -> Result<ColumnStats> {
        let StoredStats([values, nulls, nans, lower, upper]) = self;
        let values = typed::<Int64Array>(values, "value_counts")?;
        let (nulls, nans) = (typed(nulls, "null_value_counts")?, typed(nans, "nan_value_counts")?);
        let (lower, upper) = (typed(lower, "lower_bounds")?, typed(upper, "upper_bounds")?);
        // Some writers use a negative count for unknown.
        let count = |counts: &Int64Array, row: usize| {
            counts.is_valid(row).then(|| counts.value(row)).filter(|count| *count >= 0)
        };
        let floats = matches!(field.ty, Type::Float | Type::Double);
        let facts = |row| {
            let (values, nulls) = (count(values, row), count(nulls, row));
            Facts {
                may_hold_null: nulls.map_or(!field.required, |nulls| nulls > 0),
                only_null: nulls.is_some() && nulls == values && !field.required,
                may_hold_nan: floats && count(nans, row) != Some(0),
            }
        };
        Ok(ColumnStats {
            facts: (0..values.len()).map(facts).collect(),
            ranges: Ranges::new(&decode_bounds(lower, &field.ty), &decode_bounds(upper, &field.ty)),
        })
    }
}

/// What is known of the values of one column, one row per file.
#[derive(Debug)]
pub(super) struct ColumnStats {
    facts: Vec<Facts>,
    ranges: Ranges,
}

#[derive(Debug, Clone, Copy)]
struct Facts {
    may_hold_null: bool,
    only_null: bool,
    may_hold_nan: bool,
}

/// The lowest and highest value, without null and NaN, in a comparable form.
#[derive(Debug)]
enum Ranges {
    Numbers(Vec<Option<(i128, i128)>>),
    Bytes(Box<[BinaryArray; 2]>),
}

impl ColumnStats {
    /// Whether the file in `row` may hold a value that the equality delete in row `delete` of `deletes`
    /// deletes. Both are of the same column. True where it is unknown.
    pub(super) fn may_meet(&self, row: usize, deletes: &ColumnStats, delete: usize) -> bool {
        let (Some(file), Some(deleted)) = (self.facts.get(row), deletes.facts.get(delete)) else {
            return true;
        };
        if file.may_hold_null && deleted.may_hold_null {
            return true;
        }
        if (file.only_null && !deleted.may_hold_null) || (deleted.only_null && !file.may_hold_null) {
            return false;
        }
        // Bounds leave out NaN.
        (file.may_hold_nan && deleted.may_hold_nan) || self.ranges.overlap(row, &deletes.ranges, delete)
    }
}

impl ColumnStats {
    /// The range of the values in `row`, without null and NaN, as integers in the same order; for texts and
    /// bytes the range of their first bytes.
    pub(super) fn span(&self, row: usize) -> Option<(i128, i128)> {
        match &self.ranges {
            Ranges::Numbers(ranges) => ranges.get(row).copied().flatten(),
            Ranges::Bytes(bounds) => {
                let [lower, upper] = bounds.as_ref();
                value(lower, row).map(first_bytes).zip(value(upper, row).map(first_bytes))
            }
        }
    }

    /// Whether some value in `row` may be outside of every range: null or NaN.
    pub(super) fn may_be_outside(&self, row: usize) -> bool {
        self.facts.get(row).is_none_or(|facts| facts.may_hold_null || facts.may_hold_nan)
    }
}

impl Ranges {
    fn new(lower: &ArrayRef, upper: &ArrayRef) -> Ranges {
        match (bytes(lower), bytes(upper)) {
            (Some(lower), Some(upper)) => Ranges::Bytes(Box::new([lower, upper])),
            _ => Ranges::Numbers(
                numbers(lower)
                    .into_iter()
                    .zip(numbers(upper))
                    .map(|(lower, upper)| lower.zip(upper))
                    .collect(),
            ),
        }
    }

    fn overlap(&self, row: usize, other: &Ranges, at: usize) -> bool {
        match (self, other) {
            (Ranges::Numbers(ours), Ranges::Numbers(theirs)) => match (ours.get(row), theirs.get(at)) {
                (Some(Some((lower, upper))), Some(Some((least, most)))) => least <= upper && lower <= most,
                _ => true,
            },
            (Ranges::Bytes(ours), Ranges::Bytes(theirs)) => {
                let ([lower, upper], [least, most]) = (ours.as_ref(), theirs.as_ref());
                let (lower, upper) = (value(lower, row), value(upper, row));
                let (least, most) = (value(least, at), value(most, at));
                match lower.zip(upper).zip(least.zip(most)) {
                    Some(((lower, upper), (least, most))) => least <= upper && lower <= most,
                    None => true,
                }
            }
            _ => true,
        }
    }
}

fn value(bounds: &BinaryArray, row: usize) -> Option<&[u8]> {
    (row < bounds.len() && bounds.is_valid(row)).then(|| bounds.value(row))
}

/// The first bytes as an integer; a smaller text never gives a larger integer.
fn first_bytes(bytes: &[u8]) -> i128 {
    let padded = bytes.iter().copied().chain(std::iter::repeat(0)).take(15);
    padded.fold(0, |number, byte| number << 8 | i128::from(byte))
}

/// Bounds of types that compare like bytes.
fn bytes(bounds: &ArrayRef) -> Option<BinaryArray> {
    let texts = bounds.as_string_opt::<i32>().map(|texts| BinaryArray::from(texts.clone()));
    texts.or_else(|| bounds.as_binary_opt::<i32>().cloned())
}

/// Bounds as integers in the same order; null for bounds of other types, and for NaN.
fn numbers(bounds: &ArrayRef) -> Vec<Option<i128>> {
    fn of<T: ArrowPrimitiveType>(
        bounds: &ArrayRef,
        number: impl Fn(T::Native) -> Option<i128>,
    ) -> Vec<Option<i128>> {
        bounds.as_primitive_opt::<T>().into_iter().flatten().map(|bound| number(bound?)).collect()
    }
    match bounds.data_type() {
        DataType::Boolean => {
            bounds.as_boolean_opt().into_iter().flatten().map(|bound| bound.map(i128::from)).collect()
        }
        DataType::Int32 => of::<Int32Type>(bounds, |bound| Some(bound.into())),
        DataType::Int64 => of::<Int64Type>(bounds, |bound| Some(bound.into())),
        DataType::Date32 => of::<Date32Type>(bounds, |bound| Some(bound.into())),
        DataType::Time64(TimeUnit::Microsecond) => {
            of::<Time64MicrosecondType>(bounds, |bound| Some(bound.into()))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            of::<TimestampMicrosecondType>(bounds, |bound| Some(bound.into()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            of::<TimestampNanosecondType>(bounds, |bound| Some(bound.into()))
        }
        DataType::Decimal128(..) => of::<Decimal128Type>(bounds, Some),
        DataType::Float32 => of::<Float32Type>(bounds, |bound| ordered(bound.into())),
        DataType::Float64 => of::<Float64Type>(bounds, ordered),
        _ => vec![None; bounds.len()],
    }
}

/// A float as an integer in the same order; both zeros give the same integer.
fn ordered(float: f64) -> Option<i128> {
    let bits = i128::from((float + 0.0).abs().to_bits());
    (!float.is_nan()).then_some(if float < 0.0 { -bits } else { bits })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn doubles(lower: f64, upper: f64, nans: Option<i64>) -> ColumnStats {
        let count = |count: Option<i64>| Arc::new(Int64Array::from(vec![count])) as ArrayRef;
        let bound = |bound: f64| Arc::new(BinaryArray::from(vec![&bound.to_le_bytes()[..]])) as ArrayRef;
        let stored = [count(Some(2)), count(Some(0)), count(nans), bound(lower), bound(upper)];
        StoredStats(stored).interpret(&EqualityField { id: 1, ty: Type::Double, required: false }).unwrap()
    }

    #[test]
    fn floats_share_what_is_equal() {
        let meet = |one: &ColumnStats, other: &ColumnStats| one.may_meet(0, other, 0);
        let positive = doubles(0.0, 1.0, Some(0));
        assert!(meet(&positive, &doubles(-1.0, -0.0, Some(0))));
        assert!(!meet(&positive, &doubles(-2.0, -1.0, Some(0))));
        assert!(meet(&positive, &doubles(f64::NAN, -1.0, Some(0))));
        assert!(meet(&doubles(f64::NEG_INFINITY, -3.0, Some(0)), &doubles(-5.0, -4.0, Some(0))));
        // NaN is not in bounds.
        assert!(meet(&doubles(0.0, 1.0, Some(1)), &doubles(5.0, 6.0, None)));
        assert!(!meet(&positive, &doubles(5.0, 6.0, None)));
    }

    #[test]
    fn missing_rows_may_match() {
        let one = doubles(0.0, 1.0, Some(0));
        assert!(one.may_meet(1, &one, 0) && one.may_meet(0, &one, 7));
    }
}
