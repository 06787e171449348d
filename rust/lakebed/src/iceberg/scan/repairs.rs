//! What can be done about Iceberg tables.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::misplaced::misplaced_deletes;
use super::rebuilt::RebuiltList;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest_list::{DATA, ManifestFile, RecordedCounts};
use crate::iceberg::metadata::Snapshot;
use crate::iceberg::reach::check_deletable;
use crate::iceberg::table::Table;
use crate::pipeline::read_each;
use crate::repair::{Repair, RepairKind, RowChange, TableRepairs, damage, each_left_out};
use crate::storage::Storage;
use crate::table::{LakeTable, MAIN};

/// Repairs of Iceberg tables.
pub(crate) enum IcebergRepairs {}

impl TableRepairs<Table> for IcebergRepairs {
    /// By the summary.
    fn undone(table: &Table) -> Result<RowChange> {
        Ok(table.snapshot()?.map_or(RowChange::UNKNOWN, undone))
    }

    /// Iceberg's Java does not open such a table, and others read the current snapshot.
    fn wrong_main(table: &Table) -> Option<(i64, Error)> {
        let (metadata, file) = (table.metadata(), table.metadata_file());
        let odd = metadata.oddities.iter().find(|odd| odd.kind == Some(ErrorKind::Mismatch))?;
        let error = Error::new(ErrorKind::Mismatch, odd.message.as_str()).in_file(file);
        metadata.current_snapshot_id.filter(|_| table.branch() == MAIN).map(|id| (id, error))
    }

    fn gone_list(table: &Table, threads: usize) -> Result<Option<Repair>> {
        let read = damage(table.storage().as_ref(), table.manifest_list())?;
        let (Some(id), Err(error)) = (table.snapshot_id(), read) else { return Ok(None) };
        let rebuilt = RebuiltList::of(table, threads)?;
        Ok(rebuilt.map(|rebuilt| Repair::back_to(RepairKind::Lists, id, &error, rebuilt.change)))
    }

    /// A snapshot that a branch or tag names stays.
    fn gone_snapshots(table: &Table, threads: usize) -> Result<Vec<Repair>> {
        let (metadata, current) = (table.metadata(), table.snapshot_id());
        let mut others = Vec::new();
        table.each_snapshot(|some| {
            let other = some.into_iter().filter(|one| Some(one.snapshot_id) != current);
            others.extend(other.map(|one| Snapshot { summary: None, ..one }));
            Ok(())
        })?;
        let ids: Vec<i64> = others.iter().map(|one| one.snapshot_id).collect();
        let of = table.clone();
        let read =
            move |storage: &dyn Storage, one: &Snapshot| Ok(damage(storage, of.brief_list_of(one))?.err());
        let is_kept = check_deletable(metadata, table.metadata_file()).is_err();
        let repair = |(id, error): (i64, Option<Error>)| {
            let is_named = metadata.refs.values().any(|one| one.snapshot_id == id);
            let change = if is_kept || is_named { RowChange::UNKNOWN } else { RowChange::NONE };
            Some(Repair::back_to(RepairKind::Snapshots, id, &error?, change))
        };
        let errors = read_each(table.storage(), others, threads, read)?;
        Ok(ids.into_iter().zip(errors).filter_map(repair).collect())
    }

    fn without_manifests(
        table: &Table,
        damaged: &[(ManifestFile, Arc<Error>)],
        _kept: &[ManifestFile],
        _threads: usize,
    ) -> Result<Vec<Repair>> {
        Ok(each_left_out(table, damaged, left_out))
    }

    fn misplaced_deletes(
        table: &Table,
        manifests: &[ManifestFile],
        kinds: &BTreeSet<RepairKind>,
        threads: usize,
    ) -> Result<Vec<Repair>> {
        misplaced_deletes(table, manifests, kinds, threads)
    }
}

/// By the counts of the list. Which rows the deletes of a manifest have taken out, it does not say.
fn left_out(manifest: &ManifestFile) -> RowChange {
    let rows = |recorded: RecordedCounts| recorded.rows.and_then(|rows| i64::try_from(rows).ok());
    let rows = rows(manifest.added).zip(rows(manifest.existing));
    match (manifest.content, manifest.may_be_live()) {
        (_, false) => RowChange::NONE,
        (DATA, true) => RowChange::lost(rows.and_then(|(added, existing)| added.checked_add(existing))),
        _ => RowChange::UNKNOWN,
    }
}

/// What readers see where a commit is undone, by its summary: the rows of added files are lost, those of removed files
/// and those that new deletes took out are returned again.
fn undone(snapshot: &Snapshot) -> RowChange {
    let (Some(operation), Some(summary)) = (&snapshot.operation, &snapshot.summary) else {
        return RowChange::UNKNOWN;
    };
    if operation == "replace" {
        return RowChange::NONE;
    }
    let text = |key: &str| summary.iter().find(|(known, _)| known == key).map(|(_, value)| value);
    // What a commit did not change, writers leave out.
    let number = |files: &str, key: &str| match text(key) {
        Some(value) => value.parse::<i64>().ok(),
        None => text(files).is_none().then_some(0),
    };
    let added = number("added-data-files", "added-records").filter(|_| !summary.is_empty());
    let removed = number("deleted-data-files", "deleted-records");
    let of_positions =
        |change: &str| number(&format!("{change}-delete-files"), &format!("{change}-position-deletes"));
    let deleted = of_positions("added").zip(of_positions("removed"));
    let deleted = deleted.and_then(|(added, removed)| added.checked_sub(removed)).filter(|rows| *rows >= 0);
    let by_values =
        ["added-equality-deletes", "removed-equality-deletes"].iter().any(|key| text(key).is_some());
    let by_positions = RowChange::back(deleted.filter(|_| !by_values));
    RowChange::lost(added).and(RowChange::back(removed)).and(by_positions)
}
