//! `refs`: one row per branch and tag, in the columns of both formats.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};

use crate::error::Result;
use crate::iceberg::metadata::{MAIN, RefKind, Snapshot, SnapshotRef};
use crate::view::{instants, whole};

/// A branch or tag.
pub(crate) struct Ref<'m> {
    /// Its name.
    pub(crate) name: &'m str,
    /// Its snapshot id and retention rules.
    pub(crate) named: &'m SnapshotRef,
    /// Its snapshot, if it exists.
    pub(crate) snapshot: Option<&'m Snapshot>,
}

/// The rows of `refs`: `main`, the other branches, then the tags, each in the given order.
pub(crate) fn refs<'m>(refs: impl Iterator<Item = Ref<'m>>) -> Result<RecordBatch> {
    let mut refs: Vec<Ref<'_>> = refs.collect();
    refs.sort_by_key(|one| (one.named.kind == RefKind::Tag, one.name != MAIN));
    let long = |value: fn(&Ref<'_>) -> Option<i64>| -> ArrayRef {
        Arc::new(refs.iter().map(value).collect::<Int64Array>())
    };
    let kept = refs.iter().map(|one| one.named.min_snapshots_to_keep);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("name", Arc::new(StringArray::from_iter_values(refs.iter().map(|one| one.name)))),
        ("type", Arc::new(StringArray::from_iter_values(refs.iter().map(|one| one.named.kind.name())))),
        ("snapshot_id", long(|one| Some(one.named.snapshot_id))),
        ("max_reference_age_in_ms", long(|one| one.named.max_ref_age_ms)),
        ("min_snapshots_to_keep", Arc::new(kept.collect::<Int32Array>())),
        ("max_snapshot_age_in_ms", long(|one| one.named.max_snapshot_age_ms)),
        ("schema_id", long(|one| one.snapshot?.schema_id.map(i64::from))),
        ("committed_at", instants(refs.iter().map(|one| Some(one.snapshot?.timestamp_ms)))?),
    ];
    whole(columns, refs.len())
}
