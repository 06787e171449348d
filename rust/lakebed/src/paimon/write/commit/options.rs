//! How a commit is made.

use crate::write::now_millis;

/// Who commits, and what the snapshot says besides.
#[derive(Debug, Clone)]
pub struct CommitOptions {
    /// The commit user, of whom snapshots are distinguished by `identifier`.
    pub user: String,
    /// The user's number of the commit: a snapshot of the same user, number and kind is not committed again.
    /// `None` for batch writers, whose commits are all new.
    pub identifier: Option<i64>,
    /// Free key-value pairs of the snapshot.
    pub properties: Vec<(String, String)>,
    /// The event time below which no more rows come.
    pub watermark: Option<i64>,
    /// A UUID that no other commit has: part of the names of its files.
    pub uuid: u128,
    /// How far the wall clock is ahead of UTC \[ms\].
    pub zone_offset_millis: i64,
}

impl CommitOptions {
    /// The wall clock [µs since 1970].
    pub(in crate::paimon::write) fn wall_clock(&self) -> i64 {
        (now_millis() + self.zone_offset_millis) * 1000
    }
}
