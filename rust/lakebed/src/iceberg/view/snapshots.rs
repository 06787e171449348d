//! `snapshots`: one row per commit.

use arrow_array::{ArrayRef, RecordBatch};

use crate::error::Result;
use crate::iceberg::metadata::Snapshot;
use crate::view::{Rows, maps, whole};

/// The rows of `snapshots`, in the order of the metadata, which is that of the commits.
pub(crate) fn snapshots(snapshots: &[Snapshot]) -> Result<RecordBatch> {
    let rows = Rows(snapshots.iter());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("snapshot_id", rows.longs(|one| one.snapshot_id)),
        ("parent_id", rows.longs(|one| one.parent_id)),
        ("committed_at", rows.instants(|one| one.timestamp_ms)?),
        ("operation", rows.texts(|one| one.operation.as_deref())),
        ("schema_id", rows.longs(|one| one.schema_id.map(i64::from))),
        ("total_record_count", rows.longs(total_records)),
        ("manifest_list", rows.texts(|one| one.manifest_list.as_deref())),
        ("summary", maps(snapshots.iter().map(|one| one.summary.as_deref()))?),
        ("sequence_number", rows.longs(|one| one.sequence_number)),
        ("first_row_id", rows.longs(|one| one.first_row_id)),
        ("added_rows", rows.longs(|one| one.added_rows)),
        ("key_id", rows.texts(|one| one.key_id.as_deref())),
        ("manifests", rows.text_lists(|one| &one.manifests)?),
    ];
    whole(columns, snapshots.len())
}

/// Rows of all data files, including deleted ones, as the writer counted them.
fn total_records(snapshot: &Snapshot) -> Option<i64> {
    let pairs = snapshot.summary.as_deref()?;
    pairs.iter().find(|(key, _)| key == "total-records").and_then(|(_, value)| value.parse().ok())
}
