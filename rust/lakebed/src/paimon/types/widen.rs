//! Converts storage arrays to view arrays: milliseconds become microseconds, everything else is shared.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMicrosecondType, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, ListArray, MapArray, PrimitiveArray, StructArray};
use arrow_schema::{DataType, FieldRef, Fields, TimeUnit};

use crate::error::{Error, ErrorKind, Result};

const MICROS_PER_MILLI: i64 = 1000;

/// `array` as the type `to`, which may differ from its own only in timestamps in microseconds instead of
/// milliseconds, and in fields that are nullable.
///
/// Buffers are shared wherever the types agree. Cost is one pass over the converted timestamps.
///
/// # Errors
/// [`ErrorKind::Timestamp`] for a time that does not fit 64 bits of microseconds; [`ErrorKind::Argument`] for
/// types that differ in anything else; [`ErrorKind::Internal`] for nulls where `to` allows none.
pub fn widen(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    use DataType::{FixedSizeList, List, Map, Struct, Timestamp};
    match (array.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (Timestamp(TimeUnit::Millisecond, from_zone), Timestamp(TimeUnit::Microsecond, to_zone))
            if from_zone == to_zone =>
        {
            micros(array.as_primitive::<TimestampMillisecondType>())
        }
        (List(_), List(item)) => {
            let list = array.as_list::<i32>();
            let values = widen(list.values(), item.data_type())?;
            built(ListArray::try_new(Arc::clone(item), list.offsets().clone(), values, list.nulls().cloned()))
        }
        (FixedSizeList(_, from), FixedSizeList(item, size)) if from == size => {
            let list = array.as_fixed_size_list();
            let values = widen(list.values(), item.data_type())?;
            built(FixedSizeListArray::try_new(Arc::clone(item), *size, values, list.nulls().cloned()))
        }
        (Struct(from), Struct(fields)) if from.len() == fields.len() => {
            structure(array.as_struct(), fields).map(|array| Arc::new(array) as ArrayRef)
        }
        (Map(_, from), Map(entries, sorted)) if from == sorted => map(array.as_map(), entries, *sorted),
        (from, to) => Err(Error::new(ErrorKind::Argument, format!("{from} does not widen to {to}"))),
    }
}

fn micros(array: &PrimitiveArray<TimestampMillisecondType>) -> Result<ArrayRef> {
    let wider: PrimitiveArray<TimestampMicrosecondType> = array.try_unary(|millis| {
        millis.checked_mul(MICROS_PER_MILLI).ok_or_else(|| {
            let message = format!("{millis} ms since 1970 is beyond 64 bits of microseconds");
            Error::new(ErrorKind::Timestamp, message)
        })
    })?;
    Ok(Arc::new(wider.with_timezone_opt(array.timezone())))
}

fn structure(array: &StructArray, fields: &Fields) -> Result<StructArray> {
    let columns = array.columns().iter().zip(fields).map(|(column, field)| widen(column, field.data_type()));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    StructArray::try_new_with_length(fields.clone(), columns, array.nulls().cloned(), array.len())
        .map_err(Into::into)
}

fn map(array: &MapArray, entries: &FieldRef, sorted: bool) -> Result<ArrayRef> {
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(Error::new(ErrorKind::Argument, "the entries of a map are not a struct"));
    };
    let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
    let rows = structure(array.entries(), fields)?;
    built(MapArray::try_new(Arc::clone(entries), offsets, rows, nulls, sorted))
}

fn built(array: Result<impl Array + 'static, impl Into<Error>>) -> Result<ArrayRef> {
    array.map(|array| Arc::new(array) as ArrayRef).map_err(Into::into)
}
