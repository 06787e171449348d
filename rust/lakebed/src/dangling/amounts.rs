//! How much deletes are, by whether they are marked.

use arrow_array::{Array, Int32Array, Int64Array, RecordBatch};
use roaring::RoaringBitmap;

use crate::error::Result;
use crate::field::POSITION_DELETES;
use crate::grouping::sums::{known_sum, sum};
use crate::record::column;

/// The columns with how much each delete is: `content` int32, the others int64; only vectors have an offset.
pub(crate) const AMOUNTS: [&str; 4] = ["content", "content_offset", "record_count", "size_in_bytes"];

/// Sums over deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeleteAmounts {
    /// Rows that the positions and vectors delete that are marked; `None` where some vector does not say.
    pub(crate) position_records: Option<i64>,
    /// Number of those that are not marked; the other sums are of these too.
    pub(crate) dangling: i64,
    /// Rows in them; `None` where some vector does not say.
    pub(crate) dangling_records: Option<i64>,
    /// Their size \[bytes\].
    pub(crate) dangling_bytes: i64,
    /// The deletion vectors among them.
    pub(crate) dangling_vectors: i64,
    /// The equality deletes among them.
    pub(crate) dangling_equality: i64,
}

impl Default for DeleteAmounts {
    fn default() -> DeleteAmounts {
        DeleteAmounts {
            position_records: Some(0),
            dangling: 0,
            dangling_records: Some(0),
            dangling_bytes: 0,
            dangling_vectors: 0,
            dangling_equality: 0,
        }
    }
}

impl DeleteAmounts {
    /// The sums over deletes with the columns of [`AMOUNTS`].
    ///
    /// # Errors
    /// `Required` and `Mismatch` for a batch of another shape; `Mismatch` for a sum beyond 64 bits.
    pub(crate) fn of(deletes: &RecordBatch, marked: &RoaringBitmap) -> Result<DeleteAmounts> {
        let [content, offset, records, bytes] = AMOUNTS;
        let contents = column::<Int32Array>(deletes, content)?;
        let (records, bytes) =
            (column::<Int64Array>(deletes, records)?, column::<Int64Array>(deletes, bytes)?);
        let offsets = column::<Int64Array>(deletes, offset)?;
        let mut sums = DeleteAmounts::default();
        for (row, number) in (0..deletes.num_rows()).zip(0u32..) {
            let is_position = contents.value(row) == POSITION_DELETES;
            let rows = records.is_valid(row).then(|| records.value(row));
            if !marked.contains(number) {
                sums.dangling += 1;
                sums.dangling_vectors += i64::from(offsets.is_valid(row));
                sums.dangling_equality += i64::from(!is_position);
                sums.dangling_records =
                    known_sum("dangling_delete_record_count", sums.dangling_records, rows)?;
                let size = if bytes.is_valid(row) { bytes.value(row) } else { 0 };
                sums.dangling_bytes = sum("dangling_delete_size_in_bytes", sums.dangling_bytes, size)?;
            } else if is_position {
                sums.position_records = known_sum("deleted_record_ratio", sums.position_records, rows)?;
            }
        }
        Ok(sums)
    }
}
