//! The files that a table's metadata names, and its entries with all columns.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Int32Array, RecordBatch};
use arrow_buffer::Buffer;
use lakebed_avro::Limits;

use super::program::EntryProgram;
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::deletes::{SINGLE_INPUT, links, wrong};
use crate::iceberg::fields::FILE_PATH_ID;
use crate::iceberg::manifest::DELETED;
use crate::iceberg::manifest_list::{DATA, ManifestFile};
use crate::iceberg::metadata::{MetadataFile, Snapshot, TableMetadata, WantedElements};
use crate::iceberg::partition::PartitionNumbers;
use crate::iceberg::reach::refusals;
use crate::iceberg::table::{StoredTypes, Table, TableTypes};
use crate::iceberg::view::{Role, identities, snapshots as shown};
use crate::notes::Notes;
use crate::pipeline::each;
use crate::record::column;
use crate::scan::{OpenManifest, ScanOptions};
use crate::storage::Storage;
use crate::table::LakeTable;
use crate::verify::{
    CheckedEntries, Claim, ENTRY_SIGN, EntryBatches, Finding, Inventory, Links, NamedFile, Number, Severity,
    StoredEntries, VerifiedFormat, WholeEntries, caught,
};
use crate::view::{IDENTITY_COLUMN, check_name, with_columns};

impl VerifiedFormat for Table {
    fn inventory(&self, threads: usize) -> Result<Inventory<ManifestFile>> {
        let mut found = Inventory::default();
        let named_by: Arc<str> = Arc::from(self.metadata_file());
        let mut snapshots = Vec::new();
        self.metadata().each_snapshot(self.file(), |some| {
            let all_are_shown = shown(&some).is_ok();
            for snapshot in some.iter().filter(|_| !all_are_shown) {
                if let Err(error) = shown(std::slice::from_ref(snapshot)) {
                    found.find(Finding::of(&error).in_file(&named_by));
                }
            }
            snapshots.extend(some.into_iter().map(|snapshot| Snapshot { summary: None, ..snapshot }));
            Ok(())
        })?;
        let wanted = WantedElements {
            statistics: true,
            metadata_log: true,
            snapshot_log: true,
            ..WantedElements::CURRENT
        };
        // A list that nothing but verify needs may be wrong.
        let metadata = caught(self.storage().as_ref(), self.read(&wanted))?.unwrap_or_else(|error| {
            found.find(Finding::of(&error).in_file(&named_by));
            self.metadata().clone()
        });
        self.check_metadata(&metadata, &snapshots, &mut found);
        self.check_schemas(&snapshots, &mut found)?;
        self.check_jobs(&mut found)?;
        let logged = metadata.metadata_log.iter().map(|entry| entry.metadata_file.clone()).collect();
        self.check_log(metadata.table_uuid.clone(), logged, threads, &mut found)?;
        found.hints(self.wrong_hints()?);
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
            let by_path = |manifest: ManifestFile| (manifest.path.clone(), manifest);
            let manifests = list?.map(|manifests| manifests.into_iter().map(by_path));
            found.list((path, &named_by), manifests, is_live, differ);
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
    types: TableTypes,
    limits: Limits,
}

impl IcebergEntries {
    fn new(types: TableTypes, decoding: Decoding) -> Result<IcebergEntries> {
        let fields = types.schema.fields.iter().filter(|field| field.ty.is_primitive());
        let stats = Some(fields.map(|field| field.name.clone()).collect());
        let (options, limits) = (ScanOptions { stats, ..ScanOptions::default() }, decoding.limits);
        let program = EntryProgram::new(Role::Entries, types.clone(), &options, decoding)?;
        let program = Arc::new(program.needing(SINGLE_INPUT.into_iter(), &[FILE_PATH_ID])?);
        Ok(IcebergEntries { program, types, limits })
    }
}

impl StoredEntries for StoredTypes {
    type Entries = IcebergEntries;

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

    fn may_have_deletes(&self, manifest: &ManifestFile) -> bool {
        manifest.content != DATA && manifest.may_be_live()
    }

    fn entries_of(
        &self,
        manifest: &ManifestFile,
        bytes: Buffer,
        linked: bool,
        notes: &Notes,
    ) -> Result<EntryBatches> {
        // Only deletes of partitions that can be told apart are compared with their data files.
        let partitions = PartitionNumbers::new(&self.types.partition).ok().filter(|_| linked);
        let (program, types, path) = (Arc::clone(&self.program), self.types.clone(), manifest.path.clone());
        let checked = move |entries: Result<RecordBatch>| {
            let entries = entries?;
            let statuses = column::<Int32Array>(&entries, "status")?.values();
            let signs: Int32Array = statuses.iter().map(|status| i32::from(*status != DELETED)).collect();
            let identities = identities(&entries)?;
            let rows = program.rows(&entries, &path)?;
            Ok(CheckedEntries {
                rows: with_columns(
                    &rows,
                    vec![(ENTRY_SIGN, Arc::new(signs)), (IDENTITY_COLUMN, identities)],
                )?,
                wrong: wrong(&types, &entries)?,
                links: partitions
                    .as_ref()
                    .map_or_else(|| Ok(Links::default()), |all| links(all, &entries))?,
            })
        };
        let path = manifest.path.clone();
        let entries = self.program.entries_noting(OpenManifest::whole(&path, manifest, bytes), notes)?;
        let entries = entries.map(checked);
        Ok(Box::new(entries.map(move |entries| entries.map_err(|error: Error| error.in_file(&path)))))
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
            let metadata = file.and_then(|file| TableMetadata::read(&file, &WantedElements::CURRENT));
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

    /// Reports what is odd in the metadata file, and snapshots that have the id of another one.
    fn check_metadata(
        &self,
        metadata: &TableMetadata,
        snapshots: &[Snapshot],
        found: &mut Inventory<ManifestFile>,
    ) {
        for odd in &metadata.oddities {
            let (severity, kind) = match odd.kind {
                Some(kind) => (Severity::Error, kind.name()),
                None => (Severity::Warning, "odd"),
            };
            found.find(Finding::new(severity, kind, odd.message.as_str()).in_file(self.metadata_file()));
        }
        let fields = metadata.partition_specs.iter().flat_map(|spec| &spec.fields);
        for error in fields.filter_map(|field| check_name(&field.name).err()) {
            found.find(Finding::of(&error).in_file(self.metadata_file()).in_field("partition-specs"));
        }
        let known: HashSet<i64> = snapshots.iter().map(|one| one.snapshot_id).collect();
        if known.len() < snapshots.len() {
            let message = format!(
                "{} of {} snapshots have the id of another one",
                snapshots.len() - known.len(),
                snapshots.len()
            );
            found.find(Finding::new(Severity::Error, "duplicate", message).in_file(self.metadata_file()));
        }
    }

    /// Reports why orphans and expiries are refused. That files may be another table's is no error of this one.
    fn check_jobs(&self, found: &mut Inventory<ManifestFile>) -> Result<()> {
        let (wrong, foreign) = refusals(self);
        for error in wrong {
            found.find(Finding::of(&error).in_file(self.metadata_file()));
        }
        for error in foreign {
            if let Err(error) = caught(self.storage().as_ref(), Err::<(), _>(error))? {
                found.find(Finding::of(&error).in_file(self.metadata_file()).into_warning());
            }
        }
        Ok(())
    }

    /// Checks that the schemas of snapshots exist.
    fn check_schemas(&self, snapshots: &[Snapshot], found: &mut Inventory<ManifestFile>) -> Result<()> {
        let current = self.metadata().current_schema_id;
        if snapshots.iter().filter_map(|snapshot| snapshot.schema_id).all(|id| id == current) {
            return Ok(());
        }
        let known = match caught(self.storage().as_ref(), self.schemas())? {
            Ok(known) => known,
            Err(error) => {
                found.find(Finding::of(&error).in_file(self.metadata_file()));
                return Ok(());
            }
        };
        for snapshot in snapshots {
            if let Some(id) = snapshot.schema_id.filter(|id| !known.contains_key(id)) {
                let message = format!(
                    "snapshot {} has schema {id}, which is not among the table's",
                    snapshot.snapshot_id
                );
                let finding = Finding::new(Severity::Error, ErrorKind::Required.name(), message);
                found.find(finding.in_file(self.metadata_file()).in_field("schema-id"));
            }
        }
        Ok(())
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
