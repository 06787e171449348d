//! Bounds of a column whose type was changed: for which casts the cast bounds are bounds of the cast values.
//!
//! The cast bounds are bounds where the cast keeps order, so that `a <= b` implies `cast(a) <= cast(b)`, and
//! gives a result for every value between them.
//!
//! | from | to | the casts of bounds |
//! |---|---|---|
//! | BOOLEAN, integers, DECIMAL | integers | hold where both fit the target: what wraps around loses its order |
//! | BOOLEAN, numbers | FLOAT, DOUBLE, DECIMAL | hold: rounding keeps order; neither where one overflows |
//! | FLOAT, DOUBLE | integers | do not: a NaN, which formats leave out of bounds, becomes 0 |
//! | integers | BOOLEAN | do not: -1 and 1 are true, 0 between them is not |
//! | CHAR, VARCHAR | VARCHAR, BINARY, VARBINARY | hold: prefixes keep order, and so do zeros appended to them
//! |
//! | BINARY, VARBINARY | BINARY, VARBINARY | hold likewise |
//! | CHAR, VARCHAR | CHAR | do not: a tab sorts before the blanks of the padding |
//! | TIMESTAMP | TIMESTAMP, DATE | hold: truncation keeps order |
//! | LTZ | LTZ | hold likewise |
//! | TIMESTAMP, LTZ | INT, BIGINT | hold where both fit the target |
//! | DATE, TIME, INT, BIGINT | TIMESTAMP | hold |
//! | TIMESTAMP | TIME | do not: the time of day starts again each day |
//! | LTZ | TIMESTAMP, DATE, TIME, and back | do not: the reader's time zone is not known |
//! | BOOLEAN, numbers, dates and times, bytes | CHAR, VARCHAR | do not: 9 is before 10, `"9"` is after `"10"`
//! |
//! | CHAR, VARCHAR | anything but texts and bytes | do not, for the same reason |

use arrow_array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow_select::nullif::nullif;

use super::{cast, numeric, source};
use crate::error::Result;
use crate::paimon::types::{DataType, TypeKind};

/// What a cast does to the order of values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Kept,
    /// Kept among values that fit the target, which is an integer type.
    KeptWithin,
    Lost,
}

/// Lower and upper bounds of values, cast to bounds of the cast values; null where there is no such bound.
///
/// The arrays are of one length and of a type that [`cast`] takes. Cost is one pass over each.
///
/// # Errors
/// As [`cast`].
pub(crate) fn cast_bounds(bounds: [&ArrayRef; 2], from: &DataType, to: &DataType) -> Result<[ArrayRef; 2]> {
    let order = order(&from.kind, &to.kind);
    if order == Order::Lost {
        return Ok(bounds.map(|bound| new_null_array(&to.exact_type(), bound.len())));
    }
    let [lower, upper] = [cast(bounds[0], from, to)?, cast(bounds[1], from, to)?];
    if from.kind == to.kind {
        return Ok([lower, upper]);
    }
    let mut unsound: Vec<bool> = (0..lower.len().min(upper.len()))
        .map(|row| {
            // A bound that a cast makes null: values between the bounds may become null too, or anything.
            let lost = |bound: &ArrayRef, cast: &ArrayRef| bound.is_valid(row) && cast.is_null(row);
            lost(bounds[0], &lower) || lost(bounds[1], &upper)
        })
        .collect();
    if order == Order::KeptWithin {
        for bound in bounds {
            let fits = fits(bound, &from.kind, &to.kind);
            unsound.iter_mut().zip(fits).for_each(|(unsound, fits)| *unsound |= !fits);
        }
    }
    let unsound = BooleanArray::from(unsound);
    let masked = |array: &ArrayRef| nullif(array, &unsound);
    Ok([masked(&lower)?, masked(&upper)?])
}

/// Whether each bound is not null and, without its fraction, a value of the integer type `to`.
fn fits(bound: &ArrayRef, from: &TypeKind, to: &TypeKind) -> Vec<bool> {
    match (source::whole(bound, from), numeric::range(to)) {
        (Some(values), Some(range)) => {
            values.into_iter().map(|value| value.is_some_and(|value| range.contains(&value))).collect()
        }
        _ => vec![false; bound.len()],
    }
}

/// Whether a cast can make a null of a value: a DECIMAL that is too short for it.
pub(crate) fn may_overflow(from: &TypeKind, to: &TypeKind) -> bool {
    let TypeKind::Decimal { precision, scale } = *to else { return false };
    let room = i16::from(precision) - i16::from(scale);
    let digits = match *from {
        TypeKind::Boolean => 1,
        TypeKind::TinyInt => 3,
        TypeKind::SmallInt => 5,
        TypeKind::Int => 10,
        TypeKind::BigInt => 19,
        // Rounding can carry into one digit more.
        TypeKind::Decimal { precision, scale: written } => {
            i16::from(precision) - i16::from(written) + i16::from(written > scale)
        }
        _ => i16::MAX,
    };
    from != to && digits > room
}

fn order(from: &TypeKind, to: &TypeKind) -> Order {
    use TypeKind::{
        BigInt, Binary, Boolean, Char, Date, Decimal, Double, Float, Int, LocalZonedTimestamp, SmallInt,
        Time, Timestamp, TinyInt, VarBinary, VarChar,
    };
    match (from, to) {
        (from, to) if from == to => Order::Kept,
        (Boolean | TinyInt | SmallInt | Int | BigInt | Decimal { .. }, TinyInt | SmallInt | Int | BigInt)
        | (Timestamp(_) | LocalZonedTimestamp(_), Int | BigInt) => Order::KeptWithin,
        (
            Boolean | TinyInt | SmallInt | Int | BigInt | Decimal { .. } | Float | Double,
            Float | Double | Decimal { .. },
        )
        | (Char(_) | VarChar(_), VarChar(_) | Binary(_) | VarBinary(_))
        | (Binary(_) | VarBinary(_), Binary(_) | VarBinary(_))
        | (Timestamp(_), Timestamp(_) | Date)
        | (LocalZonedTimestamp(_), LocalZonedTimestamp(_))
        | (Date | Time(_) | Int | BigInt, Timestamp(_)) => Order::Kept,
        _ => Order::Lost,
    }
}
