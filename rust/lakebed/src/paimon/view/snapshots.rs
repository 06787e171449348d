//! `snapshots`: one row per commit.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, Int64Builder, MapBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};

use crate::error::Result;
use crate::paimon::snapshot::Snapshot;
use crate::view::{instants, map_names, maps, whole};

/// The rows of `snapshots`, ascending by id.
pub(crate) fn snapshots(snapshots: &[Snapshot]) -> Result<RecordBatch> {
    let long = |value: &dyn Fn(&Snapshot) -> Option<i64>| -> ArrayRef {
        Arc::new(snapshots.iter().map(value).collect::<Int64Array>())
    };
    let text = |value: &dyn Fn(&Snapshot) -> Option<String>| -> ArrayRef {
        Arc::new(snapshots.iter().map(value).collect::<StringArray>())
    };
    let parent = |snapshot: &Snapshot| {
        let parent = snapshot.id.checked_sub(1)?;
        snapshots.binary_search_by_key(&parent, |other| other.id).ok().map(|_| parent)
    };
    let columns_of_view: Vec<(&str, ArrayRef)> = vec![
        ("snapshot_id", long(&|s| Some(s.id))),
        ("parent_id", long(&parent)),
        ("committed_at", instants(snapshots.iter().map(|s| s.time_millis))?),
        ("operation", text(&|s| Some(s.commit_kind.name().to_owned()))),
        ("schema_id", long(&|s| Some(s.schema_id))),
        ("total_record_count", long(&|s| s.total_record_count)),
        // A Paimon snapshot has two lists, in later columns.
        ("manifest_list", text(&|_| None)),
        ("summary", maps(snapshots.iter().map(|s| s.properties.as_deref()))?),
        ("version", Arc::new(Int32Array::from_iter_values(snapshots.iter().map(|s| s.version)))),
        ("commit_user", text(&|s| Some(s.commit_user.clone()))),
        ("commit_identifier", long(&|s| Some(s.commit_identifier))),
        ("base_manifest_list", text(&|s| Some(s.base_manifest_list.clone()))),
        ("base_manifest_list_size", long(&|s| s.base_manifest_list_size)),
        ("delta_manifest_list", text(&|s| Some(s.delta_manifest_list.clone()))),
        ("delta_manifest_list_size", long(&|s| s.delta_manifest_list_size)),
        ("changelog_manifest_list", text(&|s| s.changelog_manifest_list.clone())),
        ("changelog_manifest_list_size", long(&|s| s.changelog_manifest_list_size)),
        ("index_manifest", text(&|s| s.index_manifest.clone())),
        ("delta_record_count", long(&|s| s.delta_record_count)),
        ("changelog_record_count", long(&|s| s.changelog_record_count)),
        ("watermark", long(&|s| s.watermark)),
        ("statistics", text(&|s| s.statistics.clone())),
        ("next_row_id", long(&|s| s.next_row_id)),
        ("uuid", text(&|s| s.uuid.clone())),
        // `operation` is the kind of the commit; what newer writers call `operation` is here.
        ("commit_operation", text(&|s| s.operation.clone())),
        ("writer_version", text(&|s| s.writer_version.clone())),
        ("log_offsets", log_offsets(snapshots)?),
    ];
    whole(columns_of_view, snapshots.len())
}

/// The offsets of log systems by bucket, which writers up to Paimon 1.3 record.
fn log_offsets(snapshots: &[Snapshot]) -> Result<ArrayRef> {
    let mut builder = MapBuilder::new(Some(map_names()), Int32Builder::new(), Int64Builder::new());
    for offsets in snapshots.iter().map(|snapshot| snapshot.log_offsets.as_ref()) {
        for (bucket, offset) in offsets.into_iter().flatten() {
            builder.keys().append_value(*bucket);
            builder.values().append_value(*offset);
        }
        builder.append(offsets.is_some())?;
    }
    Ok(Arc::new(builder.finish()))
}
