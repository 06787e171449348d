//! Converts arrays of rows' types to view arrays: milliseconds and exact times become those of Arrow's units that users
//! see, everything else is shared.

use std::sync::Arc;

use arrow_array::types::{ArrowTimestampType, TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, ListArray, MapArray, PrimitiveArray, StructArray};
use arrow_schema::{DataType, FieldRef, Fields, TimeUnit};

use super::exact_time::nanos;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::record::typed;

/// The column `name` as the views' type `to`, with a note where times beyond that type are null.
///
/// # Errors
/// Those of [`widen`].
pub(crate) fn show(array: &ArrayRef, to: &DataType, name: &str, notes: &Notes) -> Result<ArrayRef> {
    let mut beyond = false;
    let shown = Conversion { beyond: &mut beyond }.array(array, to)?;
    if beyond {
        notes.add_once(format!(
            "times of {name:?} that do not fit Arrow's type for it, {to}, are shown as null: filters compare them \
            as they are"
        ));
    }
    Ok(shown)
}

/// `array` as the type `to`, which may differ from its own only in the unit of timestamps, and in fields that are
/// nullable.
///
/// A time that does not fit 64 bits of the unit is null. Buffers are shared wherever the types agree. Cost is one
/// pass over the converted timestamps.
///
/// # Errors
/// [`ErrorKind::Argument`] for types that differ in anything else; [`ErrorKind::Internal`] for nulls where `to`
/// allows none.
pub fn widen(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    Conversion { beyond: &mut false }.array(array, to)
}

/// A conversion, and whether there was a time that the type has no room for.
struct Conversion<'b> {
    beyond: &'b mut bool,
}

impl Conversion<'_> {
    fn array(&mut self, array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        use DataType::{Decimal256, FixedSizeList, List, Map, Struct, Timestamp};
        match (array.data_type(), to) {
            (from, to) if from == to => Ok(Arc::clone(array)),
            (Timestamp(TimeUnit::Millisecond, from_zone), Timestamp(TimeUnit::Microsecond, to_zone))
                if from_zone == to_zone =>
            {
                self.times::<TimestampMicrosecondType>(array, 1_000, to)
            }
            (Decimal256(..), Timestamp(TimeUnit::Microsecond, _)) => {
                self.times::<TimestampMicrosecondType>(array, 1_000, to)
            }
            (Decimal256(..), Timestamp(TimeUnit::Nanosecond, _)) => {
                self.times::<TimestampNanosecondType>(array, 1, to)
            }
            (List(_), List(item)) => {
                let list: &ListArray = typed(array, "a list")?;
                let values = self.array(list.values(), item.data_type())?;
                let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
                built(ListArray::try_new(Arc::clone(item), offsets, values, nulls))
            }
            (FixedSizeList(_, from), FixedSizeList(item, size)) if from == size => {
                let list: &FixedSizeListArray = typed(array, "a vector")?;
                let values = self.array(list.values(), item.data_type())?;
                built(FixedSizeListArray::try_new(Arc::clone(item), *size, values, list.nulls().cloned()))
            }
            (Struct(from), Struct(fields)) if from.len() == fields.len() => {
                self.structure(typed(array, "a row")?, fields).map(|array| Arc::new(array) as ArrayRef)
            }
            (Map(_, from), Map(entries, sorted)) if from == sorted => {
                self.map(typed(array, "a map")?, entries, *sorted)
            }
            (from, to) => Err(Error::new(ErrorKind::Argument, format!("{from} does not widen to {to}"))),
        }
    }

    /// Times in a unit of `unit` nanoseconds, rounded down.
    fn times<T: ArrowTimestampType>(
        &mut self,
        array: &ArrayRef,
        unit: i128,
        to: &DataType,
    ) -> Result<ArrayRef> {
        let nanos = nanos(array.as_ref());
        let nanos = nanos.ok_or_else(|| Error::new(ErrorKind::Argument, "not an array of times"))?;
        let ticks = nanos.into_iter().map(|nanos| i64::try_from(nanos?.div_euclid(unit)).ok());
        let times: PrimitiveArray<T> = ticks.collect();
        *self.beyond |= times.null_count() > array.null_count();
        Ok(Arc::new(times.with_data_type(to.clone())))
    }

    fn structure(&mut self, array: &StructArray, fields: &Fields) -> Result<StructArray> {
        let columns = array.columns().iter().zip(fields);
        let columns = columns.map(|(column, field)| self.array(column, field.data_type()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        StructArray::try_new_with_length(fields.clone(), columns, array.nulls().cloned(), array.len())
            .map_err(Into::into)
    }

    fn map(&mut self, array: &MapArray, entries: &FieldRef, sorted: bool) -> Result<ArrayRef> {
        let DataType::Struct(fields) = entries.data_type() else {
            return Err(Error::new(ErrorKind::Argument, "the entries of a map are not a struct"));
        };
        let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
        let rows = self.structure(array.entries(), fields)?;
        built(MapArray::try_new(Arc::clone(entries), offsets, rows, nulls, sorted))
    }
}

fn built(array: Result<impl Array + 'static, impl Into<Error>>) -> Result<ArrayRef> {
    array.map(|array| Arc::new(array) as ArrayRef).map_err(Into::into)
}
