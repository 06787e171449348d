//! Sums in the form in which they are sent: 64-bit numbers, one column each, in types that every engine has.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch};

use crate::distributed::foreign;
use crate::error::{Error, ErrorKind, Result};
use crate::record::column;
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

/// A number of sums.
pub(crate) trait SumNumber: Sized {
    /// As it is sent; null where it is unknown.
    fn sent(&self) -> Option<i64>;

    /// The number of which [`SumNumber::sent`] made `sent`.
    ///
    /// # Errors
    /// `Argument` for a number that it cannot be.
    fn read(sent: Option<i64>) -> Result<Self>;
}

impl SumNumber for Option<i64> {
    fn sent(&self) -> Option<i64> {
        *self
    }

    fn read(sent: Option<i64>) -> Result<Option<i64>> {
        Ok(sent)
    }
}

impl SumNumber for i64 {
    fn sent(&self) -> Option<i64> {
        Some(*self)
    }

    fn read(sent: Option<i64>) -> Result<i64> {
        sent.ok_or_else(|| foreign("a sum is null"))
    }
}

impl SumNumber for i32 {
    fn sent(&self) -> Option<i64> {
        Some(i64::from(*self))
    }

    fn read(sent: Option<i64>) -> Result<i32> {
        i32::try_from(i64::read(sent)?).map_err(foreign)
    }
}

/// Sums as they are sent.
pub(crate) trait SentSums: Sized {
    /// A column for each number.
    fn columns(sums: &[Self]) -> Vec<(&'static str, ArrayRef)>;

    /// The sums of which [`SentSums::columns`] made columns.
    ///
    /// # Errors
    /// `Required`, `Mismatch` and `Argument` for a batch of another shape.
    fn read(batch: &RecordBatch) -> Result<Vec<Self>>;
}

/// [`SentSums`] for a type, of which these are all fields, or fields of fields.
macro_rules! sent_sums {
    ($sums:ty: $($field:ident $(. $inner:tt)*),+ $(,)?) => {
        impl $crate::grouping::sums::SentSums for $sums {
            fn columns(sums: &[Self]) -> Vec<(&'static str, arrow_array::ArrayRef)> {
                use $crate::grouping::sums::SumNumber as _;
                vec![$((stringify!($field $(. $inner)*), {
                    let numbers = sums.iter().map(|sums| sums.$field $(.$inner)*.sent());
                    std::sync::Arc::new(numbers.collect::<arrow_array::Int64Array>())
                })),+]
            }

            fn read(batch: &arrow_array::RecordBatch) -> $crate::error::Result<Vec<Self>> {
                use $crate::grouping::sums::SumNumber;
                let mut sums = vec![<$sums>::default(); batch.num_rows()];
                $(
                    let name = stringify!($field $(. $inner)*);
                    let numbers = $crate::record::column::<arrow_array::Int64Array>(batch, name)?;
                    for (sums, number) in sums.iter_mut().zip(numbers) {
                        sums.$field $(.$inner)* = SumNumber::read(number)?;
                    }
                )+
                Ok(sums)
            }
        }
    };
}
pub(crate) use sent_sums;

/// A batch of sums with their keys.
pub(crate) fn batch<S: SentSums>(keys: BinaryArray, sums: &[S]) -> Result<RecordBatch> {
    let mut all: Vec<(&str, ArrayRef)> = vec![(KEY, Arc::new(keys))];
    all.extend(S::columns(sums));
    whole(all, sums.len())
}

/// Passes on what [`batch`] has: each key and its sums.
///
/// # Errors
/// As [`SentSums::read`]; those of `take`.
pub(crate) fn each<S: SentSums>(
    batch: &RecordBatch,
    mut take: impl FnMut(&[u8], S) -> Result<()>,
) -> Result<()> {
    keys(batch)?.iter().zip(S::read(batch)?).try_for_each(|(key, sums)| take(key.unwrap_or_default(), sums))
}

/// The keys of sums.
pub(crate) fn keys(batch: &RecordBatch) -> Result<&BinaryArray> {
    column(batch, KEY)
}
