//! `refs`: one row per branch and tag, in the columns of both formats.

use arrow_array::{ArrayRef, RecordBatch};

use crate::error::Result;
use crate::iceberg::metadata::{MAIN, RefKind, Snapshot, SnapshotRef};
use crate::view::{Rows, whole};

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
    let rows = Rows(refs.iter());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("name", rows.texts(|one| one.name)),
        ("type", rows.texts(|one| one.named.kind.name())),
        ("snapshot_id", rows.longs(|one| one.named.snapshot_id)),
        ("max_reference_age_in_ms", rows.longs(|one| one.named.max_ref_age_ms)),
        ("min_snapshots_to_keep", rows.ints(|one| one.named.min_snapshots_to_keep)),
        ("max_snapshot_age_in_ms", rows.longs(|one| one.named.max_snapshot_age_ms)),
        ("schema_id", rows.longs(|one| one.snapshot?.schema_id.map(i64::from))),
        ("committed_at", rows.instants(|one| Some(one.snapshot?.timestamp_ms))?),
    ];
    whole(columns, refs.len())
}
