//! Decodes binary single values to Arrow.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, NullArray, PrimitiveArray, StringArray, new_null_array,
};

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::Type;
use crate::iceberg::value::decimal::{fits, from_bytes};
use crate::iceberg::value::text::write_uuid;
use crate::time::{MICROS_PER_DAY, NANOS_PER_DAY};

/// Binary single values of `ty` as an array of its Arrow type; null stays null.
///
/// Decimals may have more bytes than needed. Cost is one pass; values that are bytes share their buffer.
///
/// # Errors
/// `ErrorKind::Length` for a value with the wrong number of bytes, `ErrorKind::Decimal` for one with more
/// digits than the type, `ErrorKind::Utf8`, each with its record; `ErrorKind::Unsupported` for types without
/// binary values: nested ones and unknown.
pub fn decode(values: &BinaryArray, ty: &Type) -> Result<ArrayRef> {
    read(values, ty, Mode::Strict)
}

/// Bounds of a column whose type is now `ty`, in whatever type they were written, as an array of its Arrow
/// type.
///
/// Bounds of an older type are promoted: four bytes of a long or double are an int or float, of a timestamp a
/// date; eight bytes of an int are accepted if they fit. Unreadable bounds become null, since an unknown
/// bound excludes no file. Cost is one pass.
pub fn decode_bounds(values: &BinaryArray, ty: &Type) -> ArrayRef {
    read(values, ty, Mode::Bounds).unwrap_or_else(|_| new_null_array(&ty.arrow(), values.len()))
}

/// How values that do not have their type are treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// They are errors.
    Strict,
    /// They are promoted if possible, else null.
    Bounds,
}

fn read(values: &BinaryArray, ty: &Type, mode: Mode) -> Result<ArrayRef> {
    let strict = mode == Mode::Strict;
    let column = BinaryColumn { values, ty, mode };
    Ok(match ty {
        Type::Boolean => Arc::new(column.collect::<_, BooleanArray>(|bytes| Some(le::<1>(bytes)? != [0]))?),
        Type::Int => column.numbers::<Int32Type>(|bytes| match bytes.len() {
            8 if !strict => long(bytes)?.try_into().ok(),
            _ => int(bytes),
        })?,
        Type::Long => column.numbers::<Int64Type>(|bytes| match bytes.len() {
            4 if !strict => int(bytes).map(i64::from),
            _ => long(bytes),
        })?,
        Type::Float => column.numbers::<Float32Type>(float)?,
        Type::Double => column.numbers::<Float64Type>(|bytes| match bytes.len() {
            4 if !strict => float(bytes).map(f64::from),
            _ => le(bytes).map(f64::from_le_bytes),
        })?,
        Type::Decimal { precision, .. } => column
            .numbers::<Decimal128Type>(|bytes| from_bytes(bytes).filter(|value| fits(*value, *precision)))?,
        Type::Date => column.numbers::<Date32Type>(int)?,
        Type::Time => column.numbers::<Time64MicrosecondType>(long)?,
        Type::Timestamp => column.numbers::<TimestampMicrosecondType>(|bytes| match bytes.len() {
            4 if !strict => i64::from(int(bytes)?).checked_mul(MICROS_PER_DAY),
            _ => long(bytes),
        })?,
        Type::TimestampNs => column.numbers::<TimestampNanosecondType>(|bytes| match bytes.len() {
            4 if !strict => i64::from(int(bytes)?).checked_mul(NANOS_PER_DAY),
            _ => long(bytes),
        })?,
        Type::Timestamptz => column.numbers::<TimestampMicrosecondType>(long)?,
        Type::TimestamptzNs => column.numbers::<TimestampNanosecondType>(long)?,
        Type::String => Arc::new(column.collect::<_, StringArray>(|bytes| std::str::from_utf8(bytes).ok())?),
        Type::Uuid => Arc::new(column.collect::<_, StringArray>(uuid)?),
        Type::Fixed(length) => {
            let whole = |bytes: &_| <[u8]>::len(bytes).try_into() == Ok(*length);
            Arc::new(column.collect::<_, BinaryArray>(|bytes| Some(bytes).filter(|bytes| whole(bytes)))?)
        }
        Type::Binary | Type::Variant | Type::Geometry { .. } | Type::Geography { .. } => {
            Arc::new(values.clone())
        }
        Type::Unknown if values.null_count() == values.len() => Arc::new(NullArray::new(values.len())),
        Type::Unknown | Type::Struct(_) | Type::List(_) | Type::Map(..) => {
            let message = format!("values of {ty} have no binary form");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    })
}

/// The values to read.
struct BinaryColumn<'a> {
    values: &'a BinaryArray,
    ty: &'a Type,
    mode: Mode,
}

impl<'a> BinaryColumn<'a> {
    /// Reads each value with `read`, which gives `None` for a value that does not have the type.
    fn collect<T, A: FromIterator<Option<T>>>(&self, read: impl Fn(&'a [u8]) -> Option<T>) -> Result<A> {
        let read = |(row, bytes): (usize, Option<&'a [u8]>)| match bytes.map(&read) {
            Some(None) if self.mode == Mode::Strict => Err(self.error(row)),
            value => Ok(value.flatten()),
        };
        self.values.iter().enumerate().map(read).collect()
    }

    fn numbers<T: ArrowPrimitiveType>(&self, read: impl Fn(&[u8]) -> Option<T::Native>) -> Result<ArrayRef> {
        let numbers: PrimitiveArray<T> = self.collect(read)?;
        Ok(Arc::new(numbers.with_data_type(self.ty.arrow())))
    }

    #[cold]
    fn error(&self, row: usize) -> Error {
        let length = self.values.value_length(row);
        let (kind, message) = match self.ty {
            Type::Decimal { .. } if length > 0 => {
                (ErrorKind::Decimal, format!("a value has more digits than {}", self.ty))
            }
            Type::String => (ErrorKind::Utf8, "a string is not UTF-8".to_owned()),
            ty => (ErrorKind::Length, format!("a value of {ty} has {length} bytes")),
        };
        Error::new(kind, message).in_row(row)
    }
}

fn le<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn int(bytes: &[u8]) -> Option<i32> {
    le(bytes).map(i32::from_le_bytes)
}

fn long(bytes: &[u8]) -> Option<i64> {
    le(bytes).map(i64::from_le_bytes)
}

fn float(bytes: &[u8]) -> Option<f32> {
    le(bytes).map(f32::from_le_bytes)
}

fn uuid(bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(36);
    write_uuid(&mut text, &le(bytes)?).ok()?;
    Some(text)
}
