//! Sums in the form in which they are sent: 64-bit numbers, one column each, in types that every engine has.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, RecordBatch};

use crate::error::{Error, ErrorKind, Result};
use crate::record::find;
use crate::view::whole;

/// The column with the group of a row, by which rows are combined.
const KEY: &str = "partition";

/// The sum of two counts.
///
/// # Errors
/// `Mismatch` where the sum does not fit 64 bits, which counts of real files cannot cause.
pub(crate) fn sum(column: &'static str, left: i64, right: i64) -> Result<i64> {
    left.checked_add(right).ok_or_else(|| beyond(column))
}

/// The sum of two counts; unknown where either is unknown.
pub(crate) fn known_sum(column: &'static str, left: Option<i64>, right: Option<i64>) -> Result<Option<i64>> {
    left.zip(right).map(|(left, right)| sum(column, left, right)).transpose()
}

/// The error of a sum that does not fit.
#[cold]
pub(crate) fn beyond(column: &'static str) -> Error {
    Error::new(ErrorKind::Mismatch, "the sum over the files does not fit 64 bits").in_field(column)
}

/// Rows of numbers as columns.
pub(crate) fn columns<'n, const N: usize>(
    names: &[&'n str; N],
    rows: &[[Option<i64>; N]],
) -> Vec<(&'n str, ArrayRef)> {
    let column = |place: usize| rows.iter().map(|row| row[place]).collect::<Int64Array>();
    names.iter().enumerate().map(|(place, name)| (*name, Arc::new(column(place)) as ArrayRef)).collect()
}

/// Rows of numbers from their columns.
pub(crate) fn numbers<const N: usize>(
    batch: &RecordBatch,
    names: &[&str; N],
) -> Result<Vec<[Option<i64>; N]>> {
    let mut rows = vec![[None; N]; batch.num_rows()];
    for (place, name) in names.iter().enumerate() {
        let column = find(batch, name)?;
        let column = column.as_primitive_opt::<Int64Type>().ok_or_else(|| {
            let message = format!("numbers are int64, not {}", column.data_type());
            Error::new(ErrorKind::Argument, message).in_field(name)
        })?;
        for (row, number) in rows.iter_mut().zip(column) {
            row[place] = number;
        }
    }
    Ok(rows)
}

/// A batch of groups with their keys.
pub(crate) fn batch<const N: usize>(
    keys: BinaryArray,
    names: &[&str; N],
    rows: &[[Option<i64>; N]],
) -> Result<RecordBatch> {
    let mut all: Vec<(&str, ArrayRef)> = vec![(KEY, Arc::new(keys))];
    all.extend(columns(names, rows));
    whole(all, rows.len())
}

/// Passes on what [`batch`] has of each group: its key and its numbers.
///
/// # Errors
/// `Required` and `Argument` for a batch of another shape; those of `take`.
pub(crate) fn each<const N: usize>(
    batch: &RecordBatch,
    names: &[&str; N],
    mut take: impl FnMut(&[u8], [Option<i64>; N]) -> Result<()>,
) -> Result<()> {
    let (keys, rows) = (keys(batch)?, numbers(batch, names)?);
    keys.iter().zip(rows).try_for_each(|(key, numbers)| take(key.unwrap_or_default(), numbers))
}

/// The keys of groups.
pub(crate) fn keys(batch: &RecordBatch) -> Result<BinaryArray> {
    let keys = find(batch, KEY)?;
    keys.as_binary_opt::<i32>().cloned().ok_or_else(|| {
        let message = format!("keys are binary, not {}", keys.data_type());
        Error::new(ErrorKind::Argument, message).in_field(KEY)
    })
}
