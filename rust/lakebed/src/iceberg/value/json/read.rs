//! Reads JSON single values as Arrow.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, ListArray, MapArray, NullArray, PrimitiveArray, StringArray,
    StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType};
use serde_json::Value;

use super::scalar::{date, date_time, shown, time_of_day, unscaled};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::{FieldRef, Type};
use crate::iceberg::value::text::Unit;
use crate::iceberg::value::text::parse_hex;
use crate::iceberg::value::text::{parse_uuid, write_uuid};
use crate::json::invalid;

/// JSON single values of one type as an array of its Arrow type; JSON null is null.
///
/// A missing key of a struct gets the initial default of its field. Hex digits may have any case; seconds and
/// fractions of times are optional. Cost is one pass.
///
/// # Errors
/// `ErrorKind::Json` for a value of the wrong JSON type; `ErrorKind::Decimal`, `ErrorKind::Timestamp`,
/// `ErrorKind::Uuid` and `ErrorKind::Length` for a value that is not of its type; `ErrorKind::Required` for a
/// null in a required field, each with its record; `ErrorKind::Unsupported` for variants and geometries that
/// are not null.
pub fn from_json(values: &[Value], ty: &Type) -> Result<ArrayRef> {
    read(&values.iter().collect::<Vec<_>>(), ty)
}

/// Reads a value; `None` if it has another JSON type.
type Scalar<T> = fn(&Value) -> Option<T>;

fn read(values: &[&Value], ty: &Type) -> Result<ArrayRef> {
    let float: Scalar<f64> = Value::as_f64;
    Ok(match ty {
        Type::Boolean => {
            Arc::new(column::<_, BooleanArray>(values, |value| value.as_bool().ok_or_else(wrong))?)
        }
        Type::Int => numbers::<Int32Type>(values, ty, |value| {
            value.as_i64().and_then(|value| value.try_into().ok()).ok_or_else(wrong)
        })?,
        Type::Long => numbers::<Int64Type>(values, ty, |value| value.as_i64().ok_or_else(wrong))?,
        Type::Float => {
            numbers::<Float32Type>(values, ty, |value| float(value).map(narrow).ok_or_else(wrong))?
        }
        Type::Double => numbers::<Float64Type>(values, ty, |value| float(value).ok_or_else(wrong))?,
        Type::Decimal { precision, scale } => {
            numbers::<Decimal128Type>(values, ty, |value| unscaled(text(value)?, *precision, *scale))?
        }
        Type::Date => numbers::<Date32Type>(values, ty, |value| date(text(value)?))?,
        Type::Time => numbers::<Time64MicrosecondType>(values, ty, |value| time_of_day(text(value)?))?,
        Type::Timestamp | Type::Timestamptz => {
            let is_instant = *ty == Type::Timestamptz;
            let read = |value: &Value| date_time(text(value)?, Unit::Micros, is_instant);
            numbers::<TimestampMicrosecondType>(values, ty, read)?
        }
        Type::TimestampNs | Type::TimestamptzNs => {
            let is_instant = *ty == Type::TimestamptzNs;
            let read = |value: &Value| date_time(text(value)?, Unit::Nanos, is_instant);
            numbers::<TimestampNanosecondType>(values, ty, read)?
        }
        Type::String => Arc::new(column::<_, StringArray>(values, |value| text(value).map(str::to_owned))?),
        Type::Uuid => Arc::new(column::<_, StringArray>(values, uuid)?),
        Type::Fixed(length) => Arc::new(column::<_, BinaryArray>(values, |value| fixed(value, *length))?),
        Type::Binary => Arc::new(column::<_, BinaryArray>(values, bytes)?),
        Type::Struct(fields) => structs(values, fields)?,
        Type::List(element) => lists(values, element, ty)?,
        Type::Map(key, value) => maps(values, key, value, ty)?,
        Type::Unknown if values.iter().all(|value| value.is_null()) => Arc::new(NullArray::new(values.len())),
        Type::Unknown | Type::Variant | Type::Geometry { .. } | Type::Geography { .. } => {
            let none = |_: &Value| -> Result<Vec<u8>> {
                Err(Error::new(ErrorKind::Unsupported, format!("the only JSON value of {ty} is null")))
            };
            Arc::new(column::<_, BinaryArray>(values, none)?)
        }
    })
}

/// Each value that is not null, read by `read`.
fn column<T, A: FromIterator<Option<T>>>(values: &[&Value], read: impl Fn(&Value) -> Result<T>) -> Result<A> {
    let read = |(row, value): (usize, &&Value)| match value {
        Value::Null => Ok(None),
        value => read(value).map(Some).map_err(|error| error.in_row(row)),
    };
    values.iter().enumerate().map(read).collect()
}

fn numbers<T: ArrowPrimitiveType>(
    values: &[&Value],
    ty: &Type,
    read: impl Fn(&Value) -> Result<T::Native>,
) -> Result<ArrayRef> {
    let numbers: Vec<Option<T::Native>> = column(values, read)?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(numbers).with_data_type(ty.arrow())))
}

fn uuid(value: &Value) -> Result<String> {
    let text = text(value)?;
    let mut uuid = String::with_capacity(36);
    match parse_uuid(text).map(|bytes| write_uuid(&mut uuid, &bytes)) {
        Some(Ok(())) => Ok(uuid),
        _ => Err(Error::new(ErrorKind::Uuid, format!("{} is not a UUID", shown(text)))),
    }
}

fn fixed(value: &Value, length: u32) -> Result<Vec<u8>> {
    let bytes = bytes(value)?;
    if u32::try_from(bytes.len()) == Ok(length) {
        return Ok(bytes);
    }
    Err(Error::new(ErrorKind::Length, format!("{} bytes where the type has {length}", bytes.len())))
}

fn bytes(value: &Value) -> Result<Vec<u8>> {
    let text = text(value)?;
    parse_hex(text).ok_or_else(|| invalid(format!("{} is not hexadecimal, two digits a byte", shown(text))))
}

fn structs(values: &[&Value], fields: &[FieldRef]) -> Result<ArrayRef> {
    let rows: Vec<Option<_>> = column(values, |value| value.as_object().cloned().ok_or_else(wrong))?;
    let columns = fields.iter().map(|field| {
        let key = field.id.to_string();
        let default = field.initial_default.as_ref().unwrap_or(&Value::Null);
        let cells = rows.iter().map(|row| match row {
            Some(row) => row.get(&key).unwrap_or(default),
            None => &Value::Null,
        });
        read(&cells.collect::<Vec<_>>(), &field.ty).map_err(|error| error.in_field(&field.name))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let arrow = fields.iter().map(|field| field.arrow()).collect();
    let nulls = NullBuffer::from_iter(rows.iter().map(Option::is_some));
    built(StructArray::try_new_with_length(arrow, columns, Some(nulls), values.len()))
}

fn lists(values: &[&Value], element: &FieldRef, ty: &Type) -> Result<ArrayRef> {
    let lists: Vec<Option<&[Value]>> = items(values, Value::as_array)?;
    let elements = read(&flat(&lists), &element.ty).map_err(|error| error.in_field(&element.name))?;
    match ty.arrow() {
        DataType::List(field) => {
            built(ListArray::try_new(field, offsets(&lists), elements, Some(nulls(&lists))))
        }
        _ => Err(wrong()),
    }
}

fn maps(values: &[&Value], key: &FieldRef, value: &FieldRef, ty: &Type) -> Result<ArrayRef> {
    let keys: Vec<Option<&[Value]>> = items(values, |json| json.get("keys")?.as_array())?;
    let of_keys: Vec<Option<&[Value]>> = items(values, |json| json.get("values")?.as_array())?;
    let lengths = |lists: &[Option<&[Value]>]| -> Vec<usize> {
        lists.iter().map(|list| list.map_or(0, <[Value]>::len)).collect()
    };
    if lengths(&keys) != lengths(&of_keys) {
        return Err(invalid("a map does not have as many values as keys"));
    }
    let columns = [(key, &keys), (value, &of_keys)]
        .map(|(field, lists)| read(&flat(lists), &field.ty).map_err(|error| error.in_field(&field.name)));
    let [key_column, value_column] = columns;
    let DataType::Map(entries, sorted) = ty.arrow() else { return Err(wrong()) };
    let DataType::Struct(fields) = entries.data_type() else { return Err(wrong()) };
    let structs = StructArray::try_new(fields.clone(), vec![key_column?, value_column?], None);
    let structs = structs.map_err(null)?;
    built(MapArray::try_new(entries, offsets(&keys), structs, Some(nulls(&keys)), sorted))
}

/// The items of each value that is not null, read by `get`.
fn items<'a>(
    values: &[&'a Value],
    get: impl Fn(&'a Value) -> Option<&'a Vec<Value>>,
) -> Result<Vec<Option<&'a [Value]>>> {
    let items = |(row, value): (usize, &&'a Value)| match value {
        Value::Null => Ok(None),
        value => get(value).map(|items| Some(items.as_slice())).ok_or_else(|| wrong().in_row(row)),
    };
    values.iter().enumerate().map(items).collect()
}

fn flat<'a>(lists: &[Option<&'a [Value]>]) -> Vec<&'a Value> {
    lists.iter().flatten().flat_map(|list| list.iter()).collect()
}

fn offsets(lists: &[Option<&[Value]>]) -> OffsetBuffer<i32> {
    OffsetBuffer::from_lengths(lists.iter().map(|list| list.map_or(0, <[Value]>::len)))
}

fn nulls(lists: &[Option<&[Value]>]) -> NullBuffer {
    NullBuffer::from_iter(lists.iter().map(Option::is_some))
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(wrong)
}

/// Floats are written with as many digits as distinguish 32-bit floats.
fn narrow(value: f64) -> f32 {
    value as f32
}

fn built<T: arrow_array::Array + 'static>(array: Result<T, ArrowError>) -> Result<ArrayRef> {
    array.map(|array| Arc::new(array) as ArrayRef).map_err(null)
}

/// Building arrays from their parts can only fail for nulls.
#[cold]
fn null(error: ArrowError) -> Error {
    Error::new(ErrorKind::Required, "a required value is null").caused_by(error)
}

#[cold]
fn wrong() -> Error {
    invalid("a single value is not of the JSON type of its type")
}
