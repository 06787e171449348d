//! The commits that led to the table's snapshot.

use std::collections::HashMap;

use super::Table;
use crate::error::Result;
use crate::iceberg::metadata::{ElementFilter, Snapshot, WantedElements};
use crate::words::listed;

/// The operation of commits that only add data files.
const APPEND: &str = "append";

impl Table {
    /// The appends among the snapshots after `after` up to that of the table, the oldest first; all existing
    /// ones for `None`.
    ///
    /// The snapshot `after` itself may have expired, as long as its child exists
    /// (`SnapshotUtil.isParentAncestorOf`).
    ///
    /// # Errors
    /// `SnapshotNotFound` where `after` is not an ancestor of the table's snapshot; the message has the
    /// ancestors.
    pub(crate) fn appends_after(&self, after: Option<i64>) -> Result<Vec<Snapshot>> {
        let (mut path, at) = self.path_from(after)?;
        if let Some(after) = after.filter(|after| at != Some(*after)) {
            let message = match self.snapshot_id() {
                Some(at) => format!(
                    "snapshot {at} is not a descendant of snapshot {after}; of its ancestors there {}",
                    listed(path.get(1..).unwrap_or_default())
                ),
                None => format!("no snapshot {after}; the table has none"),
            };
            return Err(self.not_found(message));
        }
        path.reverse();
        self.appends_of(path)
    }

    /// The ids of the snapshots that led to that of the table, the latest first.
    ///
    /// # Errors
    /// Those of [`Table::read`]; `SnapshotNotFound` as [`Table::snapshot`].
    pub(crate) fn ancestors(&self) -> Result<Vec<i64>> {
        self.path_from(None).map(|(path, _)| path)
    }

    /// The snapshots after `after` up to that of the table, the latest first, all existing ones for `None`;
    /// and the parent of the oldest.
    fn path_from(&self, after: Option<i64>) -> Result<(Vec<i64>, Option<i64>)> {
        let parents: HashMap<i64, Option<i64>> = self
            .read(&WantedElements { lineage: true, ..WantedElements::CURRENT })?
            .lineage
            .into_iter()
            .map(|place| (place.snapshot_id, place.parent_id))
            .collect();
        let mut at = self.snapshot()?.map(|snapshot| snapshot.snapshot_id);
        let mut path = Vec::new();
        while let Some(id) = at.filter(|id| after != Some(*id)) {
            // A path with more snapshots than exist is a cycle.
            let Some(parent) = parents.get(&id).filter(|_| path.len() < parents.len()) else { break };
            path.push(id);
            at = *parent;
        }
        Ok((path, at))
    }

    /// The snapshots that led to that of the table, the oldest first, without their summaries.
    ///
    /// # Errors
    /// Those of [`Table::read`]; `SnapshotNotFound` as [`Table::snapshot`].
    pub(crate) fn snapshots_to_here(&self) -> Result<Vec<Snapshot>> {
        let (path, _) = self.path_from(None)?;
        let places: HashMap<i64, usize> =
            path.iter().rev().enumerate().map(|(place, id)| (*id, place)).collect();
        let mut found: Vec<Option<Snapshot>> = vec![None; path.len()];
        self.metadata.each_snapshot(&self.file, |some| {
            for snapshot in some {
                let place = places.get(&snapshot.snapshot_id).and_then(|place| found.get_mut(*place));
                if let Some(place) = place {
                    *place = Some(Snapshot { summary: None, ..snapshot });
                }
            }
            Ok(())
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The appends among the snapshots with these ids, in that order.
    fn appends_of(&self, ids: Vec<i64>) -> Result<Vec<Snapshot>> {
        let metadata = self.read(&WantedElements {
            snapshots: ElementFilter::Ids(ids.iter().copied().collect()),
            ..WantedElements::CURRENT
        })?;
        let mut found: HashMap<i64, Snapshot> =
            metadata.snapshots.into_iter().map(|snapshot| (snapshot.snapshot_id, snapshot)).collect();
        let found = ids.into_iter().filter_map(|id| found.remove(&id));
        Ok(found.filter(|snapshot| snapshot.operation.as_deref() == Some(APPEND)).collect())
    }
}
