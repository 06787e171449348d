//! Iceberg's data types and schemas, their JSON and text forms, and the Arrow types they become.
//!
//! Primitive types are JSON strings (`"decimal(9, 2)"`), nested ones JSON objects (Iceberg specification,
//! "Schemas and Data Types" and appendix C). They are printed as by Iceberg's `Types.java`.

mod arrow;
mod json;
mod schema;
mod text;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

pub use schema::Schema;

pub use crate::edges::EdgeAlgorithm;
use crate::words::write_list;

/// The most digits of a decimal.
pub const MAX_PRECISION: u8 = 38;

/// A type; nested ones hold their fields with ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// `boolean`.
    Boolean,
    /// `int`: 32 bits.
    Int,
    /// `long`: 64 bits.
    Long,
    /// `float`: 32 bits.
    Float,
    /// `double`: 64 bits.
    Double,
    /// `decimal(P, S)` with P in 1..=38 and S at most P; a negative S means zeros before the decimal point.
    Decimal {
        /// Number of digits.
        precision: u8,
        /// Digits after the decimal point.
        scale: i8,
    },
    /// `date`: days since 1970-01-01.
    Date,
    /// `time`: microseconds since midnight.
    Time,
    /// `timestamp`: microseconds since 1970-01-01T00:00, without a time zone.
    Timestamp,
    /// `timestamptz`: microseconds since 1970-01-01T00:00 UTC.
    Timestamptz,
    /// `timestamp_ns`: nanoseconds since 1970-01-01T00:00, without a time zone.
    TimestampNs,
    /// `timestamptz_ns`: nanoseconds since 1970-01-01T00:00 UTC.
    TimestamptzNs,
    /// `string`: UTF-8.
    String,
    /// `uuid`: 16 bytes.
    Uuid,
    /// `fixed[L]`: always L bytes.
    Fixed(u32),
    /// `binary`: bytes.
    Binary,
    /// `unknown`: always null.
    Unknown,
    /// `variant`: a semi-structured value.
    Variant,
    /// `geometry(C)`: planar well-known binary.
    Geometry {
        /// The coordinate reference system; `None` is `OGC:CRS84`.
        crs: Option<String>,
    },
    /// `geography(C, A)`: well-known binary on a spheroid.
    Geography {
        /// The coordinate reference system; `None` is `OGC:CRS84`.
        crs: Option<String>,
        /// How edges are interpolated; `None` is spherical.
        algorithm: Option<EdgeAlgorithm>,
    },
    /// `struct` of fields.
    Struct(Vec<FieldRef>),
    /// `list`; the field of its elements is named `element`.
    List(FieldRef),
    /// `map`; the fields of its keys and values are named `key` and `value`, and keys are required.
    Map(FieldRef, FieldRef),
}

/// A field, shared by its schema and the schema's indexes.
pub type FieldRef = Arc<NestedField>;

/// A column of a table, or a field nested in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedField {
    /// The id, unique in the schema; columns are matched by it across schemas and files.
    pub id: i32,
    /// The name, unique among its siblings; it may contain dots.
    pub name: String,
    /// Whether no value is null.
    pub required: bool,
    /// The type.
    pub ty: Type,
    /// The comment.
    pub doc: Option<String>,
    /// The value in rows that were written before the field existed, as a JSON single value.
    pub initial_default: Option<Value>,
    /// The value that writers store where none is given, as a JSON single value.
    pub write_default: Option<Value>,
}

impl NestedField {
    /// A field without comment and defaults.
    pub fn new(id: i32, name: impl Into<String>, required: bool, ty: Type) -> NestedField {
        let name = name.into();
        NestedField { id, name, required, ty, doc: None, initial_default: None, write_default: None }
    }
}

impl Type {
    /// The fields of a nested type; empty for others.
    pub fn children(&self) -> Vec<&FieldRef> {
        match self {
            Type::Struct(fields) => fields.iter().collect(),
            Type::List(element) => vec![element],
            Type::Map(key, value) => vec![key, value],
            _ => Vec::new(),
        }
    }

    /// Whether this is one of the specification's primitive types: neither nested nor a variant.
    pub fn is_primitive(&self) -> bool {
        !matches!(self, Type::Struct(_) | Type::List(_) | Type::Map(..) | Type::Variant)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Decimal { precision, scale } => write!(f, "decimal({precision}, {scale})"),
            Type::Fixed(length) => write!(f, "fixed[{length}]"),
            Type::Geometry { crs: Some(crs) } => write!(f, "geometry({crs})"),
            Type::Geography { crs, algorithm: Some(algorithm) } => {
                write!(f, "geography({}, {})", crs.as_deref().unwrap_or(text::DEFAULT_CRS), algorithm.name())
            }
            Type::Geography { crs: Some(crs), algorithm: None } => write!(f, "geography({crs})"),
            Type::Struct(fields) => {
                f.write_str("struct<")?;
                write_list(f, fields)?;
                f.write_str(">")
            }
            Type::List(element) => write!(f, "list<{}>", element.ty),
            Type::Map(key, value) => write!(f, "map<{}, {}>", key.ty, value.ty),
            plain => f.write_str(text::keyword(plain)),
        }
    }
}

impl fmt::Display for NestedField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let presence = if self.required { "required" } else { "optional" };
        write!(f, "{}: {}: {presence} {}", self.id, self.name, self.ty)?;
        match &self.doc {
            Some(doc) => write!(f, " ({doc})"),
            None => Ok(()),
        }
    }
}
