//! The statistics of a snapshot's partitions, computed from the newest file of them.

use super::{files, read};
use crate::error::{Error, ErrorKind, Result};
use crate::grouping::FileGroups;
use crate::grouping::sums::sum;
use crate::iceberg::groups::PartitionGroups;
use crate::iceberg::manifest::{ADDED, DELETED};
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::metadata::{ElementFilter, PartitionStatisticsFile, Snapshot, WantedElements};
use crate::iceberg::scan::rows_of;
use crate::iceberg::table::{Table, TableTypes};
use crate::iceberg::view::Role;
use crate::verify::caught;
use crate::view::instants;

/// The sums of the partitions of the table's snapshot: those of the newest file among its own and its
/// ancestors' statistics, with the entries that were added and deleted since; else those of all entries.
///
/// A partition all of whose files were deleted has sums of zero, as in the engine: since the file, or where
/// all entries are read, by the snapshot itself. Where a file cannot be used, that is noted, and all entries are
/// read. Cost is the file, the lists of the snapshots after it, and the manifests that they added.
///
/// # Errors
/// `SnapshotNotFound` as [`Table::snapshot`]; those of reading lists and manifests; `Mismatch` for sums beyond
/// 64 bits.
pub(in crate::iceberg) fn computed(table: &Table, threads: usize) -> Result<PartitionGroups> {
    let types = table.current_types()?;
    if let Some(Newest { file, of, later }) = newest(table)? {
        let found = caught(table.storage().as_ref(), of_file(table, &types, &file, &of))?;
        let found = match found {
            Ok(groups) => advanced(groups, table, &types, &later, threads)?,
            Err(error) => Err(error),
        };
        match found {
            Ok(groups) => return Ok(groups),
            Err(error) => table.noted().add(format!(
                "all manifests are read, since the partition statistics of snapshot {} cannot be used: {error}",
                file.snapshot_id
            )),
        }
    }
    let mut groups = PartitionGroups::new(&types.partition, table.commit_times()?)?;
    let manifests = ManifestFile::all(&table.list_for(None)?)?;
    extend(&mut groups, table, &types, manifests, threads, |status| Some(i64::from(status != DELETED)))?;
    Ok(groups)
}

/// The newest file of the table's snapshot and its ancestors.
struct Newest {
    file: PartitionStatisticsFile,
    /// Its snapshot.
    of: Snapshot,
    /// The snapshots after it.
    later: Vec<Snapshot>,
}

fn newest(table: &Table) -> Result<Option<Newest>> {
    let files = files(table)?;
    if files.is_empty() {
        return Ok(None);
    }
    let ancestors = table.ancestors()?;
    let found = ancestors.iter().enumerate().find_map(|(place, id)| {
        let file = files.iter().find(|file| file.snapshot_id == *id)?;
        Some((ancestors.get(..=place)?, file.clone()))
    });
    let Some((path, file)) = found else { return Ok(None) };
    let wanted = WantedElements {
        snapshots: ElementFilter::Ids(path.iter().copied().collect()),
        ..WantedElements::CURRENT
    };
    let mut later = table.read(&wanted)?.snapshots;
    later.retain(|snapshot| path.contains(&snapshot.snapshot_id));
    let of = later.iter().position(|snapshot| snapshot.snapshot_id == file.snapshot_id);
    Ok(of.map(|place| Newest { file, of: later.remove(place), later }))
}

/// The sums of a file.
///
/// Iceberg's Java writes files that lack partitions where a spec lacks the first fields of others: what the
/// summary of the snapshot counts tells.
fn of_file(
    table: &Table,
    types: &TableTypes,
    file: &PartitionStatisticsFile,
    of: &Snapshot,
) -> Result<PartitionGroups> {
    let mut groups = PartitionGroups::new(&types.partition, table.commit_times()?)?;
    for rows in read(table, file, &types.partition)? {
        let rows = rows?;
        let sums = rows.sums().and_then(|sums| groups.extend_sums(&rows.counts, &rows.partitions, sums));
        sums.map_err(|error| error.in_file(&file.statistics_path))?;
    }
    check(&groups, of).map_err(|error| error.in_file(&file.statistics_path))?;
    Ok(groups)
}

/// Compares the sums over all partitions with the totals of the snapshot's summary, and refuses times that rows could not
/// show.
fn check(groups: &PartitionGroups, snapshot: &Snapshot) -> Result<()> {
    instants(groups.groups().iter().map(|group| group.last_updated.0))?;
    let (mut data, mut deletes, mut records) = (0_i64, 0_i64, 0_i64);
    for group in groups.groups() {
        data = sum("data_file_count", data, group.data.files)?;
        records = sum("data_record_count", records, group.data.records)?;
        deletes = sum("position_delete_file_count", deletes, group.position_deletes.files)?;
        deletes = sum("equality_delete_file_count", deletes, group.equality_deletes.files)?;
    }
    let counts = [
        ("total-data-files", "files", data),
        ("total-delete-files", "files", deletes),
        ("total-records", "rows", records),
    ];
    for (key, of, counted) in counts {
        let total = of_summary(snapshot, key);
        if let Some(total) = total.filter(|total| *total != counted) {
            let message = format!("its partitions have {counted} {of}, and {key} is {total}");
            return Err(Error::new(ErrorKind::Mismatch, message));
        }
    }
    Ok(())
}

fn of_summary(snapshot: &Snapshot, key: &str) -> Option<i64> {
    let total = snapshot.summary.iter().flatten().find(|(known, _)| known == key);
    total.and_then(|(_, value)| value.parse().ok())
}

/// The sums with what some snapshots added and deleted; the inner error says why they cannot be told.
fn advanced(
    mut groups: PartitionGroups,
    table: &Table,
    types: &TableTypes,
    snapshots: &[Snapshot],
    threads: usize,
) -> Result<Result<PartitionGroups>> {
    let unknown = |why: String| Ok(Err(Error::new(ErrorKind::Mismatch, why)));
    let mut manifests = Vec::new();
    for snapshot in snapshots {
        if snapshot.manifest_list.is_none() {
            let id = snapshot.snapshot_id;
            return unknown(format!("snapshot {id} does not say which manifests it added"));
        }
        let added = ManifestFile::all(&table.brief_list_of(snapshot)?)?.into_iter();
        manifests.extend(added.filter(|manifest| manifest.added_snapshot_id == Some(snapshot.snapshot_id)));
    }
    extend(&mut groups, table, types, manifests, threads, |status| match status {
        ADDED => Some(1),
        DELETED => Some(-1),
        _ => None,
    })?;
    let below_zero = groups.groups().iter().find(|group| group.is_negative());
    match below_zero {
        Some(group) => {
            unknown(format!("more files were deleted from a partition of spec {} than it had", group.spec_id))
        }
        None => Ok(Ok(groups)),
    }
}

/// Adds the entries of manifests, each as often as `times` has it by its status.
fn extend(
    groups: &mut PartitionGroups,
    table: &Table,
    types: &TableTypes,
    manifests: Vec<ManifestFile>,
    threads: usize,
    times: impl Fn(i32) -> Option<i64>,
) -> Result<()> {
    let columns = [&["status"], <PartitionGroups as FileGroups<Table>>::INPUT].concat();
    for entries in rows_of(table, Role::Entries, types.clone(), &columns, None, manifests, threads)? {
        groups.extend_entries(&entries?, &times)?;
    }
    Ok(())
}
