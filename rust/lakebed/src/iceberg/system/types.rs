//! Types of columns of several metadata tables.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};

use crate::view::map_names;

/// An instant, as the engine's `timestamptz`.
pub(super) fn instant() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// User-defined key-value pairs.
pub(super) fn pairs() -> DataType {
    let names = map_names();
    let entry =
        vec![Field::new(names.key, DataType::Utf8, false), Field::new(names.value, DataType::Utf8, true)];
    DataType::Map(Arc::new(Field::new(names.entry, DataType::Struct(entry.into()), false)), false)
}

/// A list of `item`s.
pub(super) fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

/// A list of structs of these fields.
pub(super) fn structs(fields: &[(&str, DataType)]) -> DataType {
    let fields: Fields = fields.iter().map(|(name, ty)| Field::new(*name, ty.clone(), true)).collect();
    list(DataType::Struct(fields))
}
