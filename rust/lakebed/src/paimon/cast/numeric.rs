//! To BOOLEAN, integers, FLOAT and DOUBLE.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
};

use super::{decimal, parse, time};
use crate::paimon::types::TypeKind;

/// What BOOLEAN, an integer, or the whole part of a DECIMAL or of a timestamp's seconds is.
pub(super) fn whole(array: &ArrayRef, kind: &TypeKind) -> Option<Vec<Option<i128>>> {
    Some(match kind {
        TypeKind::Boolean => array.as_boolean().iter().map(|value| value.map(i128::from)).collect(),
        TypeKind::TinyInt => values::<Int8Type, _>(array),
        TypeKind::SmallInt => values::<Int16Type, _>(array),
        TypeKind::Int => values::<Int32Type, _>(array),
        TypeKind::BigInt => values::<Int64Type, _>(array),
        TypeKind::Decimal { scale, .. } => {
            let one = decimal::power(*scale);
            decimal::unscaled(array).into_iter().map(|value| Some(value? / one)).collect()
        }
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
            time::millis(array)?.into_iter().map(|millis| Some(millis? / 1000)).collect()
        }
        _ => return None,
    })
}

/// FLOAT and DOUBLE, or the double nearest to a DECIMAL, as Paimon finds it.
pub(super) fn floats(array: &ArrayRef, kind: &TypeKind) -> Option<Vec<Option<f64>>> {
    Some(match kind {
        TypeKind::Float => values::<Float32Type, _>(array),
        TypeKind::Double => values::<Float64Type, _>(array),
        TypeKind::Decimal { precision, scale } => decimal::to_doubles(array, *precision, *scale),
        _ => return None,
    })
}

fn values<T: ArrowPrimitiveType, V: From<T::Native>>(array: &ArrayRef) -> Vec<Option<V>> {
    array.as_primitive::<T>().iter().map(|value| value.map(V::from)).collect()
}

/// Each text parsed; none for arrays of anything else.
pub(super) fn parsed<V>(
    array: &ArrayRef,
    kind: &TypeKind,
    parse: impl Fn(&str) -> Option<V>,
) -> Option<Vec<Option<V>>> {
    let text = matches!(kind, TypeKind::Char(_) | TypeKind::VarChar(_));
    text.then(|| array.as_string::<i32>().iter().map(|text| parse(text?)).collect())
}

pub(super) fn to_boolean(array: &ArrayRef, from: &TypeKind) -> Option<ArrayRef> {
    let values: BooleanArray = match from {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt => {
            whole(array, from)?.into_iter().map(|value| Some(value? != 0)).collect()
        }
        _ => parsed(array, from, parse::boolean)?.into_iter().collect(),
    };
    Some(Arc::new(values))
}

/// The values that an integer type holds.
pub(super) fn range(to: &TypeKind) -> Option<std::ops::RangeInclusive<i128>> {
    Some(match to {
        TypeKind::TinyInt => i8::MIN.into()..=i8::MAX.into(),
        TypeKind::SmallInt => i16::MIN.into()..=i16::MAX.into(),
        TypeKind::Int => i32::MIN.into()..=i32::MAX.into(),
        TypeKind::BigInt => i64::MIN.into()..=i64::MAX.into(),
        _ => return None,
    })
}

pub(super) fn to_integer(array: &ArrayRef, from: &TypeKind, to: &TypeKind) -> Option<ArrayRef> {
    let narrow = matches!(to, TypeKind::TinyInt | TypeKind::SmallInt);
    let values = match from {
        TypeKind::Float | TypeKind::Double => {
            // Java has no conversion to anything below an int.
            let to_int =
                |value: f64| if *to == TypeKind::BigInt { value as i64 } else { (value as i32).into() };
            floats(array, from)?.into_iter().map(|value| value.map(|value| to_int(value).into())).collect()
        }
        TypeKind::Char(_) | TypeKind::VarChar(_) => {
            let range = range(to)?;
            parsed(array, from, |text| parse::whole(text).filter(|value| range.contains(value)))?
        }
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) if narrow => return None,
        _ => whole(array, from)?,
    };
    let values = values.into_iter();
    Some(match to {
        TypeKind::TinyInt => Arc::new(values.map(|value| Some(value? as i8)).collect::<Int8Array>()),
        TypeKind::SmallInt => Arc::new(values.map(|value| Some(value? as i16)).collect::<Int16Array>()),
        TypeKind::Int => Arc::new(values.map(|value| Some(value? as i32)).collect::<Int32Array>()),
        _ => Arc::new(values.map(|value| Some(value? as i64)).collect::<Int64Array>()),
    })
}

pub(super) fn to_float(array: &ArrayRef, from: &TypeKind, to: &TypeKind) -> Option<ArrayRef> {
    let double = *to == TypeKind::Double;
    Some(match from {
        TypeKind::Char(_) | TypeKind::VarChar(_) if double => {
            Arc::new(Float64Array::from(parsed(array, from, parse::float)?))
        }
        TypeKind::Char(_) | TypeKind::VarChar(_) => {
            Arc::new(Float32Array::from(parsed(array, from, parse::float)?))
        }
        TypeKind::Float | TypeKind::Double | TypeKind::Decimal { .. } => {
            let values = floats(array, from)?;
            if double {
                Arc::new(Float64Array::from(values))
            } else {
                Arc::new(values.into_iter().map(|value| Some(value? as f32)).collect::<Float32Array>())
            }
        }
        TypeKind::Boolean | TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt => {
            let values = whole(array, from)?.into_iter();
            if double {
                Arc::new(values.map(|value| Some(value? as f64)).collect::<Float64Array>())
            } else {
                Arc::new(values.map(|value| Some(value? as f32)).collect::<Float32Array>())
            }
        }
        _ => return None,
    })
}
