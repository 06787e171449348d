//! Reads bytes from the front, `None` where they end early; values as indexes store them, and the answer of an index.

use std::borrow::Cow;

use roaring::RoaringBitmap;

use crate::paimon::binary_row::MAX_COMPACT_PRECISION;
use crate::paimon::types::TypeKind;
use crate::predicate::Value;
use crate::time::NANOS_PER_MILLI;

/// What is left to read.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Option<i32> {
        self.bytes().map(i32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_be_bytes)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        self.bytes::<1>().map(|[flag]| flag != 0)
    }

    /// Java's `writeUTF`; for column names it is UTF-8 except for characters that names hardly have.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = u16::from_be_bytes(self.bytes()?);
        std::str::from_utf8(self.take(length.into())?).ok()
    }

    /// A portable Roaring bitmap.
    pub(super) fn bitmap(&mut self) -> Option<RoaringBitmap> {
        RoaringBitmap::deserialize_from(&mut self.0).ok()
    }
}

const NANOS_PER_MICRO: i128 = 1_000;

/// A value read from `input`, as filters compare it; `None` for types whose values indexes truncate.
pub(super) fn read_value<'a>(input: &mut Input<'a>, kind: &TypeKind) -> Option<Value<'a>> {
    Some(match kind {
        TypeKind::Char(_) | TypeKind::VarChar(_) => {
            let length = usize::try_from(input.i32()?).ok()?;
            Value::Bytes(Cow::Borrowed(input.take(length)?))
        }
        TypeKind::Boolean => Value::Boolean(input.flag()?),
        TypeKind::TinyInt => Value::Int(i8::from_be_bytes(input.bytes()?).into()),
        TypeKind::SmallInt => Value::Int(i16::from_be_bytes(input.bytes()?).into()),
        TypeKind::Int | TypeKind::Date | TypeKind::Time(_) => Value::Int(input.i32()?.into()),
        TypeKind::BigInt => Value::Int(i64::from_be_bytes(input.bytes()?)),
        TypeKind::Float => Value::Float(f32::from_be_bytes(input.bytes()?).into()),
        TypeKind::Double => Value::Float(f64::from_be_bytes(input.bytes()?)),
        TypeKind::Timestamp(precision) | TypeKind::LocalZonedTimestamp(precision) => {
            Value::Nanos(i128::from(i64::from_be_bytes(input.bytes()?)) * unit(*precision)?)
        }
        _ => return None,
    })
}

/// The number by which an index stores a literal; `None` where it has none.
pub(super) fn stored_number(value: &Value<'_>, kind: &TypeKind) -> Option<i64> {
    match (value, kind) {
        (Value::Nanos(nanos), TypeKind::Timestamp(precision) | TypeKind::LocalZonedTimestamp(precision)) => {
            let unit = unit(*precision)?;
            if nanos % unit == 0 { i64::try_from(nanos / unit).ok() } else { None }
        }
        (Value::Int(number), _) => Some(*number),
        (Value::Decimal(unscaled), TypeKind::Decimal { precision: 0..=MAX_COMPACT_PRECISION, .. }) => {
            i64::try_from(*unscaled).ok()
        }
        _ => None,
    }
}

/// The nanoseconds of the unit in which indexes store times; `None` for a precision of which they lose digits.
fn unit(precision: u8) -> Option<i128> {
    match precision {
        0..=3 => Some(NANOS_PER_MILLI),
        4..=6 => Some(NANOS_PER_MICRO),
        _ => None,
    }
}

/// The rows of a file that may match: those of a bitmap, or `None` for any row.
pub(super) type Rows = Option<RoaringBitmap>;

/// The rows that both answers allow.
pub(super) fn both(left: Rows, right: Rows) -> Rows {
    match (left, right) {
        (Some(left), Some(right)) => Some(left & right),
        (one, None) | (None, one) => one,
    }
}
