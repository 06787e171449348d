//! The field table: the fields of a format's records, one row each.

use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};

/// One field of a format's record.
///
/// Only this table has the name on disk; all other code uses the column's name.
pub struct FieldSpec {
    /// Dotted path in the Avro record, as the format writes it.
    pub disk: &'static str,
    /// The format's field id, if it has one. Fields of writers are matched by id first, then by name.
    pub id: Option<i32>,
    /// Other names that writers have used for the last part of the path.
    pub aliases: &'static [&'static str],
    /// Name of the Arrow column.
    pub column: &'static str,
    /// The Arrow type of the column, which does not depend on the writer.
    pub data_type: fn() -> DataType,
    /// Whether a record without it is invalid; otherwise a missing field becomes null.
    pub required: bool,
    /// Its meaning, with the unit.
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

/// An optional field without an id.
pub(crate) const fn optional(
    disk: &'static str,
    column: &'static str,
    data_type: fn() -> DataType,
    doc: &'static str,
) -> FieldSpec {
    FieldSpec { disk, id: None, aliases: &[], column, data_type, required: false, doc }
}

// `content` in the views of every format, as Iceberg numbers it.

/// Data files, and manifests of them.
pub(crate) const DATA: i32 = 0;
/// Position delete files and deletion vectors.
pub(crate) const POSITION_DELETES: i32 = 1;
/// Equality delete files.
pub(crate) const EQUALITY_DELETES: i32 = 2;

// The types that the field tables of several formats use.

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

/// An instant of some writer's wall clock, which knows no zone.
pub(crate) fn wall_clock() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
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
