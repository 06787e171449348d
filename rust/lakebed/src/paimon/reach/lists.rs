//! The manifests and index files that snapshots, tags and changelogs name, each with what reaches it.

use std::collections::HashMap;

use arrow_array::{Array, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;
use foldhash::fast::RandomState;

use super::entries::ReachedManifest;
use super::snapshot_roots::{RootKind, SnapshotRoot};
use crate::error::{ErrorKind, Result};
use crate::paimon::index_files::IndexFiles;
use crate::paimon::manifest_list::{ManifestFile, manifest_files, read_manifest_list};
use crate::paimon::paths::{manifest_file, statistics_file};
use crate::paimon::table::Table;
use crate::pipeline::each;
use crate::reach::{Kind, Kinds, NamedFiles, RootSets, Roots, SetId};
use crate::record::{column, typed};
use crate::storage::{Storage, present};

/// Manifest lists, and the kinds of files that are found through them.
const OF_LISTS: [Kind; 5] =
    [Kind::ManifestList, Kind::Manifest, Kind::Data, Kind::ChangelogData, Kind::Extra];

/// What is read of a list: thousands of snapshots may have a list each.
const COLUMNS: [&str; 6] =
    ["file_name", "file_size", "num_added_files", "num_deleted_files", "total_buckets", "extra_files"];

/// How the roots that reach a list or a manifest use it.
#[derive(Clone, Default)]
struct ListUse {
    /// The roots whose live files its entries describe.
    live: Roots,
    /// The roots that read all files which its entries add, even if other entries delete them.
    changes: Roots,
    /// The roots that keep it, but none of the files that its entries name.
    kept: Roots,
    /// Whether its entries are of changelog files.
    is_changelog: bool,
}

impl ListUse {
    /// Adds the uses of a list that names it.
    fn extend(&mut self, list: &ListUse) {
        self.live.extend(&list.live);
        self.changes.extend(&list.changes);
        self.kept.extend(&list.kept);
        self.is_changelog |= list.is_changelog;
    }

    /// All roots that reach it.
    fn all(&self) -> Roots {
        let mut all = self.live.clone();
        all.extend(&self.changes);
        all.extend(&self.kept);
        all
    }
}

/// A list that roots name.
#[derive(Clone, Default)]
struct NamedList {
    size: Option<i64>,
    used: ListUse,
    /// The files of the roots that need it; a list that only other roots name may be missing.
    needed_by: Vec<String>,
}

/// The named lists, in the order in which they are first named.
#[derive(Default)]
struct Lists {
    names: Vec<String>,
    all: HashMap<String, NamedList>,
}

impl Lists {
    fn named(&mut self, name: &str, size: Option<i64>) -> &mut NamedList {
        if !self.all.contains_key(name) {
            self.names.push(name.to_owned());
        }
        let one = self.all.entry(name.to_owned()).or_default();
        one.size = one.size.or(size);
        one
    }

    /// Adds the lists of one root.
    ///
    /// A tag keeps the live files of its snapshot, and no changelog. A changelog keeps its own list or, if it
    /// has none, the files that its snapshot added (Paimon's `SnapshotDeletion.java`,
    /// `ChangelogDeletion.java`). Other lists that they name may be missing; where they exist, engines do not
    /// delete the files that they name.
    fn add(&mut self, root: usize, one: &SnapshotRoot, how: ListScope) {
        let snapshot = &one.snapshot;
        let (base, base_size) = (&snapshot.base_manifest_list, snapshot.base_manifest_list_size);
        let (delta, delta_size) = (&snapshot.delta_manifest_list, snapshot.delta_manifest_list_size);
        let keeps_delta = one.kind == RootKind::Changelog && snapshot.changelog_manifest_list.is_none();
        for (name, size, is_base) in [(base, base_size, true), (delta, delta_size, false)] {
            let list = self.named(name, size);
            if one.kind != RootKind::Changelog {
                match how {
                    ListScope::Own => list.used.live.push(root),
                    ListScope::Added if is_base => list.used.kept.push(root),
                    ListScope::Added | ListScope::All => list.used.changes.push(root),
                }
                list.needed_by.extend(one.path.clone());
            } else if keeps_delta {
                list.used.kept.push(root);
            }
        }
        if keeps_delta {
            self.named(delta, delta_size).used.changes.push(root);
        }
        if let Some(name) = &snapshot.changelog_manifest_list {
            let list = self.named(name, snapshot.changelog_manifest_list_size);
            list.used.is_changelog = true;
            if one.kind != RootKind::Tag {
                list.used.changes.push(root);
                list.needed_by.extend(one.path.clone());
            }
        }
    }
}

/// Which files of a snapshot's lists its root reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListScope {
    /// Those that are live in the snapshot.
    Own,
    /// All that the entries of its commit add, because what was live before is known to be kept.
    Added,
    /// All that any entry adds.
    All,
}

/// Adds the lists, manifests, statistics, index manifests and index files that `snapshot_roots` name, each with its
/// root and how that uses them, to `files`, limited to `kinds` and to what leads to files of those kinds. Returns the
/// manifests, each once, and how many manifests the lists name.
///
/// # Errors
/// Those of reading lists and index manifests, also for a missing one.
pub(super) fn named<'r>(
    table: &Table,
    snapshot_roots: impl Iterator<Item = (&'r SnapshotRoot, usize, ListScope)>,
    (kinds, threads): (Kinds, usize),
    files: &mut NamedFiles,
    sets: &mut RootSets,
) -> Result<(Vec<ReachedManifest>, u64)> {
    let (mut lists, mut indexes) = (Lists::default(), Lists::default());
    for (one, root, how) in snapshot_roots {
        lists.add(root, one, how);
        if let Some(name) = &one.snapshot.index_manifest {
            let index = indexes.named(name, None);
            if one.kind != RootKind::Changelog {
                index.used.live.push(root);
                index.needed_by.extend(one.path.clone());
            }
        }
        if let Some(name) = &one.snapshot.statistics {
            let path = table.files().shared(&statistics_file(name));
            match one.kind {
                RootKind::Changelog => files.add_named(path),
                _ => {
                    let set = sets.of([root]);
                    files.add(path, Kind::Statistics, None, set, sets);
                }
            }
        }
    }
    if kinds.any(&[Kind::IndexManifest, Kind::Index]) {
        add_indexes(table, indexes, threads, files, sets)?;
    }
    // Files of other kinds are found without the lists.
    let lists = if kinds.any(&OF_LISTS) { lists } else { Lists::default() };
    read_lists(table, lists, threads, files, sets)
}

/// Adds index manifests and the files that they name.
fn add_indexes(
    table: &Table,
    mut indexes: Lists,
    threads: usize,
    files: &mut NamedFiles,
    sets: &mut RootSets,
) -> Result<()> {
    let of = table.clone();
    let read = move |_: &dyn Storage, name: &String| present(IndexFiles::of(&of, name, None));
    let found = each(table.storage(), indexes.names.clone(), threads, read).at_once();
    for (name, index) in indexes.names.iter().zip(found) {
        let index = index?;
        let NamedList { used, needed_by, .. } = indexes.all.remove(name).unwrap_or_default();
        let path = table.manifest_path(name);
        let Some(index) = index else {
            check_needed(table, &needed_by, &path)?;
            continue;
        };
        let set = sets.of_roots(used.live);
        let mut add = |path: String, kind, size| match set {
            SetId::NONE => files.add_named(path),
            set => files.add(path, kind, size, set, sets),
        };
        add(path, Kind::IndexManifest, None);
        let sizes = column::<Int64Array>(&index.entries, "file_size")?;
        for (path, size) in index.paths.iter().zip(sizes) {
            let size = size.and_then(|size| u64::try_from(size).ok());
            add(path.unwrap_or_default().to_owned(), Kind::Index, size);
        }
    }
    Ok(())
}

/// Adds lists and manifests, and returns the manifests.
fn read_lists(
    table: &Table,
    mut lists: Lists,
    threads: usize,
    files: &mut NamedFiles,
    sets: &mut RootSets,
) -> Result<(Vec<ReachedManifest>, u64)> {
    let of = table.clone();
    let requests =
        lists.names.iter().map(|name| (name.clone(), lists.all.get(name).and_then(|one| one.size)));
    let read = move |_: &dyn Storage, (name, size): &(String, Option<i64>)| list(&of, name, *size);
    let lists_read = each(table.storage(), requests.collect(), threads, read).at_once();
    let (mut found, mut places, mut named) = (Vec::<NamedManifest>::new(), HashMap::default(), 0);
    for (name, list) in lists.names.iter().zip(lists_read) {
        let list = list?;
        let NamedList { used, needed_by, .. } = lists.all.remove(name).unwrap_or_default();
        let path = table.manifest_path(name);
        let Some((size, list)) = list else {
            check_needed(table, &needed_by, &path)?;
            continue;
        };
        match sets.of_roots(used.all()) {
            SetId::NONE => files.add_named(path),
            all => files.add(path, Kind::ManifestList, Some(size), all, sets),
        }
        named += list.num_rows() as u64;
        for mut one in new_manifests(&list, &used, &mut found, &places)? {
            one.used.extend(&used);
            if !places.contains_key(&one.manifest.file_name) {
                places.insert(one.manifest.file_name.clone(), found.len());
                found.push(one);
            }
        }
    }
    // Sets are made once all roots are known: else each list would make a set of each of its manifests.
    let reached: Vec<ReachedManifest> = found.into_iter().map(|one| one.reached(sets)).collect();
    for one in &reached {
        add_manifest(table, one, files, sets);
    }
    Ok((reached, named))
}

/// A manifest that lists name, and how roots use it.
struct NamedManifest {
    manifest: ManifestFile,
    extra_files: Vec<String>,
    used: ListUse,
}

impl NamedManifest {
    fn reached(self, sets: &mut RootSets) -> ReachedManifest {
        let NamedManifest { manifest, extra_files, used: ListUse { live, changes, kept, is_changelog } } =
            self;
        let [live, changes, kept] = [live, changes, kept].map(|roots| sets.of_roots(roots));
        ReachedManifest { manifest, extra_files, live, changes, kept, is_changelog }
    }
}

/// Adds the roots of a list to its known manifests. Returns the others, without roots.
fn new_manifests(
    list: &RecordBatch,
    used: &ListUse,
    found: &mut [NamedManifest],
    places: &HashMap<String, usize, RandomState>,
) -> Result<Vec<NamedManifest>> {
    let names = column::<StringArray>(list, "file_name")?;
    let is_new = (0..names.len()).map(|row| {
        let known = places.get(names.value(row)).and_then(|place| found.get_mut(*place));
        Some(known.map(|one| one.used.extend(used)).is_none())
    });
    let is_new: BooleanArray = is_new.collect();
    let list = filter_record_batch(list, &is_new)?;
    let extra = column::<ListArray>(&list, "extra_files")?;
    let extra_of = |row: usize| -> Result<Vec<String>> {
        let names = if extra.is_valid(row) { extra.value(row) } else { extra.values().slice(0, 0) };
        Ok(typed::<StringArray>(&names, "extra_files")?.iter().flatten().map(str::to_owned).collect())
    };
    let new = |(row, manifest)| {
        Ok(NamedManifest { manifest, extra_files: extra_of(row)?, used: ListUse::default() })
    };
    manifest_files(&list)?.into_iter().enumerate().map(new).collect()
}

/// Adds a manifest and the extra files beside it.
fn add_manifest(table: &Table, one: &ReachedManifest, files: &mut NamedFiles, sets: &mut RootSets) {
    let all = sets.union(one.live, one.changes);
    let all = sets.union(all, one.kept);
    let mut add = |name: &str, kind, size| {
        let path = table.manifest_path(name);
        match all {
            SetId::NONE => files.add_named(path),
            all => files.add(path, kind, size, all, sets),
        }
    };
    add(&one.manifest.file_name, Kind::Manifest, Some(one.manifest.file_size));
    one.extra_files.iter().for_each(|name| add(name, Kind::Extra, None));
}

/// A list and its size in bytes; `None` where it is missing.
fn list(table: &Table, name: &str, size: Option<i64>) -> Result<Option<(u64, RecordBatch)>> {
    let path = table.files().shared(&manifest_file(name));
    let read = || {
        let bytes = table.list_bytes(&path, size)?;
        let length = bytes.len() as u64;
        Ok((length, read_manifest_list(bytes, Some(&COLUMNS.map(str::to_owned)), table.decoding())?))
    };
    present(read().map_err(|error: crate::Error| error.in_file(&path)))
}

/// # Errors
/// `Missing` for a missing file that existing snapshots need; a snapshot that was removed meanwhile needs
/// none.
fn check_needed(table: &Table, needed_by: &[String], path: &str) -> Result<()> {
    for root in needed_by {
        if present(table.storage().read_range(root, 0, 1))?.is_some() {
            let message = format!("no such file, named by {root}");
            return Err(crate::Error::new(ErrorKind::Missing, message).in_file(path));
        }
    }
    Ok(())
}
