//! Converts deleted rows, as their writers stored them, to rows of the current table: fields are matched by
//! id.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, new_null_array};
use arrow_schema::{ArrowError, DataType, Field};
use lakebed_avro::ErrorKind as AvroKind;

use crate::columnar::PARQUET_FIELD_ID;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::partition;
use crate::iceberg::types::{FieldRef, Type};

/// The keys under which ORC and Parquet files store field ids.
const IDS: [&str; 2] = [PARQUET_FIELD_ID, "iceberg.id"];

/// A struct converted to `fields`; fields that the file lacks are null.
pub(in crate::iceberg) fn conform(array: &ArrayRef, fields: &[FieldRef]) -> Result<ArrayRef> {
    let Some(rows) = array.as_struct_opt() else { return Err(mismatch(array, "a row")) };
    let children = fields.iter().map(|field| match child(rows, field) {
        Some(child) => value(child, &field.ty).map_err(|error| error.within(&field.name)),
        None => Ok(new_null_array(&field.ty.arrow(), rows.len())),
    });
    let children = children.collect::<Result<Vec<_>>>()?;
    let fields = fields.iter().map(|field| field.arrow()).collect();
    built(StructArray::try_new_with_length(fields, children, rows.nulls().cloned(), rows.len()))
}

/// The child with the id of `field`; where no child has an id, the one with its name. In Avro files the
/// children's names are their ids.
fn child<'a>(rows: &'a StructArray, field: &FieldRef) -> Option<&'a ArrayRef> {
    let id = field.id.to_string();
    let is_it = |child: &Arc<Field>| match id_of(child) {
        Some(found) => *found == id,
        None => *child.name() == id,
    };
    let fields = rows.fields();
    let named = || fields.iter().position(|child| id_of(child).is_none() && *child.name() == field.name);
    let place = fields.iter().position(is_it).or_else(named)?;
    rows.columns().get(place)
}

/// The id that a file gives a field.
fn id_of(field: &Field) -> Option<&String> {
    IDS.into_iter().find_map(|key| field.metadata().get(key))
}

fn value(array: &ArrayRef, ty: &Type) -> Result<ArrayRef> {
    match (ty, array.as_list_opt::<i32>(), array.as_map_opt()) {
        (Type::Struct(fields), ..) => conform(array, fields),
        (Type::List(element), Some(list), _) => {
            let values = value(list.values(), &element.ty)?;
            let DataType::List(item) = ty.arrow() else { return Err(mismatch(array, &ty.to_string())) };
            built(ListArray::try_new(item, list.offsets().clone(), values, list.nulls().cloned()))
        }
        (Type::Map(..), _, Some(map)) => pairs(map.entries(), ty, |field, pairs| {
            MapArray::try_new(field, map.offsets().clone(), pairs, map.nulls().cloned(), false)
        }),
        // Avro only has maps with string keys: others are stored as lists of pairs.
        (Type::Map(..), Some(list), _) => {
            let entries = list.values().as_struct_opt().ok_or_else(|| mismatch(array, &ty.to_string()))?;
            pairs(entries, ty, |field, pairs| {
                MapArray::try_new(field, list.offsets().clone(), pairs, list.nulls().cloned(), false)
            })
        }
        _ => partition::conform(array, ty),
    }
}

/// The keys and values of a map, by position.
fn pairs(
    entries: &StructArray,
    ty: &Type,
    map: impl FnOnce(Arc<Field>, StructArray) -> Result<MapArray, ArrowError>,
) -> Result<ArrayRef> {
    let (Type::Map(key, item), DataType::Map(field, _)) = (ty, ty.arrow()) else {
        return Err(mismatch(entries, &ty.to_string()));
    };
    let ([keys, items], DataType::Struct(children)) = (entries.columns(), field.data_type()) else {
        return Err(mismatch(entries, &ty.to_string()));
    };
    let columns = vec![value(keys, &key.ty)?, value(items, &item.ty)?];
    let pairs = StructArray::try_new(children.clone(), columns, None);
    built(pairs.and_then(|pairs| map(Arc::clone(&field), pairs)))
}

fn built<T: Array + 'static>(array: std::result::Result<T, ArrowError>) -> Result<ArrayRef> {
    let built = array.map(|array| Arc::new(array) as ArrayRef);
    built.map_err(|error| Error::new(ErrorKind::Avro(AvroKind::Schema), error.to_string()))
}

#[cold]
fn mismatch(array: &dyn Array, to: &str) -> Error {
    let message = format!("a value of {} cannot be read as {to}", array.data_type());
    Error::new(ErrorKind::Avro(AvroKind::Schema), message)
}
