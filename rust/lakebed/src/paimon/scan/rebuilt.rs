//! Rebuilds the lists of a snapshot that are gone or damaged (Paimon's `FileStoreCommitImpl.java`): its base list had what
//! the snapshot before has, its delta list the manifests that nothing else names.

use std::collections::{HashMap, HashSet};

use arrow_array::{Int8Array, Int64Array, StringArray};

use super::repairs::rows_beyond;
use crate::error::{Error, Result};
use crate::paimon::manifest::{ADD, EntryFilter, EntryReader, entry_columns};
use crate::paimon::manifest_list::{ManifestFile, manifest_files};
use crate::paimon::reach::TableReach;
use crate::paimon::sidecar::SUFFIX;
use crate::paimon::snapshot::{CommitKind, Snapshot};
use crate::paimon::table::{ListFile, Table};
use crate::pipeline::read_each;
use crate::record::column;
use crate::repair::{RowChange, damage, listed_files};
use crate::storage::{Storage, present};

/// What the lists of the table's snapshot had.
pub(crate) struct RebuiltLists {
    /// Why the first of them that cannot be read cannot.
    pub(crate) error: Error,
    /// Lists that have it.
    pub(crate) lists: Vec<ListFile>,
    /// Manifests that are in none of them.
    pub(crate) unlisted: Vec<ManifestFile>,
    /// No change where the snapshot's numbers of rows are those of all that was found, else unknown.
    pub(crate) change: RowChange,
}

/// A manifest of the snapshot's own commit.
struct DeltaManifest {
    manifest: ManifestFile,
    /// The rows of added files less those of deleted ones.
    rows: i64,
    /// The names of the files that it adds.
    added: Vec<String>,
}

impl RebuiltLists {
    /// `None` where both lists can be read. Where the delta list cannot, reads the lists of all snapshots, tags and
    /// changelogs, and the manifests in the folder that none of them names.
    ///
    /// # Errors
    /// Those of the storage, and of reading snapshots, tags and changelogs.
    pub(crate) fn of(table: &Table, threads: usize) -> Result<Option<RebuiltLists>> {
        let Some(snapshot) = table.snapshot() else { return Ok(None) };
        let storage = table.storage().as_ref();
        let [base, delta] = table.whole_lists(snapshot);
        let (base, delta) = (damage(storage, base)?, damage(storage, delta)?);
        if base.is_ok() && delta.is_ok() {
            return Ok(None);
        }
        let (lists, mut first) = match base {
            Ok(base) => (Some(vec![base]), None),
            Err(error) => (before(table, snapshot)?, Some(error)),
        };
        let (mut is_known, mut lists) = (lists.is_some(), lists.unwrap_or_default());
        let (mut unlisted, mut added) = (Vec::new(), HashSet::new());
        let manifests = match delta {
            Ok(delta) => {
                let of_commit = manifest_files(&table.carrying_list(vec![delta.clone()])?)?;
                lists.push(delta);
                deltas(table, of_commit.into_iter().map(|one| (one.file_name.clone(), Some(one))), threads)?
            }
            Err(error) => {
                first.get_or_insert(error);
                let left = left(table, snapshot, threads)?;
                is_known &= left.is_some();
                let left = left.unwrap_or_default().into_iter();
                let found = deltas(table, left.map(|name| (name, None)), threads)?;
                let own = found.iter().flatten();
                unlisted.extend(own.clone().map(|one| one.manifest.clone()));
                added.extend(own.clone().flat_map(|one| one.added.iter().cloned()));
                // Of deletions that are missing the numbers of rows may say nothing.
                is_known &= snapshot.commit_kind == CommitKind::Append
                    && unlisted.iter().all(|manifest| manifest.deleted == 0);
                found
            }
        };
        let rows = manifests.iter().flatten().try_fold(0_i64, |sum, one| sum.checked_add(one.rows));
        is_known &= manifests.is_some() && rows == snapshot.delta_record_count;
        is_known = is_known && {
            let of_lists = manifest_files(&table.carrying_list(lists.clone())?)?;
            let all: Vec<ManifestFile> = of_lists.into_iter().chain(unlisted.iter().cloned()).collect();
            let agrees = || -> Result<bool> {
                let rest = rows_beyond(table, snapshot.total_record_count, &all, threads)?;
                Ok(rest == Some(0) && live_of(table, &all, &added, threads)? == added.len())
            };
            damage(storage, agrees())?.unwrap_or(false)
        };
        let change = if is_known { RowChange::NONE } else { RowChange::UNKNOWN };
        Ok(first.map(|error| RebuiltLists { error, lists, unlisted, change }))
    }
}

/// The lists of the snapshot before; `None` where it or one of them is not there.
fn before(table: &Table, snapshot: &Snapshot) -> Result<Option<Vec<ListFile>>> {
    let Some(id) = snapshot.id.checked_sub(1).filter(|id| *id > 0) else { return Ok(Some(Vec::new())) };
    let Some(before) = present(table.files().snapshot(id))? else { return Ok(None) };
    let lists = table.whole_lists(&before).into_iter().collect::<Result<Vec<_>>>();
    Ok(damage(table.storage().as_ref(), lists)?.ok())
}

/// The names of the manifests in the table's folder that no list which can be read names; `None` where another branch may
/// have gone on from this snapshot, so that its lists have those of the snapshot too.
fn left(table: &Table, own: &Snapshot, threads: usize) -> Result<Option<Vec<String>>> {
    let mut lists = HashMap::new();
    for (_, roots, _) in TableReach::with_current_roots(table.clone())?.current_roots() {
        for Snapshot {
            id,
            base_manifest_list: base,
            base_manifest_list_size: base_size,
            delta_manifest_list: delta,
            delta_manifest_list_size: delta_size,
            changelog_manifest_list: changelog,
            changelog_manifest_list_size: changelog_size,
            ..
        } in roots.into_iter().map(|root| root.snapshot)
        {
            if id >= own.id && delta != own.delta_manifest_list {
                return Ok(None);
            }
            lists.extend([(base, base_size), (delta, delta_size)]);
            lists.extend(changelog.map(|name| (name, changelog_size)));
        }
    }
    let of = table.clone();
    let read = move |storage: &dyn Storage, (name, size): &(String, Option<i64>)| {
        let list = of.list_of(name, *size).and_then(|list| manifest_files(&list));
        Ok(damage(storage, list)?.unwrap_or_default())
    };
    let named = read_each(table.storage(), lists.into_iter().collect(), threads, read)?;
    let named: HashSet<String> = named.into_iter().flatten().map(|manifest| manifest.file_name).collect();
    let is_left = |name: &String| {
        let is_manifest = name.starts_with("manifest-") && !name.starts_with("manifest-list-");
        is_manifest && !name.ends_with(SUFFIX) && !named.contains(name)
    };
    let names = table.storage().list(&table.files().shared("manifest"))?;
    Ok(Some(names.into_iter().filter(is_left).collect()))
}

/// These manifests, with what lists record of them; `None` where one cannot be read.
fn deltas(
    table: &Table,
    manifests: impl Iterator<Item = (String, Option<ManifestFile>)>,
    threads: usize,
) -> Result<Option<Vec<DeltaManifest>>> {
    let of = table.clone();
    let read = move |storage: &dyn Storage, (name, recorded): &(String, Option<ManifestFile>)| {
        Ok(damage(storage, delta(&of, name, recorded.clone()))?.ok())
    };
    Ok(read_each(table.storage(), manifests.collect(), threads, read)?.into_iter().collect())
}

fn delta(table: &Table, name: &str, recorded: Option<ManifestFile>) -> Result<DeltaManifest> {
    let bytes = table.read_recorded(&table.manifest_path(name), None)?;
    let file_size = bytes.len() as u64;
    let columns = entry_columns(Some(&["kind", "row_count", "file_name"].map(str::to_owned)))?;
    let filter = EntryFilter::default();
    let mut reader = EntryReader::open(bytes, &columns, filter, recorded, table.decoding(), 1)?;
    let (mut rows, mut added) = (0_i64, Vec::new());
    for entries in &mut reader {
        let entries = entries?;
        let kinds = column::<Int8Array>(&entries, "kind")?.values().iter();
        let counts = column::<Int64Array>(&entries, "row_count")?.values();
        let names = column::<StringArray>(&entries, "file_name")?;
        for (row, (kind, count)) in kinds.zip(counts).enumerate() {
            if *kind == ADD {
                added.push(names.value(row).to_owned());
            }
            // Beyond what a number holds no snapshot records the sum.
            rows = if *kind == ADD { rows.saturating_add(*count) } else { rows.saturating_sub(*count) };
        }
    }
    let (of_added, deleted) = reader.seen();
    let manifest = ManifestFile {
        file_name: name.to_owned(),
        file_size,
        added: of_added,
        deleted,
        total_buckets: None,
        sidecar: None,
    };
    Ok(DeltaManifest { manifest, rows, added })
}

/// How many live files of these manifests have one of these names.
fn live_of(
    table: &Table,
    manifests: &[ManifestFile],
    names: &HashSet<String>,
    threads: usize,
) -> Result<usize> {
    let mut found = 0_usize;
    for files in listed_files(table, manifests, &["file_path"], threads)? {
        let files = files?;
        let paths = column::<StringArray>(&files, "file_path")?.iter().flatten();
        found +=
            paths.filter(|path| path.rsplit('/').next().is_some_and(|name| names.contains(name))).count();
    }
    Ok(found)
}
