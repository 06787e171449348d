//! BinaryRow: Paimon's row format, as the bytes fields of its manifests hold it.
//!
//! Partitions, minimum and maximum keys, and column statistics are rows in this format, each after its arity
//! as a 4-byte big-endian integer (Paimon's `SerializationUtils.java`). This module converts many rows at
//! once to typed Arrow columns and back: the frame of each row is checked once, then each column is one loop
//! over the slots, without an object per row.
//!
//! The Arrow type of a field says how it is stored:
//!
//! | Arrow type | Paimon type |
//! |---|---|
//! | `Boolean`, `Int8` … `Int64`, `Float32`, `Float64` | BOOLEAN, TINYINT … BIGINT, FLOAT, DOUBLE |
//! | `Decimal128(p, s)` | DECIMAL(p, s): one slot to precision 18, else 16 bytes |
//! | `Utf8` | CHAR, VARCHAR, STRING |
//! | `Binary` | BINARY, VARBINARY, BYTES, BLOB |
//! | `Date32`, `Time32(ms)` | DATE, TIME |
//! | `Timestamp(s or ms)` | TIMESTAMP or TIMESTAMP_LTZ of precision 0 to 3 |
//! | `Timestamp(us)`, `Timestamp(ns)` | the same of precision 4 to 6, 7 to 9 |
//! | `Decimal256(38, 9)` | the same of precision 4 to 9: seconds, which hold every time that a row can |
//! | `List`, `Map`, `Struct` | ARRAY, MAP and MULTISET (values `Int32`), ROW |
//! | `FixedSizeList` of a number or boolean | VECTOR |
//! | `Struct` of `Binary` fields `value` and `metadata`, field metadata `paimon.type` = `VARIANT` | VARIANT |
//!
//! Encoding also takes the large, view and fixed-size forms of strings and bytes. Any other type
//! is an error of kind `Argument` that names the field.
//!
//! Source: Paimon's `BinaryRow.java`, `BinaryArray.java`, `AbstractBinaryWriter.java`.

mod decode;
mod encode;
mod frame;
mod layout;
mod nested;
mod source;
#[cfg(test)]
mod tests;

use arrow_array::{Array, ArrayRef, BinaryArray, StructArray};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{Field, Fields};

use self::frame::Row;
pub(crate) use self::layout::MAX_COMPACT_PRECISION;
use super::types::DataField;
use crate::error::Result;

/// The order of keys, which are rows of these columns.
pub(super) struct KeyOrder {
    types: Fields,
    converter: RowConverter,
}

impl KeyOrder {
    pub(super) fn of(keys: &[&DataField]) -> Result<KeyOrder> {
        let field = |key: &&DataField| key.ty.exact_field(&key.name).with_nullable(key.ty.nullable);
        let types: Fields = keys.iter().map(field).collect();
        let sorted = types.iter().map(|field| SortField::new(field.data_type().clone())).collect();
        Ok(KeyOrder { types, converter: RowConverter::new(sorted)? })
    }

    /// The keys, in a form that compares as they do.
    ///
    /// # Errors
    /// Those of [`decode_rows`].
    pub(super) fn rows(&self, keys: &BinaryArray) -> Result<Rows> {
        Ok(self.converter.convert_columns(decode_rows(keys, &self.types)?.columns())?)
    }
}

/// Decodes every row of `rows` (each after its arity) as the columns `fields`.
///
/// Returns as many rows as given; a null value is a null row. Columns are matched by position, and every row
/// must have exactly as many fields as `fields`. The slot of a null and padding are not checked. Cost: one
/// pass over the row headers and one per column; for each level of nesting at most the bytes of `rows` once
/// more, whatever the rows hold.
///
/// # Errors
///
/// Each names the row (`record`, from 0) and, where it is one field's, the field:
/// `RowTruncated` for a row shorter than its fixed part, `Arity`, `RowKind`, `Offset` for a slot
/// that points outside its row, `Length` for an impossible length or count, `Utf8`, `Boolean`,
/// `Decimal` for a value wider than its precision, `Timestamp` for one its Arrow unit cannot hold,
/// `Required` for a null in a field that is not nullable, `Argument` for a type with no row form.
pub fn decode_rows(rows: &BinaryArray, fields: &Fields) -> Result<StructArray> {
    let frames = rows.iter().enumerate().map(|(record, row)| match row {
        None => Ok(None),
        Some(row) => Row::stored(row, Some(fields.len()), record).map(Some),
    });
    let frames = frames.collect::<Result<Vec<_>>>()?;
    nested::fields(&frames, fields, None, rows.nulls().cloned(), &mut stored_bytes(rows))
}

/// Decodes one column of rows whose arities may differ: of row `r` the field `positions(r)`, or null where
/// that is `None`.
///
/// This is for statistics and partitions, whose rows have the columns of their writer's schema. Only this
/// column is read, and only of rows with a position: an empty value, which some writers leave where there are
/// no statistics, is accepted where the position is `None`.
///
/// # Errors
///
/// As [`decode_rows`]; `Arity` also for a position the row does not have, `Required` also for a
/// row without one where `field` is not nullable.
pub fn decode_column(
    rows: &BinaryArray,
    positions: impl Fn(usize) -> Option<usize>,
    field: &Field,
) -> Result<ArrayRef> {
    let cells = rows.iter().enumerate().map(|(record, row)| {
        let cell = match (row, positions(record)) {
            (Some(row), Some(position)) => Row::stored(row, None, record)?.cell(position)?,
            _ => None,
        };
        match cell {
            None if !field.is_nullable() => Err(frame::required().in_record(record as u64)),
            cell => Ok(cell),
        }
    });
    let cells = cells.collect::<Result<Vec<_>>>().map_err(|error| error.in_field(field.name()))?;
    decode::column(&cells, field, field.name(), &mut stored_bytes(rows))
}

/// The arity of a stored row: its first four bytes, big-endian.
///
/// # Errors
///
/// `RowTruncated` where there are fewer bytes, `Arity` where the number is negative.
pub fn arity(row: &[u8]) -> Result<usize> {
    frame::split_arity(row).map(|(arity, _)| arity)
}

/// Encodes every row of `rows` as the columns `fields`, after its arity. The bytes are those of Paimon's Java
/// writers, so that equal partitions are equal bytes.
///
/// A null row is a null value. Columns are matched by position; the type of each must be that of
/// its field, up to the large, view or fixed-size form of strings and bytes. Cost: one pass.
///
/// # Errors
///
/// `Argument` for a column that does not fit its field, `Required` for a null in a field that is
/// not nullable, `Decimal` for a value wider than its precision, `Timestamp` for seconds beyond
/// 64-bit milliseconds, `Length` above 2 GiB of rows.
pub fn encode_rows(rows: &StructArray, fields: &Fields) -> Result<BinaryArray> {
    encode::rows(rows, fields)
}

/// The bytes that `rows` refers to: an upper bound of all values of a level together.
fn stored_bytes(rows: &BinaryArray) -> u64 {
    let offsets = rows.value_offsets();
    match (offsets.first(), offsets.last()) {
        (Some(first), Some(last)) => u64::from(last.abs_diff(*first)),
        _ => 0,
    }
}
