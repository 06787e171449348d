//! A copy of a table's metadata with other paths (Iceberg's `RewriteTablePathUtil.java`,
//! `RewriteTablePathSparkAction.java`).

mod deletes;
mod entries;
mod metadata;
mod since;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_buffer::Buffer;

use self::since::EarlierCopies;
use super::manifest_list::DELETES;
use super::metadata::MetadataLogEntry;
use super::reach::{ReachedManifest, TableReach, WalkInputs};
use super::table::Table;
use super::write::FormatVersion;
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::reach::{self, Kind, Kinds, Partitioner, Reach, RootSets, SetId, WalkOptions, records};
use crate::record::typed;
use crate::relocate::below;
use crate::rewrite_paths::{Copier, CopyJob, Moves, Prefixes, RewritePaths, RootFilter};
use crate::scan::{ScanOptions, threads};

/// Writes the table's metadata with other paths; the rows are the files to copy.
///
/// # Errors
/// `Location` for a path that no prefix covers; `Argument` for a state that nothing precedes; `Unsupported`
/// for an encrypted table, and for files in a format that cannot be written; `Version` for a table of format version 4;
/// those of reading and writing.
/// After an error nothing of the copy is left.
pub(super) fn rewrite_paths(
    table: &Table,
    job: &RewritePaths,
    options: ScanOptions,
) -> Result<Box<dyn Distributed>> {
    // The requested columns and filter are checked before anything is written.
    crate::rewrite_paths::schema(&options)?;
    let prefixes = Arc::new(Prefixes::new(&job.prefixes)?);
    let reach = TableReach::new(table.clone());
    let named = reach.named(None, Kinds::ALL, threads(job.threads))?;
    if !named.metadata.encryption_keys.is_empty() {
        let message = "the table is encrypted: its metadata cannot be rewritten";
        return Err(Error::new(ErrorKind::Unsupported, message).in_file(table.metadata_file()));
    }
    // Of version 4 paths may be relative, and how they are written is not final.
    let version = FormatVersion::try_from(named.metadata.format_version);
    version.map_err(|error| error.in_file(table.metadata_file()))?;
    let before = EarlierCopies::read(table, &named, job.since.as_ref())?;
    let location = named.metadata.location.clone();
    let limits = table.decoding().limits;
    let copier = Copier::new(job, Arc::clone(&prefixes), &location, table.storage(), limits, reach.notes())?;
    let mut copying = TableCopy { table, reach, prefixes, before, copier, copied: SetId::NONE };
    copying.all(named, job)?;
    let TableCopy { reach, prefixes, before, copier, .. } = copying;
    let is_old = before.snapshots.map(|snapshots| -> RootFilter {
        Arc::new(move |root| root.snapshot_id.is_some_and(|id| snapshots.contains(&id)))
    });
    Ok(Box::new(Moves::new(reach, prefixes, copier.keep(), is_old, options)?))
}

/// The phases of one copy.
struct TableCopy<'t> {
    table: &'t Table,
    reach: TableReach,
    prefixes: Arc<Prefixes>,
    before: EarlierCopies,
    copier: Copier,
    /// The roots that were copied before.
    copied: SetId,
}

impl TableCopy<'_> {
    fn all(&mut self, named: WalkInputs, job: &RewritePaths) -> Result<()> {
        let WalkInputs { metadata, roots, mut sets, files, mut manifests, .. } = named;
        let is_old = |id: Option<i64>| id.is_some_and(|id| self.before.has(id));
        let old = roots.iter().enumerate().filter(|(_, root)| is_old(root.snapshot_id));
        self.copied = sets.of(old.map(|(place, _)| place).collect::<Vec<_>>());
        // Manifests that were copied before are read again for their lengths where new lists name them.
        manifests.retain(|one| sets.difference(one.set, self.copied) != SetId::NONE);
        self.copy_deletes(&manifests, &mut sets, job)?;
        self.copy_manifests(&manifests, &mut sets)?;
        let new = |set: SetId, sets: &mut RootSets| sets.difference(set, self.copied) == set;
        let lists = files.reached().iter().filter(|file| file.kind == Kind::ManifestList);
        let lists = lists.filter(|file| new(file.set, &mut sets));
        let lists = lists.map(|file| whole_job(Kind::ManifestList, file.path.clone(), file.size)).collect();
        let (prefixes, limits) = (Arc::clone(&self.prefixes), self.table.decoding().limits);
        self.copier.copy(lists, move |_, bytes, copied| {
            entries::list(&bytes, limits, &prefixes, copied).map(Buffer::from_vec)
        })?;
        self.copy_metadata(&metadata.location, &metadata.metadata_log)?;
        if let Some(hint) = files.reached().iter().find(|file| file.kind == Kind::Hint) {
            let recorded_path = self.recorded_path(&metadata.location, &hint.path);
            let hint = CopyJob { recorded_path, ..whole_job(Kind::Hint, hint.path.clone(), None) };
            self.copier.copy(vec![hint], |_, bytes, _| Ok(bytes))?;
        }
        Ok(())
    }

    /// Copies position delete files and deletion vectors, which name their data files.
    fn copy_deletes(
        &mut self,
        manifests: &[ReachedManifest],
        sets: &mut RootSets,
        job: &RewritePaths,
    ) -> Result<()> {
        let of_deletes = manifests.iter().filter(|one| one.manifest.content == DELETES);
        let of_deletes =
            of_deletes.map(|one| ReachedManifest { manifest: one.manifest.clone(), set: one.set }).collect();
        let mut found: HashMap<String, (Kind, Option<u64>, SetId)> = HashMap::new();
        let mut order = Vec::new();
        let (partitioner, threads) = (Arc::new(Partitioner::new()), threads(job.threads));
        let wanted = WalkOptions { retention: None, kinds: Kinds::ALL, partitioner, threads };
        for batch in reach::entries(&self.reach, of_deletes, &wanted)? {
            for record in records(&batch?)? {
                let record = record?;
                if matches!(record.kind, Kind::PositionDeletes | Kind::DeletionVectors) {
                    let size = u64::try_from(record.size).ok();
                    if let Some((_, _, set)) = found.get_mut(record.path) {
                        *set = sets.union(*set, record.set);
                    } else {
                        order.push(record.path.to_owned());
                        found.insert(record.path.to_owned(), (record.kind, size, record.set));
                    }
                }
            }
        }
        let mut jobs = Vec::with_capacity(order.len());
        for path in order {
            let Some((kind, size, set)) = found.remove(&path) else { continue };
            let is_new = sets.difference(set, self.copied) == set;
            jobs.push(CopyJob { is_new, ..whole_job(kind, path, size) });
        }
        let (prefixes, decoding) = (Arc::clone(&self.prefixes), self.table.decoding().clone());
        let writer = Arc::clone(&job.position_deletes);
        self.copier.copy(jobs, move |_, bytes, _| {
            deletes::rewritten(bytes, &prefixes, decoding.limits, writer.as_ref())
        })
    }

    fn copy_manifests(&mut self, manifests: &[ReachedManifest], sets: &mut RootSets) -> Result<()> {
        let jobs = manifests.iter().map(|one| {
            let is_new = sets.difference(one.set, self.copied) == one.set;
            CopyJob { is_new, ..whole_job(Kind::Manifest, one.manifest.path.clone(), one.manifest.length) }
        });
        let jobs = jobs.collect();
        let (prefixes, limits) = (Arc::clone(&self.prefixes), self.table.decoding().limits);
        self.copier.copy(jobs, move |_, bytes, copied| {
            entries::manifest(&bytes, limits, &prefixes, copied).map(Buffer::from_vec)
        })
    }

    /// Copies the existing metadata files of the log, then the current one.
    fn copy_metadata(&mut self, location: &str, log: &[MetadataLogEntry]) -> Result<()> {
        let current = self.table.metadata_file().to_owned();
        let earlier = log.iter().filter(|entry| self.before.lacks(entry)).map(|entry| CopyJob {
            may_be_gone: true,
            ..whole_job(Kind::Metadata, entry.metadata_file.clone(), None)
        });
        let earlier: Vec<CopyJob> = earlier.filter(|job| job.path != current).collect();
        let recorded_path = self.recorded_path(location, &current);
        let current = CopyJob { recorded_path, ..whole_job(Kind::Metadata, current, None) };
        for jobs in [earlier, vec![current]] {
            let (prefixes, limits) = (Arc::clone(&self.prefixes), self.table.decoding().limits);
            self.copier
                .copy(jobs, move |path, bytes, _| metadata::rewritten(bytes, path, &prefixes, limits))?;
        }
        Ok(())
    }

    /// The path that the metadata has for a file below the opened location, where the two spellings differ.
    fn recorded_path(&self, location: &str, path: &str) -> Option<String> {
        let rest = below(path, self.table.location())?;
        Some(format!("{}/{rest}", location.trim_end_matches('/')))
    }
}

/// A file that is written whole, and must exist.
fn whole_job(kind: Kind, path: String, size: Option<u64>) -> CopyJob {
    CopyJob { kind, path, recorded_path: None, size, is_new: true, may_be_gone: false }
}

/// Rewrites the texts of a column of paths.
fn moved_texts(prefixes: &Arc<Prefixes>) -> crate::rewrite_paths::MovedTexts {
    let prefixes = Arc::clone(prefixes);
    Arc::new(move |paths| {
        let paths: arrow_array::ArrayRef = Arc::new(paths.clone());
        Ok(typed::<arrow_array::StringArray>(&prefixes.moved_column(&paths)?, "file_path")?.clone())
    })
}
