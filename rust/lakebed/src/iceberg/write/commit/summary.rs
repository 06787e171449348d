//! The summary of a snapshot (Iceberg's `SnapshotSummary.java`).

use std::collections::HashSet;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch};
use arrow_row::{RowConverter, SortField};
use serde_json::{Map, Value};

use crate::error::{Error, Result, fitting};
use crate::iceberg::fields::{DATA, POSITION_DELETES};
use crate::iceberg::manifest_list::{ManifestFile, RecordedCounts};
use crate::iceberg::metadata::Snapshot;
use crate::record::column;

/// Sums over the files that a commit adds or removes.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    data_files: i64,
    equality_delete_files: i64,
    position_delete_files: i64,
    delete_files: i64,
    vectors: i64,
    records: i64,
    bytes: i64,
    position_deletes: i64,
    equality_deletes: i64,
}

/// The changes of a commit, counted while they are made.
#[derive(Default)]
pub(super) struct Summary {
    added: Sums,
    removed: Sums,
    /// Rows and bytes that live files have more than was recorded.
    corrected: [i64; 2],
    partitions: HashSet<(i32, Box<[u8]>)>,
    /// Whether files are removed whose sizes are not known.
    lacks_sizes: bool,
    /// The number of new, kept and replaced manifests.
    pub(super) manifests: [usize; 3],
    /// The number of rewritten entries, for a rewrite.
    pub(super) entries_processed: Option<usize>,
    /// Further keys: those of the operation, and the caller's.
    pub(super) properties: Vec<(String, String)>,
}

impl Summary {
    /// Nothing counted yet, with these further keys.
    pub(super) fn new(properties: &[(String, String)]) -> Summary {
        Summary { properties: properties.to_vec(), ..Summary::default() }
    }

    /// Counts files of a spec that are added, with the values of their tuples.
    pub(super) fn add(&mut self, spec_id: i32, files: &RecordBatch, tuples: &[ArrayRef]) -> Result<()> {
        self.added.count(files)?;
        self.change(spec_id, tuples, files.num_rows())
    }

    /// Counts files that are removed.
    pub(super) fn remove(&mut self, spec_id: i32, files: &RecordBatch, tuples: &[ArrayRef]) -> Result<()> {
        self.removed.count(files)?;
        self.change(spec_id, tuples, files.num_rows())
    }

    /// Counts a manifest that is left out of the list, by what that records of it. How large its files are, it does not.
    ///
    /// # Errors
    /// `Mismatch` for counts that do not fit.
    pub(super) fn leave_out(&mut self, manifest: &ManifestFile) -> Result<()> {
        let sum = |of: fn(RecordedCounts) -> Option<u64>| {
            let sum = of(manifest.added).zip(of(manifest.existing));
            let sum = sum.and_then(|(added, existing)| i64::try_from(added.checked_add(existing)?).ok());
            fitting(sum, "the counts of a manifest that is left out")
        };
        let (files, rows) = (sum(|counts| counts.files)?, sum(|counts| counts.rows)?);
        let plus = |sum: &mut i64, more| {
            *sum = fitting(sum.checked_add(more), "a sum of the snapshot's summary")?;
            Ok::<(), Error>(())
        };
        self.lacks_sizes = true;
        plus(&mut self.removed.data_files, files)?;
        plus(&mut self.removed.records, rows)
    }

    /// Counts entries of live files that are recorded in another way from now on.
    ///
    /// # Errors
    /// `Mismatch` for numbers whose sums do not fit.
    pub(super) fn correct(&mut self, before: &RecordBatch, after: &RecordBatch) -> Result<()> {
        let mut sums = [Sums::default(), Sums::default()];
        sums[0].count(before)?;
        sums[1].count(after)?;
        let [before, after] = sums.map(|sums| [sums.records, sums.bytes]);
        for (sum, (before, after)) in self.corrected.iter_mut().zip(before.into_iter().zip(after)) {
            let more = after.checked_sub(before).and_then(|more| sum.checked_add(more));
            *sum = fitting(more, "a sum of the snapshot's summary")?;
        }
        Ok(())
    }

    /// Whether more rows are added than removed.
    pub(super) fn has_more_rows(&self) -> bool {
        self.added.records > self.removed.records
    }

    fn change(&mut self, spec_id: i32, tuples: &[ArrayRef], rows: usize) -> Result<()> {
        if tuples.is_empty() {
            self.partitions.extend((rows > 0).then(|| (spec_id, Box::default())));
            return Ok(());
        }
        let fields = tuples.iter().map(|values| SortField::new(values.data_type().clone())).collect();
        let keys = RowConverter::new(fields).and_then(|order| order.convert_columns(tuples))?;
        self.partitions.extend(keys.iter().map(|key| (spec_id, key.data().into())));
        Ok(())
    }

    /// The summary of a snapshot with the parent `parent`.
    pub(super) fn json(&self, operation: &str, parent: Option<&Snapshot>) -> Map<String, Value> {
        let mut pairs: Vec<(&str, i64)> = Vec::new();
        let [created, kept, replaced] = self.manifests.map(|count| count as i64);
        pairs.extend([
            ("manifests-created", created),
            ("manifests-kept", kept),
            ("manifests-replaced", replaced),
        ]);
        pairs.extend(self.entries_processed.map(|count| ("entries-processed", count as i64)));
        pairs.extend(self.changes().into_iter().filter(|(_, count)| *count > 0));
        pairs.push(("changed-partition-count", self.partitions.len() as i64));
        pairs.extend(self.totals(parent));
        let text = |text: &str| Value::String(text.to_owned());
        let mut json = Map::from_iter([("operation".to_owned(), text(operation))]);
        json.extend(pairs.into_iter().map(|(key, count)| (key.to_owned(), Value::String(count.to_string()))));
        json.insert("engine-name".to_owned(), text("lakebed"));
        json.insert("engine-version".to_owned(), text(env!("CARGO_PKG_VERSION")));
        json.extend(self.properties.iter().map(|(key, value)| (key.clone(), text(value))));
        json
    }

    fn changes(&self) -> [(&'static str, i64); 18] {
        let (added, removed) = (&self.added, &self.removed);
        [
            ("added-data-files", added.data_files),
            ("deleted-data-files", removed.data_files),
            ("added-equality-delete-files", added.equality_delete_files),
            ("removed-equality-delete-files", removed.equality_delete_files),
            ("added-position-delete-files", added.position_delete_files),
            ("removed-position-delete-files", removed.position_delete_files),
            ("added-delete-files", added.delete_files),
            ("removed-delete-files", removed.delete_files),
            ("added-dvs", added.vectors),
            ("removed-dvs", removed.vectors),
            ("added-records", added.records),
            ("deleted-records", removed.records),
            ("added-files-size", added.bytes),
            ("removed-files-size", removed.bytes),
            ("added-position-deletes", added.position_deletes),
            ("removed-position-deletes", removed.position_deletes),
            ("added-equality-deletes", added.equality_deletes),
            ("removed-equality-deletes", removed.equality_deletes),
        ]
    }

    /// The totals of the table, where the parent's summary has them.
    fn totals(&self, parent: Option<&Snapshot>) -> Vec<(&'static str, i64)> {
        let change = |of: fn(&Sums) -> i64| of(&self.added).checked_sub(of(&self.removed));
        let [rows, bytes] = self.corrected;
        let before = |key: &str| match parent {
            None => Some(0),
            Some(parent) => {
                let mut pairs = parent.summary.iter().flatten();
                pairs.find(|(known, _)| known == key).and_then(|(_, value)| value.parse::<i64>().ok())
            }
        };
        let totals = [
            ("total-records", change(|sums| sums.records).and_then(|change| change.checked_add(rows))),
            ("total-files-size", change(|sums| sums.bytes).and_then(|change| change.checked_add(bytes))),
            ("total-data-files", change(|sums| sums.data_files)),
            ("total-delete-files", change(|sums| sums.delete_files)),
            ("total-position-deletes", change(|sums| sums.position_deletes)),
            ("total-equality-deletes", change(|sums| sums.equality_deletes)),
        ];
        let known = totals.into_iter().filter(|(key, _)| !self.lacks_sizes || *key != "total-files-size");
        let total = |(key, change): (&'static str, Option<i64>)| {
            before(key)?.checked_add(change?).filter(|total| *total >= 0).map(|total| (key, total))
        };
        known.filter_map(total).collect()
    }
}

impl Sums {
    /// Counts data or delete files; of a deletion vector only its own bytes.
    fn count(&mut self, files: &RecordBatch) -> Result<()> {
        let longs = |name: &str| column::<Int64Array>(files, name);
        let (rows, bytes) = (longs("record_count")?, longs("file_size_in_bytes")?);
        let (content, vector) = (column::<Int32Array>(files, "content")?, longs("content_size_in_bytes")?);
        for row in 0..files.num_rows() {
            let (content, records) = (content.value(row), rows.value(row));
            let vector = (content == POSITION_DELETES && vector.is_valid(row)).then(|| vector.value(row));
            let plus =
                |sum: i64, more: i64| fitting(sum.checked_add(more), "a sum of the snapshot's summary");
            self.bytes = plus(self.bytes, vector.unwrap_or_else(|| bytes.value(row)))?;
            self.delete_files = plus(self.delete_files, i64::from(content != DATA))?;
            match content {
                DATA => {
                    self.data_files = plus(self.data_files, 1)?;
                    self.records = plus(self.records, records)?;
                }
                POSITION_DELETES => {
                    self.vectors = plus(self.vectors, i64::from(vector.is_some()))?;
                    self.position_delete_files =
                        plus(self.position_delete_files, i64::from(vector.is_none()))?;
                    self.position_deletes = plus(self.position_deletes, records)?;
                }
                _ => {
                    self.equality_delete_files = plus(self.equality_delete_files, 1)?;
                    self.equality_deletes = plus(self.equality_deletes, records)?;
                }
            }
        }
        Ok(())
    }
}
