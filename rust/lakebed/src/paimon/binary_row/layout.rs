//! Widths and alignment, and how much space each type takes.

use arrow_schema::{DataType, Field, TimeUnit};

use crate::error::{Error, ErrorKind, Result};
use crate::time;

/// Bytes of one slot, and the alignment of everything in a row.
pub(super) const SLOT_BYTES: usize = 8;

/// The longest string or byte string that is stored in its slot.
pub(super) const MAX_INLINE_BYTES: usize = 7;

/// The bit of a slot that marks a string stored in it, rather than an offset and a length.
pub(super) const INLINE_MARK: u64 = 1 << 63;

/// A wide timestamp's nanoseconds are below those of a millisecond.
pub(super) const NANOS_PER_MILLI: i64 = time::NANOS_PER_MILLI as i64;

/// Bytes that a DECIMAL of more than 18 digits takes outside of its slot.
pub(super) const WIDE_DECIMAL_BYTES: usize = 16;

/// The largest precision whose unscaled values fit a slot.
pub(crate) const MAX_COMPACT_PRECISION: u8 = 18;

/// Bytes before the first slot: the row kind and one null bit per field, in whole slots.
pub(super) const fn row_header_bytes(arity: u64) -> u64 {
    (arity + 8).div_ceil(64) * SLOT_BYTES as u64
}

/// Bytes before the first element: the count and one null bit per element, in 4-byte words.
pub(super) const fn array_header_bytes(count: u64) -> u64 {
    4 + count.div_ceil(32) * 4
}

/// Bytes that one element takes in the fixed part of an array.
pub(super) const fn element_bytes(data_type: &DataType) -> usize {
    match data_type {
        DataType::Boolean | DataType::Int8 => 1,
        DataType::Int16 => 2,
        DataType::Int32 | DataType::Float32 | DataType::Date32 | DataType::Time32(_) => 4,
        _ => SLOT_BYTES,
    }
}

/// Bytes that Java's row writer reserves for a value even where it is null.
pub(super) const fn reserved_bytes(data_type: &DataType) -> usize {
    match data_type {
        DataType::Decimal128(precision, _) if !is_compact(*precision) => WIDE_DECIMAL_BYTES,
        DataType::Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, _) | DataType::Decimal256(..) => {
            SLOT_BYTES
        }
        _ => 0,
    }
}

/// Whether a DECIMAL of this precision is stored in its slot.
pub(super) const fn is_compact(precision: u8) -> bool {
    precision <= MAX_COMPACT_PRECISION
}

/// Whether a VECTOR can have such elements.
pub(super) const fn is_vector_element(data_type: &DataType) -> bool {
    use DataType::{Boolean, Float32, Float64, Int8, Int16, Int32, Int64};
    matches!(data_type, Boolean | Int8 | Int16 | Int32 | Int64 | Float32 | Float64)
}

/// Whether the struct `field` is a VARIANT rather than a ROW.
pub(super) fn is_variant(field: &Field) -> bool {
    field.metadata().get("paimon.type").is_some_and(|name| name == "VARIANT")
}

/// The smallest unscaled magnitude that a DECIMAL of this type cannot hold.
///
/// # Errors
///
/// `Argument` for a precision beyond 38, or a scale beyond the precision.
pub(super) fn decimal_bound(precision: u8, scale: i8) -> Result<u128> {
    use arrow_array::types::{Decimal128Type, validate_decimal_precision_and_scale};
    validate_decimal_precision_and_scale::<Decimal128Type>(precision, scale)
        .map_err(|cause| Error::new(ErrorKind::Argument, "not a decimal type").caused_by(cause))?;
    Ok(10u128.pow(u32::from(precision)))
}

/// The error for a field whose Arrow type has no row form.
#[cold]
pub(super) fn unsupported(field: &Field) -> Error {
    let message = format!("{} cannot be stored in a BinaryRow", field.data_type());
    Error::new(ErrorKind::Argument, message)
}
