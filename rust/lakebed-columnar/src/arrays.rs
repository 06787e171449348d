//! Values to Arrow columns: values are put at the rows that have one.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Decimal128Type};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;
use lakebed_avro::{Error, ErrorKind, Result, reserve};

use crate::budget::Budget;

/// A vector with room for `count` values, which the budget has counted.
pub(crate) fn room<T>(count: usize, budget: &mut Budget) -> Result<Vec<T>> {
    budget.hold(count, size_of::<T>())?;
    let mut values = Vec::new();
    reserve(&mut values, count, "a column")?;
    Ok(values)
}

/// A number as one of a narrower type.
///
/// # Errors
/// `IntRange` for one that it cannot hold.
pub(crate) fn narrow<W: Copy + Display, T: TryFrom<W>>(value: W) -> Result<T> {
    T::try_from(value).map_err(|_| {
        let message = format!("{value} does not fit {} bits", size_of::<T>().saturating_mul(8));
        Error::new(ErrorKind::IntRange, message)
    })
}

/// How many of `rows` rows have a value.
pub(crate) fn valid(rows: usize, nulls: Option<&NullBuffer>) -> usize {
    rows.saturating_sub(nulls.map_or(0, NullBuffer::null_count))
}

/// Values of the rows that have one, each at its row.
fn spread<T: Copy + Default>(
    values: Vec<T>,
    nulls: Option<&NullBuffer>,
    budget: &mut Budget,
) -> Result<Vec<T>> {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return Ok(values) };
    let mut rows = room(nulls.len(), budget)?;
    let mut next = values.into_iter();
    rows.extend(nulls.iter().map(|valid| if valid { next.next().unwrap_or_default() } else { T::default() }));
    Ok(rows)
}

/// A column of numbers.
pub(crate) fn primitive<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
    budget: &mut Budget,
) -> Result<PrimitiveArray<T>> {
    let values = ScalarBuffer::from(spread(values, nulls.as_ref(), budget)?);
    PrimitiveArray::try_new(values, nulls).map_err(|error| malformed(&error))
}

/// A column of booleans.
pub(crate) fn boolean(values: Vec<bool>, nulls: Option<NullBuffer>, budget: &mut Budget) -> Result<ArrayRef> {
    let values = spread(values, nulls.as_ref(), budget)?;
    if nulls.as_ref().is_some_and(|nulls| nulls.len() != values.len()) {
        return Err(count_differs());
    }
    Ok(Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls)))
}

/// A column of decimals of a precision and scale.
pub(crate) fn decimal(
    values: Vec<i128>,
    (precision, scale): (u8, i8),
    nulls: Option<NullBuffer>,
    budget: &mut Budget,
) -> Result<ArrayRef> {
    let array = primitive::<Decimal128Type>(values, nulls, budget)?;
    let array = array.with_precision_and_scale(precision, scale).map_err(|error| malformed(&error))?;
    let wide = |error: ArrowError| Error::new(ErrorKind::Decimal, error.to_string());
    array.validate_decimal_precision(precision).map_err(wide)?;
    Ok(Arc::new(array))
}

/// The length up to which values are short.
const SHORT: usize = 16;

/// Texts or bytes, one after the other.
#[derive(Default)]
pub(crate) struct Bytes {
    /// The end of each value.
    pub(crate) ends: Vec<i32>,
    pub(crate) data: Vec<u8>,
}

impl Bytes {
    /// Appends a value, which is counted in the budget.
    pub(crate) fn push(&mut self, value: &[u8], budget: &mut Budget) -> Result<()> {
        self.extend(1, |_| Ok((value, value.len())), budget)
    }

    /// Appends values, which are counted in the budget: `value` gives of each, from number 0 on, bytes that begin with it, and
    /// its length.
    pub(crate) fn extend<'v>(
        &mut self,
        count: usize,
        mut value: impl FnMut(usize) -> Result<(&'v [u8], usize)>,
        budget: &mut Budget,
    ) -> Result<()> {
        budget.hold(count, size_of::<i32>())?;
        self.ends.try_reserve(count).map_err(|_| no_memory())?;
        let (longest, left, before) = (budget.limits.max_value_bytes, budget.left(), self.data.len());
        for number in 0..count {
            let (bytes, length) = value(number)?;
            let end = self.data.len().saturating_add(length);
            let more = end.saturating_sub(before);
            if length as u64 > longest || more as u64 > left {
                budget.value(length)?;
                budget.hold(more, 1)?;
            }
            // What is beyond a short value is dropped again.
            let needed = length.max(SHORT);
            if self.data.capacity().saturating_sub(self.data.len()) < needed {
                self.data.try_reserve(needed).map_err(|_| no_memory())?;
            }
            match bytes.first_chunk::<SHORT>() {
                // A known number of bytes is copied faster.
                Some(bytes) if length <= SHORT => self.data.extend_from_slice(bytes),
                _ => self.data.extend_from_slice(bytes.get(..length).ok_or_else(no_memory)?),
            }
            self.data.truncate(end);
            self.ends.push(i32::try_from(end).map_err(|_| no_memory())?);
        }
        budget.hold(self.data.len().saturating_sub(before), 1)
    }

    /// The value with that number.
    pub(crate) fn get(&self, number: usize) -> Option<&[u8]> {
        let (bytes, length) = self.from(number)?;
        bytes.get(..length)
    }

    /// The bytes from the value with that number on, and its length.
    pub(crate) fn from(&self, number: usize) -> Option<(&[u8], usize)> {
        let end = usize::try_from(*self.ends.get(number)?).ok()?;
        let before = number.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = usize::try_from(before.copied().unwrap_or(0)).ok()?;
        Some((self.data.get(start..)?, end.checked_sub(start)?))
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A column of texts or bytes, each value at its row.
    pub(crate) fn into_array(
        self,
        text: bool,
        nulls: Option<NullBuffer>,
        budget: &mut Budget,
    ) -> Result<ArrayRef> {
        let rows = nulls.as_ref().map_or(self.ends.len(), NullBuffer::len);
        let mut offsets: Vec<i32> = room(rows.saturating_add(1), budget)?;
        offsets.push(0);
        match nulls.as_ref().filter(|nulls| nulls.null_count() > 0) {
            None => offsets.extend(&self.ends),
            Some(nulls) => {
                let (mut next, mut last) = (self.ends.iter(), 0);
                offsets.extend(nulls.iter().map(|valid| {
                    if valid {
                        last = next.next().copied().unwrap_or(last);
                    }
                    last
                }));
            }
        }
        // Ends only grow: each is the total length so far.
        let (offsets, data) = (OffsetBuffer::new(offsets.into()), Buffer::from_vec(self.data));
        if !text {
            return shared(BinaryArray::try_new(offsets, data, nulls));
        }
        // The offsets are right: what is refused is the text.
        let no_text = |error: ArrowError| Error::new(ErrorKind::Utf8, error.to_string());
        Ok(Arc::new(StringArray::try_new(offsets, data, nulls).map_err(no_text)?))
    }
}

/// A finished array as a column.
pub(crate) fn shared<T: Array + 'static>(array: Result<T, ArrowError>) -> Result<ArrayRef> {
    array.map(|array| Arc::new(array) as ArrayRef).map_err(|error| malformed(&error))
}

/// Arrow's error for values that do not form a column.
#[cold]
pub(crate) fn malformed(error: &ArrowError) -> Error {
    Error::new(ErrorKind::Count, error.to_string())
}

#[cold]
pub(crate) fn count_differs() -> Error {
    Error::new(ErrorKind::Count, "columns of one record are of different lengths")
}

#[cold]
fn no_memory() -> Error {
    Error::new(ErrorKind::Limit, "a column of more than 2 GiB, or no memory for it")
}
