//! Converts fields to one Arrow type, whatever the writer's schema.

mod map;

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, Int8Array, Int32Array, Int64Array, LargeBinaryArray, LargeListArray,
    LargeStringArray, ListArray, StringArray, StructArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Fields, TimeUnit};

use self::map::conform_map;
use crate::error::{Error, ErrorKind, Result};
use crate::record::typed;

/// `array` as the type `to`. Writers differ in nullability and in the order and number of a struct's fields;
/// containers differ in the types that they have.
///
/// Buffers are shared where the layout is the same. Int8 and Int32, Int32 and Int64 are converted where every
/// value fits; columns of nulls to any type; lists of pairs to maps (`conform_map`); instants to wall-clock
/// times with the same digits, in microseconds, nanoseconds rounded down; 64-bit offsets to 32-bit ones. A
/// struct's fields are matched by name (`_ROW_RANGE_END` is `row_range_end`, `f0` is `f0`); missing fields
/// are null. Anything else is [`lakebed_avro::ErrorKind::Schema`].
pub(crate) fn conform(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    match (array.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (DataType::Int32, DataType::Int8) => {
            let narrow = typed::<Int32Array>(array, "values")?.try_unary(|value| {
                i8::try_from(value).map_err(|_| mismatch(format!("{value} does not fit 8 bits")))
            });
            narrow.map(|array: Int8Array| Arc::new(array) as ArrayRef)
        }
        (DataType::Int8, DataType::Int32) => {
            let wide: Int32Array = typed::<Int8Array>(array, "values")?.unary(i32::from);
            Ok(Arc::new(wide))
        }
        (DataType::Int64, DataType::Int32) => {
            let narrow = typed::<Int64Array>(array, "values")?.try_unary(|value| {
                i32::try_from(value).map_err(|_| mismatch(format!("{value} does not fit 32 bits")))
            });
            narrow.map(|array: Int32Array| Arc::new(array) as ArrayRef)
        }
        (DataType::Int32, DataType::Int64) => {
            let wide: Int64Array = typed::<Int32Array>(array, "values")?.unary(i64::from);
            Ok(Arc::new(wide))
        }
        (DataType::Null, to) => Ok(new_null_array(to, array.len())),
        (DataType::Map(..), DataType::Map(entries, _)) => conform_map(array, entries),
        (DataType::List(item), DataType::Map(entries, _))
            if matches!(item.data_type(), DataType::Struct(_)) =>
        {
            conform_map(array, entries)
        }
        (DataType::Timestamp(unit, _), DataType::Timestamp(TimeUnit::Microsecond, zone)) => {
            let wall_clock = micros(array, *unit)?.with_timezone_opt(zone.clone());
            Ok(Arc::new(wall_clock))
        }
        (DataType::List(_), DataType::List(item)) => {
            let list = typed::<ListArray>(array, "values")?;
            let values = conform(list.values(), item.data_type())?;
            built(ListArray::try_new(Arc::clone(item), list.offsets().clone(), values, list.nulls().cloned()))
        }
        (DataType::LargeList(_), DataType::List(item)) => {
            let list = typed::<LargeListArray>(array, "values")?;
            let (offsets, values) = (narrow(list.offsets())?, conform(list.values(), item.data_type())?);
            built(ListArray::try_new(Arc::clone(item), offsets, values, list.nulls().cloned()))
        }
        (DataType::LargeUtf8, DataType::Utf8) => {
            let texts = typed::<LargeStringArray>(array, "values")?;
            let offsets = narrow(texts.offsets())?;
            built(StringArray::try_new(offsets, texts.values().clone(), texts.nulls().cloned()))
        }
        (DataType::LargeBinary, DataType::Binary) => {
            let bytes = typed::<LargeBinaryArray>(array, "values")?;
            let offsets = narrow(bytes.offsets())?;
            built(BinaryArray::try_new(offsets, bytes.values().clone(), bytes.nulls().cloned()))
        }
        (DataType::Struct(_), DataType::Struct(fields)) => conform_struct(typed(array, "values")?, fields),
        (from, to) => Err(mismatch(format!("the writer's type {from} is not {to}"))),
    }
}

fn micros(array: &ArrayRef, unit: TimeUnit) -> Result<TimestampMicrosecondArray> {
    match unit {
        TimeUnit::Millisecond => typed::<TimestampMillisecondArray>(array, "values")?
            .try_unary(|value| value.checked_mul(1000).ok_or_else(|| out_of_range(value))),
        TimeUnit::Microsecond => typed(array, "values").cloned(),
        TimeUnit::Nanosecond => {
            Ok(typed::<TimestampNanosecondArray>(array, "values")?.unary(|value| value.div_euclid(1000)))
        }
        TimeUnit::Second => Err(mismatch("the format has no timestamps in seconds".to_owned())),
    }
}

#[cold]
fn out_of_range(millis: i64) -> Error {
    let message = format!("{millis} ms do not fit 64 bits of microseconds");
    Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Timestamp), message)
}

fn narrow(offsets: &OffsetBuffer<i64>) -> Result<OffsetBuffer<i32>> {
    let narrow = offsets.iter().map(|offset| i32::try_from(*offset));
    let narrow = narrow.collect::<Result<Vec<i32>, _>>();
    let narrow = narrow.map_err(|_| mismatch("more than 2 GiB of values in one column".to_owned()))?;
    Ok(OffsetBuffer::new(narrow.into()))
}

fn conform_struct(array: &StructArray, fields: &Fields) -> Result<ArrayRef> {
    let columns = fields.iter().map(|field| {
        let name = format!("_{}", field.name().to_uppercase());
        match array.column_by_name(&name).or_else(|| array.column_by_name(field.name())) {
            Some(column) => conform(column, field.data_type()).map_err(|error| error.in_field(field.name())),
            None => Ok(new_null_array(field.data_type(), array.len())),
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    built(StructArray::try_new_with_length(fields.clone(), columns, array.nulls().cloned(), array.len()))
}

fn built<T: Array + 'static>(array: Result<T, ArrowError>) -> Result<ArrayRef> {
    array.map(|array| Arc::new(array) as ArrayRef).map_err(|error| mismatch(error.to_string()))
}

#[cold]
fn mismatch(message: String) -> Error {
    Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Schema), message)
}
