//! Casts to BOOLEAN, integers, FLOAT and DOUBLE.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
};

use super::parse;
use super::source::{floats, parsed, whole};
use crate::paimon::types::TypeKind;

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
            // Java converts floating-point numbers to int or long only.
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
