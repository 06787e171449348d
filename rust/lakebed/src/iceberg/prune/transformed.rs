//! Applies transforms to single values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, PrimitiveArray, StringArray};

use crate::iceberg::transform::Transform;
use crate::iceberg::types::Type;
use crate::predicate::{Reader, Value};

/// The results of `transform` for `values` of type `source`; `None` where it does not apply.
pub(super) fn transformed(
    transform: &Transform,
    values: &[Value<'static>],
    source: &Type,
) -> Option<Vec<Value<'static>>> {
    let array = transform.apply(&array(values, source)?, source).ok()?;
    let reader = Reader::new(&array);
    (0..array.len()).map(|row| reader.get(row).map(Value::into_owned)).collect()
}

/// The smallest result of `transform` for `value` of type `source` that some writer may have stored; `None`
/// where it does not apply.
///
/// For timestamps before 1970 in the first second of a period with a fraction of all nines, Iceberg's Java
/// library gives the period before: it adds one unit to the fraction without carrying
/// (`DateTimeUtil.convertMicros`, `convertNanos`). Its `convertDays` is exact.
pub(super) fn lowest(transform: &Transform, value: &Value<'static>, source: &Type) -> Option<Value<'static>> {
    let is_odd = match (value, units_of_a_second(transform, source)) {
        (Value::Int(units), Some(second)) => units.rem_euclid(second) == second - 1,
        _ => false,
    };
    if is_odd {
        return lowest_of_all(transform, value, source);
    }
    transformed(transform, std::slice::from_ref(value), source)?.pop()
}

/// The smallest result of [`lowest`] for `value` and all greater values.
pub(super) fn lowest_of_all(
    transform: &Transform,
    value: &Value<'static>,
    source: &Type,
) -> Option<Value<'static>> {
    let value = match (value, units_of_a_second(transform, source)) {
        // In each period only the last time of its first second is wrong. Times up to it that are looked up a
        // second earlier give the period before.
        (Value::Int(units @ ..0), Some(second)) => Value::Int(units.saturating_sub(second)),
        _ => value.clone(),
    };
    transformed(transform, &[value], source)?.pop()
}

/// `times` of type `source`, changed so that `transform` gives the result of [`lowest_of_all`] for each.
pub(super) fn at_their_lowest(transform: &Transform, times: &ArrayRef, source: &Type) -> Option<ArrayRef> {
    let Some(second) = units_of_a_second(transform, source) else { return Some(Arc::clone(times)) };
    match source {
        Type::Timestamp | Type::Timestamptz => earlier::<TimestampMicrosecondType>(times, second),
        _ => earlier::<TimestampNanosecondType>(times, second),
    }
}

/// Times before 1970, made earlier by `by`.
fn earlier<T: ArrowPrimitiveType<Native = i64>>(times: &ArrayRef, by: i64) -> Option<ArrayRef> {
    let earlier = |units: i64| if units < 0 { units.saturating_sub(by) } else { units };
    let times = times.as_primitive_opt::<T>()?;
    Some(Arc::new(times.unary::<_, T>(earlier).with_data_type(times.data_type().clone())))
}

/// The units of a timestamp per second, for transforms that count periods.
fn units_of_a_second(transform: &Transform, source: &Type) -> Option<i64> {
    match (transform, source) {
        (Transform::Year | Transform::Month | Transform::Day | Transform::Hour, source) => match source {
            Type::Timestamp | Type::Timestamptz => Some(1_000_000),
            Type::TimestampNs | Type::TimestamptzNs => Some(1_000_000_000),
            _ => None,
        },
        _ => None,
    }
}

/// The value next to `value` in the direction of `step`, which is 1 or -1; `None` at the end of the type.
pub(super) fn neighbour(value: &Value<'_>, step: i8, ty: &Type) -> Option<Value<'static>> {
    match value {
        Value::Int(value) => {
            let next = value.checked_add(step.into())?;
            let narrow = matches!(ty, Type::Int | Type::Date);
            (!narrow || i32::try_from(next).is_ok()).then_some(Value::Int(next))
        }
        Value::Decimal(value) => value.checked_add(step.into()).map(Value::Decimal),
        _ => None,
    }
}

/// The values as an array of their type; `None` for types to which no transform applies.
pub(super) fn array(values: &[Value<'static>], ty: &Type) -> Option<ArrayRef> {
    Some(match ty {
        Type::Int => ints::<Int32Type>(values, ty)?,
        Type::Date => ints::<Date32Type>(values, ty)?,
        Type::Long => ints::<Int64Type>(values, ty)?,
        Type::Time => ints::<Time64MicrosecondType>(values, ty)?,
        Type::Timestamp | Type::Timestamptz => ints::<TimestampMicrosecondType>(values, ty)?,
        Type::TimestampNs | Type::TimestamptzNs => ints::<TimestampNanosecondType>(values, ty)?,
        Type::Decimal { .. } => {
            let unscaled = values.iter().map(|value| match value {
                Value::Decimal(unscaled) => Some(*unscaled),
                _ => None,
            });
            let array: PrimitiveArray<Decimal128Type> = unscaled.collect::<Option<Vec<_>>>()?.into();
            Arc::new(array.with_data_type(ty.arrow()))
        }
        Type::String | Type::Uuid => {
            let texts = values.iter().map(|value| std::str::from_utf8(value.as_bytes()?).ok());
            Arc::new(StringArray::from(texts.collect::<Option<Vec<_>>>()?))
        }
        Type::Binary | Type::Fixed(_) => {
            let bytes = values.iter().map(Value::as_bytes);
            Arc::new(BinaryArray::from(bytes.collect::<Option<Vec<_>>>()?))
        }
        _ => return None,
    })
}

fn ints<T: ArrowPrimitiveType<Native: TryFrom<i64>>>(
    values: &[Value<'static>],
    ty: &Type,
) -> Option<ArrayRef> {
    let native = values.iter().map(|value| match value {
        Value::Int(value) => T::Native::try_from(*value).ok(),
        _ => None,
    });
    let array: PrimitiveArray<T> = PrimitiveArray::from_iter_values(native.collect::<Option<Vec<_>>>()?);
    Some(Arc::new(array.with_data_type(ty.arrow())))
}
