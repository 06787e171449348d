//! The steps of a scan, and what they keep.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{BinaryArray, Int8Array, Int32Array, RecordBatch};

use crate::error::Result;
use crate::paimon::manifest::ADD;
use crate::paimon::prune::{BucketMemo, EntryPruner};
use crate::record::find;
use crate::scan::Stage;

pub(super) static MANIFESTS: Stage =
    Stage { order: 0, step: "manifests", why: "bounds of partition and bucket in the manifest list" };
pub(in crate::paimon) static BLOCKS: Stage =
    Stage { order: 1, step: "blocks", why: "partitions and buckets in the sidecars of manifests" };
pub(super) static PARTITION: Stage =
    Stage { order: 2, step: "entries", why: "partition and bucket of the entry" };
pub(super) static BUCKET: Stage = Stage { order: 3, step: "entries", why: "the bucket that keys hash to" };
pub(super) static MERGED: Stage =
    Stage { order: 4, step: "files", why: "added, and deleted by no entry of the snapshot" };
pub(super) static BATCH_READ: Stage =
    Stage { order: 5, step: "files", why: "levels and buckets that batch reads pass over" };
pub(super) static KEYS: Stage =
    Stage { order: 6, step: "files", why: "statistics of the keys: bounds and null counts" };
pub(super) static VALUES: Stage =
    Stage { order: 7, step: "files", why: "statistics of the columns: bounds and null counts" };
pub(super) static INDEX: Stage = Stage { order: 8, step: "files", why: "indexes of columns in the entry" };
pub(super) static TOGETHER: Stage = Stage {
    order: 9,
    step: "files",
    why: "statistics and indexes of all files that may hold versions or columns of the same rows",
};

/// The columns with the rows and bytes of files.
pub(super) const AMOUNT: [&str; 2] = ["row_count", "file_size"];

/// How a filter treats entries that were decoded in order to be counted.
pub(super) struct CountedEntries {
    kinds: Int8Array,
    partitions: BinaryArray,
    buckets: Int32Array,
    totals: Int32Array,
}

impl CountedEntries {
    pub(super) fn new(entries: &RecordBatch) -> Result<CountedEntries> {
        Ok(CountedEntries {
            kinds: find(entries, "kind")?.as_primitive::<Int8Type>().clone(),
            partitions: find(entries, "partition")?.as_binary::<i32>().clone(),
            buckets: find(entries, "bucket")?.as_primitive::<Int32Type>().clone(),
            totals: find(entries, "total_buckets")?.as_primitive::<Int32Type>().clone(),
        })
    }

    /// Whether the filter keeps the entry by its partition and, if `hashed`, by its bucket.
    pub(super) fn keeps(
        &self,
        memo: &mut BucketMemo,
        pruner: &EntryPruner,
        row: usize,
        hashed: bool,
    ) -> Result<bool> {
        let total = (hashed && self.kinds.value(row) == ADD).then(|| self.totals.value(row));
        memo.keeps(pruner, self.partitions.value(row), i64::from(self.buckets.value(row)), total)
    }
}
