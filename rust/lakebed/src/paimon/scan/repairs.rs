//! What can be done about Paimon tables.

use std::sync::Arc;

use arrow_array::Int64Array;

use super::marks::MarkedVectors;
use crate::dangling::DeleteMarks;
use crate::error::{Error, Result};
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::paths::snapshot_file;
use crate::paimon::snapshot::CommitKind;
use crate::paimon::table::Table;
use crate::paimon::write::is_on;
use crate::record::column;
use crate::repair::{Repair, RepairKind, RowChange, TableRepairs, listed_files};
use crate::scan::ScanOptions;

/// Repairs of Paimon tables.
pub(crate) enum PaimonRepairs {}

impl TableRepairs<Table> for PaimonRepairs {
    /// Without a file of a table with keys, older rows of its keys are returned again; files of one with data evolution
    /// share rows.
    fn removes_rows(table: &Table) -> bool {
        table.schema().primary_keys.is_empty() && !is_on(table.schema(), "data-evolution.enabled", false)
    }

    /// By the kind of the snapshot and its number of rows.
    fn undone(table: &Table) -> Result<RowChange> {
        let known = table.snapshot().map(|snapshot| (snapshot.commit_kind, snapshot.delta_record_count));
        Ok(match known {
            Some((CommitKind::Compact | CommitKind::Analyze, _)) => RowChange::NONE,
            Some((CommitKind::Append, rows)) if Self::removes_rows(table) => RowChange::lost(rows),
            _ => RowChange::UNKNOWN,
        })
    }

    /// One for all: how many rows each has, lists do not record, but how many the snapshot has.
    fn without_manifests(
        table: &Table,
        damaged: &[(ManifestFile, Arc<Error>)],
        kept: &[ManifestFile],
        threads: usize,
    ) -> Result<Vec<Repair>> {
        let Some(snapshot) = table.snapshot() else { return Ok(Vec::new()) };
        let path = table.files().own(&snapshot_file(snapshot.id));
        let of_each = |(manifest, error): &(ManifestFile, Arc<Error>)| {
            format!("{}: {}", manifest.file_name, error.message())
        };
        let words = damaged.iter().map(of_each).collect::<Vec<_>>().join(", ");
        let problem = format!("{} of its manifests cannot be read: {words}", damaged.len());
        // Files that they delete would be returned again.
        let only_add = damaged.iter().all(|(manifest, _)| manifest.deleted == 0) && Self::removes_rows(table);
        let change = match MarkedVectors::read(table, &ScanOptions::default())? {
            None if only_add => {
                RowChange::lost(rows_beyond(table, snapshot.total_record_count, kept, threads)?)
            }
            _ => RowChange::UNKNOWN,
        };
        Ok(vec![Repair::new(RepairKind::Manifests, path, &problem, change)])
    }
}

/// How many of `total` rows the live files of these manifests do not have.
fn rows_beyond(
    table: &Table,
    total: Option<i64>,
    manifests: &[ManifestFile],
    threads: usize,
) -> Result<Option<i64>> {
    let mut rest = total;
    for files in listed_files(table, manifests, &["record_count"], threads)? {
        for rows in column::<Int64Array>(&files?, "record_count")?.iter() {
            rest = rest.zip(rows).and_then(|(rest, rows)| rest.checked_sub(rows));
        }
    }
    Ok(rest.filter(|rest| *rest >= 0))
}
