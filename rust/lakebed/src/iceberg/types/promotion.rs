//! Which types a column may change to (Iceberg specification, "Schema Evolution").

use super::Type;

impl Type {
    /// Whether values of this type can be read as `to`: the same type, or one to which a column of this type
    /// may be promoted in any format version.
    pub fn promotes_to(&self, to: &Type) -> bool {
        match (self, to) {
            (from, to) if from == to => true,
            (Type::Int, Type::Long)
            | (Type::Float, Type::Double)
            | (Type::Date, Type::Timestamp | Type::TimestampNs)
            | (Type::Unknown, _) => true,
            (Type::Decimal { precision: old, scale: same }, Type::Decimal { precision: new, scale }) => {
                old < new && same == scale
            }
            _ => false,
        }
    }
}
