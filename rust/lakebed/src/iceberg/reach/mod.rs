//! The files that a table reaches: its metadata files, the manifest lists of its snapshots, and the files
//! that those name (Iceberg's `ReachableFileUtil.java`, `ReachableFileCleanup.java`).

mod entries;
mod ownership;
mod retention;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Array, BooleanArray, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_select::filter::filter_record_batch;

pub(super) use self::entries::{Program, ReachedManifest};
pub(super) use self::ownership::FOLDERS;
use self::ownership::{check_location, other_folders, own_metadata};
use self::retention::{KeptSnapshots, check_enabled, wrong_properties};
pub(super) use self::retention::{check_deletable, kept};
use super::discovery::{FOLDER, HINT};
use super::manifest_list::{ManifestFile, brief};
use super::metadata::{RefKind, Snapshot, SnapshotRef, TableMetadata, WantedElements};
use super::paths::TableFormat;
use super::table::Table;
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::pipeline::each;
use crate::reach::{
    self, Kind, Kinds, ListedFolder, NamedFiles, Partitioner, Prefixes, Reach, RemovedItem, Retention, Root,
    RootSets, Roots, VisitedSet, Walk, WalkOptions, manifests_step,
};
use crate::record::column;
use crate::relocate::below;
use crate::scan::Batches;
use crate::storage::{Storage, present};
use crate::write::publish::is_left_over;

/// The first root: the table itself, with its metadata log.
const TABLE: usize = 0;
const METADATA_LOG: usize = 1;
/// The first root that is a snapshot; they follow in file order.
const FIRST_SNAPSHOT: usize = 2;

/// Manifest lists, and the kinds of files that are found through them.
const OF_LISTS: [Kind; 6] = [
    Kind::ManifestList,
    Kind::Manifest,
    Kind::Data,
    Kind::PositionDeletes,
    Kind::EqualityDeletes,
    Kind::DeletionVectors,
];

/// The parts of the metadata that name files.
const WITH_FILES: WantedElements =
    WantedElements { metadata_log: true, statistics: true, ..WantedElements::CURRENT };

/// A table and its files.
pub(crate) struct TableReach {
    table: Table,
    /// Whether a catalog says that this is the table, so that its location is known to be its own.
    is_of_catalog: bool,
    /// Which snapshots and refs a later version still has: the others count as removed.
    later: Option<KeptSnapshots>,
    notes: Notes,
}

/// The files that are named without a manifest, and the manifests.
pub(super) struct WalkInputs {
    pub(super) metadata: TableMetadata,
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) roots: Vec<Root>,
    pub(super) sets: RootSets,
    pub(super) files: NamedFiles,
    pub(super) manifests: Vec<ReachedManifest>,
    /// How many manifests the lists name.
    named: u64,
    removed: Vec<RemovedItem>,
}

impl TableReach {
    pub(super) fn new(table: Table) -> TableReach {
        TableReach { table, is_of_catalog: false, later: None, notes: Notes::default() }
    }

    /// The same for a table of which a catalog says what is newest.
    pub(super) fn of_catalog(table: Table) -> TableReach {
        TableReach { is_of_catalog: true, ..TableReach::new(table) }
    }

    /// The earlier version of the metadata file at `path`, of which what this version does not have any more counts as
    /// removed.
    ///
    /// # Errors
    /// Those of reading both; `Mismatch` where another table was put in the place of that one.
    pub(super) fn before(&self, path: &str) -> Result<TableReach> {
        check_deletable(self.table.metadata(), self.table.metadata_file())?;
        let (storage, decoding) = (Arc::clone(self.table.storage()), self.table.decoding().clone());
        let table = Table::open(path, storage, decoding)?;
        let [before, now] = [table.metadata(), self.table.metadata()];
        if before.table_uuid.is_some() && before.table_uuid != now.table_uuid {
            let message = "another table is in the place of the one that was committed to";
            return Err(Error::new(ErrorKind::Mismatch, message).in_file(self.table.metadata_file()));
        }
        let lineage = self.table.read(&WantedElements { lineage: true, ..WantedElements::CURRENT })?.lineage;
        let is_gone =
            |name: &String, one: &SnapshotRef| now.refs.get(name).is_none_or(|known| known.kind != one.kind);
        let gone = before.refs.iter().filter(|(name, one)| is_gone(name, one));
        let later = KeptSnapshots {
            snapshots: lineage.iter().map(|one| one.snapshot_id).collect(),
            gone: gone.map(|(name, _)| name.clone()).collect(),
        };
        Ok(TableReach { is_of_catalog: self.is_of_catalog, later: Some(later), ..TableReach::new(table) })
    }

    /// Reads all but manifests.
    ///
    /// # Errors
    /// As [`Reach::walk`].
    pub(super) fn named(
        &self,
        retention: Option<&Retention>,
        kinds: Kinds,
        threads: usize,
    ) -> Result<WalkInputs> {
        let metadata = self.table.read(&WITH_FILES)?;
        let snapshots = self.snapshots()?;
        let mut roots = vec![Root::new(None, "table".to_owned()), Root::new(None, "metadata log".to_owned())];
        let first = FIRST_SNAPSHOT;
        let id = |snapshot: &Snapshot| snapshot.snapshot_id;
        roots.extend(snapshots.iter().map(id).map(|id| Root::new(Some(id), format!("snapshot {id}"))));
        for (place, root) in roots.iter_mut().enumerate() {
            let is_at = root.snapshot_id.is_some() && root.snapshot_id == self.table.snapshot_id();
            root.is_current = place == TABLE || is_at;
        }
        let mut removed = Vec::new();
        if retention.is_some() || self.later.is_some() {
            let place = self.table.storage().place(&self.table.metadata().location)?;
            check_location(&self.table, self.is_of_catalog, &Prefixes::new(&place, &[], &[]))?;
            check_deletable(&metadata, self.table.metadata_file())?;
        }
        let of_snapshots = roots.get_mut(first..).unwrap_or_default();
        if let Some(later) = &self.later {
            removed = mark(&metadata, later, of_snapshots);
        } else if let Some(retention) = retention {
            removed = mark(&metadata, &kept_by(&metadata, &snapshots, retention)?, of_snapshots);
        }
        let some_removed = of_snapshots.iter().any(|root| root.is_removed);
        let places: HashMap<i64, usize> = snapshots.iter().map(id).zip(first..).collect();
        let (mut files, mut sets) = (NamedFiles::default(), RootSets::new());
        let root_of = |id| Some(places.get(&id).copied().unwrap_or(TABLE));
        self.add_files(&metadata, root_of, &mut files, &mut sets)?;
        // Files of other kinds are found without the lists, and none is wanted of snapshots that are all still there.
        let is_wanted = kinds.any(&OF_LISTS) && (self.later.is_none() || some_removed);
        let of_lists = if is_wanted { snapshots.clone() } else { Vec::new() };
        let (manifests, named) = self.manifests(of_lists, |at| first + at, threads, &mut files, &mut sets)?;
        Ok(WalkInputs { metadata, snapshots, roots, sets, files, manifests, named, removed })
    }

    /// Every snapshot, without its summary.
    fn snapshots(&self) -> Result<Vec<Snapshot>> {
        let mut all = Vec::new();
        self.table.each_snapshot(|some| {
            all.extend(some.into_iter().map(|snapshot| Snapshot { summary: None, ..snapshot }));
            Ok(())
        })?;
        Ok(all)
    }

    /// The files that the metadata file names directly. Statistics are reached by the root of their snapshot;
    /// without a root they are left out.
    fn add_files(
        &self,
        metadata: &TableMetadata,
        root_of: impl Fn(i64) -> Option<usize>,
        files: &mut NamedFiles,
        sets: &mut RootSets,
    ) -> Result<()> {
        let (table, log) = (sets.of([TABLE]), sets.of([METADATA_LOG]));
        let own = |path: &str| {
            let rest = below(path, self.table.location())?;
            Some(format!("{}/{rest}", metadata.location))
        };
        let current = self.table.metadata_file();
        let hint = format!("{}/{FOLDER}/{HINT}", self.table.location());
        // The location at which the table was opened may be spelled differently in its metadata.
        [current, &hint].into_iter().filter_map(own).for_each(|path| files.add_named(path));
        files.add(current.to_owned(), Kind::Metadata, None, table, sets);
        match present(self.table.storage().read_range(&hint, 0, 1))? {
            Some(_) => files.add(hint, Kind::Hint, None, table, sets),
            None => files.add_named(hint),
        }
        for entry in &metadata.metadata_log {
            files.add(entry.metadata_file.clone(), Kind::Metadata, None, log, sets);
        }
        let of_table = metadata
            .statistics
            .iter()
            .map(|file| (Kind::Statistics, file.snapshot_id, &file.statistics_path, file.file_size_in_bytes));
        let of_partitions = metadata.partition_statistics.iter().map(|file| {
            (Kind::PartitionStatistics, file.snapshot_id, &file.statistics_path, file.file_size_in_bytes)
        });
        for (kind, snapshot, path, size) in of_table.chain(of_partitions) {
            let Some(root) = root_of(snapshot) else { continue };
            files.add(path.clone(), kind, u64::try_from(size).ok(), sets.of([root]), sets);
        }
        Ok(())
    }

    /// The manifests of snapshots, each once, with the roots that reach it, given the root of the snapshot at a
    /// place; adds the manifest lists to `files`. Also returns how many manifests the lists name.
    fn manifests(
        &self,
        snapshots: Vec<Snapshot>,
        root_at: impl Fn(usize) -> usize,
        threads: usize,
        files: &mut NamedFiles,
        sets: &mut RootSets,
    ) -> Result<(Vec<ReachedManifest>, u64)> {
        let table = self.table.clone();
        let paths: Vec<_> = snapshots.iter().map(|snapshot| snapshot.manifest_list.clone()).collect();
        let read = move |_: &dyn Storage, snapshot: &Snapshot| list(&table, snapshot);
        let lists = each(self.table.storage(), snapshots, threads, read).at_once();
        let (mut found, mut places, mut named) = (Vec::new(), HashMap::new(), 0);
        for ((at, list), path) in lists.enumerate().zip(paths) {
            let (length, list) = list?;
            let root = root_at(at);
            if let Some(path) = path {
                let set = sets.of([root]);
                files.add(path, Kind::ManifestList, length, set, sets);
            }
            named += list.num_rows() as u64;
            for manifest in add_root(&list, root, &mut found, &places)? {
                let mut roots = Roots::default();
                roots.push(root);
                if !places.contains_key(&manifest.path) {
                    places.insert(manifest.path.clone(), found.len());
                    found.push((manifest, roots));
                }
            }
        }
        let mut reached = Vec::with_capacity(found.len());
        for (manifest, roots) in found {
            let set = sets.of_roots(roots);
            files.add(manifest.path.clone(), Kind::Manifest, manifest.length, set, sets);
            reached.push(ReachedManifest { manifest, set });
        }
        Ok((reached, named))
    }
}

/// Adds a root to the known manifests of its list. Returns the others.
fn add_root(
    list: &RecordBatch,
    root: usize,
    found: &mut [(ManifestFile, Roots)],
    places: &HashMap<String, usize>,
) -> Result<Vec<ManifestFile>> {
    let paths = column::<StringArray>(list, "manifest_path")?;
    let is_new = (0..paths.len()).map(|row| {
        let known = places.get(paths.value(row)).and_then(|place| found.get_mut(*place));
        Some(known.map(|(_, roots)| roots.push(root)).is_none())
    });
    let is_new: BooleanArray = is_new.collect();
    ManifestFile::all(&filter_record_batch(list, &is_new)?)
}

/// What a snapshot names: its list, or its manifests.
fn content(snapshot: &Snapshot) -> String {
    snapshot.manifest_list.clone().unwrap_or_else(|| snapshot.manifests.join("\n"))
}

/// The list of a snapshot, and its size in bytes where it is a file.
fn list(table: &Table, snapshot: &Snapshot) -> Result<(Option<u64>, RecordBatch)> {
    let Some(path) = &snapshot.manifest_list else { return Ok((None, table.list_of(snapshot)?)) };
    let (list, length) = table.read_list(snapshot, path, Some(&brief()))?;
    Ok((Some(length), list))
}

impl Reach for TableReach {
    type Table = Table;

    const BY_NAME: bool = false;
    /// One metadata file has it all.
    const QUIET_LOOKS: usize = 1;

    fn location(&self) -> &str {
        &self.table.metadata().location
    }

    fn table(&self) -> &Table {
        &self.table
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn begun(&self, wanted: &WalkOptions<'_>, seen: &mut VisitedSet) -> Result<(Walk, Vec<ReachedManifest>)> {
        let WalkInputs { snapshots, roots, mut sets, files, mut manifests, named, removed, .. } =
            self.named(wanted.retention, wanted.kinds, wanted.threads)?;
        seen.add(self.table.metadata_file().to_owned());
        let kept = |(at, root): (usize, &Root)| (!root.is_removed).then_some(at);
        let remaining = sets.of(roots.iter().enumerate().filter_map(kept));
        let of_snapshots = roots.iter().skip(FIRST_SNAPSHOT).zip(&snapshots);
        for (_, snapshot) in of_snapshots.filter(|(root, _)| !root.is_removed) {
            seen.add(content(snapshot));
        }
        for reached in &manifests {
            // Its live entries are live in each snapshot that has it.
            if sets.difference(reached.set, remaining) != reached.set {
                seen.add_manifest(&reached.manifest.path);
            }
        }
        manifests.retain(|reached| reached.is_of(wanted.kinds));
        let step = manifests_step(manifests.iter().map(|one| one.manifest.length.unwrap_or(0)), named);
        let entries: Batches = Box::new(std::iter::empty());
        Ok((Walk { roots, sets, files, entries, manifests: step, removed }, manifests))
    }

    fn walk_later(&self, wanted: &WalkOptions<'_>, seen: &mut VisitedSet) -> Result<Option<Walk>> {
        // A metadata file never changes.
        if !seen.add(self.table.metadata_file().to_owned()) {
            return Ok(None);
        }
        let metadata = self.table.read(&WITH_FILES)?;
        let mut snapshots = self.snapshots()?;
        let named = |snapshot: &Snapshot| {
            let id = snapshot.snapshot_id;
            Root::new(Some(id), format!("snapshot {id}"))
        };
        let mut roots: Vec<Root> = snapshots.iter().map(named).collect();
        let mut removed = Vec::new();
        if let Some(retention) = wanted.retention {
            check_deletable(&metadata, self.table.metadata_file())?;
            removed = mark(&metadata, &kept_by(&metadata, &snapshots, retention)?, &mut roots);
        }
        let gone: HashSet<i64> =
            roots.iter().filter(|root| root.is_removed).filter_map(|root| root.snapshot_id).collect();
        roots.retain(|root| !root.is_removed);
        let kept = metadata.refs.iter().map(|(name, one)| format!("{} {name}", one.kind.name()));
        let removed: HashSet<&str> = removed.iter().map(|one| one.name.as_str()).collect();
        let kept = kept.filter(|name| !removed.contains(name.as_str()));
        roots.extend(kept.map(|name| Root::new(None, name)));
        let (mut files, mut sets) = (NamedFiles::default(), RootSets::new());
        let root_of = |id| (!gone.contains(&id)).then_some(TABLE);
        self.add_files(&metadata, root_of, &mut files, &mut sets)?;
        snapshots.retain(|one| !gone.contains(&one.snapshot_id) && seen.add(content(one)));
        if !wanted.kinds.any(&OF_LISTS) {
            snapshots.clear();
        }
        let (mut manifests, named) =
            self.manifests(snapshots, |_| TABLE, wanted.threads, &mut files, &mut sets)?;
        manifests.retain(|one| seen.add_manifest(&one.manifest.path) && one.is_of(wanted.kinds));
        let step = manifests_step(manifests.iter().map(|one| one.manifest.length.unwrap_or(0)), named);
        let entries = reach::entries(self, manifests, wanted)?;
        Ok(Some(Walk { roots, sets, files, entries, manifests: step, removed: Vec::new() }))
    }

    type Manifest = ReachedManifest;
    type Types = TableFormat;
    type Program = Program;

    fn recorded(one: &ReachedManifest) -> &ManifestFile {
        &one.manifest
    }

    fn program(&self, partitioner: &Arc<Partitioner>) -> Result<Program> {
        let (table, decoding) = (self.table.format(), self.table.decoding().clone());
        Program::new(table, Arc::clone(partitioner), self.notes.clone(), decoding)
    }

    /// The version and location of the table.
    fn types(&self) -> Result<TableFormat> {
        Ok(self.table.format())
    }

    fn sent_program(
        table: &TableFormat,
        partitioner: &Arc<Partitioner>,
        decoding: Decoding,
    ) -> Result<Program> {
        Program::new(table.clone(), Arc::clone(partitioner), Notes::default(), decoding)
    }

    fn records(
        program: &Program,
        one: &ReachedManifest,
        path: String,
        bytes: Buffer,
        threads: usize,
    ) -> Result<Batches> {
        program.open(one, path, bytes, threads)
    }

    /// Everything below the table's location except hidden files and folders (Iceberg's
    /// `FileSystemWalker.java`), of which only those are looked at that lakebed itself has left.
    fn places(&self, spellings: &Prefixes) -> Result<Vec<ListedFolder>> {
        let metadata = self.table.metadata();
        self.check_deletable(spellings)?;
        let fields = metadata.partition_specs.iter().flat_map(|spec| &spec.fields);
        let hidden = |name: &str| name.starts_with(['_', '.']);
        let shown: Vec<String> =
            fields.filter(|field| hidden(&field.name)).map(|field| format!("{}=", field.name)).collect();
        let visible =
            move |name: &str| !hidden(name) || shown.iter().any(|field| name.starts_with(field.as_str()));
        let rule = move |path: &str, is_folder: bool| {
            let (folders, name) =
                path.rsplit_once('/').map_or((None, path), |(path, name)| (Some(path), name));
            let is_seen = visible(name) || !is_folder && is_left_over(name);
            is_seen && folders.is_none_or(|folders| folders.split('/').all(&visible))
        };
        let own = own_metadata(&self.table, spellings)?;
        Ok(vec![ListedFolder {
            location: metadata.location.clone(),
            rule: Arc::new(rule),
            is_whole: true,
            format: "iceberg",
            is_own: Arc::new(move |folder| folder == FOLDER || own.as_deref() == Some(folder)),
            is_optional: false,
        }])
    }

    fn check_deletable(&self, spellings: &Prefixes) -> Result<()> {
        check_deletable(self.table.metadata(), self.table.metadata_file())?;
        check_location(&self.table, self.is_of_catalog, spellings)
    }

    fn other_folders(&self) -> Vec<String> {
        other_folders(self.table.metadata())
    }
}

/// Why orphans and expiries of a table are refused: the properties by which no plan can be made, and, as what a
/// catalog may allow, that its files may be another table's.
pub(super) fn refusals(table: &Table) -> (Vec<Error>, Vec<Error>) {
    let metadata = table.metadata();
    let location = check_location(table, true, &Prefixes::new(table.location(), &[], &[]));
    let others = [check_enabled(metadata), location].into_iter().filter_map(Result::err);
    (wrong_properties(metadata).collect(), others.collect())
}

/// What rules of retention keep.
fn kept_by(metadata: &TableMetadata, snapshots: &[Snapshot], retention: &Retention) -> Result<KeptSnapshots> {
    let lineage = snapshots.iter().map(|one| (one.snapshot_id, one.parent_id, one.timestamp_ms));
    kept(metadata, &lineage.collect::<Vec<_>>(), retention, None)
}

/// Marks the roots of snapshots that are not kept. Returns these snapshots, and the refs that are not.
fn mark(metadata: &TableMetadata, kept: &KeptSnapshots, roots: &mut [Root]) -> Vec<RemovedItem> {
    let mut removed = Vec::new();
    for root in roots {
        let id = root.snapshot_id.unwrap_or_default();
        root.is_removed = !kept.snapshots.contains(&id);
        if root.is_removed {
            removed.push(RemovedItem { kind: Kind::Snapshot, snapshot_id: id, name: root.name.clone() });
        }
    }
    for (name, one) in kept.gone.iter().filter_map(|name| metadata.refs.get_key_value(name)) {
        let kind = if one.kind == RefKind::Branch { Kind::Branch } else { Kind::Tag };
        removed.push(RemovedItem {
            kind,
            snapshot_id: one.snapshot_id,
            name: format!("{} {name}", one.kind.name()),
        });
    }
    removed
}
