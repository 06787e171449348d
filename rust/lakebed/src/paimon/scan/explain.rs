//! What each step of a scan keeps, and why.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, Int64Type};
use arrow_array::{BinaryArray, Int8Array, Int32Array, RecordBatch};

use super::gather::file_rows;
use super::program::EntryProgram;
use super::{Plan, Scan};
use crate::error::Result;
use crate::paimon::manifest::ADD;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::prune::{BucketMemo, EntryPruner};
use crate::paimon::view::Role;
use crate::record::find;
use crate::scan::{Amount, ScanOptions, Stage, Step, counted, threads};
use crate::view::View;

static MANIFESTS: Stage =
    Stage { order: 0, step: "manifests", why: "bounds of partition and bucket in the manifest list" };
pub(super) static PARTITION: Stage =
    Stage { order: 1, step: "entries", why: "partition and bucket of the entry" };
pub(super) static BUCKET: Stage = Stage { order: 2, step: "entries", why: "the bucket that keys hash to" };
pub(super) static MERGED: Stage =
    Stage { order: 3, step: "files", why: "added, and deleted by no entry of the snapshot" };
pub(super) static BATCH_READ: Stage =
    Stage { order: 4, step: "files", why: "levels and buckets that batch reads pass over" };
pub(super) static KEYS: Stage =
    Stage { order: 5, step: "files", why: "statistics of the keys: bounds and null counts" };
pub(super) static VALUES: Stage =
    Stage { order: 6, step: "files", why: "statistics of the columns: bounds and null counts" };
pub(super) static INDEX: Stage = Stage { order: 7, step: "files", why: "indexes of columns in the entry" };
pub(super) static TOGETHER: Stage = Stage {
    order: 8,
    step: "files",
    why: "statistics and indexes of all files that may hold versions or columns of the same rows",
};

impl Scan {
    /// What each step keeps of manifests, entries and files, counted in one pass that makes no rows.
    pub(super) fn steps(&self) -> Result<Vec<Step>> {
        if !self.view.is_of_entries() {
            return Ok(Vec::new());
        }
        let role = match self.view {
            View::Entries => Role::Entries,
            View::Plan => Role::Plan(self.options.deletes),
            _ => Role::Files,
        };
        let columns = Some(vec!["bucket".to_owned()]);
        let options = ScanOptions { columns, stats: None, limit: None, ..self.options.clone() };
        let mut steps = counted(|funnel| {
            let Plan { manifests, pruned } = self.plan()?;
            funnel.pass(&MANIFESTS, || {
                let kept: Amount = manifests.iter().map(of_manifest).sum();
                [kept + pruned.iter().map(of_manifest).sum(), kept]
            });
            let program = EntryProgram::new(role, &self.table, &options)?.counting(funnel.clone())?;
            Ok(file_rows(Arc::new(program), &self.table, manifests, threads(options.threads)))
        })?;
        // The lists do not record how many rows the files of a manifest have.
        if let Some(manifests) = steps.first_mut() {
            (manifests.rows_kept, manifests.rows_total) = (None, None);
        }
        Ok(steps)
    }
}

fn of_manifest(manifest: &ManifestFile) -> Amount {
    Amount { count: 1, rows: 0, bytes: manifest.file_size }
}

/// The rows and bytes of files, as far as the columns are there; numbers below zero count nothing.
pub(super) fn amount(entries: &RecordBatch) -> Amount {
    let sum = |name: &str| {
        let column = entries.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
        let numbers = column.into_iter().flatten().flatten();
        numbers.map(|number| u64::try_from(number).unwrap_or(0)).fold(0, u64::saturating_add)
    };
    Amount { count: entries.num_rows() as u64, rows: sum("row_count"), bytes: sum("file_size") }
}

/// What a filter asks of entries that were decoded in order to be counted.
pub(super) struct Counted {
    kinds: Int8Array,
    partitions: BinaryArray,
    buckets: Int32Array,
    totals: Int32Array,
}

impl Counted {
    pub(super) fn new(entries: &RecordBatch) -> Result<Counted> {
        Ok(Counted {
            kinds: find(entries, "kind")?.as_primitive::<Int8Type>().clone(),
            partitions: find(entries, "partition")?.as_binary::<i32>().clone(),
            buckets: find(entries, "bucket")?.as_primitive::<Int32Type>().clone(),
            totals: find(entries, "total_buckets")?.as_primitive::<Int32Type>().clone(),
        })
    }

    /// Whether the filter keeps the entry for its partition and, if `hashed`, for its bucket.
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
