//! Paimon's data types, their JSON and text forms, and the Arrow types they become.
//!
//! Atomic types are JSON strings (`"DECIMAL(10, 2) NOT NULL"`), constructed types JSON objects
//! (`{"type":"ARRAY","element":"INT"}`). They are printed exactly as by Paimon's `DataType.asSQLString` and
//! `DataType.serializeJson`.

mod arrow;
mod exact_time;
mod from_arrow;
mod grammar;
mod json;
mod token;
mod widen;

#[cfg(test)]
mod tests;

use std::fmt;

pub(crate) use exact_time::{EXACT_TIME, exact_times, nanos};
pub use from_arrow::from_arrow;
pub(crate) use json::FieldParser;
pub(crate) use widen::show;
pub use widen::widen;

pub use crate::edges::EdgeAlgorithm;
use crate::words::write_list;

/// The longest CHAR, VARCHAR, BINARY or VARBINARY, and the length that prints as `STRING` or `BYTES`.
pub const MAX_LENGTH: i32 = i32::MAX;

/// A type and whether its values may be null.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DataType {
    /// Which type.
    pub kind: TypeKind,
    /// Whether values may be null; printed as ` NOT NULL` if not.
    pub nullable: bool,
}

/// Paimon's types, with their parameters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// `CHAR(n)`: text of n code points.
    Char(i32),
    /// `VARCHAR(n)`: text of at most n code points; `STRING` at [`MAX_LENGTH`].
    VarChar(i32),
    /// `BOOLEAN`.
    Boolean,
    /// `BINARY(n)`: n bytes.
    Binary(i32),
    /// `VARBINARY(n)`: at most n bytes; `BYTES` at [`MAX_LENGTH`].
    VarBinary(i32),
    /// `DECIMAL(p, s)` with p in 1..=38 and s in 0..=p.
    Decimal {
        /// Number of digits.
        precision: u8,
        /// Digits after the decimal point.
        scale: i8,
    },
    /// `TINYINT`: 8 bits.
    TinyInt,
    /// `SMALLINT`: 16 bits.
    SmallInt,
    /// `INT`: 32 bits.
    Int,
    /// `BIGINT`: 64 bits.
    BigInt,
    /// `FLOAT`: 32 bits.
    Float,
    /// `DOUBLE`: 64 bits.
    Double,
    /// `DATE`: days since 1970-01-01.
    Date,
    /// `TIME(p)` with p in 0..=9; values are milliseconds of the day for every p.
    Time(u8),
    /// `TIMESTAMP(p)` with p in 0..=9: a wall-clock time without zone.
    Timestamp(u8),
    /// `TIMESTAMP(p) WITH LOCAL TIME ZONE` with p in 0..=9: an instant.
    LocalZonedTimestamp(u8),
    /// `VARIANT`: a semi-structured value.
    Variant,
    /// `BLOB`: bytes kept in separate files.
    Blob,
    /// `GEOMETRY(crs)`: planar well-known binary.
    Geometry {
        /// The coordinate reference system.
        crs: String,
    },
    /// `GEOGRAPHY(crs, algorithm)`: well-known binary on a spheroid.
    Geography {
        /// The coordinate reference system.
        crs: String,
        /// How edges are interpolated.
        algorithm: EdgeAlgorithm,
    },
    /// `ARRAY` of elements.
    Array(Box<DataType>),
    /// `MULTISET`: elements with their counts.
    Multiset(Box<DataType>),
    /// `MAP` from key to value.
    Map(Box<DataType>, Box<DataType>),
    /// `ROW` of fields.
    Row(Vec<DataField>),
    /// `VECTOR`: always `length` elements of a boolean or numeric type.
    Vector {
        /// The type of the elements.
        element: Box<DataType>,
        /// Number of elements, at least 1.
        length: i32,
    },
}

/// A column of a table, or a field of a ROW.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DataField {
    /// The id, unique in the table and never reused; columns are matched by it across schemas.
    pub id: i32,
    /// The name, unique among its siblings.
    pub name: String,
    /// The type.
    pub ty: DataType,
    /// The comment.
    pub description: Option<String>,
    /// The default value, as text.
    pub default_value: Option<String>,
}

impl DataType {
    /// A nullable type.
    pub fn nullable(kind: TypeKind) -> DataType {
        DataType { kind, nullable: true }
    }

    /// How deep types nest in this one; 0 for an atomic type.
    pub(crate) fn depth(&self) -> usize {
        let children = match &self.kind {
            TypeKind::Array(element) | TypeKind::Multiset(element) | TypeKind::Vector { element, .. } => {
                element.depth()
            }
            TypeKind::Map(key, value) => key.depth().max(value.depth()),
            TypeKind::Row(fields) => fields.iter().map(|field| field.ty.depth()).max().unwrap_or(0),
            _ => return 0,
        };
        children + 1
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        f.write_str(if self.nullable { "" } else { " NOT NULL" })
    }
}

impl fmt::Display for TypeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeKind::Char(length) => write!(f, "CHAR({length})"),
            TypeKind::VarChar(MAX_LENGTH) => f.write_str("STRING"),
            TypeKind::VarChar(length) => write!(f, "VARCHAR({length})"),
            TypeKind::Boolean => f.write_str("BOOLEAN"),
            TypeKind::Binary(length) => write!(f, "BINARY({length})"),
            TypeKind::VarBinary(MAX_LENGTH) => f.write_str("BYTES"),
            TypeKind::VarBinary(length) => write!(f, "VARBINARY({length})"),
            TypeKind::Decimal { precision, scale } => write!(f, "DECIMAL({precision}, {scale})"),
            TypeKind::TinyInt => f.write_str("TINYINT"),
            TypeKind::SmallInt => f.write_str("SMALLINT"),
            TypeKind::Int => f.write_str("INT"),
            TypeKind::BigInt => f.write_str("BIGINT"),
            TypeKind::Float => f.write_str("FLOAT"),
            TypeKind::Double => f.write_str("DOUBLE"),
            TypeKind::Date => f.write_str("DATE"),
            TypeKind::Time(precision) => write!(f, "TIME({precision})"),
            TypeKind::Timestamp(precision) => write!(f, "TIMESTAMP({precision})"),
            TypeKind::LocalZonedTimestamp(precision) => {
                write!(f, "TIMESTAMP({precision}) WITH LOCAL TIME ZONE")
            }
            TypeKind::Variant => f.write_str("VARIANT"),
            TypeKind::Blob => f.write_str("BLOB"),
            TypeKind::Geometry { crs } => write!(f, "GEOMETRY({})", grammar::quote_crs(crs)),
            TypeKind::Geography { crs, algorithm } => {
                write!(f, "GEOGRAPHY({}, {})", grammar::quote_crs(crs), algorithm.name())
            }
            TypeKind::Array(element) => write!(f, "ARRAY<{element}>"),
            TypeKind::Multiset(element) => write!(f, "MULTISET<{element}>"),
            TypeKind::Map(key, value) => write!(f, "MAP<{key}, {value}>"),
            TypeKind::Row(fields) => {
                f.write_str("ROW<")?;
                write_list(f, fields)?;
                f.write_str(">")
            }
            TypeKind::Vector { element, length } => write!(f, "VECTOR<{element}, {length}>"),
        }
    }
}

impl fmt::Display for DataField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.name.replace('`', "``"), self.ty)?;
        if let Some(description) = self.description.as_deref().filter(|text| !text.is_empty()) {
            write!(f, " COMMENT '{}'", description.replace('\'', "''"))?;
        }
        match &self.default_value {
            Some(value) => write!(f, " DEFAULT {value}"),
            None => Ok(()),
        }
    }
}
