//! Columns to Arrow arrays: buffers are moved, logical types applied column by column.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int32Type,
    Int64Type, IntervalMonthDayNanoType, Time32MillisecondType, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, ListArray, MapArray, NullArray, PrimitiveArray, StringArray,
    StructArray, UnionArray,
};
use arrow_buffer::{
    BooleanBuffer, Buffer, IntervalMonthDayNano, NullBuffer, OffsetBuffer, ScalarBuffer, i256,
};
use arrow_schema::{DataType, TimeUnit};

use super::Columns;
use super::columns::nth;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Layout, Leaf};

/// Assembles from `columns` the array that `layout` describes, with `length` values. Each column is taken once.
pub(crate) fn assemble(columns: &mut Columns, layout: &Layout, length: usize) -> Result<ArrayRef> {
    build(columns, layout, length, None)
}

fn build(
    columns: &mut Columns,
    layout: &Layout,
    length: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    match layout {
        Layout::Leaf { leaf, column, data_type } => {
            build_leaf(columns, *leaf, *column, data_type, length, nulls)
        }
        Layout::Enum { column, symbols } => {
            let numbers = take(&mut columns.ints, *column)?;
            spell(&numbers, symbols, nulls)
        }
        Layout::Nullable { valid, value } => {
            let valid = take(&mut columns.valid, *valid)?;
            // A validity buffer without nulls is not needed.
            let bit = |row: usize| valid.get(row) == Some(&true);
            let bits = valid.contains(&false).then(|| BooleanBuffer::collect_bool(valid.len(), bit));
            drop(valid);
            build(columns, value, length, bits.map(NullBuffer::new))
        }
        Layout::Union { types, fields, branches } => {
            let union = take(&mut columns.unions, *types)?;
            let lengths = union.lengths.iter().map(|length| *length as usize);
            let children =
                branches.iter().zip(lengths).map(|(branch, length)| build(columns, branch, length, None));
            let children = children.collect::<Result<Vec<_>>>()?;
            let array =
                UnionArray::try_new(fields.clone(), union.types.into(), Some(union.offsets.into()), children);
            Ok(Arc::new(array.map_err(internal)?))
        }
        Layout::List { list, field, items } => {
            let (offsets, total) = take_offsets(columns, *list)?;
            let values = build(columns, items, total, None)?;
            Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, nulls).map_err(internal)?))
        }
        Layout::Map { list, field, entries } => {
            let (offsets, total) = take_offsets(columns, *list)?;
            let Layout::Struct { fields, children } = entries.as_ref() else {
                return Err(internal("a map's entries are a struct"));
            };
            let arrays = ["key", "value"]
                .iter()
                .zip(children)
                .map(|(name, child)| build(columns, child, total, None).map_err(|error| error.within(name)));
            let entries = StructArray::try_new(fields.clone(), arrays.collect::<Result<_>>()?, None);
            let entries =
                entries.map_err(|error| Error::new(ErrorKind::Schema, format!("null map key: {error}")))?;
            let array = MapArray::try_new(Arc::clone(field), offsets, entries, nulls, false);
            Ok(Arc::new(array.map_err(internal)?))
        }
        Layout::Struct { fields, children } => {
            let arrays = fields.iter().zip(children).map(|(field, child)| {
                build(columns, child, length, None).map_err(|error| error.within(field.name()))
            });
            let arrays = arrays.collect::<Result<Vec<_>>>()?;
            let array = StructArray::try_new_with_length(fields.clone(), arrays, nulls, length);
            Ok(Arc::new(array.map_err(internal)?))
        }
    }
}

/// The most bytes of symbols in one batch: a number of one byte can refer to a long symbol.
const MAX_SYMBOL_BYTES: usize = 256 << 20;

/// The symbols with these numbers.
fn spell(numbers: &[i32], symbols: &[String], nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let values = || {
        numbers.iter().enumerate().map(|(row, number)| {
            let valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let symbol = usize::try_from(*number).ok().and_then(|number| symbols.get(number));
            symbol.filter(|_| valid).map(String::as_str)
        })
    };
    let bytes: usize = values().flatten().map(str::len).sum();
    if bytes > MAX_SYMBOL_BYTES {
        return Err(Error::new(ErrorKind::Limit, "one batch of this enum's symbols is over 256 MiB"));
    }
    let mut spelled = StringBuilder::with_capacity(numbers.len(), bytes);
    spelled.extend(values());
    Ok(Arc::new(spelled.finish()))
}

fn take_offsets(columns: &mut Columns, list: u32) -> Result<(OffsetBuffer<i32>, usize)> {
    let offsets = take(&mut columns.lists, list)?;
    let total = offsets.last().copied().unwrap_or(0) as usize;
    Ok((OffsetBuffer::new(offsets.into()), total))
}

/// The column with that number.
fn held<T>(pool: &mut [T], number: u32) -> Result<&mut T> {
    nth(pool, number).map_err(|fault| internal(fault.describe().1))
}

/// All values of the column with that number.
fn take<T: Default>(pool: &mut [T], number: u32) -> Result<T> {
    held(pool, number).map(std::mem::take)
}

fn build_leaf(
    columns: &mut Columns,
    leaf: Leaf,
    column: u32,
    data_type: &DataType,
    length: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    match leaf {
        Leaf::Null => Ok(Arc::new(NullArray::new(length))),
        Leaf::Boolean => {
            Ok(Arc::new(BooleanArray::new(held(&mut columns.booleans, column)?.finish(), nulls)))
        }
        Leaf::Float => primitive::<Float32Type>(take(&mut columns.floats, column)?, data_type, nulls),
        Leaf::Double => primitive::<Float64Type>(take(&mut columns.doubles, column)?, data_type, nulls),
        Leaf::Int => {
            let values = take(&mut columns.ints, column)?;
            match data_type {
                DataType::Date32 => primitive::<Date32Type>(values, data_type, nulls),
                DataType::Time32(_) => primitive::<Time32MillisecondType>(values, data_type, nulls),
                _ => primitive::<Int32Type>(values, data_type, nulls),
            }
        }
        Leaf::Long => {
            let values = take(&mut columns.longs, column)?;
            match data_type {
                DataType::Time64(_) => primitive::<Time64MicrosecondType>(values, data_type, nulls),
                DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                    primitive::<TimestampNanosecondType>(values, data_type, nulls)
                }
                DataType::Timestamp(_, _) => primitive::<TimestampMicrosecondType>(values, data_type, nulls),
                _ => primitive::<Int64Type>(values, data_type, nulls),
            }
        }
        Leaf::Millis => {
            let mut values = take(&mut columns.longs, column)?;
            for value in &mut values {
                *value = value.checked_mul(1000).ok_or_else(|| {
                    Error::new(
                        ErrorKind::Timestamp,
                        format!("{value} ms do not fit a timestamp in microseconds"),
                    )
                })?;
            }
            primitive::<TimestampMicrosecondType>(values, data_type, nulls)
        }
        Leaf::Bytes => {
            let values = take(&mut columns.bytes, column)?;
            let offsets = OffsetBuffer::new(ScalarBuffer::from(values.offsets));
            let data = Buffer::from_vec(values.data);
            match data_type {
                DataType::Utf8 => {
                    let array = StringArray::try_new(offsets, data, nulls);
                    Ok(Arc::new(array.map_err(|_| Error::new(ErrorKind::Utf8, "string is not UTF-8"))?))
                }
                DataType::Binary => {
                    Ok(Arc::new(BinaryArray::try_new(offsets, data, nulls).map_err(internal)?))
                }
                _ => {
                    let ends = offsets.iter().skip(1).map(|end| *end as usize);
                    let starts = offsets.iter().map(|start| *start as usize);
                    let values =
                        starts.zip(ends).map(|(start, end)| data.get(start..end).unwrap_or_default());
                    decimals(values, data_type, nulls)
                }
            }
        }
        Leaf::Fixed => {
            let (width, data) = take(&mut columns.fixed, column)?;
            build_fixed(width as usize, data, data_type, length, nulls)
        }
    }
}

fn primitive<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    data_type: &DataType,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let array = PrimitiveArray::<T>::try_new(values.into(), nulls).map_err(internal)?;
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

fn build_fixed(
    width: usize,
    data: Vec<u8>,
    data_type: &DataType,
    length: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let value = |row: usize| {
        let start = row.saturating_mul(width);
        data.get(start..start.saturating_add(width)).unwrap_or_default()
    };
    match data_type {
        DataType::Binary => {
            let offsets = OffsetBuffer::from_repeated_length(width, length);
            Ok(Arc::new(BinaryArray::try_new(offsets, Buffer::from_vec(data), nulls).map_err(internal)?))
        }
        DataType::Interval(_) => {
            let durations = (0..length).map(|row| {
                let word = |at: usize| value(row).get(at..).and_then(|tail| tail.first_chunk::<4>()).copied();
                let word = |at| u32::from_le_bytes(word(at).unwrap_or_default());
                // Arrow counts months and days as signed 32-bit numbers, Avro as unsigned ones.
                let (months, days) = (i32::try_from(word(0)), i32::try_from(word(4)));
                match (months, days) {
                    (Ok(months), Ok(days)) => Ok(IntervalMonthDayNano::new(
                        months,
                        days,
                        i64::from(word(8)).saturating_mul(1_000_000),
                    )),
                    _ => {
                        Err(Error::new(ErrorKind::Timestamp, "duration is beyond 31 bits of months or days"))
                    }
                }
            });
            primitive::<IntervalMonthDayNanoType>(durations.collect::<Result<_>>()?, data_type, nulls)
        }
        _ => decimals((0..length).map(value), data_type, nulls),
    }
}

/// Big-endian two's complement to Arrow decimals; a value with more digits than declared is an error.
fn decimals<'a>(
    values: impl Iterator<Item = &'a [u8]>,
    data_type: &DataType,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let too_wide = || Error::new(ErrorKind::Decimal, "decimal has more digits than its precision");
    match data_type {
        DataType::Decimal128(precision, _) => {
            let most = 10i128.checked_pow(u32::from(*precision)).unwrap_or(i128::MAX);
            let number = |value: &[u8]| {
                let number = i128::from_be_bytes(widened(value)?);
                (number > most.wrapping_neg() && number < most).then_some(number)
            };
            let values = values.map(|value| number(value).ok_or_else(too_wide));
            primitive::<Decimal128Type>(values.collect::<Result<_>>()?, data_type, nulls)
        }
        DataType::Decimal256(precision, _) => {
            let most = i256::from_i128(10).checked_pow(u32::from(*precision)).unwrap_or(i256::MAX);
            let number = |value: &[u8]| {
                let number = i256::from_be_bytes(widened(value)?);
                (number > most.wrapping_neg() && number < most).then_some(number)
            };
            let values = values.map(|value| number(value).ok_or_else(too_wide));
            primitive::<Decimal256Type>(values.collect::<Result<_>>()?, data_type, nulls)
        }
        other => Err(internal(format!("{other} is not a decimal"))),
    }
}

/// Sign-extends a big-endian number to `N` bytes; `None` if it does not fit. No bytes give zero, which is
/// also the value under a null.
fn widened<const N: usize>(value: &[u8]) -> Option<[u8; N]> {
    let fill = if value.first().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
    let spare = value.len().saturating_sub(N);
    let (sign, kept) = value.split_at_checked(spare)?;
    let sign_fits = kept.first().is_none_or(|byte| (byte ^ fill) & 0x80 == 0);
    if sign.iter().any(|byte| *byte != fill) || !(spare == 0 || sign_fits) {
        return None;
    }
    let mut wide = [fill; N];
    wide.get_mut(N.checked_sub(kept.len())?..)?.copy_from_slice(kept);
    Some(wide)
}

#[cold]
fn internal(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Schema, format!("columns do not fold into their Arrow type: {error}"))
}
