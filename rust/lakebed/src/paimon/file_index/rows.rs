//! The answer of an index.

use roaring::RoaringBitmap;

/// The rows of a file that may match: those of a bitmap, or `None` for any row.
pub(super) type Rows = Option<RoaringBitmap>;

/// The rows that both answers allow.
pub(super) fn and(left: Rows, right: Rows) -> Rows {
    match (left, right) {
        (Some(left), Some(right)) => Some(left & right),
        (one, None) | (None, one) => one,
    }
}
