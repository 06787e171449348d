//! Files that are live in one of two snapshots.

use std::sync::Arc;

use super::program::EntryProgram;
use super::stream::EntrySource;
use super::{Plan, bound};
use crate::diff::{Change, ChangeColumns, DiffScan, Leg, Legs, Reader, Side, Sides, apart};
use crate::error::Result;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::table::Table;
use crate::paimon::view::Role;
use crate::scan::{ManifestStream, ScanOptions, threads};

/// Two snapshots of a table.
struct Snapshots {
    /// The table at whichever snapshot, which gives the types of the rows.
    table: Table,
    before: Table,
    after: Table,
    options: ScanOptions,
    added: Entries,
    deleted: Entries,
}

/// How entries of one kind become files with their identity, and identities alone.
struct Entries {
    rows: Arc<EntryProgram>,
    identities: Arc<EntryProgram>,
    /// How many of them a manifest has, as recorded.
    number: fn(&ManifestFile) -> u64,
}

/// What differs in files between the snapshots where `before` and `after` stand, in the types of `table`.
///
/// # Errors
/// `UnknownColumn`, `Predicate`; those of reading the schemas for statistics.
pub(crate) fn diff(
    table: &Table,
    before: Table,
    after: Table,
    options: &ScanOptions,
) -> Result<DiffScan<impl Sides + use<>>> {
    // Entries that add and that delete one file cancel each other only if neither is left out for what its
    // statistics say: those of the latter may be gone.
    let pruner = bound(options.filter.as_deref(), table.schema())?;
    let filter = pruner.map(|pruner| pruner.partitions().written());
    let wanted = ScanOptions { filter, ..ChangeColumns::of_files(options) };
    let columns = ChangeColumns::new(options, EntryProgram::new(Role::Files, table, &wanted)?.view.schema());
    let alone = ScanOptions { columns: Some(Vec::new()), stats: None, ..wanted.clone() };
    let entries = |rows, identities, number| -> Result<Entries> {
        let rows = Arc::new(EntryProgram::new(rows, table, &wanted)?);
        Ok(Entries { rows, identities: Arc::new(EntryProgram::new(identities, table, &alone)?), number })
    };
    let added = entries(Role::Added, Role::Added, |manifest| manifest.added)?;
    let deleted = entries(Role::Removed, Role::Deleted, |manifest| manifest.deleted)?;
    let snapshots = Snapshots { table: table.clone(), before, after, options: wanted, added, deleted };
    Ok(DiffScan::new(snapshots, columns, options.limit))
}

impl Sides for Snapshots {
    /// Both snapshots are sums of additions less deletions, so that what differs is what one side adds and
    /// the other deletes. Of a file an entry that adds it is shown first, since one that deletes it may lack
    /// statistics.
    fn legs(&self) -> Result<Legs> {
        let side = |at: &Table| -> Result<Side<ManifestFile>> {
            let Plan { manifests, pruned } = Plan::new(at, self.options.filter.as_deref())?;
            Ok(Side { kept: manifests, pruned })
        };
        let (before, after) = (side(&self.before)?, side(&self.after)?);
        let (before, after, manifests) =
            apart(before, after, |manifest| (manifest.file_name.as_str(), manifest.file_size));
        let legs = [
            self.leg(Change::Removed, &self.added, &before),
            self.leg(Change::Removed, &self.deleted, &after),
            self.leg(Change::Added, &self.added, &after),
            self.leg(Change::Added, &self.deleted, &before),
        ];
        Ok(Legs { legs: legs.into_iter().flatten().collect(), manifests })
    }
}

impl Snapshots {
    /// What the entries of one kind in some manifests say, if there are such.
    fn leg(&self, change: Change, entries: &Entries, manifests: &[ManifestFile]) -> Option<Leg> {
        let manifests: Arc<[ManifestFile]> =
            manifests.iter().filter(|manifest| (entries.number)(manifest) > 0).cloned().collect();
        let reader = |program: &Arc<EntryProgram>| -> Reader {
            let (program, table) = (Arc::clone(program), self.table.clone());
            let (manifests, threads) = (Arc::clone(&manifests), threads(self.options.threads));
            Box::new(move || {
                let source = EntrySource::new(Arc::clone(&program), table.clone());
                Box::new(ManifestStream::new(source, manifests.to_vec(), threads))
            })
        };
        let (identities, rows) = (reader(&entries.identities), reader(&entries.rows));
        (!manifests.is_empty()).then_some(Leg { change, identities, rows })
    }
}
