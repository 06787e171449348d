//! The field table: what a format's records hold, one row a field.

use std::sync::Arc;

use arrow_schema::{DataType, Field};

/// One field of a format's record.
///
/// The disk name stands only here; everything above uses the column's name.
pub struct FieldSpec {
    /// Dotted path in the Avro record, as the format spells it.
    pub disk: &'static str,
    /// The format's own number of it, by which writers' fields are found before their names count.
    pub id: Option<i32>,
    /// Other names that writers gave the last part of the path.
    pub aliases: &'static [&'static str],
    /// Name of the Arrow column.
    pub column: &'static str,
    /// Makes the Arrow type of the column, whatever the writer's own was.
    pub data_type: fn() -> DataType,
    /// Whether a record without it is broken; else absent means null.
    pub required: bool,
    /// What it means, with its unit.
    pub doc: &'static str,
}

impl FieldSpec {
    /// The path on disk, with the id where the format has one, as messages show it.
    pub fn on_disk(&self) -> String {
        self.id.map_or_else(|| self.disk.to_owned(), |id| format!("{} (id {id})", self.disk))
    }

    /// The Arrow field of the column.
    pub fn arrow(&self) -> Field {
        Field::new(self.column, (self.data_type)(), !self.required)
    }
}

// The types that field tables of every format have.

pub(crate) fn int32() -> DataType {
    DataType::Int32
}

pub(crate) fn int64() -> DataType {
    DataType::Int64
}

pub(crate) fn utf8() -> DataType {
    DataType::Utf8
}

pub(crate) fn binary() -> DataType {
    DataType::Binary
}

pub(crate) fn ints() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Int32, true)))
}

pub(crate) fn texts() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)))
}

pub(crate) fn longs() -> DataType {
    DataType::List(Arc::new(Field::new("item", DataType::Int64, true)))
}
