//! Values of the case tables as arrays.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Date32Array, Float32Array, Float64Array, PrimitiveArray, Time64MicrosecondArray,
    types::{ArrowTimestampType, TimestampMicrosecondType, TimestampNanosecondType},
};
use serde_json::Value;

use super::types::Type;
use super::value::from_json;

/// The type of that text.
pub(super) fn ty(text: &str) -> Type {
    text.parse().expect("a type")
}

/// One value of `ty`: a JSON single value, but dates and times may be integers and floats text.
pub(super) fn array(ty: &Type, value: &Value) -> ArrayRef {
    match (ty, value) {
        (Type::Float, Value::String(text)) => {
            return Arc::new(Float32Array::from_iter_values([text.parse().expect("a float")]));
        }
        (Type::Double, Value::String(text)) => {
            return Arc::new(Float64Array::from_iter_values([text.parse().expect("a float")]));
        }
        _ => {}
    }
    match (ty, value.as_i64()) {
        (Type::Date, Some(days)) => {
            Arc::new(Date32Array::from_iter_values([days.try_into().expect("32 bits")]))
        }
        (Type::Time, Some(micros)) => Arc::new(Time64MicrosecondArray::from_iter_values([micros])),
        (Type::Timestamp | Type::Timestamptz, Some(count)) => instant::<TimestampMicrosecondType>(ty, count),
        (Type::TimestampNs | Type::TimestamptzNs, Some(count)) => {
            instant::<TimestampNanosecondType>(ty, count)
        }
        _ => {
            from_json(std::slice::from_ref(value), ty).unwrap_or_else(|error| panic!("{ty} {value}: {error}"))
        }
    }
}

fn instant<T: ArrowTimestampType>(ty: &Type, count: i64) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter_values([count]).with_data_type(ty.arrow()))
}
