//! `refs`: one row per branch and tag, with the columns of both formats.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};

use super::super::snapshot::{Snapshot, Tag};
use crate::error::Result;
use crate::view::instants;
use crate::view::whole;

/// A name of a snapshot.
pub(crate) enum Ref {
    /// A branch, at its latest snapshot if it has one.
    Branch(String, Option<Snapshot>),
    /// A tag, which holds its snapshot.
    Tag(String, Tag),
}

impl Ref {
    fn name(&self) -> &str {
        match self {
            Ref::Branch(name, _) | Ref::Tag(name, _) => name,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Ref::Branch(..) => "branch",
            Ref::Tag(..) => "tag",
        }
    }

    fn snapshot(&self) -> Option<&Snapshot> {
        match self {
            Ref::Branch(_, snapshot) => snapshot.as_ref(),
            Ref::Tag(_, tag) => Some(&tag.snapshot),
        }
    }

    fn tag(&self) -> Option<&Tag> {
        match self {
            Ref::Branch(..) => None,
            Ref::Tag(_, tag) => Some(tag),
        }
    }

    /// How long a tag is kept, in milliseconds rounded down.
    fn retained(&self) -> Option<i64> {
        // A time that does not fit 64 bits of milliseconds is for ever.
        self.tag()?.time_retained.map(|kept| i64::try_from(kept.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The rows of `refs`. The retention columns are those of Iceberg's table of the same name; Paimon has a
/// retention time for tags only.
pub(crate) fn refs(refs: &[Ref]) -> Result<RecordBatch> {
    let snapshots = || refs.iter().map(Ref::snapshot);
    let created = refs.iter().map(|one| one.tag()?.create_time_micros);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("name", Arc::new(StringArray::from_iter_values(refs.iter().map(Ref::name)))),
        ("type", Arc::new(StringArray::from_iter_values(refs.iter().map(Ref::kind)))),
        ("snapshot_id", Arc::new(snapshots().map(|s| Some(s?.id)).collect::<Int64Array>())),
        ("max_reference_age_in_ms", Arc::new(refs.iter().map(Ref::retained).collect::<Int64Array>())),
        ("min_snapshots_to_keep", Arc::new(Int32Array::new_null(refs.len()))),
        ("max_snapshot_age_in_ms", Arc::new(Int64Array::new_null(refs.len()))),
        ("schema_id", Arc::new(snapshots().map(|s| Some(s?.schema_id)).collect::<Int64Array>())),
        ("committed_at", instants(snapshots().map(|s| Some(s?.time_millis)))?),
        ("created_at", Arc::new(created.collect::<TimestampMicrosecondArray>())),
    ];
    whole(columns, refs.len())
}
