//! Levels and values to Arrow columns.
//!
//! Source: Parquet specification, "Nested Encoding"; the Dremel paper, section 4.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{ArrayRef, ListArray, MapArray, PrimitiveArray, StructArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, TimeUnit};
use lakebed_avro::{Error, ErrorKind, Result};

use super::leaf::Rows;
use super::levels::any_below;
use super::schema::{Column, Nesting, Shape};
use super::values::Values;
use crate::arrays::{boolean, count_differs, decimal, narrow, primitive, room, shared};
use crate::budget::Budget;

/// The rows of the leaves below a column, taken in order.
pub(super) type Leaves<'l> = std::slice::IterMut<'l, Rows>;

/// The column of some rows.
///
/// # Errors
/// `Count` where the leaves of a record contradict each other, `Utf8`, and those of values.
pub(super) fn assemble(column: &Column, leaves: &mut Leaves<'_>, budget: &mut Budget) -> Result<ArrayRef> {
    build(column, Nesting::default(), leaves, budget)
}

impl Rows {
    /// The definition levels of the column's positions within the repetition `level`.
    fn places(&self, level: Nesting) -> impl Iterator<Item = u8> + '_ {
        let repeated = self.repetition.iter().copied().chain(std::iter::repeat(0));
        let entries = repeated.zip(self.definition.iter().copied());
        let within =
            move |(repeated, defined): &(u8, u8)| *repeated <= level.repeated && *defined >= level.defined;
        entries.filter(within).map(|(_, defined)| defined)
    }

    /// The validity of the positions; `None` where none can be null.
    fn nulls(&self, level: Nesting, defined: u8) -> Option<NullBuffer> {
        if defined <= level.defined || !any_below(&self.definition, defined) {
            return None;
        }
        let is_flat = self.repetition.is_empty() && level.defined == 0;
        let valid = match is_flat {
            true => BooleanBuffer::collect_bool(self.definition.len(), |entry| {
                self.definition.get(entry).is_some_and(|level| *level >= defined)
            }),
            false => self.places(level).map(|level| level >= defined).collect(),
        };
        Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0)
    }

    fn count(&self, level: Nesting) -> usize {
        if self.definition.is_empty() { self.entries } else { self.places(level).count() }
    }
}

fn build(column: &Column, level: Nesting, leaves: &mut Leaves<'_>, budget: &mut Budget) -> Result<ArrayRef> {
    built(column, level, leaves, budget).map_err(|error| error.within(column.field.name()))
}

fn built(column: &Column, level: Nesting, leaves: &mut Leaves<'_>, budget: &mut Budget) -> Result<ArrayRef> {
    // The levels of the first leaf below a column are those of all.
    let first = leaves.as_slice().first().ok_or_else(count_differs)?;
    let nulls = first.nulls(level, column.defined);
    match &column.shape {
        Shape::Leaf(_) => {
            let rows = leaves.next().ok_or_else(count_differs)?;
            let values = std::mem::replace(&mut rows.values, Values::Boolean(Vec::new()));
            leaf(values, column.field.data_type(), nulls, budget)
        }
        Shape::Struct(children) => {
            let count = first.count(level);
            let DataType::Struct(fields) = column.field.data_type() else { return Err(count_differs()) };
            let children = children.iter().map(|child| build(child, level, leaves, budget));
            let children = children.collect::<Result<Vec<_>>>()?;
            shared(StructArray::try_new_with_length(fields.clone(), children, nulls, count))
        }
        Shape::List { items, item } => {
            let offsets = offsets(first, level, *items, budget)?;
            let values = build(item, *items, leaves, budget)?;
            shared(ListArray::try_new(Arc::clone(&item.field), offsets, values, nulls))
        }
        Shape::Map { items, entries } => {
            let offsets = offsets(first, level, *items, budget)?;
            let DataType::Map(field, _) = column.field.data_type() else { return Err(count_differs()) };
            let DataType::Struct(fields) = field.data_type() else { return Err(count_differs()) };
            let [key, value] = entries.as_ref();
            let entries = vec![build(key, *items, leaves, budget)?, build(value, *items, leaves, budget)?];
            let entries = StructArray::try_new(fields.clone(), entries, None);
            let entries = entries.map_err(|error| Error::new(ErrorKind::Required, error.to_string()))?;
            shared(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, false))
        }
    }
}

/// The offsets of the items of each position.
fn offsets(rows: &Rows, level: Nesting, items: Nesting, budget: &mut Budget) -> Result<OffsetBuffer<i32>> {
    let mut offsets: Vec<i32> = room(rows.entries.saturating_add(1), budget)?;
    i32::try_from(rows.entries).map_err(|_| count_differs())?;
    let mut end = 0_i32;
    // A column of lists has both levels for each entry.
    for (repeated, defined) in rows.repetition.iter().zip(&rows.definition) {
        if *repeated <= level.repeated && *defined >= level.defined {
            offsets.push(end);
        }
        let is_item = *repeated <= items.repeated && *defined >= items.defined;
        end = end.saturating_add(i32::from(is_item));
    }
    offsets.push(end);
    Ok(OffsetBuffer::new(offsets.into()))
}

fn leaf(values: Values, to: &DataType, nulls: Option<NullBuffer>, budget: &mut Budget) -> Result<ArrayRef> {
    Ok(match (values, to) {
        (Values::Boolean(values), DataType::Boolean) => boolean(values, nulls, budget)?,
        (Values::Float(values), DataType::Float32) => number::<Float32Type>(values, nulls, budget)?,
        (Values::Double(values), DataType::Float64) => number::<Float64Type>(values, nulls, budget)?,
        (Values::Int32(values), DataType::Int8) => {
            number::<Int8Type>(values.into_iter().map(narrow).collect::<Result<_>>()?, nulls, budget)?
        }
        (Values::Int32(values), DataType::Int16) => {
            number::<Int16Type>(values.into_iter().map(narrow).collect::<Result<_>>()?, nulls, budget)?
        }
        (Values::Int32(values), DataType::Int32) => number::<Int32Type>(values, nulls, budget)?,
        (Values::Int32(values), DataType::Date32) => number::<Date32Type>(values, nulls, budget)?,
        (Values::Int32(values), DataType::Time32(_)) => {
            number::<Time32MillisecondType>(values, nulls, budget)?
        }
        // Unsigned: the bits are the number.
        (Values::Int32(values), DataType::Int64) => {
            let values = values.into_iter().map(|value| i64::from(value.cast_unsigned())).collect();
            number::<Int64Type>(values, nulls, budget)?
        }
        (Values::Int32(values), DataType::Decimal128(precision, scale)) => {
            decimal(wide(values, budget)?, (*precision, *scale), nulls, budget)?
        }
        (Values::Int64(values), DataType::Int64) => number::<Int64Type>(values, nulls, budget)?,
        (Values::Int64(values), DataType::Time64(TimeUnit::Microsecond)) => {
            number::<Time64MicrosecondType>(values, nulls, budget)?
        }
        (Values::Int64(values), DataType::Time64(TimeUnit::Nanosecond)) => {
            number::<Time64NanosecondType>(values, nulls, budget)?
        }
        (Values::Int64(values), DataType::Timestamp(unit, zone)) => match unit {
            TimeUnit::Millisecond => zoned(
                primitive::<TimestampMillisecondType>(values, nulls, budget)?.with_timezone_opt(zone.clone()),
            ),
            TimeUnit::Nanosecond => zoned(
                primitive::<TimestampNanosecondType>(values, nulls, budget)?.with_timezone_opt(zone.clone()),
            ),
            _ => zoned(
                primitive::<TimestampMicrosecondType>(values, nulls, budget)?.with_timezone_opt(zone.clone()),
            ),
        },
        (Values::Int64(values), DataType::Decimal128(precision, scale)) => {
            decimal(wide(values, budget)?, (*precision, *scale), nulls, budget)?
        }
        (Values::Bytes(values), DataType::Utf8) => values.into_array(true, nulls, budget)?,
        (Values::Bytes(values), DataType::Binary) => values.into_array(false, nulls, budget)?,
        (Values::Bytes(bytes), DataType::Decimal128(precision, scale)) => {
            let mut values = room(bytes.len(), budget)?;
            for number in 0..bytes.len() {
                values.push(unscaled(bytes.get(number).unwrap_or_default())?);
            }
            decimal(values, (*precision, *scale), nulls, budget)?
        }
        (_, to) => {
            return Err(Error::new(ErrorKind::Unsupported, format!("values of a column that is {to}")));
        }
    })
}

fn number<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
    budget: &mut Budget,
) -> Result<ArrayRef> {
    primitive::<T>(values, nulls, budget).map(zoned)
}

fn zoned<T: ArrowPrimitiveType>(array: PrimitiveArray<T>) -> ArrayRef {
    Arc::new(array)
}

/// A number in two's complement, highest byte first.
fn unscaled(bytes: &[u8]) -> Result<i128> {
    if bytes.is_empty() || bytes.len() > 16 {
        return Err(Error::new(ErrorKind::Decimal, format!("a decimal of {} bytes", bytes.len())));
    }
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { -1_i128 } else { 0 };
    Ok(bytes.iter().fold(sign, |value, byte| value << 8 | i128::from(*byte)))
}

fn wide<T: Into<i128>>(values: Vec<T>, budget: &mut Budget) -> Result<Vec<i128>> {
    let mut wide = room(values.len(), budget)?;
    wide.extend(values.into_iter().map(Into::into));
    Ok(wide)
}
