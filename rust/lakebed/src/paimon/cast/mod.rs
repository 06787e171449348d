//! Casts of values to another type, as Paimon casts them where the type of a column was changed (Paimon's
//! `CastExecutors.java`), and of bounds of such values.
//!
//! | from | to | result |
//! |---|---|---|
//! | integers, BOOLEAN | integers | low bits; true is 1 |
//! | integers | BOOLEAN | whether not 0 |
//! | FLOAT, DOUBLE | integers | toward zero, NaN is 0, saturating at 32 bits (64 for BIGINT), then low bits |
//! | DECIMAL | integers | toward zero, then low bits |
//! | numbers, BOOLEAN | FLOAT, DOUBLE | the nearest |
//! | numbers, BOOLEAN | DECIMAL | rounded half up; null where it overflows |
//! | anything but BLOB and its like | CHAR, VARCHAR | see [`TextForm::Cast`](super::text::TextForm) |
//! | texts | BOOLEAN, numbers, dates and times | parsed; null where that fails |
//! | texts, bytes | BINARY, VARBINARY | cut, and BINARY padded with zeros |
//! | TIMESTAMP | TIMESTAMP, DATE, TIME | truncated; the day; the time of day |
//! | DATE, TIME | TIMESTAMP | midnight; on 1970-01-01 |
//! | TIMESTAMP | INT, BIGINT | whole seconds since 1970, toward zero, then low bits |
//! | INT, BIGINT | TIMESTAMP | seconds since 1970 |
//!
//! LTZ is cast like TIMESTAMP, in UTC; Paimon uses the time zone of the machine. Where Paimon fails (a text
//! that is not a number) or wraps around, far outside of any calendar, the result is null.

mod bounds;
mod decimal;
mod numeric;
mod parse;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod time;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_null_array};

use super::types::{DataType, TypeKind};
use crate::error::{Error, ErrorKind, Result};

pub(crate) use bounds::{cast_bounds, may_overflow};

/// `array`, of the storage type of `from` or of its exact type, cast to the exact type of `to`.
///
/// Nulls stay null. A value without a result becomes null, and so does every value where Paimon has no cast
/// between the two types. Cost is one pass.
///
/// # Errors
/// `ErrorKind::Argument` for an array that is not of the storage type of `from`.
pub(crate) fn cast(array: &ArrayRef, from: &DataType, to: &DataType) -> Result<ArrayRef> {
    if ![from.exact_type(), from.storage_type()].contains(array.data_type()) {
        let message = format!("{} is not the storage type of {from}", array.data_type());
        return Err(Error::new(ErrorKind::Argument, message));
    }
    if from.kind == to.kind {
        return Ok(Arc::clone(array));
    }
    let cast = match &to.kind {
        TypeKind::Boolean => numeric::to_boolean(array, &from.kind),
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Int | TypeKind::BigInt => {
            numeric::to_integer(array, &from.kind, &to.kind)
        }
        TypeKind::Float | TypeKind::Double => numeric::to_float(array, &from.kind, &to.kind),
        TypeKind::Decimal { precision, scale } => decimal::to_decimal(array, &from.kind, *precision, *scale),
        TypeKind::Char(_) | TypeKind::VarChar(_) => text::to_text(array, from, &to.kind)?,
        TypeKind::Binary(_) | TypeKind::VarBinary(_) => text::to_bytes(array, &from.kind, &to.kind),
        TypeKind::Date => time::to_date(array, &from.kind),
        TypeKind::Time(_) => time::to_time(array, &from.kind),
        TypeKind::Timestamp(_) | TypeKind::LocalZonedTimestamp(_) => {
            time::to_timestamp(array, &from.kind, &to.kind)
        }
        _ => None,
    };
    Ok(cast.unwrap_or_else(|| new_null_array(&to.exact_type(), array.len())))
}
