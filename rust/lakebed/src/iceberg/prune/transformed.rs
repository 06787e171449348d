//! Single values through transforms.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{ArrayRef, BinaryArray, PrimitiveArray, StringArray};

use crate::iceberg::transform::Transform;
use crate::iceberg::types::Type;
use crate::predicate::{Reader, Value};

/// What `transform` makes of each of `values`, which are of `source`; none where it does not take them.
pub(super) fn transformed(
    transform: &Transform,
    values: &[Value<'static>],
    source: &Type,
) -> Option<Vec<Value<'static>>> {
    let array = transform.apply(&array(values, source)?, source).ok()?;
    let reader = Reader::new(&array);
    (0..array.len()).map(|row| reader.get(row).map(Value::into_owned)).collect()
}

/// The value next to `value` on the side of `step`, which is 1 or -1; none where its type ends.
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

fn array(values: &[Value<'static>], ty: &Type) -> Option<ArrayRef> {
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
