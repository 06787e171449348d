//! Arrow types of Paimon's types: as BinaryRow stores them, and as users see them.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, TimeUnit};

use super::exact_time::EXACT_TIME;
use super::{DataField, DataType, TypeKind};

/// The key of a field's metadata that names a Paimon type without a counterpart in Arrow.
pub const TYPE_METADATA: &str = "paimon.type";

/// The time zone of LTZ columns: their values are instants, stored in UTC.
const UTC: &str = "UTC";

/// Which type timestamps get: the coarsest unit of their precision, one that users' engines accept, or one that holds
/// every time that a row can.
#[derive(Clone, Copy)]
enum TimestampForm {
    Storage,
    View,
    Exact,
}

impl DataType {
    /// The Arrow type of what a BinaryRow stores, except for times beyond 64 bits of their unit.
    ///
    /// | Paimon | Arrow |
    /// |---|---|
    /// | BOOLEAN, TINYINT … BIGINT, FLOAT, DOUBLE | Boolean, Int8 … Int64, Float32, Float64 |
    /// | DECIMAL(p, s) | Decimal128(p, s) |
    /// | CHAR, VARCHAR, STRING | Utf8 |
    /// | BINARY, VARBINARY, BYTES, BLOB, GEOMETRY, GEOGRAPHY | Binary |
    /// | DATE, TIME | Date32, Time32(ms) |
    /// | TIMESTAMP(p) | Timestamp: ms for p ≤ 3, us for p ≤ 6, else ns; LTZ with zone `UTC` |
    /// | ARRAY, VECTOR | List, FixedSizeList, both of `item` |
    /// | MAP, MULTISET | Map of `entries` {`key`, `value`}; the value of a MULTISET is an Int32 count |
    /// | ROW | Struct |
    /// | VARIANT | Struct {`value`: Binary, `metadata`: Binary}, see [`DataType::storage_field`] |
    ///
    /// Children keep their declared nullability; keys of maps are never null in Arrow.
    pub fn storage_type(&self) -> ArrowType {
        self.arrow_type(TimestampForm::Storage)
    }

    /// The Arrow type that users see: [`DataType::storage_type`] with timestamps of p ≤ 3 in microseconds,
    /// because Spark does not accept milliseconds. [`super::widen()`] converts.
    pub fn view_type(&self) -> ArrowType {
        self.arrow_type(TimestampForm::View)
    }

    /// The Arrow type of exactly what a BinaryRow stores: [`DataType::storage_type`] with timestamps of p > 3 as
    /// [`EXACT_TIME`]. Within the library alone: [`super::show`] converts.
    pub(crate) fn exact_type(&self) -> ArrowType {
        self.arrow_type(TimestampForm::Exact)
    }

    /// A nullable field of the exact type, marked as [`DataType::storage_field`].
    pub(crate) fn exact_field(&self, name: &str) -> Field {
        self.arrow_field(name, TimestampForm::Exact).with_nullable(true)
    }

    /// A field of the storage type, with the declared nullability; a VARIANT is marked by the metadata
    /// `paimon.type` = `VARIANT`.
    pub fn storage_field(&self, name: &str) -> Field {
        self.arrow_field(name, TimestampForm::Storage)
    }

    /// A nullable field of the view type: statistics and partitions of NOT NULL columns can be null.
    pub fn view_field(&self, name: &str) -> Field {
        self.arrow_field(name, TimestampForm::View).with_nullable(true)
    }

    fn arrow_field(&self, name: &str, form: TimestampForm) -> Field {
        let field = Field::new(name, self.arrow_type(form), self.nullable);
        match self.kind {
            TypeKind::Variant => field.with_metadata([(TYPE_METADATA.to_owned(), "VARIANT".to_owned())]),
            _ => field,
        }
    }

    fn arrow_type(&self, form: TimestampForm) -> ArrowType {
        match &self.kind {
            TypeKind::Boolean => ArrowType::Boolean,
            TypeKind::TinyInt => ArrowType::Int8,
            TypeKind::SmallInt => ArrowType::Int16,
            TypeKind::Int => ArrowType::Int32,
            TypeKind::BigInt => ArrowType::Int64,
            TypeKind::Float => ArrowType::Float32,
            TypeKind::Double => ArrowType::Float64,
            TypeKind::Decimal { precision, scale } => ArrowType::Decimal128(*precision, *scale),
            TypeKind::Char(_) | TypeKind::VarChar(_) => ArrowType::Utf8,
            TypeKind::Binary(_)
            | TypeKind::VarBinary(_)
            | TypeKind::Blob
            | TypeKind::Geometry { .. }
            | TypeKind::Geography { .. } => ArrowType::Binary,
            TypeKind::Date => ArrowType::Date32,
            TypeKind::Time(_) => ArrowType::Time32(TimeUnit::Millisecond),
            TypeKind::Timestamp(precision) => time(*precision, form, None),
            TypeKind::LocalZonedTimestamp(precision) => time(*precision, form, Some(UTC)),
            TypeKind::Variant => ArrowType::Struct(Fields::from(vec![
                Field::new("value", ArrowType::Binary, false),
                Field::new("metadata", ArrowType::Binary, false),
            ])),
            TypeKind::Array(element) => ArrowType::List(item(element, form)),
            TypeKind::Vector { element, length } => ArrowType::FixedSizeList(item(element, form), *length),
            TypeKind::Map(key, value) => map(key, value.arrow_field("value", form), form),
            TypeKind::Multiset(element) => map(element, Field::new("value", ArrowType::Int32, false), form),
            TypeKind::Row(fields) => {
                let child = |field: &DataField| field.ty.arrow_field(&field.name, form);
                ArrowType::Struct(fields.iter().map(child).collect())
            }
        }
    }
}

fn time(precision: u8, form: TimestampForm, zone: Option<&str>) -> ArrowType {
    let unit = match (precision, form) {
        (0..=3, TimestampForm::Storage | TimestampForm::Exact) => TimeUnit::Millisecond,
        (_, TimestampForm::Exact) => return EXACT_TIME,
        (0..=6, _) => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    };
    ArrowType::Timestamp(unit, zone.map(Into::into))
}

fn item(element: &DataType, form: TimestampForm) -> FieldRef {
    Arc::new(element.arrow_field(Field::LIST_FIELD_DEFAULT_NAME, form))
}

fn map(key: &DataType, value: Field, form: TimestampForm) -> ArrowType {
    let key = key.arrow_field("key", form).with_nullable(false);
    let entries = ArrowType::Struct(Fields::from(vec![key, value]));
    ArrowType::Map(Arc::new(Field::new("entries", entries, false)), false)
}
