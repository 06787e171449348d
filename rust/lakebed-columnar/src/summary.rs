//! What footers say of the values of a column.

use std::cmp::Ordering;

/// The least or the greatest value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// Of integers; of dates, times and timestamps their number in the file's unit, of ORC's timestamps nanoseconds
    /// since 1970, of those without a zone as if they were in UTC; of decimals in Parquet their digits.
    Integer(i128),
    /// Of floating-point numbers.
    Float(f64),
    /// Of texts in ORC; of decimals there their text.
    Text(String),
    /// Of texts and bytes in Parquet.
    Bytes(Vec<u8>),
    /// Of truth values.
    Boolean(bool),
}

impl Bound {
    /// Of two bounds the one that is `which` of the other; `None` where they do not compare.
    pub(crate) fn extreme(one: Option<Bound>, other: Bound, which: Ordering) -> Option<Bound> {
        let Some(one) = one else { return Some(other) };
        let compared = match (&one, &other) {
            (Bound::Integer(one), Bound::Integer(other)) => Some(one.cmp(other)),
            (Bound::Float(one), Bound::Float(other)) => one.partial_cmp(other),
            (Bound::Text(one), Bound::Text(other)) => Some(one.cmp(other)),
            (Bound::Bytes(one), Bound::Bytes(other)) => Some(one.cmp(other)),
            (Bound::Boolean(one), Bound::Boolean(other)) => Some(one.cmp(other)),
            _ => None,
        };
        compared.map(|compared| if compared == which { one } else { other })
    }

    pub(crate) fn is_nan(&self) -> bool {
        matches!(self, Bound::Float(value) if value.is_nan())
    }
}

/// What a footer says of the values of one column; `None` where it does not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    /// The number of values, nulls among them.
    pub values: Option<u64>,
    /// The number of nulls.
    pub nulls: Option<u64>,
    /// The bytes of its values in the file.
    pub bytes: Option<u64>,
    /// The least value that is neither null nor, in Parquet, NaN.
    pub lower: Option<Bound>,
    /// The greatest value that is neither null nor, in Parquet, NaN.
    pub upper: Option<Bound>,
}
