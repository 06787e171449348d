//! `refs`: one row per branch and tag, with the columns of both formats.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;

use super::super::snapshot::{Snapshot, Tag};
use crate::error::Result;
use crate::view::{Rows, whole};

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
    let rows = Rows(refs.iter());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("name", rows.texts(Ref::name)),
        ("type", rows.texts(Ref::kind)),
        ("snapshot_id", rows.longs(|one| Some(one.snapshot()?.id))),
        ("max_reference_age_in_ms", rows.longs(Ref::retained)),
        ("min_snapshots_to_keep", rows.absent(&DataType::Int32)),
        ("max_snapshot_age_in_ms", rows.absent(&DataType::Int64)),
        ("schema_id", rows.longs(|one| Some(one.snapshot()?.schema_id))),
        ("committed_at", rows.instants(|one| Some(one.snapshot()?.time_millis))?),
        ("created_at", rows.wall_clocks(|one| one.tag()?.create_time_micros)),
    ];
    whole(columns, refs.len())
}
