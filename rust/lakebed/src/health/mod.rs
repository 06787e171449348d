//! The view `health`: one row about the state of a table.

mod clustering;
mod facts;
mod totals;

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

pub(crate) use clustering::ManifestBounds;
use facts::TableFacts;
pub(crate) use totals::HealthTotals;

use crate::credentials::location_of;
use crate::dangling::DeleteAmounts;
use crate::error::Result;
use crate::grouping::sums::sum;
use crate::scan::ScanOptions;
use crate::table::LakeTable;
use crate::view::{select, whole};

/// Smaller files count as small by default \[bytes\].
pub const SMALL_FILE_BYTES: u64 = 32 << 20;

/// What a table's row is made of, except for its files.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct HealthTask {
    facts: TableFacts,
    bounds: ManifestBounds,
    columns: Option<Vec<String>>,
}

impl HealthTask {
    /// Reads the snapshots and the manifest lists of `table`; `schema_id` is the schema by which its rows are
    /// read.
    ///
    /// # Errors
    /// Those of the views `snapshots` and `manifests`.
    pub(crate) fn read(table: &dyn LakeTable, schema_id: i64, options: &ScanOptions) -> Result<HealthTask> {
        let facts = TableFacts::read(table, schema_id, options)?;
        let bounds = ManifestBounds::read(table, options)?;
        Ok(HealthTask { facts, bounds, columns: options.columns.clone() })
    }

    /// The requested columns.
    pub(crate) fn columns(&self) -> Option<&[String]> {
        self.columns.as_deref()
    }

    /// The partition bounds in the manifest lists.
    pub(crate) fn bounds(&self) -> &ManifestBounds {
        &self.bounds
    }

    /// The row, given the sums over the files of all partitions, and over all deletes.
    ///
    /// # Errors
    /// `UnknownColumn`.
    pub(crate) fn row_of(&self, totals: &HealthTotals, deletes: &DeleteAmounts) -> Result<RecordBatch> {
        select(&row(&self.facts, &self.bounds, totals, deletes)?, self.columns.as_deref(), None)
    }
}

/// The columns of the view, the same for all tables.
///
/// # Errors
/// `UnknownColumn`.
pub fn schema(columns: Option<&[String]>) -> Result<SchemaRef> {
    let (facts, bounds) = (TableFacts::default(), ManifestBounds::default());
    let row = row(&facts, &bounds, &HealthTotals::ZERO, &DeleteAmounts::default())?;
    Ok(select(&row, columns, None)?.schema())
}

/// The columns for which files are compared with deletes.
const OF_DELETES: [&str; 6] = [
    "dangling_delete_file_count",
    "dangling_delete_record_count",
    "dangling_delete_size_in_bytes",
    "dangling_deletion_vector_count",
    "dangling_equality_delete_file_count",
    "deleted_record_ratio",
];

/// Whether files are compared with deletes for these columns.
pub(crate) fn needs_deletes(columns: Option<&[String]>) -> bool {
    columns.is_none_or(|columns| columns.iter().any(|name| OF_DELETES.contains(&name.as_str())))
}

/// Files with fewer bytes count as small.
pub(crate) fn small_bytes(options: &ScanOptions) -> i64 {
    i64::try_from(options.small_bytes.unwrap_or(SMALL_FILE_BYTES)).unwrap_or(i64::MAX)
}

fn row(
    facts: &TableFacts,
    bounds: &ManifestBounds,
    totals: &HealthTotals,
    applied: &DeleteAmounts,
) -> Result<RecordBatch> {
    let manifests = &facts.manifests;
    let after = bounds.rewritten(totals.file_count, totals.partition_count, totals.max_partition_file_count);
    let clustered = totals.clustered_partition_count.filter(|count| *count > 0);
    let deletes = |name, counts: [Option<i64>; 3]| {
        counts.into_iter().flatten().map(Ok).reduce(|left, right| sum(name, left?, right?)).transpose()
    };
    // Iceberg's vectors are included in position deletes; Paimon has only vectors.
    let deleted = totals.position_delete_record_count.or(totals.deletion_vector_record_count);
    let vectors = |count: Option<i64>| count.filter(|_| totals.position_delete_file_count.is_none());
    let delete_files = [
        totals.position_delete_file_count,
        totals.equality_delete_file_count,
        vectors(totals.deletion_vector_count),
    ];
    let delete_files = deletes("delete_file_count", delete_files)?;
    let delete_records =
        deletes("delete_record_count", [deleted, totals.equality_delete_record_count, None])?;
    let [dangling, dangling_records, dangling_bytes, of_vectors, of_equality, deleted_ratio] = OF_DELETES;
    let columns = vec![
        ("location", text(&location_of(&facts.location))),
        ("format", text(&facts.format)),
        ("format_version", Arc::new(Int32Array::from(vec![facts.format_version])) as ArrayRef),
        ("snapshot_id", long(facts.snapshot_id)),
        ("schema_id", long(facts.schema_id)),
        ("committed_at", instant(facts.committed_at)),
        ("snapshot_count", long(Some(facts.snapshots))),
        ("oldest_snapshot_at", instant(facts.oldest_snapshot_at)),
        ("newest_snapshot_at", instant(facts.newest_snapshot_at)),
        ("unused_key_count", long(facts.unused_keys)),
        ("partition_count", long(totals.partition_count)),
        ("bucket_count", long(totals.bucket_count)),
        ("file_count", long(totals.file_count)),
        ("record_count", long(totals.record_count)),
        ("file_size_in_bytes", long(totals.file_size_in_bytes)),
        ("average_file_size_in_bytes", ratio(totals.file_size_in_bytes, totals.file_count)),
        ("min_file_size_in_bytes", long(totals.min_file_size_in_bytes)),
        ("max_file_size_in_bytes", long(totals.max_file_size_in_bytes)),
        ("small_file_count", long(totals.small_file_count)),
        ("small_file_size_in_bytes", long(totals.small_file_size_in_bytes)),
        ("max_partition_file_count", long(totals.max_partition_file_count)),
        ("max_level", long(totals.max_level)),
        ("level_0_file_count", long(totals.level_0_file_count)),
        ("delete_file_count", long(delete_files)),
        ("delete_record_count", long(delete_records)),
        ("position_delete_file_count", long(totals.position_delete_file_count)),
        ("position_delete_record_count", long(totals.position_delete_record_count)),
        ("deletion_vector_count", long(totals.deletion_vector_count)),
        ("equality_delete_file_count", long(totals.equality_delete_file_count)),
        ("equality_delete_record_count", long(totals.equality_delete_record_count)),
        ("delete_row_count", long(totals.delete_row_count)),
        (dangling, long(Some(applied.dangling))),
        (dangling_records, long(applied.dangling_records)),
        (dangling_bytes, long(Some(applied.dangling_bytes))),
        (of_vectors, long(Some(applied.dangling_vectors))),
        (of_equality, long(totals.equality_delete_file_count.map(|_| applied.dangling_equality))),
        (deleted_ratio, ratio(applied.position_records, totals.record_count)),
        ("manifest_count", long(Some(manifests.count))),
        ("manifest_size_in_bytes", long(Some(manifests.bytes))),
        ("small_manifest_count", long(Some(manifests.small))),
        ("delete_manifest_count", long(Some(manifests.of_deletes))),
        ("entry_count", long(manifests.entries)),
        ("average_manifest_entry_count", ratio(manifests.entries, Some(manifests.count))),
        ("deleted_entry_count", long(manifests.deleted_entries)),
        ("average_partition_manifest_count", ratio(totals.partition_manifest_count, clustered)),
        ("max_partition_manifest_count", long(totals.max_partition_manifest_count)),
        ("rewritten_manifest_count", long(after.manifests)),
        (
            "average_rewritten_partition_manifest_count",
            Arc::new(Float64Array::from(vec![after.average])) as ArrayRef,
        ),
        ("max_rewritten_partition_manifest_count", long(after.most)),
    ];
    whole(columns, 1)
}

fn text(value: &str) -> ArrayRef {
    Arc::new(StringArray::from(vec![value]))
}

fn long(value: Option<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(vec![value]))
}

fn instant(micros: Option<i64>) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(vec![micros]).with_timezone("UTC"))
}

/// The quotient of two numbers; null where either is unknown, or the divisor is 0.
fn ratio(of: Option<i64>, to: Option<i64>) -> ArrayRef {
    let ratio = of.zip(to.filter(|to| *to != 0)).map(|(of, to)| of as f64 / to as f64);
    Arc::new(Float64Array::from(vec![ratio]))
}
