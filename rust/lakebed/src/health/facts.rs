//! What a table's snapshots and manifest lists record about its health.

use arrow_array::{Array, Int32Array, Int64Array, RecordBatch, TimestampMicrosecondArray};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::grouping::sums::{known_sum, sum};
use crate::record::column;
use crate::scan::ScanOptions;
use crate::table::LakeTable;
use crate::view::View;

/// Manifests of fewer bytes are small: both formats' writers merge them up to 8 MiB.
const SMALL_MANIFEST_BYTES: i64 = 1 << 20;

/// What is known of a table without reading its manifests.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct TableFacts {
    pub(crate) location: String,
    pub(crate) format: String,
    pub(crate) format_version: Option<i32>,
    pub(crate) snapshot_id: Option<i64>,
    pub(crate) schema_id: Option<i64>,
    /// Commit time of the snapshot [microseconds since 1970 UTC]; the next two fields have the same unit.
    pub(crate) committed_at: Option<i64>,
    pub(crate) oldest_snapshot_at: Option<i64>,
    pub(crate) newest_snapshot_at: Option<i64>,
    pub(crate) snapshots: i64,
    /// Keys of encrypted metadata to which nothing refers, of a format that has such keys.
    pub(crate) unused_keys: Option<i64>,
    pub(crate) manifests: ManifestFacts,
}

/// Sums over the manifest lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManifestFacts {
    pub(crate) count: i64,
    pub(crate) bytes: i64,
    pub(crate) small: i64,
    /// Number of delete manifests.
    pub(crate) of_deletes: i64,
    /// Number of entries; unknown for old lists of Iceberg.
    pub(crate) entries: Option<i64>,
    /// Number of entries of deleted files.
    pub(crate) deleted_entries: Option<i64>,
}

impl TableFacts {
    /// Reads the snapshots and the manifest lists. Only manifests that the filter of `options` leaves are
    /// counted.
    ///
    /// # Errors
    /// Those of the views `snapshots` and `manifests`.
    pub(crate) fn read(table: &dyn LakeTable, schema_id: i64, options: &ScanOptions) -> Result<TableFacts> {
        let mut facts = TableFacts {
            location: table.location().to_owned(),
            format: table.format().to_owned(),
            format_version: table.format_version(),
            snapshot_id: table.snapshot_id(),
            schema_id: Some(schema_id),
            unused_keys: table.unused_keys()?,
            ..TableFacts::default()
        };
        let columns = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let of_snapshots = columns(&["snapshot_id", "committed_at"]);
        let of_snapshots = ScanOptions { columns: of_snapshots, ..ScanOptions::default() };
        for batch in table.scan(View::Snapshots, of_snapshots)?.stream()? {
            facts.add_snapshots(&batch?)?;
        }
        let of_manifests = ScanOptions {
            columns: columns(&MANIFEST_INPUT),
            table_filter: options.table_filter.clone(),
            ..ScanOptions::default()
        };
        facts.manifests = ManifestFacts { entries: Some(0), deleted_entries: Some(0), ..Default::default() };
        for batch in table.scan(View::Manifests, of_manifests)?.stream()? {
            facts.manifests.add(&batch?)?;
        }
        Ok(facts)
    }

    fn add_snapshots(&mut self, rows: &RecordBatch) -> Result<()> {
        let ids = column::<Int64Array>(rows, "snapshot_id")?;
        let times = column::<TimestampMicrosecondArray>(rows, "committed_at")?;
        for (id, time) in ids.iter().zip(times) {
            self.snapshots += 1;
            self.oldest_snapshot_at = [self.oldest_snapshot_at, time].into_iter().flatten().min();
            self.newest_snapshot_at = self.newest_snapshot_at.max(time);
            if id == self.snapshot_id {
                self.committed_at = time;
            }
        }
        Ok(())
    }
}

const MANIFEST_INPUT: [&str; 5] =
    ["content", "length", "added_files_count", "existing_files_count", "deleted_files_count"];

impl ManifestFacts {
    fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        let [content, numbers @ ..] = MANIFEST_INPUT;
        let contents = column::<Int32Array>(rows, content)?;
        let [lengths, added, existing, deleted] = numbers.map(|name| column::<Int64Array>(rows, name));
        let (lengths, added, existing, deleted) = (lengths?, added?, existing?, deleted?);
        let has_existing = existing.null_count() < existing.len();
        let counts = added.iter().zip(existing).zip(deleted);
        for ((length, content), ((added, existing), deleted)) in lengths.iter().zip(contents).zip(counts) {
            let length = length.unwrap_or_default();
            self.count += 1;
            self.bytes = sum("manifest_size_in_bytes", self.bytes, length)?;
            self.small += i64::from(length < SMALL_MANIFEST_BYTES);
            self.of_deletes += i64::from(content == Some(1));
            // Paimon's entries only add or delete a file.
            let existing = if has_existing { existing } else { Some(0) };
            for counted in [added, existing, deleted] {
                self.entries = known_sum("entry_count", self.entries, counted)?;
            }
            self.deleted_entries = known_sum("deleted_entry_count", self.deleted_entries, deleted)?;
        }
        Ok(())
    }
}
