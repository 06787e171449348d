//! The manifests and index files that snapshots, tags and changelogs name, each with what reaches it.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use super::entries::Reached;
use super::snapshot_roots::{RootKind, SnapshotRoot};
use crate::error::{ErrorKind, Result};
use crate::paimon::index_files::IndexFiles;
use crate::paimon::manifest_list::{manifest_files, read_manifest_list};
use crate::paimon::paths::{manifest_file, statistics_file};
use crate::paimon::table::Table;
use crate::pipeline::each;
use crate::reach::{Files, Kind, Kinds, RootSets, Roots, SetId};
use crate::record::find;
use crate::storage::{Storage, present};

/// Manifest lists, and the kinds of files that are found through them.
const OF_LISTS: [Kind; 5] =
    [Kind::ManifestList, Kind::Manifest, Kind::Data, Kind::ChangelogData, Kind::Extra];

/// The roots that reach the manifests of a list, and how.
#[derive(Clone, Default)]
struct ListUse {
    size: Option<i64>,
    /// The roots whose live files its entries describe.
    live: Roots,
    /// The roots that read all files which its entries add, even if other entries delete them.
    changes: Roots,
    /// The roots that keep the list and its manifests, but none of their files.
    kept: Roots,
    /// Whether its entries are of changelog files.
    is_changelog: bool,
    /// The files of the roots that need it; a list that only other roots name may be missing.
    needed_by: Vec<String>,
}

/// The named lists, in the order in which they are first named.
#[derive(Default)]
struct Lists {
    names: Vec<String>,
    uses: HashMap<String, ListUse>,
}

impl Lists {
    fn named(&mut self, name: &str, size: Option<i64>) -> &mut ListUse {
        if !self.uses.contains_key(name) {
            self.names.push(name.to_owned());
        }
        let one = self.uses.entry(name.to_owned()).or_default();
        one.size = one.size.or(size);
        one
    }

    /// Adds the lists of one root.
    ///
    /// A tag keeps the live files of its snapshot, and no changelog. A changelog keeps its own list or, if it
    /// has none, the files that its snapshot added (Paimon's `SnapshotDeletion.java`,
    /// `ChangelogDeletion.java`). Other lists that they name may be missing; where they exist, engines do not
    /// delete the files that they name.
    fn add(&mut self, root: usize, one: &SnapshotRoot) {
        let snapshot = &one.snapshot;
        let (base, base_size) = (&snapshot.base_manifest_list, snapshot.base_manifest_list_size);
        let (delta, delta_size) = (&snapshot.delta_manifest_list, snapshot.delta_manifest_list_size);
        let keeps_delta = one.kind == RootKind::Changelog && snapshot.changelog_manifest_list.is_none();
        for (name, size) in [(base, base_size), (delta, delta_size)] {
            let list = self.named(name, size);
            if one.kind != RootKind::Changelog {
                list.live.push(root);
                list.needed_by.extend(one.path.clone());
            } else if keeps_delta {
                list.kept.push(root);
            }
        }
        if keeps_delta {
            self.named(delta, delta_size).changes.push(root);
        }
        if let Some(name) = &snapshot.changelog_manifest_list {
            let list = self.named(name, snapshot.changelog_manifest_list_size);
            list.is_changelog = true;
            if one.kind != RootKind::Tag {
                list.changes.push(root);
                list.needed_by.extend(one.path.clone());
            }
        }
    }
}

/// Adds the lists, manifests, statistics, index manifests and index files that `snapshot_roots` names, from root
/// `first` on, to `files`, limited to `kinds` and to what leads to files of those kinds. Returns the
/// manifests, each once, and how many manifests the lists name.
///
/// # Errors
/// Those of reading lists and index manifests, also for a missing one.
pub(super) fn named(
    table: &Table,
    snapshot_roots: &[SnapshotRoot],
    first: usize,
    (kinds, threads): (Kinds, usize),
    files: &mut Files,
    sets: &mut RootSets,
) -> Result<(Vec<Reached>, u64)> {
    let (mut lists, mut indexes) = (Lists::default(), Lists::default());
    for (at, one) in snapshot_roots.iter().enumerate() {
        let root = first + at;
        lists.add(root, one);
        if let Some(name) = &one.snapshot.index_manifest {
            let index = indexes.named(name, None);
            if one.kind != RootKind::Changelog {
                index.live.push(root);
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
    files: &mut Files,
    sets: &mut RootSets,
) -> Result<()> {
    let of = table.clone();
    let read = move |_: &dyn Storage, name: &String| present(IndexFiles::of(&of, name, None));
    let found = each(table.storage(), indexes.names.clone(), threads, read).at_once();
    for (name, index) in indexes.names.iter().zip(found) {
        let index = index?;
        let used = indexes.uses.remove(name).unwrap_or_default();
        let path = table.manifest_path(name);
        let Some(index) = index else {
            check_needed(table, &used.needed_by, &path)?;
            continue;
        };
        let set = sets.of_roots(used.live);
        let mut add = |path: String, kind, size| match set {
            SetId::NONE => files.add_named(path),
            set => files.add(path, kind, size, set, sets),
        };
        add(path, Kind::IndexManifest, None);
        let sizes = find(&index.entries, "file_size")?;
        let sizes = sizes.as_primitive::<Int64Type>();
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
    files: &mut Files,
    sets: &mut RootSets,
) -> Result<(Vec<Reached>, u64)> {
    let of = table.clone();
    let requests =
        lists.names.iter().map(|name| (name.clone(), lists.uses.get(name).and_then(|one| one.size)));
    let read = move |_: &dyn Storage, (name, size): &(String, Option<i64>)| list(&of, name, *size);
    let found = each(table.storage(), requests.collect(), threads, read).at_once();
    let (mut reached, mut places, mut named) = (Vec::new(), HashMap::new(), 0);
    for (name, list) in lists.names.iter().zip(found) {
        let list = list?;
        let used = lists.uses.remove(name).unwrap_or_default();
        let path = table.manifest_path(name);
        let Some((size, list)) = list else {
            check_needed(table, &used.needed_by, &path)?;
            continue;
        };
        let (live, changes, kept) =
            (sets.of_roots(used.live), sets.of_roots(used.changes), sets.of_roots(used.kept));
        let all = sets.union(live, changes);
        let all = sets.union(all, kept);
        match all {
            SetId::NONE => files.add_named(path),
            all => files.add(path, Kind::ManifestList, Some(size), all, sets),
        }
        named += list.num_rows() as u64;
        let mut add_roots = |one: &mut Reached| {
            one.live = sets.union(one.live, live);
            one.changes = sets.union(one.changes, changes);
            one.kept = sets.union(one.kept, kept);
            one.is_changelog |= used.is_changelog;
        };
        for mut one in new_manifests(&list, &mut reached, &places, &mut add_roots)? {
            add_roots(&mut one);
            if !places.contains_key(&one.manifest.file_name) {
                places.insert(one.manifest.file_name.clone(), reached.len());
                reached.push(one);
            }
        }
    }
    for one in &reached {
        add_manifest(table, one, files, sets);
    }
    Ok((reached, named))
}

/// Calls `add_roots` for each known manifest of a list. Returns the others.
fn new_manifests(
    list: &RecordBatch,
    reached: &mut [Reached],
    places: &HashMap<String, usize>,
    add_roots: &mut impl FnMut(&mut Reached),
) -> Result<Vec<Reached>> {
    let names = find(list, "file_name")?;
    let names = names.as_string::<i32>();
    let is_new = (0..names.len()).map(|row| {
        let known = places.get(names.value(row)).and_then(|place| reached.get_mut(*place));
        Some(known.map(&mut *add_roots).is_none())
    });
    let is_new: BooleanArray = is_new.collect();
    let list = filter_record_batch(list, &is_new)?;
    let extra = find(&list, "extra_files")?;
    let extra = extra.as_list::<i32>();
    let extra_of = |row: usize| {
        let names = extra.is_valid(row).then(|| extra.value(row));
        let texts = names.iter().flat_map(|names| names.as_string::<i32>().iter().flatten());
        texts.map(str::to_owned).collect()
    };
    let manifests = manifest_files(&list)?.into_iter().enumerate();
    Ok(manifests.map(|(row, manifest)| Reached::new(manifest, extra_of(row))).collect())
}

/// Adds a manifest and the extra files beside it.
fn add_manifest(table: &Table, one: &Reached, files: &mut Files, sets: &mut RootSets) {
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
        Ok((length, read_manifest_list(bytes, None, table.decoding())?))
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
