//! Columns that views of every format have.

use std::sync::Arc;

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{ArrayRef, ListArray, StructArray, TimestampMicrosecondArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};

use crate::error::{Error, ErrorKind, Result};

/// Milliseconds since 1970 UTC as instants in microseconds.
pub(crate) fn instants(millis: impl Iterator<Item = impl Into<Option<i64>>>) -> Result<ArrayRef> {
    let micros = millis.map(|millis| {
        let Some(millis) = millis.into() else { return Ok(None) };
        let micros = millis.checked_mul(1000);
        micros.map(Some).ok_or_else(|| {
            Error::new(ErrorKind::Timestamp, format!("{millis} ms since 1970 is out of range"))
        })
    });
    let array: TimestampMicrosecondArray = micros.collect::<Result<Vec<_>>>()?.into();
    Ok(Arc::new(array.with_timezone("UTC")))
}

/// The deletes of a plan's files, as both formats show them.
pub(crate) fn planned_deletes() -> Fields {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    Fields::from(vec![
        field("content", DataType::Int32),
        field("file_path", DataType::Utf8),
        field("content_offset", DataType::Int64),
        field("content_size", DataType::Int64),
        field("record_count", DataType::Int64),
        field("sequence_number", DataType::Int64),
    ])
}

/// What Arrow calls the parts of a map.
pub(crate) fn map_names() -> MapFieldNames {
    MapFieldNames { entry: "entries".to_owned(), key: "key".to_owned(), value: "value".to_owned() }
}

/// Free key-value pairs; `None` is a null map.
pub(crate) fn maps<'a>(rows: impl Iterator<Item = Option<&'a [(String, String)]>>) -> Result<ArrayRef> {
    let mut builder = MapBuilder::new(Some(map_names()), StringBuilder::new(), StringBuilder::new());
    for row in rows {
        for (key, value) in row.unwrap_or_default() {
            builder.keys().append_value(key);
            builder.values().append_value(value);
        }
        builder.append(row.is_some())?;
    }
    Ok(Arc::new(builder.finish()))
}

/// Lists of structs: how long each list is, and the fields of the items of all lists.
pub(crate) fn struct_lists(
    lengths: impl Iterator<Item = usize>,
    columns: Vec<(&str, ArrayRef)>,
) -> Result<ArrayRef> {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .into_iter()
        .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
        .unzip();
    let items = StructArray::try_new(Fields::from(fields), arrays, None)?;
    lists(lengths, Arc::new(items))
}

/// Lists: how long each list is, and the items of all lists.
pub(crate) fn lists(lengths: impl Iterator<Item = usize>, items: ArrayRef) -> Result<ArrayRef> {
    let mut offsets = vec![0i32];
    let mut end = 0i32;
    for length in lengths {
        let next = i32::try_from(length).ok().and_then(|length| end.checked_add(length));
        end = next.ok_or_else(|| Error::new(ErrorKind::Length, "more than 2^31 items in one column"))?;
        offsets.push(end);
    }
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(ListArray::try_new(item, offsets, items, None)?))
}
