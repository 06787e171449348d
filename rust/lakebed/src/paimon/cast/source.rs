//! Values to cast, in the forms that casts need.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};

use crate::paimon::binary_row::MAX_COMPACT_PRECISION;
use crate::paimon::types::{TypeKind, nanos};
use crate::text::write_decimal;
use crate::time::NANOS_PER_MILLI;

/// BOOLEANs and integers, the whole part of a DECIMAL, and the whole seconds of a timestamp.
pub(super) fn whole(array: &ArrayRef, kind: &TypeKind) -> Option<Vec<Option<i128>>> {
    Some(match kind {
        TypeKind::Boolean => array.as_boolean_opt()?.iter().map(|value| value.map(i128::from)).collect(),
        TypeKind::TinyInt => values::<Int8Type, _>(array)?,
        TypeKind::SmallInt => values::<Int16Type, _>(array)?,
        TypeKind::Int => values::<Int32Type, _>(array)?,
        TypeKind::BigInt => values::<Int64Type, _>(array)?,
        TypeKind::Decimal { scale, .. } => {
            let one = power(*scale);
            unscaled(array)?.into_iter().map(|value| Some(value? / one)).collect()
        }
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
            millis(array)?.into_iter().map(|millis| Some(millis? / 1000)).collect()
        }
        _ => return None,
    })
}

/// FLOAT and DOUBLE, or the double nearest to a DECIMAL, computed as Paimon does.
pub(super) fn floats(array: &ArrayRef, kind: &TypeKind) -> Option<Vec<Option<f64>>> {
    Some(match kind {
        TypeKind::Float => values::<Float32Type, _>(array)?,
        TypeKind::Double => values::<Float64Type, _>(array)?,
        TypeKind::Decimal { precision, scale } => doubles(array, *precision, *scale)?,
        _ => return None,
    })
}

fn values<T: ArrowPrimitiveType, V: From<T::Native>>(array: &ArrayRef) -> Option<Vec<Option<V>>> {
    Some(array.as_primitive_opt::<T>()?.iter().map(|value| value.map(V::from)).collect())
}

/// Each text parsed; `None` for arrays of other types.
pub(super) fn parsed<V>(
    array: &ArrayRef,
    kind: &TypeKind,
    parse: impl Fn(&str) -> Option<V>,
) -> Option<Vec<Option<V>>> {
    let is_text = matches!(kind, TypeKind::Char(_) | TypeKind::VarChar(_));
    let texts = array.as_string_opt::<i32>().filter(|_| is_text)?;
    Some(texts.iter().map(|text| parse(text?)).collect())
}

/// 10^`scale`, which is at most 38.
pub(super) fn power(scale: i8) -> i128 {
    10_i128.pow(u32::from(scale.unsigned_abs()).min(38))
}

pub(super) fn unscaled(array: &ArrayRef) -> Option<Vec<Option<i128>>> {
    Some(array.as_primitive_opt::<Decimal128Type>()?.iter().collect())
}

/// Like `DecimalUtils.doubleValue`: one division of doubles where the digits fit a long.
fn doubles(array: &ArrayRef, precision: u8, scale: i8) -> Option<Vec<Option<f64>>> {
    let double = |value: i128| {
        if precision <= MAX_COMPACT_PRECISION {
            return Some(value as f64 / power(scale) as f64);
        }
        let mut text = String::new();
        write_decimal(&mut text, value, usize::from(scale.unsigned_abs())).ok()?;
        text.parse().ok()
    };
    Some(unscaled(array)?.into_iter().map(|value| double(value?)).collect())
}

/// Timestamps in milliseconds since 1970, rounded down.
pub(super) fn millis(array: &ArrayRef) -> Option<Vec<Option<i128>>> {
    Some(nanos(array.as_ref())?.into_iter().map(|nanos| Some(nanos?.div_euclid(NANOS_PER_MILLI))).collect())
}
