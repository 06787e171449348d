//! Which types a column may change to (Paimon's `DataTypeCasts.java`, and the rules of `CastExecutors.java`).

use crate::paimon::types::{DataType, MAX_LENGTH, TypeKind};

/// The families of types that the rules distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Text,
    Boolean,
    Bytes,
    Decimal,
    /// By its size in bytes.
    Integer(u8),
    Float,
    Double,
    Date,
    Time,
    Timestamp,
    Constructed,
    Other,
}

fn family(kind: &TypeKind) -> Family {
    match kind {
        TypeKind::Char(_) | TypeKind::VarChar(_) => Family::Text,
        TypeKind::Boolean => Family::Boolean,
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => Family::Bytes,
        TypeKind::Decimal { .. } => Family::Decimal,
        TypeKind::TinyInt => Family::Integer(1),
        TypeKind::SmallInt => Family::Integer(2),
        TypeKind::Int => Family::Integer(4),
        TypeKind::BigInt => Family::Integer(8),
        TypeKind::Float => Family::Float,
        TypeKind::Double => Family::Double,
        TypeKind::Date => Family::Date,
        TypeKind::Time(_) => Family::Time,
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => Family::Timestamp,
        TypeKind::Array(_) | TypeKind::Map(..) | TypeKind::Row(_) => Family::Constructed,
        _ => Family::Other,
    }
}

/// Whether a column of type `from` may change to `to`: its values can be cast, without loss unless
/// `explicit`.
pub(super) fn may_become(from: &DataType, to: &DataType, explicit: bool) -> bool {
    if from.nullable && !to.nullable && !explicit {
        return false;
    }
    if from.kind == to.kind {
        return true;
    }
    let (old, new) = (family(&from.kind), family(&to.kind));
    if !explicit && !is_implicit(from, to, old, new) {
        return false;
    }
    match (old, new) {
        (Family::Date | Family::Time | Family::Timestamp, Family::Text) => is_string(to),
        (Family::Other, _) | (_, Family::Other | Family::Constructed) => false,
        (_, Family::Text) => true,
        (Family::Text | Family::Integer(_), Family::Boolean) => true,
        (Family::Text | Family::Bytes, Family::Bytes) => true,
        (
            Family::Text
            | Family::Boolean
            | Family::Decimal
            | Family::Integer(_)
            | Family::Float
            | Family::Double,
            Family::Decimal | Family::Integer(_) | Family::Float | Family::Double,
        ) => true,
        (Family::Timestamp, Family::Integer(4 | 8) | Family::Date | Family::Time) => true,
        (Family::Text, Family::Date | Family::Time | Family::Timestamp) => true,
        (Family::Date | Family::Time | Family::Timestamp | Family::Integer(4 | 8), Family::Timestamp) => true,
        _ => false,
    }
}

/// Times can only be cast to texts of unlimited length.
fn is_string(to: &DataType) -> bool {
    to.nullable && to.kind == TypeKind::VarChar(MAX_LENGTH)
}

/// Whether the cast is without loss, by Paimon's rules.
fn is_implicit(from: &DataType, to: &DataType, old: Family, new: Family) -> bool {
    use Family::{Date, Decimal, Double, Float, Integer, Time, Timestamp};
    match (old, new) {
        (Integer(old), Integer(new)) => old <= new,
        (Decimal | Integer(_) | Float | Double, Decimal | Double) => true,
        (Integer(_) | Float | Decimal, Float) => true,
        (Timestamp, Date | Time) => matches!(from.kind, TypeKind::Timestamp(_)),
        // A type of fixed length accepts those of its own kind.
        _ => match &to.kind {
            TypeKind::Char(_) => matches!(from.kind, TypeKind::Char(_)),
            TypeKind::Binary(_) => matches!(from.kind, TypeKind::Binary(_)),
            _ => old == new,
        },
    }
}
