//! What an index tells.

use roaring::RoaringBitmap;

/// Which rows of a file match: those of a bitmap at most, or any.
pub(super) type Rows = Option<RoaringBitmap>;

/// Those that both tell.
pub(super) fn and(left: Rows, right: Rows) -> Rows {
    match (left, right) {
        (Some(left), Some(right)) => Some(left & right),
        (one, None) | (None, one) => one,
    }
}
