//! To DECIMAL, and from it to DOUBLE.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{ArrayRef, Decimal128Array};
use arrow_schema::DataType as ArrowType;

use super::{numeric, parse};
use crate::paimon::types::TypeKind;
use crate::text::write_decimal;

/// The digits of a DECIMAL that Paimon keeps in a long.
const COMPACT_PRECISION: u8 = 18;

/// 10^`scale`, which is at most 38.
pub(super) fn power(scale: i8) -> i128 {
    10_i128.pow(u32::from(scale.unsigned_abs()).min(38))
}

pub(super) fn unscaled(array: &ArrayRef) -> Vec<Option<i128>> {
    array.as_primitive::<Decimal128Type>().iter().collect()
}

/// As `DecimalUtils.doubleValue`: one division of doubles where the digits fit a long.
pub(super) fn to_doubles(array: &ArrayRef, precision: u8, scale: i8) -> Vec<Option<f64>> {
    let double = |value: i128| {
        if precision <= COMPACT_PRECISION {
            return Some(value as f64 / power(scale) as f64);
        }
        let mut text = String::new();
        write_decimal(&mut text, value, usize::from(scale.unsigned_abs())).ok()?;
        text.parse().ok()
    };
    unscaled(array).into_iter().map(|value| double(value?)).collect()
}

pub(super) fn to_decimal(array: &ArrayRef, from: &TypeKind, precision: u8, scale: i8) -> Option<ArrayRef> {
    let values: Vec<Option<i128>> = match from {
        TypeKind::Boolean | TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt => {
            let one = power(scale);
            numeric::whole(array, from)?.into_iter().map(|value| value?.checked_mul(one)).collect()
        }
        TypeKind::Float | TypeKind::Double => {
            // As Java, by way of the shortest digits that mean the same double.
            let exact = |value: f64| parse::decimal(&format!("{value:e}"), scale);
            numeric::floats(array, from)?.into_iter().map(|value| exact(value?)).collect()
        }
        TypeKind::Decimal { scale: written, .. } => {
            unscaled(array).into_iter().map(|value| rescale(value?, *written, scale)).collect()
        }
        _ => numeric::parsed(array, from, |text| parse::decimal(text, scale))?,
    };
    let limit = 10_u128.pow(u32::from(precision).min(38));
    let values = values.into_iter().map(|value| value.filter(|value| value.unsigned_abs() < limit));
    let values: Decimal128Array = values.collect();
    Some(Arc::new(values.with_data_type(ArrowType::Decimal128(precision, scale))))
}

/// `value` × 10^-`from` in units of 10^-`to`, rounded half up; none where that is beyond 128 bits.
fn rescale(value: i128, from: i8, to: i8) -> Option<i128> {
    if to >= from {
        return value.checked_mul(power(to - from));
    }
    let unit = power(from - to);
    let (quotient, rest) = (value / unit, value % unit);
    let up = rest.unsigned_abs() * 2 >= unit.unsigned_abs();
    Some(if up { quotient + value.signum() } else { quotient })
}
