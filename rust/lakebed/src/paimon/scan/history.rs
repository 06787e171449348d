//! What the commits of a table changed, by their delta lists.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int64Type};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;

use super::Scan;
use super::deletes::counted_vectors;
use super::diff::diff;
use super::plan::{bound, keep};
use super::program::EntryProgram;
use super::stream::EntrySource;
use crate::error::Result;
use crate::grouping::sums::{known_sum, sum};
use crate::history::{Commit, DeleteChanges, Deletes, History, Listed, Written, with_change};
use crate::notes::Notes;
use crate::paimon::manifest::ADD;
use crate::paimon::manifest_list::{ManifestFile, manifest_files};
use crate::paimon::snapshot::Snapshot;
use crate::paimon::table::Table;
use crate::paimon::view::Role;
use crate::pipeline::read_each;
use crate::record::find;
use crate::scan::{self, Batches, ManifestSource, ScanOptions};
use crate::storage::Storage;
use crate::view::View;

impl History for Table {
    type Snapshot = Snapshot;
    type Manifest = ManifestFile;
    type Changes = Changes;

    /// Lists record no rows, and deletion vectors are in no manifest: only files are counted.
    const COUNTED: usize = 1;

    fn files_storage(&self) -> &Arc<dyn Storage> {
        self.storage()
    }

    fn notes(&self) -> Notes {
        self.noted().clone()
    }

    fn line(&self) -> Result<Vec<(Commit, Snapshot)>> {
        let commit = |snapshot: Snapshot| {
            let commit = Commit {
                snapshot_id: snapshot.id,
                parent_id: snapshot.id.checked_sub(1).filter(|parent| *parent > 0),
                committed_ms: snapshot.time_millis,
                operation: Some(snapshot.commit_kind.name().to_owned()),
            };
            (commit, snapshot)
        };
        Ok(self.snapshots_to_here()?.into_iter().map(commit).collect())
    }

    fn listed(&self, snapshot: &Snapshot, filter: Option<&str>) -> Result<Listed<ManifestFile>> {
        let (base, delta) = (self.base_list(snapshot)?, self.delta_list(snapshot)?);
        let changed = added_less_deleted(&delta)?;
        let live = sum("file_count", added_less_deleted(&base)?, changed)?;
        let kept = keep(filter, self.schema(), &delta)?;
        let (mut own, mut pruned) = (Vec::new(), 0);
        for (manifest, kept) in manifest_files(&delta)?.into_iter().zip(kept) {
            match manifest.added > 0 || manifest.deleted > 0 {
                true if kept => own.push(manifest),
                has_entries => pruned += u64::from(has_entries),
            }
        }
        Ok(Listed { own, pruned, live: Some([live, 0, 0, 0]), changed: Some([changed, 0, 0, 0]) })
    }

    fn changes(&self, options: &ScanOptions) -> Result<(SchemaRef, Changes)> {
        // Entries that delete a file may lack statistics: only partitions and buckets are filtered.
        let pruner = bound(options.table_filter.as_deref(), self.schema())?;
        let table_filter = pruner.map(|pruner| pruner.partitions().written());
        let options = ScanOptions { table_filter, ..options.clone() };
        let program = Arc::new(EntryProgram::new(Role::History, self, &options)?);
        let schema = Arc::clone(program.view.schema());
        let source = EntrySource::new(Arc::clone(&program), self.clone());
        Ok((schema, Changes { source, program, table: self.clone() }))
    }

    fn files_at(&self, snapshot: &Snapshot, options: ScanOptions) -> Result<Batches> {
        let at = self.standing_at(snapshot.clone())?;
        scan::Scan::stream(&Scan::new(at, View::Files, options)?)
    }

    fn compared(&self, before: &Snapshot, after: &Snapshot, options: ScanOptions) -> Result<Batches> {
        let [before, after] = [before, after].map(|snapshot| self.standing_at(snapshot.clone()));
        scan::Scan::stream(&diff(self, before?, after?, &options)?)
    }

    /// Index files never change, so what a commit did follows from their names.
    fn deletes(&self, snapshots: &[Snapshot], threads: usize) -> Result<Option<Vec<DeleteChanges>>> {
        let mut named: Vec<_> = snapshots.iter().filter(|one| one.index_manifest.is_some()).collect();
        named.dedup_by_key(|snapshot| snapshot.index_manifest.as_deref());
        let tables = named.into_iter().map(|one| (one.index_manifest.clone(), self.at_lists_of(one)));
        let read = |_: &dyn Storage, (name, table): &(Option<String>, Table)| {
            Ok((name.clone(), vectors_by_file(table)?))
        };
        let found = read_each(self.storage(), tables.collect(), threads, read)?;
        let found: HashMap<Option<String>, VectorFiles> = found.into_iter().collect();
        let none = VectorFiles::new();
        // Nothing was live before the first snapshot of a table; before one whose parent expired it is
        // unknown.
        let mut before = (0, &none);
        let mut changes = Vec::with_capacity(snapshots.len());
        for snapshot in snapshots {
            let live = found.get(&snapshot.index_manifest).unwrap_or(&none);
            let old = (before.0 == snapshot.id.saturating_sub(1)).then_some(before.1);
            changes.push(DeleteChanges {
                live: all(live.values())?,
                added: old.map(|old| all(beside(live, old))).transpose()?,
                removed: old.map(|old| all(beside(old, live))).transpose()?,
            });
            before = (snapshot.id, live);
        }
        Ok(Some(changes))
    }
}

/// The sums of the deletion vectors of index files, by the path of each index file.
type VectorFiles = HashMap<String, Deletes>;

fn vectors_by_file(table: &Table) -> Result<VectorFiles> {
    let (vectors, rows) = counted_vectors(table, 1)?;
    let mut files = VectorFiles::new();
    for (path, rows) in vectors.paths.iter().zip(&rows) {
        let file = files.entry(path.unwrap_or_default().to_owned()).or_insert(Deletes::NONE);
        *file = all([*file, Deletes { files: 1, rows }].iter())?;
    }
    Ok(files)
}

fn all<'d>(deletes: impl IntoIterator<Item = &'d Deletes>) -> Result<Deletes> {
    deletes.into_iter().try_fold(Deletes::NONE, |all, one| {
        let files = sum("delete_file_count", all.files, one.files)?;
        Ok(Deletes { files, rows: known_sum("delete_record_count", all.rows, one.rows)? })
    })
}

/// The index files of one snapshot that another does not have.
fn beside<'f>(files: &'f VectorFiles, others: &'f VectorFiles) -> impl Iterator<Item = &'f Deletes> {
    files.iter().filter(|(name, _)| !others.contains_key(*name)).map(|(_, file)| file)
}

/// The number of entries that add a file less those that delete one, as a list records it.
fn added_less_deleted(list: &RecordBatch) -> Result<i64> {
    let total = |name: &str| -> Result<i64> {
        let column = find(list, name)?;
        column
            .as_primitive::<Int64Type>()
            .values()
            .iter()
            .try_fold(0, |total, more| sum("file_count", total, *more))
    };
    sum("file_count", total("num_added_files")?, total("num_deleted_files")?.saturating_neg())
}

/// How manifests of commits become rows.
pub(crate) struct Changes {
    source: EntrySource,
    program: Arc<EntryProgram>,
    table: Table,
}

impl ManifestSource for Changes {
    type Manifest = Written<ManifestFile>;

    fn storage(&self) -> &dyn Storage {
        self.source.storage()
    }

    fn size(&self, written: &Written<ManifestFile>) -> u64 {
        self.source.size(&written.manifest)
    }

    fn read(&self, written: &Written<ManifestFile>) -> Result<Buffer> {
        self.source.read(&written.manifest)
    }

    fn open(&self, written: &Written<ManifestFile>, bytes: Buffer, threads: usize) -> Result<Batches> {
        let path = self.table.manifest_path(&written.manifest.file_name);
        let entries = self.program.open(bytes, Some(&written.manifest), threads);
        let entries = entries.map_err(|error| error.in_file(&path))?;
        let program = Arc::clone(&self.program);
        let rows = move |entries: &RecordBatch| {
            let entries = program.passing(entries)?;
            let kinds = find(&entries, "kind")?;
            let added = kinds.as_primitive::<Int8Type>().values().iter().map(|kind| *kind == ADD);
            with_change(&program.finish(&entries)?, added)
        };
        Ok(Box::new(entries.map(move |entries| {
            entries.and_then(|entries| rows(&entries)).map_err(|error| error.in_file(&path))
        })))
    }
}
