//! All changes of files in one commit, applied to the snapshot that it builds on.

use std::cell::RefCell;
use std::collections::HashSet;

use arrow_array::{BinaryArray, BooleanArray, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;

use super::added::{AddedFiles, DeletedBefore};
use super::base::{Base, names_of};
use super::change::{Change, FileSelection, IndexFilesChange, ManifestCompaction, Mending, apart};
use super::compact::RewrittenManifests;
use super::index::{Index, IndexEntries};
use super::live::live_entries_of;
use super::options::CommitOptions;
use super::prune::may_hold;
use super::ranges::{self, KEYS};
use super::removed::{RemovedFiles, deletions, partitions_of, paths_of, refuse_evolution};
use super::selection::PartitionSelection;
use super::vectors::Vectors;
use crate::error::Result;
use crate::paimon::snapshot::CommitKind;
use crate::paimon::table::Table;
use crate::paimon::write::files::Origin;
use crate::record::column;

/// The columns that identify the file of an entry, and the number of buckets of its partition.
const PLACED: [&str; 9] = [
    "kind",
    "partition",
    "bucket",
    "total_buckets",
    "file_name",
    "level",
    "extra_files",
    "embedded_file_index",
    "external_path",
];

/// The content of the next snapshot, where it differs from the one before.
pub(super) struct SnapshotChanges<'c> {
    /// The entries of its delta.
    pub(super) entries: Vec<RecordBatch>,
    /// Its base list, where that is not simply everything that was live before.
    pub(super) manifests: Option<RewrittenManifests<'c>>,
    /// Its index files.
    pub(super) index: Index,
    /// The entries of its changelog.
    pub(super) changelog: Option<RecordBatch>,
}

/// The changes of a commit, checked as far as that is possible without its base.
pub(super) struct FileChanges {
    added: AddedFiles,
    /// Whether added files are compared with the live ones.
    check: bool,
    removed: RemovedFiles,
    replaced: Vec<PartitionSelection>,
    vectors: Option<Vectors>,
    /// Removed vectors of files that are not live, by index file and offset.
    dangling: Vec<(String, i64)>,
    /// Whether those may be of live ones, or be gone.
    restores_rows: bool,
    manifests: Option<ManifestCompaction>,
    /// What is mended in manifests, and the snapshot whose manifests they are.
    mending: Option<(Mending, Option<i64>)>,
    /// Whether files are replaced by others with the same rows.
    compacts: bool,
    /// Whether rows are removed or replaced.
    overwrites: bool,
    /// Manifests in which an earlier attempt found none of the added files.
    clear: RefCell<HashSet<String>>,
}

impl FileChanges {
    /// Checks and takes the changes of a caller.
    ///
    /// # Errors
    /// Those of columns and values; `Unsupported` for a change that would remove what an earlier one adds.
    pub(super) fn new(table: &Table, changes: &[Change], options: &CommitOptions) -> Result<FileChanges> {
        let mut all = FileChanges {
            added: AddedFiles::none()?,
            check: false,
            removed: RemovedFiles::default(),
            replaced: Vec::new(),
            vectors: None,
            dangling: Vec::new(),
            restores_rows: false,
            manifests: None,
            mending: None,
            compacts: false,
            overwrites: false,
            clear: RefCell::default(),
        };
        for change in changes {
            all.extend(table, change, options)?;
        }
        all.added.paths.check_once()?;
        all.removed.paths.check_once()?;
        Ok(all)
    }

    fn extend(&mut self, table: &Table, change: &Change, options: &CommitOptions) -> Result<()> {
        match change {
            Change::AppendFiles { files, changelog, check } => {
                self.check |= check;
                self.added.extend(table, files, options, Origin::Written)?;
                self.added.extend_changelog(table, changelog.as_ref(), options)
            }
            Change::OverwriteFiles { removed, added } => {
                self.check = true;
                self.overwrites |= added.is_none() || removed.iter().any(|removed| !removed.is_empty());
                self.overwrite(table, removed, added.as_ref(), options)
            }
            Change::CompactFiles(compaction) => {
                self.check = true;
                self.compacts = true;
                if compaction.added.num_rows() > 0 {
                    self.added.extend(table, &compaction.added, options, Origin::Compacted)?;
                }
                self.added.extend_changelog(table, compaction.changelog.as_ref(), options)?;
                self.removed.extend(table, &compaction.removed)?;
                self.dangling.extend_from_slice(&compaction.dangling);
                compaction.vectors.as_ref().map_or(Ok(()), |vectors| self.extend_vectors(table, vectors))
            }
            Change::ReplaceDeletionVectors(vectors) => {
                self.overwrites = true;
                self.extend_vectors(table, vectors)
            }
            Change::RestoreRows(vectors) => {
                self.overwrites = true;
                self.restores_rows = true;
                self.dangling.extend_from_slice(vectors);
                Ok(())
            }
            Change::CompactManifests(manifests) => {
                self.manifests = Some(*manifests);
                Ok(())
            }
            Change::MendManifests(mending) => {
                self.overwrites = true;
                self.mending = Some((mending.clone(), table.snapshot().map(|snapshot| snapshot.id)));
                Ok(())
            }
            // These are commits of their own.
            Change::AlterTable(_) | Change::Ref(_) | Change::RestoreSnapshot(_) => Ok(()),
        }
    }

    fn overwrite(
        &mut self,
        table: &Table,
        removed: &[FileSelection],
        added: Option<&RecordBatch>,
        options: &CommitOptions,
    ) -> Result<()> {
        let before = self.added.entries.clone();
        let own = match added {
            Some(files) => self.added.extend(table, files, options, Origin::Written)?,
            None => AddedFiles::none()?.entries,
        };
        for selection in removed {
            let partitions = match selection {
                FileSelection::Paths(paths) => {
                    self.removed.extend(table, paths)?;
                    continue;
                }
                FileSelection::Partition(values) => PartitionSelection::with(values, table.schema(), &own)?,
                FileSelection::PartitionsOfAdded => PartitionSelection::of(&own)?,
                FileSelection::Where(condition) => PartitionSelection::matching(condition, table.schema())?,
            };
            // One after the other, the later change would remove these files; in one snapshot it would not.
            if partitions.hold(&before)?.true_count() > 0 {
                let why = "the later change replaces a partition that the earlier one adds to";
                return Err(apart("added files", "replaced partitions", why));
            }
            self.replaced.push(partitions);
        }
        Ok(())
    }

    fn extend_vectors(&mut self, table: &Table, change: &IndexFilesChange) -> Result<()> {
        let before = self.vectors.take();
        self.vectors = Some(Vectors::new(table, &change.added, &change.removed, before)?);
        Ok(())
    }

    /// The kind of the snapshot (Paimon's `FileStoreCommitImpl.commit`, `ConflictDetection.shouldBeOverwriteCommit`).
    pub(super) fn kind(&self) -> CommitKind {
        match self {
            _ if self.compacts => CommitKind::Compact,
            _ if self.overwrites => CommitKind::Overwrite,
            _ if self.manifests.is_some() && self.added.is_empty() => CommitKind::Compact,
            _ => CommitKind::Append,
        }
    }

    /// The snapshot whose lists are made anew.
    pub(super) fn relisted(&self) -> Option<i64> {
        self.mending.as_ref().and_then(|(mending, id)| id.filter(|_| mending.relists))
    }

    /// The target size of manifests, where it is not the table's.
    pub(super) fn manifest_bytes(&self) -> Option<u64> {
        self.manifests.and_then(|manifests| manifests.target_bytes)
    }

    /// The changes of the snapshot after `base`; `None` where nothing changes.
    ///
    /// # Errors
    /// Those of [`commit`](super::commit) that depend on the base.
    pub(super) fn on(&self, base: &Base) -> Result<Option<SnapshotChanges<'_>>> {
        let vectors = self.vectors.as_ref().filter(|vectors| !vectors.is_empty());
        let removes = !self.removed.paths.is_empty() || !self.replaced.is_empty();
        if !self.removed.paths.is_empty() || self.compacts && !(self.added.is_empty() && vectors.is_none()) {
            refuse_evolution(base)?;
        }
        let leveled = ranges::is_leveled(base.schema(), &self.added.entries)?;
        let mut removed = AddedFiles::none()?.entries;
        let mut index = None;
        if removes || self.added.entries.num_rows() > 0 && (self.check || leveled) {
            let live = self.live(base, removes, leveled)?;
            let live_paths = paths_of(&base.table, &live)?;
            let live_paths: Vec<&str> = live_paths.iter().map(String::as_str).collect();
            let by_path = self.removed.among(&live_paths, self.compacts)?;
            let by_partition = self.in_replaced(base, &live)?;
            let goes = either(&by_path, &by_partition);
            if removes {
                removed = filter_record_batch(&live, &goes)?;
                self.added.check_changed(&filter_record_batch(&live, &by_path)?)?;
                let replaced = partitions_of(&filter_record_batch(&live, &by_partition)?)?;
                let entries = IndexEntries::read(base)?.without_partitions(&replaced)?;
                index = Some(entries.without_files(&removed)?);
            }
            let others = live_paths.iter().zip(&by_path).filter(|(_, goes)| *goes != Some(true));
            self.added.check_new(&others.map(|(path, _)| *path).collect::<Vec<_>>())?;
            let stays = filter_record_batch(&live, &not(&goes))?;
            if base.schema().bucket() > 0 {
                self.added.check_buckets(&stays)?;
            }
            if leveled {
                ranges::check(base, &stays, &self.added)?;
            }
        }
        if let Some(vectors) = vectors {
            let entries = index.map_or_else(|| IndexEntries::read(base), Ok)?;
            index = Some(vectors.put(base, entries, &removed, &self.added.entries)?);
        }
        if !self.dangling.is_empty() {
            let entries = index.map_or_else(|| IndexEntries::read(base), Ok)?;
            index = Some(entries.without_dangling(base, &self.dangling, &removed, self.restores_rows)?);
        }
        let manifests = match (&self.mending, self.manifests) {
            (Some((mending, id)), _) => Some(RewrittenManifests::mended(base, mending, *id)?),
            (None, Some(how)) => RewrittenManifests::plan(base, &how)?,
            (None, None) => None,
        };
        let same_index = vectors.is_none() && self.dangling.is_empty();
        let unchanged = removed.num_rows() == 0 && self.added.is_empty() && same_index;
        if unchanged && manifests.is_none() {
            return Ok(None);
        }
        let entries = [deletions(&removed, base)?, self.added.entries.clone()];
        let entries = entries.into_iter().filter(|entries| entries.num_rows() > 0).collect();
        let index = index.map_or(Index::AsBefore, Index::of);
        Ok(Some(SnapshotChanges { entries, manifests, index, changelog: self.added.changelog.clone() }))
    }

    /// The live files that matter here: those that may be removed, of the names of added ones, and where buckets or
    /// keys are compared of their partitions. They have all columns where some are removed.
    fn live(&self, base: &Base, removes: bool, leveled: bool) -> Result<RecordBatch> {
        let names: HashSet<String> = names_of(&self.added.entries)?.into_iter().collect();
        let partitions = partitions_of(&self.added.entries)?;
        let by_partition = base.schema().bucket() > 0 || leveled;
        let mut read = self.manifests(base, &partitions)?;
        let only_names = !removes && !by_partition;
        for (manifest, read) in base.manifests()?.iter().zip(&mut read) {
            *read &= !only_names || !self.clear.borrow().contains(&manifest.file_name);
        }
        let keys: &[&str] = if leveled { &KEYS } else { &[] };
        let columns: Option<Vec<&str>> = (!removes).then(|| PLACED.iter().chain(keys).copied().collect());
        let mut deleted_before = DeletedBefore::new(&self.added)?;
        let live = live_entries_of(base, &read, columns.as_deref(), |entries| {
            deleted_before.look_into(entries, &names)?;
            let named = column::<StringArray>(entries, "file_name")?;
            let partition = column::<BinaryArray>(entries, "partition")?;
            let rows = named.iter().zip(partition);
            let replaced = self.in_replaced(base, entries)?;
            let wanted = rows.zip(&replaced).map(|((name, partition), replaced)| {
                let named =
                    name.is_some_and(|name| names.contains(name) || self.removed.names.contains(name));
                let beside = by_partition && partition.is_some_and(|one| partitions.contains(one));
                Some(named || beside || replaced == Some(true))
            });
            Ok(wanted.collect())
        })?;
        deleted_before.check()?;
        // Another attempt after a lost race does not read these again.
        self.clear.borrow_mut().extend(base.manifests()?.iter().map(|manifest| manifest.file_name.clone()));
        Ok(live)
    }

    /// The manifests to read, by the bounds of partitions in their list.
    fn manifests(&self, base: &Base, partitions: &HashSet<Vec<u8>>) -> Result<Vec<bool>> {
        let all = || Ok(vec![true; base.manifests()?.len()]);
        if !self.removed.paths.is_empty() {
            return all();
        }
        let mut read = may_hold(base, partitions)?;
        for replaced in &self.replaced {
            let Some(more) = replaced.manifests(base)? else { return all() };
            read.iter_mut().zip(more).for_each(|(read, more)| *read |= more);
        }
        Ok(read)
    }

    /// Which live files are removed with their partition.
    fn in_replaced(&self, base: &Base, entries: &RecordBatch) -> Result<BooleanArray> {
        let none = BooleanArray::from(vec![false; entries.num_rows()]);
        self.replaced
            .iter()
            .try_fold(none, |any, partitions| Ok(either(&any, &partitions.remove(base, entries)?)))
    }
}

/// True where either mask is.
fn either(one: &BooleanArray, other: &BooleanArray) -> BooleanArray {
    one.iter().zip(other).map(|(one, other)| Some(one == Some(true) || other == Some(true))).collect()
}

/// True where `mask` is false or null.
fn not(mask: &BooleanArray) -> BooleanArray {
    mask.iter().map(|mask| Some(mask != Some(true))).collect()
}
