//! Values as indexes store them.

use std::borrow::Cow;

use super::input::Input;
use crate::paimon::binary_row::MAX_COMPACT_PRECISION;
use crate::paimon::types::TypeKind;
use crate::predicate::Value;
use crate::time::NANOS_PER_MILLI;

const NANOS_PER_MICRO: i128 = 1_000;

/// A value read from `input`, as filters compare it; `None` for types whose values indexes truncate.
pub(super) fn read<'a>(input: &mut Input<'a>, kind: &TypeKind) -> Option<Value<'a>> {
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
pub(super) fn of(value: &Value<'_>, kind: &TypeKind) -> Option<i64> {
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
