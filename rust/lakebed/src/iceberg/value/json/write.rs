//! Writes Arrow as JSON single values.

use std::fmt::{self, Display};

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, ListArray, MapArray, PrimitiveArray, StringArray, StructArray,
};
use serde_json::{Map, Number, Value, json};

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::{FieldRef, Type};
use crate::iceberg::value::expect_type;
use crate::iceberg::value::text::write_hex;
use crate::iceberg::value::text::{Unit, write_big_decimal, write_timestamp};
use crate::record::typed;
use crate::text::{WallClock, write_date, write_decimal};

/// The values of an array as JSON single values; null is JSON null.
///
/// `array` has the Arrow type of `ty`. Hex digits are lower case, fractions of seconds as short as possible.
/// Cost is one pass.
///
/// # Errors
/// `ErrorKind::Argument` for an array of another type, and for NaN and the infinities, which JSON does not
/// have; `ErrorKind::Unsupported` for variants and geometries that are not null.
pub fn to_json(array: &ArrayRef, ty: &Type) -> Result<Vec<Value>> {
    expect_type(array, ty)?;
    write(array, ty)
}

fn write(array: &ArrayRef, ty: &Type) -> Result<Vec<Value>> {
    match ty {
        Type::Boolean => {
            let values = typed::<BooleanArray>(array, "values")?;
            each(array, |row| Ok(Value::Bool(values.value(row))))
        }
        Type::Int => primitives::<Int32Type>(array, |value| Ok(json!(value))),
        Type::Long => primitives::<Int64Type>(array, |value| Ok(json!(value))),
        Type::Float => primitives::<Float32Type>(array, number),
        Type::Double => primitives::<Float64Type>(array, number),
        Type::Decimal { scale, .. } => {
            primitives::<Decimal128Type>(array, |value| text(|out| decimal(out, value, *scale)))
        }
        Type::Date => primitives::<Date32Type>(array, |days| text(|out| write_date(out, days.into()))),
        Type::Time => primitives::<Time64MicrosecondType>(array, |micros| {
            text(|out| WallClock::from_epoch(micros, Unit::Micros.per_second()).write_clock(out, 0))
        }),
        Type::Timestamp | Type::Timestamptz => primitives::<TimestampMicrosecondType>(array, |value| {
            text(|out| write_timestamp(out, value, Unit::Micros, *ty == Type::Timestamptz))
        }),
        Type::TimestampNs | Type::TimestamptzNs => primitives::<TimestampNanosecondType>(array, |value| {
            text(|out| write_timestamp(out, value, Unit::Nanos, *ty == Type::TimestamptzNs))
        }),
        Type::String | Type::Uuid => {
            let values = typed::<StringArray>(array, "values")?;
            each(array, |row| Ok(Value::from(values.value(row))))
        }
        Type::Fixed(_) | Type::Binary => {
            let values = typed::<BinaryArray>(array, "values")?;
            each(array, |row| text(|out| write_hex(out, values.value(row))))
        }
        Type::Struct(fields) => structs(array, fields),
        Type::List(element) => {
            let lists = typed::<ListArray>(array, "values")?;
            each(array, |row| Ok(Value::Array(write(&lists.value(row), &element.ty)?)))
        }
        Type::Map(key, value) => {
            let maps = typed::<MapArray>(array, "values")?;
            each(array, |row| {
                let entries = maps.value(row);
                let [keys, values] =
                    [(0, key), (1, value)].map(|(at, field)| write(entries.column(at), &field.ty));
                Ok(json!({"keys": keys?, "values": values?}))
            })
        }
        Type::Unknown => Ok(vec![Value::Null; array.len()]),
        Type::Variant | Type::Geometry { .. } | Type::Geography { .. } => each(array, |_| {
            Err(Error::new(ErrorKind::Unsupported, format!("the only JSON value of {ty} is null")))
        }),
    }
}

fn each(array: &ArrayRef, write: impl Fn(usize) -> Result<Value>) -> Result<Vec<Value>> {
    (0..array.len()).map(|row| if array.is_valid(row) { write(row) } else { Ok(Value::Null) }).collect()
}

fn primitives<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    write: impl Fn(T::Native) -> Result<Value>,
) -> Result<Vec<Value>> {
    let values = typed::<PrimitiveArray<T>>(array, "values")?;
    each(array, |row| write(values.value(row)))
}

fn structs(array: &ArrayRef, fields: &[FieldRef]) -> Result<Vec<Value>> {
    let columns = typed::<StructArray>(array, "values")?.columns().iter().zip(fields);
    let columns = columns.map(|(column, field)| Ok((field.id.to_string(), write(column, &field.ty)?)));
    let columns = columns.collect::<Result<Vec<(String, Vec<Value>)>>>()?;
    each(array, |row| {
        let cells = columns.iter().filter_map(|(key, cells)| Some((key.clone(), cells.get(row)?.clone())));
        Ok(Value::Object(cells.collect::<Map<String, Value>>()))
    })
}

/// A float with the digits of its own width: `1.23`, not `1.2300000190734863`.
fn number(value: impl Display) -> Result<Value> {
    let number = value.to_string().parse().ok().and_then(Number::from_f64);
    number
        .map(Value::Number)
        .ok_or_else(|| Error::new(ErrorKind::Argument, format!("JSON cannot hold the number {value}")))
}

fn decimal(out: &mut String, unscaled: i128, scale: i8) -> fmt::Result {
    match usize::try_from(scale) {
        Ok(scale) => write_decimal(out, unscaled, scale),
        Err(_) => write_big_decimal(out, unscaled, scale),
    }
}

fn text(write: impl FnOnce(&mut String) -> fmt::Result) -> Result<Value> {
    let mut text = String::new();
    write(&mut text)
        .map_err(|error| Error::new(ErrorKind::Argument, "a value has no text").caused_by(error))?;
    Ok(Value::String(text))
}
