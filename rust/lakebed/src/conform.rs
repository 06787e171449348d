//! One Arrow type per field, whichever writer's schema a file has.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Int8Array, ListArray, StructArray, new_null_array};
use arrow_schema::{ArrowError, DataType, Fields, TimeUnit};

use crate::error::{Error, ErrorKind, Result};

/// `array` as the type `to`: writers differ in nullability, in the order and number of a struct's
/// fields, and in what Avro can say of a type.
///
/// Buffers are shared. Int32 narrows to Int8 where every value fits; an instant becomes a wall clock
/// of the same digits; a struct's fields are matched by name (`_ROW_RANGE_END` is `row_range_end`, `f0`
/// is `f0`), absent ones are null. Anything else is
/// [`lakebed_avro::ErrorKind::Schema`].
pub(crate) fn conform(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    match (array.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (DataType::Int32, DataType::Int8) => {
            let narrow = array.as_primitive::<Int32Type>().try_unary(|value| {
                i8::try_from(value).map_err(|_| mismatch(format!("{value} does not fit 8 bits")))
            });
            narrow.map(|array: Int8Array| Arc::new(array) as ArrayRef)
        }
        (DataType::Timestamp(TimeUnit::Microsecond, _), DataType::Timestamp(TimeUnit::Microsecond, zone)) => {
            let wall_clock = array.as_primitive::<TimestampMicrosecondType>().clone();
            Ok(Arc::new(wall_clock.with_timezone_opt(zone.clone())))
        }
        (DataType::List(_), DataType::List(item)) => {
            let list = array.as_list::<i32>();
            let values = conform(list.values(), item.data_type())?;
            built(ListArray::try_new(Arc::clone(item), list.offsets().clone(), values, list.nulls().cloned()))
        }
        (DataType::Struct(_), DataType::Struct(fields)) => conform_struct(array.as_struct(), fields),
        (from, to) => Err(mismatch(format!("the writer's type {from} is not {to}"))),
    }
}

fn conform_struct(array: &StructArray, fields: &Fields) -> Result<ArrayRef> {
    let columns = fields.iter().map(|field| {
        let name = format!("_{}", field.name().to_uppercase());
        match array.column_by_name(&name).or_else(|| array.column_by_name(field.name())) {
            Some(column) => conform(column, field.data_type()).map_err(|error| error.in_field(field.name())),
            None => Ok(new_null_array(field.data_type(), array.len())),
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    built(StructArray::try_new_with_length(fields.clone(), columns, array.nulls().cloned(), array.len()))
}

fn built<T: Array + 'static>(array: Result<T, ArrowError>) -> Result<ArrayRef> {
    array.map(|array| Arc::new(array) as ArrayRef).map_err(|error| mismatch(error.to_string()))
}

#[cold]
fn mismatch(message: String) -> Error {
    Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Schema), message)
}
