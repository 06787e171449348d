//! Guards decide in the middle of a record whether the rest of it is decoded.

use super::Columns;
use crate::plan::{Leaf, Slot};

/// Decides for each record, once the fields that it reads are decoded, whether the record is kept.
///
/// A dropped record leaves no row; the rest of it is skipped without decoding.
pub trait Guard: Send {
    /// Whether to keep the record whose guarded fields were decoded last.
    fn keep(&mut self, record: Peek<'_>) -> bool;
}

/// The guarded fields of the current record.
#[derive(Clone, Copy)]
pub struct Peek<'c> {
    columns: &'c Columns,
}

impl<'c> Peek<'c> {
    pub(crate) fn new(columns: &'c Columns) -> Peek<'c> {
        Peek { columns }
    }

    /// Whether the field is null.
    pub fn is_null(&self, slot: Slot) -> bool {
        let valid = slot.valid.and_then(|valid| self.columns.valid.get(valid as usize));
        valid.and_then(|valid| valid.last()) == Some(&false)
    }

    /// The value of an `int` or `long` field, 0 for null; `None` if the slot is of another type, or a
    /// timestamp in milliseconds, whose column has microseconds.
    pub fn number(&self, slot: Slot) -> Option<i64> {
        let index = slot.column as usize;
        match slot.leaf {
            Leaf::Int => self.columns.ints.get(index)?.last().map(|&value| i64::from(value)),
            Leaf::Long => self.columns.longs.get(index)?.last().copied(),
            _ => None,
        }
    }

    /// The value of a `bytes` or `string` field, empty for null; `None` if the slot is of another type.
    pub fn bytes(&self, slot: Slot) -> Option<&'c [u8]> {
        match slot.leaf {
            Leaf::Bytes => self.columns.bytes.get(slot.column as usize)?.last(),
            _ => None,
        }
    }
}
