//! The files that a table's metadata names, and its entries with all columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array};
use arrow_buffer::Buffer;
use lakebed_avro::Limits;

use super::diff::identities;
use super::program::EntryProgram;
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::discovery::wrong_hint;
use crate::iceberg::manifest::DELETED;
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::metadata::{MetadataFile, Snapshot, TableMetadata, Wanted};
use crate::iceberg::table::{StoredTypes, Table, TableTypes};
use crate::iceberg::view::Role;
use crate::notes::Notes;
use crate::pipeline::each;
use crate::record::find;
use crate::scan::{Batches, ScanOptions};
use crate::storage::Storage;
use crate::verify::{
    Claim, ENTRY_SIGN, Finding, IDENTITY, Inventory, NamedFile, Number, Severity, StoredEntries, Verified,
    WholeEntries, caught,
};
use crate::view::with_columns;

impl Verified for Table {
    type Entries = IcebergEntries;
    type Stored = StoredTypes;

    fn inventory(&self, threads: usize) -> Result<Inventory<ManifestFile>> {
        let mut found = Inventory::default();
        let named_by: Arc<str> = Arc::from(self.metadata_file());
        let mut snapshots = Vec::new();
        self.metadata().each_snapshot(self.file(), |some| {
            snapshots.extend(some.into_iter().map(|snapshot| Snapshot { summary: None, ..snapshot }));
            Ok(())
        })?;
        self.check_refs(&snapshots, &mut found);
        let metadata = self.read(&Wanted { statistics: true, metadata_log: true, ..Wanted::CURRENT })?;
        let logged = metadata.metadata_log.iter().map(|entry| entry.metadata_file.clone()).collect();
        self.check_log(metadata.table_uuid.clone(), logged, threads, &mut found)?;
        self.check_hint(&mut found)?;
        let statistics =
            metadata.statistics.into_iter().map(|one| (one.statistics_path, one.file_size_in_bytes));
        let partitions = metadata.partition_statistics.into_iter();
        let partitions = partitions.map(|one| (one.statistics_path, one.file_size_in_bytes));
        for (path, size) in statistics.chain(partitions) {
            let (size, named_by) = (u64::try_from(size).ok(), Arc::clone(&named_by));
            found.files.push(NamedFile { path, size, named_by });
        }
        let table = self.clone();
        let read = move |storage: &dyn Storage, snapshot: &Snapshot| {
            let list = table.list_of(snapshot).and_then(|list| {
                let path = snapshot.manifest_list.as_deref().unwrap_or_default();
                ManifestFile::all(&list).map_err(|error: Error| error.in_file(path))
            });
            caught(storage, list)
        };
        for (snapshot, list) in
            snapshots.clone().into_iter().zip(each(self.storage(), snapshots, threads, read))
        {
            let is_live = self.snapshot_id() == Some(snapshot.snapshot_id);
            let path = snapshot.manifest_list.as_deref().unwrap_or(&named_by);
            match list? {
                Ok(manifests) => {
                    let manifests = manifests.into_iter().map(|manifest| (manifest.path.clone(), manifest));
                    found.name(path, manifests, is_live, differ);
                }
                Err(error) => {
                    found.is_whole &= !is_live;
                    found.fail(&error, path, &named_by);
                }
            }
        }
        Ok(found)
    }

    /// The totals of the summary, except for bytes, which writers count differently.
    fn claims(&self) -> Vec<Claim> {
        let summary = self.snapshot().ok().flatten().and_then(|snapshot| snapshot.summary.as_ref());
        let claim = |(key, value): &(String, String)| {
            let (field, of) = TOTALS.iter().find(|(name, _)| name == key)?;
            let (path, field) = (self.metadata_file().to_owned(), format!("summary.{field}"));
            Some(Claim { path, field, value: value.parse().ok()?, of: *of })
        };
        summary.into_iter().flatten().filter_map(claim).collect()
    }

    fn data_files(&self) -> Result<Vec<NamedFile>> {
        Ok(Vec::new())
    }

    fn whole_entries(&self) -> Result<IcebergEntries> {
        IcebergEntries::new(self.types()?, self.decoding().clone())
    }

    fn stored_entries(&self) -> Result<StoredTypes> {
        Ok(StoredTypes::from(&self.types()?))
    }

    fn anchor(&self) -> String {
        self.metadata_file().to_owned()
    }
}

/// How the entries of Iceberg's manifests are read whole.
pub(crate) struct IcebergEntries {
    program: Arc<EntryProgram>,
    limits: Limits,
}

impl IcebergEntries {
    fn new(types: TableTypes, decoding: Decoding) -> Result<IcebergEntries> {
        let fields = types.schema.fields.iter().filter(|field| field.ty.is_primitive());
        let stats = Some(fields.map(|field| field.name.clone()).collect());
        let (options, limits) = (ScanOptions { stats, ..ScanOptions::default() }, decoding.limits);
        let program = Arc::new(EntryProgram::new(Role::Entries, types, &options, decoding)?);
        Ok(IcebergEntries { program, limits })
    }
}

impl StoredEntries for StoredTypes {
    type Entries = IcebergEntries;

    const NAME: &'static str = "iceberg.verify";

    fn entries(&self, decoding: Decoding) -> Result<IcebergEntries> {
        IcebergEntries::new(TableTypes::try_from(self)?, decoding)
    }
}

impl WholeEntries for IcebergEntries {
    type Manifest = ManifestFile;

    fn limits(&self) -> Limits {
        self.limits
    }

    fn place_of(&self, manifest: &ManifestFile) -> (String, Option<u64>) {
        (manifest.path.clone(), manifest.length)
    }

    fn entries_of(&self, manifest: &ManifestFile, bytes: Buffer, notes: &Notes) -> Result<Batches> {
        Ok(Box::new(self.program.open(bytes, manifest, 1, notes)?.map(|entries| {
            let entries = entries?;
            let statuses = find(&entries, "status")?;
            let statuses = statuses.as_primitive::<Int32Type>().values().iter();
            let signs: Int32Array = statuses.map(|status| i32::from(*status != DELETED)).collect();
            let identities: ArrayRef = Arc::new(identities(&entries)?);
            with_columns(&entries, vec![(ENTRY_SIGN, Arc::new(signs)), (IDENTITY, identities)])
        })))
    }
}

/// The totals of all files in a summary, by the names of Iceberg's `SnapshotSummary.java`.
const TOTALS: [(&str, Number); 5] = [
    ("total-data-files", Number::DataFiles),
    ("total-records", Number::Rows),
    ("total-delete-files", Number::DeleteFiles),
    ("total-position-deletes", Number::PositionDeletes),
    ("total-equality-deletes", Number::EqualityDeletes),
];

impl Table {
    /// Checks that earlier metadata files exist and belong to this table.
    fn check_log(
        &self,
        uuid: Option<String>,
        logged: Vec<String>,
        threads: usize,
        found: &mut Inventory<ManifestFile>,
    ) -> Result<()> {
        let (storage, limits) = (Arc::clone(self.storage()), self.decoding().limits);
        let read = move |_: &dyn Storage, path: &String| {
            let file = MetadataFile::open(path, Arc::clone(&storage), limits);
            let metadata = file.and_then(|file| TableMetadata::read(&file, &Wanted::CURRENT));
            caught(storage.as_ref(), metadata.map(|metadata| metadata.table_uuid))
        };
        let read = each(self.storage(), logged.clone(), threads, read);
        for (path, other) in logged.iter().zip(read) {
            let (severity, kind, message) = match (other?, &uuid) {
                (Ok(Some(other)), Some(uuid)) if other != *uuid => {
                    let message = format!("its table has the UUID {other}, the table of the log {uuid}");
                    (Severity::Error, ErrorKind::Mismatch, message)
                }
                (Ok(_), _) => continue,
                // Readers of the table do not need them.
                (Err(error), _) => (Severity::Warning, error.kind(), error.message().to_owned()),
            };
            let finding = Finding::new(severity, kind.name(), message);
            found.find(finding.in_file(path).named_by(self.metadata_file()));
        }
        Ok(())
    }

    /// Checks that the hint, where there is one, names a metadata file.
    fn check_hint(&self, found: &mut Inventory<ManifestFile>) -> Result<()> {
        let Some((hint, message)) = wrong_hint(self.location(), self.storage())? else { return Ok(()) };
        let finding = Finding::new(Severity::Warning, ErrorKind::Missing.name(), message);
        found.find(finding.in_file(&hint));
        Ok(())
    }

    /// Checks that branches and tags name snapshots that exist, and that parents are older than their
    /// snapshots.
    fn check_refs(&self, snapshots: &[Snapshot], found: &mut Inventory<ManifestFile>) {
        let known: HashMap<i64, &Snapshot> = snapshots.iter().map(|one| (one.snapshot_id, one)).collect();
        let current = self.metadata().current_snapshot_id.map(|id| ("the current snapshot".to_owned(), id));
        let refs = self.metadata().refs.iter();
        let refs = refs.map(|(name, named)| (format!("{} {name:?}", named.kind.name()), named.snapshot_id));
        let mut reported = Vec::new();
        for (what, id) in current.into_iter().chain(refs) {
            if !known.contains_key(&id) && !reported.contains(&id) {
                reported.push(id);
                let message = format!("{what} is {id}, which is not among the snapshots");
                let kind = ErrorKind::SnapshotNotFound.name();
                found.find(Finding::new(Severity::Error, kind, message).in_file(self.metadata_file()));
            }
        }
        if known.len() < snapshots.len() {
            let message = format!(
                "{} of {} snapshots have the id of another one",
                snapshots.len() - known.len(),
                snapshots.len()
            );
            found.find(Finding::new(Severity::Error, "duplicate", message).in_file(self.metadata_file()));
        }
    }
}

/// The first contradiction between two records of one manifest; values that one of them lacks do not count.
fn differ(one: &ManifestFile, other: &ManifestFile) -> Option<&'static str> {
    let counts = |manifest: &ManifestFile| {
        let recorded = [manifest.added, manifest.existing, manifest.deleted];
        recorded.map(|recorded| [recorded.files, recorded.rows])
    };
    let counts = counts(one).into_iter().zip(counts(other));
    let facts = [
        ("length", contradict(one.length, other.length)),
        ("partition spec", one.spec_id != other.spec_id),
        ("content", one.content != other.content),
        (
            "count of files or rows",
            counts
                .flat_map(|(one, other)| one.into_iter().zip(other))
                .any(|(one, other)| contradict(one, other)),
        ),
    ];
    facts.into_iter().find(|(_, differ)| *differ).map(|(what, _)| what)
}

fn contradict(one: Option<u64>, other: Option<u64>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one != other)
}
