//! Casts to DECIMAL, and from DECIMAL to DOUBLE.

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array};
use arrow_schema::DataType as ArrowType;

use super::parse;
use super::source::{floats, parsed, power, unscaled, whole};
use crate::paimon::types::TypeKind;

pub(super) fn to_decimal(array: &ArrayRef, from: &TypeKind, precision: u8, scale: i8) -> Option<ArrayRef> {
    let values: Vec<Option<i128>> = match from {
        TypeKind::Boolean | TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt => {
            let one = power(scale);
            whole(array, from)?.into_iter().map(|value| value?.checked_mul(one)).collect()
        }
        TypeKind::Float | TypeKind::Double => {
            // As in Java: by the shortest digits that give the same double.
            let exact = |value: f64| parse::decimal(&format!("{value:e}"), scale);
            floats(array, from)?.into_iter().map(|value| exact(value?)).collect()
        }
        TypeKind::Decimal { scale: written, .. } => {
            unscaled(array)?.into_iter().map(|value| rescale(value?, *written, scale)).collect()
        }
        _ => parsed(array, from, |text| parse::decimal(text, scale))?,
    };
    let limit = 10_u128.pow(u32::from(precision).min(38));
    let values = values.into_iter().map(|value| value.filter(|value| value.unsigned_abs() < limit));
    let values: Decimal128Array = values.collect();
    Some(Arc::new(values.with_data_type(ArrowType::Decimal128(precision, scale))))
}

/// `value` × 10^-`from` in units of 10^-`to`, rounded half up; `None` where that does not fit 128 bits.
fn rescale(value: i128, from: i8, to: i8) -> Option<i128> {
    if to >= from {
        return value.checked_mul(power(to - from));
    }
    let unit = power(from - to);
    let (quotient, rest) = (value / unit, value % unit);
    let up = rest.unsigned_abs() * 2 >= unit.unsigned_abs();
    Some(if up { quotient + value.signum() } else { quotient })
}
