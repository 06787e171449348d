//! What can be done about Paimon tables.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::Int64Array;

use super::marks::MarkedVectors;
use super::rebuilt::RebuiltLists;
use crate::dangling::DeleteMarks;
use crate::error::{Error, Result};
use crate::paimon::consumer::Consumer;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::paths::{MAIN, consumer_file, snapshot_file, tag_file};
use crate::paimon::snapshot::{CommitKind, Snapshot, Tag};
use crate::paimon::table::Table;
use crate::paimon::write::is_on;
use crate::pipeline::read_each;
use crate::record::column;
use crate::repair::{Repair, RepairKind, RowChange, TableRepairs, damage, listed_files};
use crate::scan::ScanOptions;
use crate::storage::Storage;

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

    /// One for both lists.
    fn gone_list(table: &Table, threads: usize) -> Result<Option<Repair>> {
        let rebuilt = RebuiltLists::of(table, threads)?.zip(table.snapshot());
        Ok(rebuilt
            .map(|(rebuilt, own)| Repair::back_to(RepairKind::Lists, own.id, &rebuilt.error, rebuilt.change)))
    }

    fn gone_snapshots(table: &Table, threads: usize) -> Result<Vec<Repair>> {
        let repair = |(id, error, is_removable): (i64, Error, bool)| {
            let change = if is_removable { RowChange::NONE } else { RowChange::UNKNOWN };
            Repair::back_to(RepairKind::Snapshots, id, &error, change)
        };
        Ok(gone_snapshots(table, threads)?.into_iter().map(repair).collect())
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

/// The snapshots before the latest one whose lists cannot be read, the earliest first, each with why, and whether it can
/// be removed: streams read snapshots one after the other, so only a run from the earliest on can, of which no tag, no
/// other branch and no consumer has or reads one.
///
/// # Errors
/// Those of the storage, and of reading snapshots, tags and consumers.
pub(crate) fn gone_snapshots(table: &Table, threads: usize) -> Result<Vec<(i64, Error, bool)>> {
    let files = table.files();
    let (latest, own) =
        (files.latest_snapshot()?.map(|snapshot| snapshot.id), table.snapshot().map(|one| one.id));
    let ids = files.snapshot_ids()?.into_iter().filter(|id| Some(*id) < latest && Some(*id) != own).collect();
    let snapshots = files.each(ids, |id| snapshot_file(*id), Snapshot::from_json)?;
    let of = table.clone();
    let read = move |storage: &dyn Storage, (_, snapshot): &(i64, Snapshot)| {
        let lists = of.whole_lists(snapshot).into_iter().collect::<Result<Vec<_>>>();
        Ok(damage(storage, lists)?.err())
    };
    let errors = read_each(table.storage(), snapshots.clone(), threads, read)?;
    let tags = files.each(files.tag_names()?, |name| tag_file(name), Tag::from_json)?;
    let mut needed: HashSet<i64> = tags.into_iter().map(|(_, tag)| tag.snapshot.id).collect();
    for branch in files.branch_names()?.into_iter().chain([MAIN.to_owned()]) {
        if branch != table.branch() {
            needed.extend(files.of_branch(&branch).snapshot_ids()?);
        }
    }
    let consumers = files.each(files.consumer_ids()?, |id| consumer_file(id), Consumer::from_json)?;
    let consumed = consumers.iter().map(|(_, consumer)| consumer.next_snapshot).min().unwrap_or(i64::MAX);
    let mut is_run = true;
    let gone = |((id, _), error): ((i64, Snapshot), Option<Error>)| {
        is_run &= error.is_some() && !needed.contains(&id) && id < consumed;
        error.map(|error| (id, error, is_run))
    };
    Ok(snapshots.into_iter().zip(errors).filter_map(gone).collect())
}

/// How many of `total` rows the live files of these manifests do not have.
pub(super) fn rows_beyond(
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
