//! `history` (Iceberg's `HistoryTable.java`): which snapshots were current when, oldest first.

use arrow_schema::DataType::{Boolean, Int64};
use arrow_schema::Field;
use std::collections::{HashMap, HashSet};

use super::instant;
use crate::error::Result;
use crate::iceberg::metadata::WantedElements;
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "history", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    Ok(vec![
        required("made_current_at", instant()),
        required("snapshot_id", Int64),
        optional("parent_id", Int64),
        required("is_current_ancestor", Boolean),
    ])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let metadata =
        table.read(&WantedElements { lineage: true, snapshot_log: true, ..WantedElements::CURRENT })?;
    let parents: HashMap<i64, Option<i64>> =
        metadata.lineage.iter().map(|one| (one.snapshot_id, one.parent_id)).collect();
    let ancestors = ancestors(metadata.current_snapshot_id, &parents);
    let rows = Rows(metadata.snapshot_log.iter());
    let arrays = vec![
        rows.instants(|entry| entry.timestamp_ms)?,
        rows.longs(|entry| entry.snapshot_id),
        rows.longs(|entry| parents.get(&entry.snapshot_id).copied().flatten()),
        rows.booleans(|entry| ancestors.contains(&entry.snapshot_id)),
    ];
    whole(columns(table)?, arrays, metadata.snapshot_log.len())
}

/// The current snapshot and its existing ancestors.
fn ancestors(current: Option<i64>, parents: &HashMap<i64, Option<i64>>) -> HashSet<i64> {
    let mut found = HashSet::new();
    let mut next = current;
    // A snapshot that appears again would be its own ancestor.
    while let Some(id) = next.filter(|id| parents.contains_key(id) && found.insert(*id)) {
        next = parents.get(&id).copied().flatten();
    }
    found
}
