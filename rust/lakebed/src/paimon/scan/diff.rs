//! Files that are live in one of two snapshots.

use std::sync::Arc;

use super::jobs::{PaimonJob, RowsJob};
use super::plan::{Plan, bound, planned};
use super::program::EntryProgram;
use super::stream::EntrySource;
use crate::diff::{
    Change, ChangeColumns, DiffInput, DiffInputs, DiffJob, DiffScan, Reader, Side, Sides, apart,
};
use crate::distributed::{Bounds, Planned};
use crate::error::Result;
use crate::notes::Notes;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::table::Table;
use crate::paimon::view::Role;
use crate::pipeline::{Kept, both};
use crate::scan::{ManifestStream, ScanOptions, Step, threads};

/// Two snapshots of a table.
struct Snapshots {
    /// The table at either snapshot; it gives the types of the rows.
    table: Table,
    before: Table,
    after: Table,
    /// Which rows of the view `files` are read.
    options: ScanOptions,
    /// The columns that are requested.
    columns: Option<Vec<String>>,
    added: Entries,
    deleted: Entries,
}

/// How entries of one kind become files with their identity, or identities alone.
struct Entries {
    rows: Arc<EntryProgram>,
    identities: Arc<EntryProgram>,
    /// How many entries of that kind a manifest records.
    number: fn(&ManifestFile) -> u64,
}

/// The difference of the files of two snapshots, `before` and `after`, in the types of `table`.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`; those of reading the schemas for statistics.
pub(crate) fn diff(
    table: &Table,
    before: Table,
    after: Table,
    options: &ScanOptions,
) -> Result<DiffScan<impl Sides + use<>>> {
    let table = table.clone().noting();
    // An entry that adds a file and one that deletes it cancel each other only if neither is pruned by
    // statistics, which the deleting entry may lack.
    let pruner = bound(options.table_filter.as_deref(), table.schema())?;
    let table_filter = pruner.map(|pruner| pruner.partitions().written());
    let wanted = ScanOptions { table_filter, ..ChangeColumns::of_files(options) };
    let columns = ChangeColumns::new(options, EntryProgram::new(Role::Files, &table, &wanted)?.view.schema());
    let alone = ScanOptions { columns: Some(Vec::new()), stats: None, ..wanted.clone() };
    let entries = |rows, identities, number| -> Result<Entries> {
        let rows = Arc::new(EntryProgram::new(rows, &table, &wanted)?);
        Ok(Entries { rows, identities: Arc::new(EntryProgram::new(identities, &table, &alone)?), number })
    };
    let added = entries(Role::Added, Role::Added, |manifest| manifest.added)?;
    let deleted = entries(Role::Removed, Role::Deleted, |manifest| manifest.deleted)?;
    let asked = options.columns.clone();
    let snapshots = Snapshots { table, before, after, options: wanted, columns: asked, added, deleted };
    Ok(DiffScan::new(snapshots, columns, options.limit))
}

impl Sides for Snapshots {
    fn inputs(&self) -> Result<DiffInputs> {
        let (inputs, manifests) = self.diff_inputs()?;
        let table = self.table.clone().keeping();
        // Where there are several inputs, the identities of all are read before the first row.
        if inputs.len() > 1 {
            let files = inputs.iter().flat_map(|(_, _, manifests)| manifests.iter());
            let files =
                files.map(|manifest| (table.manifest_path(&manifest.file_name), Some(manifest.file_size)));
            Kept::fetch(table.storage(), files, table.decoding().limits)?;
        }
        let threads = threads(self.options.threads);
        let inputs =
            inputs.into_iter().map(|(change, entries, files)| input(&table, threads, change, entries, files));
        Ok(DiffInputs { inputs: inputs.collect(), manifests })
    }

    fn job(&self, bounds: &Bounds) -> Result<Planned> {
        let files = |role, manifests| RowsJob::new(role, &self.table, &self.options, manifests);
        let (mut all, mut inputs) = (Vec::new(), Vec::new());
        for (change, entries, manifests) in self.diff_inputs()?.0 {
            all.extend(planned(&self.table, manifests.iter())?);
            inputs.push((change, files(entries.rows.role, manifests.to_vec())?));
        }
        let job = DiffJob::new(self.columns.clone(), files(Role::Files, Vec::new())?, inputs);
        Ok(Planned::new(PaimonJob::Diff(job), all, bounds).whole())
    }

    fn notes(&self) -> Notes {
        self.table.noted().clone()
    }
}

/// Manifests whose entries of one kind have changed the files in the same way.
type EntriesInput<'e> = (Change, &'e Entries, Arc<[ManifestFile]>);

impl Snapshots {
    /// The inputs, in the order of the rows, and how many manifests they have. Reads the manifest lists.
    ///
    /// Each snapshot is the sum of its additions less its deletions, so the difference is what one side adds
    /// and the other deletes. Entries that add a file are shown first, since those that delete it may lack
    /// statistics.
    fn diff_inputs(&self) -> Result<(Vec<EntriesInput<'_>>, Step)> {
        let side = |at: &Table, filter: Option<&str>| -> Result<Side<ManifestFile>> {
            let Plan { manifests, pruned } = Plan::new(at, filter)?;
            Ok(Side { kept: manifests, pruned })
        };
        let filter = self.options.table_filter.clone();
        let (table, first) = (self.after.clone(), filter.clone());
        let after = move || side(&table, filter.as_deref());
        let before = || side(&self.before, first.as_deref());
        let (before, after) = both(self.table.storage().as_ref(), before, after)?;
        let after = after?;
        let (before, after, step) =
            apart(before, after, |manifest| (manifest.file_name.as_str(), manifest.file_size));
        let inputs = [
            (Change::Removed, &self.added, &before),
            (Change::Removed, &self.deleted, &after),
            (Change::Added, &self.added, &after),
            (Change::Added, &self.deleted, &before),
        ];
        let inputs = inputs.into_iter().map(|(change, entries, manifests)| {
            let manifests = manifests.iter().filter(|manifest| (entries.number)(manifest) > 0);
            (change, entries, manifests.cloned().collect::<Arc<[_]>>())
        });
        Ok((inputs.filter(|(_, _, manifests)| !manifests.is_empty()).collect(), step))
    }
}

/// The input of some manifests' entries of one kind.
fn input(
    table: &Table,
    threads: usize,
    change: Change,
    entries: &Entries,
    manifests: Arc<[ManifestFile]>,
) -> DiffInput {
    let reader = |program: &Arc<EntryProgram>| -> Reader {
        let (program, table, manifests) = (Arc::clone(program), table.clone(), Arc::clone(&manifests));
        Box::new(move || {
            let source = EntrySource::new(Arc::clone(&program), table.clone());
            Box::new(ManifestStream::new(source, manifests.to_vec(), threads))
        })
    };
    DiffInput { change, identities: reader(&entries.identities), rows: reader(&entries.rows) }
}
