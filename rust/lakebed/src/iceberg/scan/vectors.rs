//! The positions in deletion vectors, read from their files for rows of entries.

use std::sync::Arc;

use arrow_array::{ListArray, RecordBatch};
use lakebed_avro::Limits;

use crate::deletion_vector::position_lists;
use crate::error::Result;
use crate::iceberg::deletion_vector::VectorEntry;
use crate::pipeline::read_each;
use crate::storage::Storage;

/// The positions of a batch, unless one vector has more.
const POSITIONS_PER_BATCH: u64 = 1 << 20;

/// Reads the deletion vectors of entries in parallel.
pub(super) struct VectorReader {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) limits: Limits,
    pub(super) threads: usize,
}

impl VectorReader {
    /// The positions in the deletion vector of each entry; null for entries without one.
    ///
    /// # Errors
    /// Those of [`VectorEntry::of`] and of [`VectorEntry::read`]; `Limit` for too many positions.
    pub(super) fn positions(&self, entries: &RecordBatch) -> Result<ListArray> {
        let of_entries = VectorEntry::of(entries)?;
        let vectors = read_each(&self.storage, of_entries, self.threads, |storage, vector| {
            vector.as_ref().map(|vector| vector.read(storage)).transpose()
        })?;
        position_lists(vectors.iter().map(Option::as_ref), &self.limits)
    }
}

/// Entries in runs whose deletion vectors have, by their recorded counts, no more positions than a batch.
pub(super) fn in_runs(entries: &RecordBatch) -> Result<Vec<RecordBatch>> {
    let vectors = VectorEntry::of(entries)?.into_iter();
    let counts = vectors.map(|vector| vector.map_or(0, |vector| vector.record_count.unsigned_abs()));
    let (mut runs, mut start, mut sum) = (Vec::new(), 0, 0u64);
    for (row, count) in counts.enumerate() {
        sum = sum.saturating_add(count);
        if sum > POSITIONS_PER_BATCH && row > start {
            runs.push(entries.slice(start, row - start));
            (start, sum) = (row, count);
        }
    }
    runs.push(entries.slice(start, entries.num_rows() - start));
    Ok(runs)
}
