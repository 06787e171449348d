//! A copy of a table's metadata with other full paths. Paimon's metadata names most files without a path:
//! files that hold no path are copied byte by byte.

mod files;

use std::collections::HashSet;
use std::sync::Arc;

use arrow_buffer::Buffer;

use super::paths::MAIN;
use super::reach::{BranchRoots, ReachedManifest, SnapshotRoot, TableReach, WalkInputs};
use super::table::Table;
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::reach::{Kind, Kinds, Reach, Root, RootSets, SetId};
use crate::rewrite_paths::{Copier, CopyJob, Lengths, Moves, Prefixes, RewritePaths, RootFilter, Since};
use crate::scan::{ScanOptions, threads};

/// Kinds of files that are always copied, also when they were copied before: they are small, and some change
/// under their name.
const ALWAYS: [Kind; 4] = [Kind::Schema, Kind::Tag, Kind::Consumer, Kind::Hint];

/// Writes the table's metadata with other paths; the rows are the files to copy.
///
/// # Errors
/// `Location` for a path that no prefix covers; `SnapshotNotFound` and `Argument` for a state that does not
/// exist; `Unsupported` for full paths in manifests that are not Avro; those of reading and writing. After an
/// error nothing of the copy is left.
pub(super) fn rewrite_paths(
    table: &Table,
    job: &RewritePaths,
    options: ScanOptions,
) -> Result<Box<dyn Distributed>> {
    // The requested columns and filter are checked before anything is written.
    crate::rewrite_paths::schema(&options)?;
    let prefixes = Arc::new(Prefixes::new(&job.prefixes)?);
    let reach = TableReach::with_current_roots(table.clone())?;
    let roots = reach.current_roots();
    let old = job.since.as_ref().map(|since| old_roots(table, &roots, since)).transpose()?;
    let named = reach.named(roots, None, Kinds::ALL, threads(job.threads))?;
    let limits = table.decoding().limits;
    let copier =
        Copier::new(job, Arc::clone(&prefixes), table.location(), table.storage(), limits, reach.notes())?;
    let mut copying = TableCopy { table, prefixes: Arc::clone(&prefixes), copier };
    copying.all(named, old.as_ref())?;
    let is_old = old.map(|old| -> RootFilter { Arc::new(move |root| old.contains(&root.name)) });
    Ok(Box::new(Moves::new(reach, prefixes, copying.copier.keep(), is_old, options)?))
}

/// The names of the roots that existed when the table was copied before: on the main branch up to that
/// snapshot, on other branches up to its time.
fn old_roots(table: &Table, branches: &BranchRoots, since: &Since) -> Result<HashSet<String>> {
    let Since::Snapshot(id) = since else {
        let message = "since must be the id of a snapshot: Paimon has no versioned metadata files";
        return Err(Error::new(ErrorKind::Argument, message).in_file(table.location()));
    };
    let all = || branches.iter().flat_map(|(_, roots, _)| roots);
    let of_main = |one: &&SnapshotRoot| one.is_of(MAIN);
    let last = all().filter(of_main).find(|one| one.snapshot.id == *id).ok_or_else(|| {
        let message = format!("neither a snapshot nor a tag or changelog of the main branch has the id {id}");
        Error::new(ErrorKind::SnapshotNotFound, message).in_file(table.location())
    })?;
    let is_old = |one: &&SnapshotRoot| match one.is_of(MAIN) {
        true => one.snapshot.id <= *id,
        false => one.snapshot.time_millis <= last.snapshot.time_millis,
    };
    Ok(all().filter(is_old).map(|one| one.root.name.clone()).collect())
}

/// The phases of one copy.
struct TableCopy<'t> {
    table: &'t Table,
    prefixes: Arc<Prefixes>,
    copier: Copier,
}

impl TableCopy<'_> {
    fn all(&mut self, named: WalkInputs, old: Option<&HashSet<String>>) -> Result<()> {
        let WalkInputs { roots, mut sets, files, manifests, .. } = named;
        let is_old = |root: &Root| old.is_some_and(|old| old.contains(&root.name));
        let places = roots.iter().enumerate().filter(|(_, root)| is_old(root)).map(|(place, _)| place);
        let copied = sets.of(places.collect::<Vec<_>>());
        let reached: Vec<(Kind, String, Option<u64>, SetId)> =
            files.reached().iter().map(|file| (file.kind, file.path.clone(), file.size, file.set)).collect();
        let gone: HashSet<String> =
            manifests.iter().filter(|one| one.may_be_gone()).map(|one| self.path(one)).collect();
        let phase = |sets: &mut RootSets, kinds: &[Kind]| -> Vec<CopyJob> {
            let wanted = reached.iter().filter(|(kind, ..)| kinds.contains(kind));
            let jobs = wanted.filter_map(|(kind, path, size, set)| {
                let left = sets.difference(*set, copied);
                let is_new = left == *set || ALWAYS.contains(kind);
                let may_be_gone = gone.contains(path);
                // Files that were copied before are read again for their lengths where new files name them.
                (is_new || left != SetId::NONE).then(|| CopyJob {
                    kind: *kind,
                    path: path.clone(),
                    recorded_path: None,
                    size: *size,
                    is_new,
                    may_be_gone,
                })
            });
            jobs.collect()
        };
        let phases = [
            phase(&mut sets, &[Kind::Manifest]),
            phase(&mut sets, &[Kind::IndexManifest]),
            phase(&mut sets, &[Kind::ManifestList]),
            phase(&mut sets, &[Kind::Schema]),
            phase(&mut sets, &[Kind::Changelog, Kind::Snapshot, Kind::Tag]),
            phase(&mut sets, &[Kind::Consumer, Kind::Hint]),
        ];
        let [manifests, indexes, lists, schemas, snapshots, others] = phases;
        self.copy(manifests, files::manifest)?;
        self.copy(indexes, files::index_manifest)?;
        self.copy(lists, files::list)?;
        self.copy(schemas, files::schema)?;
        self.copy(snapshots, files::snapshot)?;
        self.copy(others, |_, _, bytes, _| Ok(bytes))
    }

    fn path(&self, one: &ReachedManifest) -> String {
        self.table.manifest_path(&one.manifest.file_name)
    }

    fn copy(
        &mut self,
        jobs: Vec<CopyJob>,
        rewrite: fn(&Table, &Prefixes, Buffer, &Lengths) -> Result<Buffer>,
    ) -> Result<()> {
        let (table, prefixes) = (self.table.clone(), Arc::clone(&self.prefixes));
        self.copier.copy(jobs, move |_, bytes, copied| rewrite(&table, &prefixes, bytes, copied))
    }
}
