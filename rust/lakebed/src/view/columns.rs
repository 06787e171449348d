//! Columns that views of every format have.

use std::sync::Arc;

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, StringArray, StructArray,
    TimestampMicrosecondArray, new_null_array,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};

use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::json::{LEVELS, roomy};

/// Rows of a view, each made of one item: a method makes a column of what it finds in each.
pub(crate) struct Rows<I>(pub(crate) I);

impl<I: Iterator + Clone> Rows<I> {
    pub(crate) fn booleans(&self, of: impl FnMut(I::Item) -> bool) -> ArrayRef {
        Arc::new(self.0.clone().map(of).map(Some).collect::<BooleanArray>())
    }

    pub(crate) fn ints<V: Into<Option<i32>>>(&self, of: impl FnMut(I::Item) -> V) -> ArrayRef {
        Arc::new(self.0.clone().map(of).map(Into::into).collect::<Int32Array>())
    }

    pub(crate) fn longs<V: Into<Option<i64>>>(&self, of: impl FnMut(I::Item) -> V) -> ArrayRef {
        Arc::new(self.0.clone().map(of).map(Into::into).collect::<Int64Array>())
    }

    pub(crate) fn texts<'t, V: Into<Option<&'t str>>>(&self, of: impl FnMut(I::Item) -> V) -> ArrayRef {
        Arc::new(self.0.clone().map(of).map(Into::into).collect::<StringArray>())
    }

    /// Milliseconds since 1970 UTC as instants.
    pub(crate) fn instants<V: Into<Option<i64>>>(&self, of: impl FnMut(I::Item) -> V) -> Result<ArrayRef> {
        instants(self.0.clone().map(of))
    }

    /// Microseconds of some writer's wall clock.
    pub(crate) fn wall_clocks(&self, of: impl FnMut(I::Item) -> Option<i64>) -> ArrayRef {
        Arc::new(self.0.clone().map(of).collect::<TimestampMicrosecondArray>())
    }

    pub(crate) fn int_lists<'t>(&self, of: impl Fn(I::Item) -> &'t [i32]) -> Result<ArrayRef> {
        let items = Int32Array::from_iter_values(self.0.clone().flat_map(&of).copied());
        lists(self.0.clone().map(|row| of(row).len()), Arc::new(items))
    }

    pub(crate) fn text_lists<'t>(&self, of: impl Fn(I::Item) -> &'t [String]) -> Result<ArrayRef> {
        let items = StringArray::from_iter_values(self.0.clone().flat_map(&of));
        lists(self.0.clone().map(|row| of(row).len()), Arc::new(items))
    }

    /// Nulls: the format has no such field.
    pub(crate) fn absent(&self, data_type: &DataType) -> ArrayRef {
        new_null_array(data_type, self.0.clone().count())
    }
}

/// A field of a schema, as views show it.
pub(crate) struct ShownField<'s> {
    pub(crate) id: i32,
    pub(crate) name: &'s str,
    /// As the format writes it.
    pub(crate) ty: Value,
    pub(crate) required: bool,
    pub(crate) doc: Option<&'s str>,
}

/// The fields of schemas as lists of structs, with the text of each type, that of a nested one as JSON: how many fields
/// each schema has, and those of all schemas, whose types nest to `depth`.
pub(crate) fn field_lists<'s>(
    depth: usize,
    lengths: impl Iterator<Item = usize> + Send,
    fields: impl Iterator<Item = ShownField<'s>> + Send,
) -> Result<ArrayRef> {
    roomy(LEVELS * depth, || {
        let fields: Vec<_> = fields.collect();
        let types = fields.iter().map(|field| match &field.ty {
            Value::String(text) => text.clone(),
            nested => nested.to_string(),
        });
        let types = StringArray::from_iter_values(types);
        let rows = Rows(fields.iter());
        let columns = vec![
            ("id", rows.ints(|field| field.id)),
            ("name", rows.texts(|field| field.name)),
            ("type", Arc::new(types) as ArrayRef),
            ("required", rows.booleans(|field| field.required)),
            ("doc", rows.texts(|field| field.doc)),
        ];
        struct_lists(lengths, columns)
    })
}

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
