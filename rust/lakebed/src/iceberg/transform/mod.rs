//! Partition transforms: they compute the values of a partition tuple from columns (Iceberg specification,
//! "Partition Transforms").

mod apply;
mod hash;

#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;

use super::types::Type;
use super::value::human;
use crate::error::Result;
use crate::text::civil_from_days;

pub use hash::hashes;

/// A partition transform. All of them keep null.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Transform {
    /// `identity`: the value.
    Identity,
    /// `bucket[N]`: the hash of the value, modulo N.
    Bucket(u32),
    /// `truncate[W]`: numbers rounded down to a multiple of W (decimals by their unscaled value); the first W
    /// code points or bytes of strings and binaries.
    Truncate(u32),
    /// `year`: years since 1970.
    Year,
    /// `month`: months since 1970-01.
    Month,
    /// `day`: days since 1970-01-01, as a date.
    Day,
    /// `hour`: hours since 1970-01-01T00.
    Hour,
    /// `void`: null.
    Void,
    /// A transform that the specification does not have, as its text.
    Unknown(String),
}

impl Transform {
    /// The transform with that text, in any case. Never fails, since tables with unknown transforms can still
    /// be read.
    pub fn parse(text: &str) -> Transform {
        let trimmed = text.trim();
        let known = match trimmed.to_ascii_lowercase().as_str() {
            "identity" => Some(Transform::Identity),
            "year" => Some(Transform::Year),
            "month" => Some(Transform::Month),
            "day" => Some(Transform::Day),
            "hour" => Some(Transform::Hour),
            "void" => Some(Transform::Void),
            lower => parametrised(lower),
        };
        known.unwrap_or_else(|| Transform::Unknown(text.to_owned()))
    }

    /// The type of the results for `source`.
    ///
    /// Results of unknown transforms are strings, as in Java. A source column that no schema has any more has
    /// the type [`Type::Unknown`]; transforms with a fixed result type keep theirs.
    pub fn result_type(&self, source: &Type) -> Type {
        match self {
            Transform::Identity | Transform::Truncate(_) | Transform::Void => source.clone(),
            Transform::Bucket(_) | Transform::Year | Transform::Month | Transform::Hour => Type::Int,
            Transform::Day => Type::Date,
            Transform::Unknown(_) => Type::String,
        }
    }

    /// The results for `values` of the Arrow type of `source`: an array of [`Transform::result_type`].
    ///
    /// Times are rounded down, exactly; truncated numbers below the smallest of their type wrap around, as in
    /// Java. Cost is one pass.
    ///
    /// # Errors
    /// `ErrorKind::Argument` for an array of another type; `ErrorKind::Unsupported` for a source type that
    /// this transform does not accept, and for unknown transforms; `ErrorKind::Timestamp` for an hour that
    /// does not fit 32 bits.
    pub fn apply(&self, values: &ArrayRef, source: &Type) -> Result<ArrayRef> {
        apply::apply(self, values, source)
    }

    /// The text of each value of `values`, which have the Arrow type of `result` (this transform's result
    /// type), as Iceberg prints it in partition paths and in summaries of manifests; null is `null`.
    ///
    /// Years are `1969`, months `1969-12`, days `1969-12-31`, hours `1969-12-31-23`; others have the text of
    /// their type. Cost is one pass.
    ///
    /// # Errors
    /// `ErrorKind::Argument` for an array of another type; `ErrorKind::Unsupported` for types that cannot
    /// partition a table.
    pub fn texts(&self, values: &ArrayRef, result: &Type) -> Result<StringArray> {
        let write: fn(&mut String, i32) -> fmt::Result = match self {
            Transform::Void => return Ok(human::nulls(values)),
            Transform::Year => write_year,
            Transform::Month => write_month,
            Transform::Hour => write_hour,
            _ => return human::texts(values, result),
        };
        match values.data_type() {
            DataType::Int32 => human::primitives::<Int32Type>(values, write),
            _ => human::texts(values, result),
        }
    }
}

/// `bucket[N]` and `truncate[W]`, with parameters above 0 that fit 31 bits.
fn parametrised(text: &str) -> Option<Transform> {
    let (keyword, parameter) = text.strip_suffix(']')?.split_once('[')?;
    let is_number = !parameter.is_empty() && parameter.bytes().all(|byte| byte.is_ascii_digit());
    let number =
        parameter.parse::<u32>().ok().filter(|number| (1..=i32::MAX.unsigned_abs()).contains(number));
    match (keyword, number.filter(|_| is_number)?) {
        ("bucket", buckets) => Some(Transform::Bucket(buckets)),
        ("truncate", width) => Some(Transform::Truncate(width)),
        _ => None,
    }
}

fn write_year(out: &mut String, years: i32) -> fmt::Result {
    write!(out, "{:04}", 1970 + i64::from(years))
}

fn write_month(out: &mut String, months: i32) -> fmt::Result {
    write!(out, "{:04}-{:02}", 1970 + i64::from(months.div_euclid(12)), 1 + months.rem_euclid(12))
}

fn write_hour(out: &mut String, hours: i32) -> fmt::Result {
    let (year, month, day) = civil_from_days(i64::from(hours.div_euclid(24)));
    write!(out, "{year:04}-{month:02}-{day:02}-{:02}", hours.rem_euclid(24))
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transform::Identity => f.write_str("identity"),
            Transform::Bucket(buckets) => write!(f, "bucket[{buckets}]"),
            Transform::Truncate(width) => write!(f, "truncate[{width}]"),
            Transform::Year => f.write_str("year"),
            Transform::Month => f.write_str("month"),
            Transform::Day => f.write_str("day"),
            Transform::Hour => f.write_str("hour"),
            Transform::Void => f.write_str("void"),
            Transform::Unknown(text) => f.write_str(text),
        }
    }
}
