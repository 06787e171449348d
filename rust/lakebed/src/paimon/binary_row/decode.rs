//! Decodes slots to Arrow columns, one loop for each column.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, TimeUnit};

use super::frame::Cell;
use super::layout::unsupported;
use super::layout::{self, NANOS_PER_MILLI, SLOT_BYTES, WIDE_DECIMAL_BYTES};
use super::nested;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::types::{EXACT_TIME, exact_times};

/// The values of one column, in row order; `None` for a null.
pub(super) type Cells<'a> = [Option<Cell<'a>>];

/// Decodes `cells` as `field`; `path` is the field's place in the schema.
///
/// `room` is what is left of the bytes that all values of this nesting level may take.
pub(super) fn column(cells: &Cells<'_>, field: &Field, path: &str, room: &mut u64) -> Result<ArrayRef> {
    typed(cells, field, path, room).map_err(|error| error.in_field(path))
}

fn typed(cells: &Cells<'_>, field: &Field, path: &str, room: &mut u64) -> Result<ArrayRef> {
    Ok(match field.data_type() {
        DataType::Boolean => Arc::new(booleans(cells)?),
        DataType::Int8 => Arc::new(plain::<Int8Type>(cells, |slot| slot as i8)),
        DataType::Int16 => Arc::new(plain::<Int16Type>(cells, |slot| slot as i16)),
        DataType::Int32 => Arc::new(plain::<Int32Type>(cells, |slot| slot as i32)),
        DataType::Int64 => Arc::new(plain::<Int64Type>(cells, |slot| slot as i64)),
        DataType::Float32 => Arc::new(plain::<Float32Type>(cells, |slot| f32::from_bits(slot as u32))),
        DataType::Float64 => Arc::new(plain::<Float64Type>(cells, f64::from_bits)),
        DataType::Date32 => Arc::new(plain::<Date32Type>(cells, |slot| slot as i32)),
        DataType::Time32(TimeUnit::Millisecond) => {
            Arc::new(plain::<Time32MillisecondType>(cells, |slot| slot as i32))
        }
        DataType::Timestamp(unit, zone) => timestamps(cells, *unit, zone.clone())?,
        exact if *exact == EXACT_TIME => exact_timestamps(cells)?,
        DataType::Decimal128(precision, scale) => Arc::new(decimals(cells, *precision, *scale)?),
        DataType::Utf8 => Arc::new(strings(cells, room)?),
        DataType::Binary => Arc::new(byte_strings(cells, room)?),
        DataType::List(element) => Arc::new(nested::lists(cells, element, path, room)?),
        DataType::FixedSizeList(element, size) if layout::is_vector_element(element.data_type()) => {
            Arc::new(nested::vectors(cells, element, *size, path, room)?)
        }
        DataType::Map(entries, sorted) => Arc::new(nested::maps(cells, entries, *sorted, path, room)?),
        DataType::Struct(fields) if layout::is_variant(field) => {
            Arc::new(nested::variants(cells, fields, room)?)
        }
        DataType::Struct(fields) => Arc::new(nested::rows(cells, fields, path, room)?),
        _ => return Err(unsupported(field)),
    })
}

/// The validity of `cells`; `None` if none is null.
pub(super) fn nulls<T>(cells: &[Option<T>]) -> Option<NullBuffer> {
    let nulls = NullBuffer::new(BooleanBuffer::collect_bool(cells.len(), |index| cells[index].is_some()));
    (nulls.null_count() > 0).then_some(nulls)
}

/// A column whose slots are its values.
fn plain<T: ArrowPrimitiveType>(cells: &Cells<'_>, read: impl Fn(u64) -> T::Native) -> PrimitiveArray<T> {
    let values = cells.iter().map(|cell| cell.map_or_else(T::Native::default, |cell| read(cell.slot)));
    PrimitiveArray::new(values.collect::<Vec<_>>().into(), nulls(cells))
}

/// A column whose values must be checked, or are outside of their slots.
fn checked<'a, T: ArrowPrimitiveType>(
    cells: &Cells<'a>,
    read: impl Fn(&Cell<'a>) -> Result<T::Native>,
) -> Result<PrimitiveArray<T>> {
    let mut values = Vec::with_capacity(cells.len());
    for cell in cells {
        values.push(match cell {
            Some(cell) => read(cell)?,
            None => T::Native::default(),
        });
    }
    Ok(PrimitiveArray::new(values.into(), nulls(cells)))
}

fn booleans(cells: &Cells<'_>) -> Result<BooleanArray> {
    if let Some(cell) = cells.iter().flatten().find(|cell| cell.slot as u8 > 1) {
        return Err(cell.fault(ErrorKind::Boolean, "a boolean is neither 0 nor 1"));
    }
    let values = BooleanBuffer::collect_bool(cells.len(), |index| {
        cells[index].is_some_and(|cell| cell.slot as u8 == 1)
    });
    Ok(BooleanArray::new(values, nulls(cells)))
}

fn decimals(cells: &Cells<'_>, precision: u8, scale: i8) -> Result<PrimitiveArray<Decimal128Type>> {
    let bound = layout::decimal_bound(precision, scale)?;
    let within = |cell: &Cell<'_>, value: i128| {
        let fits = value.unsigned_abs() < bound;
        if fits { Ok(value) } else { Err(cell.fault(ErrorKind::Decimal, "more digits than the precision")) }
    };
    let values = if layout::is_compact(precision) {
        checked::<Decimal128Type>(cells, |cell| within(cell, (cell.slot as i64).into()))
    } else {
        checked::<Decimal128Type>(cells, |cell| within(cell, wide_decimal(cell)?))
    };
    values?.with_precision_and_scale(precision, scale).map_err(Into::into)
}

/// A big-endian two's complement of 1 to 16 bytes, outside of its slot.
fn wide_decimal(cell: &Cell<'_>) -> Result<i128> {
    let length = cell.slot as u32;
    let start = WIDE_DECIMAL_BYTES.checked_sub(length as usize).filter(|_| length > 0);
    let Some(start) = start else {
        return Err(cell.fault(ErrorKind::Decimal, "a decimal is not 1 to 16 bytes long"));
    };
    let bytes = cell.slice((cell.slot >> 32) as u32, length)?;
    let negative = bytes.first().is_some_and(|first| *first >= 0x80);
    let mut value = if negative { [0xff; WIDE_DECIMAL_BYTES] } else { [0; WIDE_DECIMAL_BYTES] };
    value[start..].copy_from_slice(bytes);
    Ok(i128::from_be_bytes(value))
}

fn timestamps(cells: &Cells<'_>, unit: TimeUnit, zone: Option<Arc<str>>) -> Result<ArrayRef> {
    type Seconds = TimestampSecondType;
    type Millis = TimestampMillisecondType;
    type Micros = TimestampMicrosecondType;
    type Nanos = TimestampNanosecondType;
    Ok(match unit {
        TimeUnit::Second => Arc::new(checked::<Seconds>(cells, seconds)?.with_timezone_opt(zone)),
        TimeUnit::Millisecond => Arc::new(plain::<Millis>(cells, |slot| slot as i64).with_timezone_opt(zone)),
        TimeUnit::Microsecond => {
            Arc::new(checked::<Micros>(cells, |cell| wide_timestamp(cell, 1000))?.with_timezone_opt(zone))
        }
        TimeUnit::Nanosecond => {
            Arc::new(checked::<Nanos>(cells, |cell| wide_timestamp(cell, 1))?.with_timezone_opt(zone))
        }
    })
}

fn seconds(cell: &Cell<'_>) -> Result<i64> {
    let millis = cell.slot as i64;
    let whole = millis % 1000 == 0;
    if whole { Ok(millis / 1000) } else { Err(cell.fault(ErrorKind::Timestamp, "not a whole second")) }
}

fn exact_timestamps(cells: &Cells<'_>) -> Result<ArrayRef> {
    let nanos = cells.iter().map(|cell| cell.as_ref().map(nanoseconds).transpose());
    Ok(exact_times(nanos.collect::<Result<Vec<_>>>()?))
}

/// Milliseconds outside of the slot and the remaining nanoseconds in it, in units of `tick` nanoseconds.
#[inline]
fn wide_timestamp(cell: &Cell<'_>, tick: i64) -> Result<i64> {
    let (nanos, tick) = (nanoseconds(cell)?, i128::from(tick));
    if nanos % tick != 0 {
        return Err(cell.fault(ErrorKind::Timestamp, "finer than its precision"));
    }
    i64::try_from(nanos / tick)
        .map_err(|_| cell.fault(ErrorKind::Timestamp, "does not fit 64 bits of its unit"))
}

/// Nanoseconds since 1970: milliseconds outside of the slot, and the rest in it.
#[inline]
fn nanoseconds(cell: &Cell<'_>) -> Result<i128> {
    let nanos = i64::from(cell.slot as u32);
    if nanos >= NANOS_PER_MILLI {
        return Err(cell.fault(ErrorKind::Timestamp, "a millisecond or more beside the milliseconds"));
    }
    Ok(i128::from(cell.long()?) * i128::from(NANOS_PER_MILLI) + i128::from(nanos))
}

fn strings(cells: &Cells<'_>, room: &mut u64) -> Result<StringArray> {
    let (offsets, values) = bytes(cells, room)?;
    // The whole column is validated at once; the row is looked for only if that fails.
    StringArray::try_new(offsets.clone(), values.clone(), nulls(cells)).map_err(|cause| {
        let wrong = cells.iter().zip(offsets.windows(2)).find_map(|(cell, window)| {
            let value = values.get(window[0] as usize..window[1] as usize)?;
            str::from_utf8(value).is_err().then_some(cell.as_ref()?)
        });
        wrong.map_or_else(|| cause.into(), |cell| cell.fault(ErrorKind::Utf8, "a string is not UTF-8"))
    })
}

fn byte_strings(cells: &Cells<'_>, room: &mut u64) -> Result<BinaryArray> {
    let (offsets, values) = bytes(cells, room)?;
    BinaryArray::try_new(offsets, values, nulls(cells)).map_err(Into::into)
}

/// The bytes of all values, one after another, and the offset of each.
fn bytes(cells: &Cells<'_>, room: &mut u64) -> Result<(OffsetBuffer<i32>, Buffer)> {
    let mut values = Vec::with_capacity(cells.len() * SLOT_BYTES);
    let mut offsets = Vec::with_capacity(cells.len() + 1);
    offsets.push(0);
    for cell in cells {
        if let Some(cell) = cell {
            match cell.inline_length()? {
                // Copying a fixed width and then cutting is faster than copying a few bytes.
                Some(length) => {
                    let end = values.len() + length;
                    values.extend_from_slice(&cell.slot.to_le_bytes());
                    values.truncate(end);
                }
                None => values.extend_from_slice(cell.variable(room)?),
            }
        }
        offsets.push(offset(values.len())?);
    }
    Ok((OffsetBuffer::new(offsets.into()), values.into()))
}

/// A length as an Arrow offset.
pub(super) fn offset(length: usize) -> Result<i32> {
    i32::try_from(length)
        .map_err(|_| Error::new(ErrorKind::Length, "a column of more than 2^31 - 1 bytes or values"))
}
