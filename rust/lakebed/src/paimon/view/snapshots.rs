//! `snapshots`: one row per commit.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, Int64Builder, MapBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;

use crate::error::Result;
use crate::paimon::snapshot::Snapshot;
use crate::view::{Rows, map_names, maps, whole};

/// The rows of `snapshots`, ascending by id.
pub(crate) fn snapshots(snapshots: &[Snapshot]) -> Result<RecordBatch> {
    let rows = Rows(snapshots.iter());
    let parent = |snapshot: &Snapshot| {
        let parent = snapshot.id.checked_sub(1)?;
        snapshots.binary_search_by_key(&parent, |other| other.id).ok().map(|_| parent)
    };
    let columns_of_view: Vec<(&str, ArrayRef)> = vec![
        ("snapshot_id", rows.longs(|s| s.id)),
        ("parent_id", rows.longs(parent)),
        ("committed_at", rows.instants(|s| s.time_millis)?),
        ("operation", rows.texts(|s| s.commit_kind.name())),
        ("schema_id", rows.longs(|s| s.schema_id)),
        ("total_record_count", rows.longs(|s| s.total_record_count)),
        // A Paimon snapshot has two lists, in later columns.
        ("manifest_list", rows.absent(&DataType::Utf8)),
        ("summary", maps(snapshots.iter().map(|s| s.properties.as_deref()))?),
        ("version", rows.ints(|s| s.version)),
        ("commit_user", rows.texts(|s| s.commit_user.as_str())),
        ("commit_identifier", rows.longs(|s| s.commit_identifier)),
        ("base_manifest_list", rows.texts(|s| s.base_manifest_list.as_str())),
        ("base_manifest_list_size", rows.longs(|s| s.base_manifest_list_size)),
        ("delta_manifest_list", rows.texts(|s| s.delta_manifest_list.as_str())),
        ("delta_manifest_list_size", rows.longs(|s| s.delta_manifest_list_size)),
        ("changelog_manifest_list", rows.texts(|s| s.changelog_manifest_list.as_deref())),
        ("changelog_manifest_list_size", rows.longs(|s| s.changelog_manifest_list_size)),
        ("index_manifest", rows.texts(|s| s.index_manifest.as_deref())),
        ("delta_record_count", rows.longs(|s| s.delta_record_count)),
        ("changelog_record_count", rows.longs(|s| s.changelog_record_count)),
        ("watermark", rows.longs(|s| s.watermark)),
        ("statistics", rows.texts(|s| s.statistics.as_deref())),
        ("next_row_id", rows.longs(|s| s.next_row_id)),
        ("uuid", rows.texts(|s| s.uuid.as_deref())),
        // `operation` is the kind of the commit; what newer writers call `operation` is here.
        ("commit_operation", rows.texts(|s| s.operation.as_deref())),
        ("writer_version", rows.texts(|s| s.writer_version.as_deref())),
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
