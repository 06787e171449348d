//! Values as indexes store them.

use std::borrow::Cow;

use super::input::Input;
use crate::paimon::types::TypeKind;
use crate::predicate::Value;

const MICROS_PER_MILLI: i64 = 1000;
/// A DECIMAL of at most this many digits is stored as a long.
const LONG_DIGITS: u8 = 18;

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
            let stored = i64::from_be_bytes(input.bytes()?);
            match precision {
                0..=3 => Value::Int(stored.checked_mul(MICROS_PER_MILLI)?),
                4..=6 => Value::Int(stored),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// The number by which an index stores a literal; `None` where it has none.
pub(super) fn of(value: &Value<'_>, kind: &TypeKind) -> Option<i64> {
    match (value, kind) {
        (Value::Int(micros), TypeKind::Timestamp(0..=3) | TypeKind::LocalZonedTimestamp(0..=3)) => {
            (micros % MICROS_PER_MILLI == 0).then_some(micros / MICROS_PER_MILLI)
        }
        (Value::Int(_), TypeKind::Timestamp(7..) | TypeKind::LocalZonedTimestamp(7..)) => None,
        (Value::Int(number), _) => Some(*number),
        (Value::Decimal(unscaled), TypeKind::Decimal { precision: 0..=LONG_DIGITS, .. }) => {
            i64::try_from(*unscaled).ok()
        }
        _ => None,
    }
}
