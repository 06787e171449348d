//! `snapshots`: one row per commit.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use crate::error::Result;
use crate::iceberg::metadata::Snapshot;
use crate::view::{instants, lists, maps, whole};

/// The rows of `snapshots`, in the order of the metadata, which is that of the commits.
pub(crate) fn snapshots(snapshots: &[Snapshot]) -> Result<RecordBatch> {
    let long = |value: fn(&Snapshot) -> Option<i64>| -> ArrayRef {
        Arc::new(snapshots.iter().map(value).collect::<Int64Array>())
    };
    let text = |value: fn(&Snapshot) -> Option<&str>| -> ArrayRef {
        Arc::new(snapshots.iter().map(value).collect::<StringArray>())
    };
    let inline = StringArray::from_iter_values(snapshots.iter().flat_map(|one| &one.manifests));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("snapshot_id", long(|one| Some(one.snapshot_id))),
        ("parent_id", long(|one| one.parent_id)),
        ("committed_at", instants(snapshots.iter().map(|one| one.timestamp_ms))?),
        ("operation", text(|one| one.operation.as_deref())),
        ("schema_id", long(|one| one.schema_id.map(i64::from))),
        ("total_record_count", long(total_records)),
        ("manifest_list", text(|one| one.manifest_list.as_deref())),
        ("summary", maps(snapshots.iter().map(|one| one.summary.as_deref()))?),
        ("sequence_number", long(|one| Some(one.sequence_number))),
        ("first_row_id", long(|one| one.first_row_id)),
        ("added_rows", long(|one| one.added_rows)),
        ("key_id", text(|one| one.key_id.as_deref())),
        ("manifests", lists(snapshots.iter().map(|one| one.manifests.len()), Arc::new(inline))?),
    ];
    whole(columns, snapshots.len())
}

/// Rows of all data files, including deleted ones, as the writer counted them.
fn total_records(snapshot: &Snapshot) -> Option<i64> {
    let pairs = snapshot.summary.as_deref()?;
    pairs.iter().find(|(key, _)| key == "total-records").and_then(|(_, value)| value.parse().ok())
}
