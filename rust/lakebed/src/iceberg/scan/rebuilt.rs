//! Rebuilds the list of a snapshot that is gone or damaged: its commit's own entries, in manifests that are left, are
//! made to what the list of its parent has (Iceberg's `SnapshotProducer.java`, `SnapshotSummary.java`).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, Int32Array, Int64Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;

use crate::error::{Error, Result};
use crate::iceberg::discovery::FOLDER;
use crate::iceberg::manifest::{
    ADDED, DELETED, EXISTING, EntryColumns, EntryReader, ManifestContext, ManifestHeader, Statuses,
};
use crate::iceberg::manifest_list::{DATA, DELETES, ManifestFile};
use crate::iceberg::metadata::Snapshot;
use crate::iceberg::table::Table;
use crate::iceberg::view::identities;
use crate::pipeline::read_each;
use crate::record::column;
use crate::repair::{RowChange, damage};
use crate::storage::Storage;
use crate::verify::{ContentTotals, Number, VerifiedFormat};

const COLUMNS: [&str; 8] = [
    "status",
    "snapshot_id",
    "sequence_number",
    "content",
    "content_offset",
    "file_path",
    "record_count",
    "first_row_id",
];

/// What a summary says of the files that a commit adds, and of those that it removes; what it leaves out is 0.
const ADDS: [(&str, Number); 5] = [
    ("added-data-files", Number::DataFiles),
    ("added-records", Number::Rows),
    ("added-delete-files", Number::DeleteFiles),
    ("added-position-deletes", Number::PositionDeletes),
    ("added-equality-deletes", Number::EqualityDeletes),
];
const REMOVES: [(&str, Number); 5] = [
    ("deleted-data-files", Number::DataFiles),
    ("deleted-records", Number::Rows),
    ("removed-delete-files", Number::DeleteFiles),
    ("removed-position-deletes", Number::PositionDeletes),
    ("removed-equality-deletes", Number::EqualityDeletes),
];
/// How many totals a summary has.
const TOTALS: usize = 5;

/// What the list of the table's snapshot had.
pub(crate) struct RebuiltList {
    /// The snapshot before it; `None` for the first one.
    pub(crate) parent: Option<Snapshot>,
    /// Manifests with entries of its commit, as a list records them.
    pub(crate) own: Vec<ManifestFile>,
    /// The identities of the files that its commit removed.
    pub(crate) removed: Arc<HashSet<Box<[u8]>>>,
    /// No change where the summary agrees with all that was found, else unknown.
    pub(crate) change: RowChange,
}

/// The files that a commit added and removed, by its entries.
#[derive(Default)]
struct OwnFiles {
    /// With their data sequence numbers: attempts that were made again may have left the same entry twice.
    added: HashMap<Box<[u8]>, Option<i64>>,
    removed: HashSet<Box<[u8]>>,
    of_added: ContentTotals,
    of_removed: ContentTotals,
    /// Whether entries contradict each other.
    is_odd: bool,
    /// Whether its list gave row ids to files that were there before.
    lack_ids: bool,
}

impl RebuiltList {
    /// Reads the lists of all snapshots, the manifests of the parent, and those in the folder that no list names.
    ///
    /// # Errors
    /// Those of the storage; `SnapshotNotFound` without a snapshot.
    pub(crate) fn of(table: &Table, threads: usize) -> Result<Option<RebuiltList>> {
        let Some(snapshot) = table.snapshot()? else { return Ok(None) };
        let mut snapshots = Vec::new();
        table.each_snapshot(|some| {
            snapshots.extend(some.into_iter().map(|one| Snapshot { summary: None, ..one }));
            Ok(())
        })?;
        let of = table.clone();
        let read = move |storage: &dyn Storage, one: &Snapshot| {
            let list = of.brief_list_of(one).and_then(|list| ManifestFile::all(&list));
            Ok(damage(storage, list)?.ok())
        };
        let lists = read_each(table.storage(), snapshots.clone(), threads, read)?;
        let (mut parent, mut before) = (None, snapshot.parent_id.is_none().then(Vec::new));
        let (mut named, mut listed) = (HashSet::new(), BTreeMap::new());
        for (one, list) in snapshots.into_iter().zip(lists) {
            named.extend(one.manifest_list.as_deref().map(name_of));
            let Some(list) = list else { continue };
            named.extend(list.iter().map(|manifest| name_of(&manifest.path)));
            let is_own = |manifest: &&ManifestFile| manifest.added_snapshot_id == Some(snapshot.snapshot_id);
            listed.extend(list.iter().filter(is_own).map(|own| (own.path.clone(), own.clone())));
            if snapshot.parent_id == Some(one.snapshot_id) {
                (parent, before) = (Some(one), Some(list));
            }
        }
        let id = snapshot.snapshot_id;
        let (mut files, mut own, mut numbered) = (OwnFiles::default(), Vec::new(), Vec::new());
        for manifest in listed.into_values() {
            let entries = table.read_recorded(&manifest.path, manifest.length);
            let entries = entries.and_then(|bytes| entries_of(table, bytes, None));
            let Ok(entries) = damage(table.storage().as_ref(), entries)? else { continue };
            if files.take((id, Some(id)), &entries)?.is_some() {
                own.push(manifest);
            }
        }
        for (manifest, entries, rows) in unlisted(table, snapshot, &named, threads)? {
            let Some(takes_ids) = files.take((id, manifest.added_snapshot_id), &entries)? else { continue };
            if takes_ids && manifest.content == DATA {
                numbered.push(rows);
            }
            own.push(manifest);
        }
        // Which of several manifests was the first in the list, nothing tells.
        let is_numbered = match numbered.as_slice() {
            [] => true,
            [rows] => snapshot.added_rows == Some(*rows),
            _ => false,
        };
        let removed = Arc::new(std::mem::take(&mut files.removed));
        let kept = before.map(|before| totals(table, before, &removed, threads)).transpose()?.flatten();
        let agrees = kept.is_some_and(|(mut all, lack_ids)| {
            all.add(&files.of_added);
            let has_ids = snapshot.first_row_id.is_none() || is_numbered && !lack_ids && !files.lack_ids;
            has_ids && !files.is_odd && files.agree(snapshot) && has_totals(table, &all)
        });
        let change = if agrees { RowChange::NONE } else { RowChange::UNKNOWN };
        Ok(Some(RebuiltList { parent, own, removed, change }))
    }
}

impl OwnFiles {
    /// Takes the entries of a commit among these, which are as they are stored; those without a snapshot inherit `of`.
    /// Returns `None` where there are none, else whether added files have no row ids of their own.
    fn take(&mut self, (snapshot_id, of): (i64, Option<i64>), entries: &RecordBatch) -> Result<Option<bool>> {
        let numbers = |name| column::<Int64Array>(entries, name);
        let (ids, sequences, row_ids) =
            (numbers("snapshot_id")?, numbers("sequence_number")?, numbers("first_row_id")?);
        let (statuses, contents) =
            (column::<Int32Array>(entries, "status")?, column::<Int32Array>(entries, "content")?);
        let (rows, files) = (numbers("record_count")?, identities(entries)?);
        let files = files.as_binary::<i32>();
        let mut takes_ids = None;
        for row in 0..entries.num_rows() {
            let id = if ids.is_valid(row) { Some(ids.value(row)) } else { of };
            if id != Some(snapshot_id) || statuses.value(row) == EXISTING {
                self.lack_ids |= statuses.value(row) == EXISTING && lacks_id(entries, row)?;
                continue;
            }
            let (file, content, rows) = (files.value(row), contents.value(row), rows.value(row));
            if statuses.value(row) == ADDED {
                takes_ids = Some(takes_ids == Some(true) || row_ids.is_null(row));
                let sequence = sequences.is_valid(row).then(|| sequences.value(row));
                match self.added.insert(file.into(), sequence) {
                    Some(known) => self.is_odd |= known != sequence,
                    None => self.of_added.count(content, rows.into(), 1),
                }
            } else {
                takes_ids = takes_ids.or(Some(false));
                if self.removed.insert(file.into()) {
                    self.of_removed.count(content, rows.into(), 1);
                }
            }
        }
        Ok(takes_ids)
    }

    /// Whether the summary says the same of what the commit changed.
    fn agree(&self, snapshot: &Snapshot) -> bool {
        let summary = snapshot.summary.iter().flatten();
        let said = |key: &str| summary.clone().find(|(known, _)| known == key).map(|(_, value)| value);
        let agrees = |claims: &[(&str, Number)], totals: &ContentTotals| {
            claims.iter().all(|(key, number)| {
                said(key).map_or(Ok(0), |value| value.parse::<i128>()) == Ok(number.of(totals))
            })
        };
        agrees(&ADDS, &self.of_added) && agrees(&REMOVES, &self.of_removed)
    }
}

/// Whether the summary of the table's snapshot has these totals, all of them.
fn has_totals(table: &Table, all: &ContentTotals) -> bool {
    let claims = table.claims();
    claims.len() == TOTALS && claims.iter().all(|claim| claim.of.of(all) == i128::from(claim.value))
}

/// The sums over the live files of manifests, without those with these identities, and whether data files lack row ids;
/// `None` where a manifest is damaged.
fn totals(
    table: &Table,
    manifests: Vec<ManifestFile>,
    removed: &Arc<HashSet<Box<[u8]>>>,
    threads: usize,
) -> Result<Option<(ContentTotals, bool)>> {
    let live = manifests.into_iter().filter(ManifestFile::may_be_live).collect();
    let (of, removed) = (table.clone(), Arc::clone(removed));
    let counted = move |manifest: &ManifestFile| {
        let bytes = of.read_recorded(&manifest.path, manifest.length)?;
        let entries = entries_of(&of, bytes, Some(manifest.clone()))?;
        let (statuses, contents) =
            (column::<Int32Array>(&entries, "status")?, column::<Int32Array>(&entries, "content")?);
        let (rows, files) = (column::<Int64Array>(&entries, "record_count")?, identities(&entries)?);
        let files = files.as_binary::<i32>();
        let (mut totals, mut lack_ids) = (ContentTotals::default(), false);
        let stays = |row: &usize| statuses.value(*row) != DELETED && !removed.contains(files.value(*row));
        for row in (0..entries.num_rows()).filter(stays) {
            totals.count(contents.value(row), rows.value(row).into(), 1);
            lack_ids |= lacks_id(&entries, row)?;
        }
        Ok((totals, lack_ids))
    };
    let read =
        move |storage: &dyn Storage, manifest: &ManifestFile| Ok(damage(storage, counted(manifest))?.ok());
    let mut all = (ContentTotals::default(), false);
    for one in read_each(table.storage(), live, threads, read)? {
        let Some((totals, lack_ids)) = one else { return Ok(None) };
        all.0.add(&totals);
        all.1 |= lack_ids;
    }
    Ok(Some(all))
}

/// Whether an entry is of a live data file without a row id.
fn lacks_id(entries: &RecordBatch, row: usize) -> Result<bool> {
    let numbers = |name| column::<Int32Array>(entries, name);
    let is_live = numbers("status")?.value(row) != DELETED && numbers("content")?.value(row) == DATA;
    Ok(is_live && column::<Int64Array>(entries, "first_row_id")?.is_null(row))
}

/// The manifests in the metadata folder whose names are not among these, as the list of `snapshot` would record them; of
/// their entries, as they are stored, those that [`OwnFiles::take`] looks at; and how many rows are live. What is damaged,
/// or is no manifest, is left out: where it was of the commit, the summary has other numbers.
fn unlisted(
    table: &Table,
    snapshot: &Snapshot,
    named: &HashSet<String>,
    threads: usize,
) -> Result<Vec<(ManifestFile, RecordBatch, i64)>> {
    let names = table.storage().list(&format!("{}/{FOLDER}", table.location()))?;
    let folder = format!("{}/{FOLDER}", table.metadata().location.trim_end_matches('/'));
    let is_left = |name: &String| name.ends_with(".avro") && !named.contains(name);
    let paths = names.into_iter().filter(is_left).map(|name| format!("{folder}/{name}")).collect();
    let (of, own) = (table.clone(), Snapshot { summary: None, ..snapshot.clone() });
    let opened = move |path: &String| {
        let bytes = of.read_recorded(path, None)?;
        let header = ManifestHeader::read(&bytes, of.decoding())?;
        let specs = &of.metadata().partition_specs;
        let Some(spec_id) = header.spec_id.filter(|id| specs.iter().any(|spec| spec.spec_id == *id)) else {
            return Ok(None);
        };
        let content = if header.content.as_deref() == Some("deletes") { DELETES } else { DATA };
        let manifest = ManifestFile {
            path: path.clone(),
            length: u64::try_from(bytes.len()).ok(),
            spec_id,
            content,
            sequence_number: own.sequence_number,
            added_snapshot_id: is_of_commit(&own, path).then_some(own.snapshot_id),
            first_row_id: own.first_row_id.filter(|_| content == DATA),
            ..ManifestFile::default()
        };
        let entries = entries_of(&of, bytes, None)?;
        let rows = live_rows(&entries)?;
        let looked_at = looked_at(&own, manifest.added_snapshot_id, &entries)?;
        let entries = filter_record_batch(&entries, &looked_at)?;
        Ok((entries.num_rows() > 0).then_some((manifest, entries, rows)))
    };
    let read = move |storage: &dyn Storage, path: &String| Ok(damage(storage, opened(path))?.ok().flatten());
    Ok(read_each(table.storage(), paths, threads, read)?.into_iter().flatten().collect())
}

/// Whether the name of a manifest is of the commit that made a snapshot, by the name of its list, as all writers call
/// them: `snap-<id>-<attempt>-<UUID>.avro` and `<UUID>-m<number>.avro`. Entries of other manifests that do not have the id
/// of the snapshot may be of a commit that failed.
fn is_of_commit(snapshot: &Snapshot, path: &str) -> bool {
    let list = name_of(snapshot.manifest_list.as_deref().unwrap_or_default());
    let uuid =
        list.strip_prefix(&format!("snap-{}-", snapshot.snapshot_id)).and_then(|rest| rest.split_once('-'));
    let uuid = uuid.and_then(|(_, uuid)| uuid.strip_suffix(".avro")).filter(|uuid| !uuid.is_empty());
    uuid.is_some_and(|uuid| name_of(path).starts_with(&format!("{uuid}-")))
}

/// The entries of a manifest; as they are stored where no list records it.
fn entries_of(table: &Table, bytes: Buffer, manifest: Option<ManifestFile>) -> Result<RecordBatch> {
    let columns = Arc::new(EntryColumns::new(Some(&COLUMNS.map(str::to_owned)))?);
    let known = ManifestContext { manifest, table: Some(table.format()), ..ManifestContext::default() };
    let reader = EntryReader::open(bytes, &columns, known, Statuses::ALL, table.decoding(), 1)?;
    let schema = Arc::clone(reader.schema());
    concat_batches(&schema, &reader.collect::<Result<Vec<_>>>()?).map_err(Error::from)
}

/// Which entries are of the commit of a snapshot, where those without an id inherit `of`, or are existing ones to which its
/// list may have given row ids.
fn looked_at(own: &Snapshot, of: Option<i64>, entries: &RecordBatch) -> Result<BooleanArray> {
    let ids = column::<Int64Array>(entries, "snapshot_id")?.iter();
    let statuses = column::<Int32Array>(entries, "status")?.values();
    let looked_at = |(id, status): (Option<i64>, &i32)| {
        let may_lack_id = *status == EXISTING && own.first_row_id.is_some();
        Some(may_lack_id || id.or(of) == Some(own.snapshot_id))
    };
    Ok(ids.zip(statuses).map(looked_at).collect())
}

/// The rows of the files that are not deleted.
fn live_rows(entries: &RecordBatch) -> Result<i64> {
    let statuses = column::<Int32Array>(entries, "status")?.values().iter();
    let rows = column::<Int64Array>(entries, "record_count")?.values().iter();
    let live = statuses.zip(rows).filter(|(status, _)| **status != DELETED);
    Ok(live.fold(0, |sum: i64, (_, rows)| sum.saturating_add(*rows)))
}

fn name_of(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}
