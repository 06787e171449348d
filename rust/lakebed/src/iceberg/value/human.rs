//! Values in readable form, as in partition paths and in summaries of manifests.

use std::fmt::{self, Write};

use arrow_array::builder::StringBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, StringArray};

use super::text::{Unit, write_base64, write_big_decimal, write_day, write_timestamp};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::Type;
use crate::record::typed;
use crate::text::{WallClock, write_float};

/// The text of null.
const NULL: &str = "null";

/// The text of each value of `array`, which has the Arrow type of `ty`, as `Transform.toHumanString` prints
/// it: `2017-12-01`, `10:15:30.500`, `2017-12-01T10:15:30.5+00:00`, decimals like `BigDecimal.toString`,
/// bytes in base 64; null is `null`. No result is null.
///
/// Cost is one pass.
///
/// # Errors
/// `ErrorKind::Argument` for an array of another type; `ErrorKind::Unsupported` for a value that is not null,
/// of a type that cannot partition a table: nested ones, variants and geometries.
pub(crate) fn texts(array: &ArrayRef, ty: &Type) -> Result<StringArray> {
    super::expect_type(array, ty)?;
    match ty {
        Type::Boolean => {
            let values = typed::<BooleanArray>(array, "values")?;
            print(array, |out, row| write!(out, "{}", values.value(row)))
        }
        Type::Int => primitives::<Int32Type>(array, |out, value| write!(out, "{value}")),
        Type::Long => primitives::<Int64Type>(array, |out, value| write!(out, "{value}")),
        Type::Float => primitives::<Float32Type>(array, write_float),
        Type::Double => primitives::<Float64Type>(array, write_float),
        Type::Decimal { scale, .. } => {
            primitives::<Decimal128Type>(array, |out, value| write_big_decimal(out, value, *scale))
        }
        Type::Date => primitives::<Date32Type>(array, |out, days| write_day(out, days.into())),
        Type::Time => primitives::<Time64MicrosecondType>(array, |out, micros| {
            WallClock::from_epoch(micros, Unit::Micros.per_second()).write_iso_clock(out)
        }),
        Type::Timestamp | Type::Timestamptz => {
            let is_instant = *ty == Type::Timestamptz;
            primitives::<TimestampMicrosecondType>(array, |out, value| {
                write_timestamp(out, value, Unit::Micros, is_instant)
            })
        }
        Type::TimestampNs | Type::TimestamptzNs => {
            let is_instant = *ty == Type::TimestamptzNs;
            primitives::<TimestampNanosecondType>(array, |out, value| {
                write_timestamp(out, value, Unit::Nanos, is_instant)
            })
        }
        Type::String | Type::Uuid => {
            let values = typed::<StringArray>(array, "values")?;
            print(array, |out, row| out.write_str(values.value(row)))
        }
        Type::Fixed(_) | Type::Binary => {
            let values = typed::<BinaryArray>(array, "values")?;
            print(array, |out, row| {
                write_base64(out, values.value(row));
                Ok(())
            })
        }
        Type::Unknown => Ok(nulls(array)),
        _ if array.null_count() == array.len() => Ok(nulls(array)),
        _ => Err(Error::new(ErrorKind::Unsupported, format!("values of {ty} have no text"))),
    }
}

/// `null` for every value.
pub(crate) fn nulls(array: &ArrayRef) -> StringArray {
    StringArray::from_iter_values(std::iter::repeat_n(NULL, array.len()))
}

/// The texts of numbers, written by `write`.
pub(crate) fn primitives<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    write: impl Fn(&mut String, T::Native) -> fmt::Result,
) -> Result<StringArray> {
    let values = typed::<PrimitiveArray<T>>(array, "values")?;
    print(array, |out, row| write(out, values.value(row)))
}

fn print(array: &ArrayRef, write: impl Fn(&mut String, usize) -> fmt::Result) -> Result<StringArray> {
    let mut texts = StringBuilder::with_capacity(array.len(), array.len() * 8);
    let mut text = String::new();
    for row in 0..array.len() {
        text.clear();
        if array.is_valid(row) { write(&mut text, row) } else { text.write_str(NULL) }
            .map_err(|error| Error::new(ErrorKind::Argument, "a value has no text").caused_by(error))?;
        texts.append_value(&text);
    }
    Ok(texts.finish())
}
