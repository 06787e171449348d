//! Options of a commit.

use std::sync::Arc;

use crate::columnar::Encoder;
use crate::error::{Result, fitting};
use crate::write::now_millis;

/// The committer, and further fields of the snapshot.
#[derive(Debug, Clone)]
pub struct CommitOptions {
    /// The commit user; `identifier` distinguishes the user's snapshots.
    pub user: String,
    /// The user's number of the commit: a snapshot of the same user, number and kind is not committed again.
    /// `None` for batch writers, whose commits are always new.
    pub identifier: Option<i64>,
    /// User-defined key-value pairs of the snapshot.
    pub properties: Vec<(String, String)>,
    /// The event time before which all rows have arrived.
    pub watermark: Option<i64>,
    /// A UUID of this commit, which is part of the names of its files.
    pub uuid: u128,
    /// The offset of the wall clock from UTC \[ms\].
    pub zone_offset_millis: i64,
    /// What writes manifests in ORC and Parquet; without it, tables that have such are not committed to.
    pub encoder: Option<Arc<dyn Encoder>>,
}

impl CommitOptions {
    /// The wall clock [µs since 1970].
    ///
    /// # Errors
    /// `Mismatch` for an offset with which it does not fit.
    pub(in crate::paimon::write) fn wall_clock(&self) -> Result<i64> {
        let millis = now_millis().checked_add(self.zone_offset_millis);
        fitting(millis.and_then(|millis| millis.checked_mul(1000)), "the wall-clock time")
    }
}
