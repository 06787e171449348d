//! The files that a table's snapshots name, and complete entries, for `verify`.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, Int32Array, Int64Array, RecordBatch};
use arrow_buffer::Buffer;
use lakebed_avro::Limits;

use super::program::EntryProgram;
use super::vectors::{file_links, vector_links, wrong_indexes};
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::paimon::consumer::Consumer;
use crate::paimon::identity::identities;
use crate::paimon::index_files::IndexFiles;
use crate::paimon::manifest::ADD;
use crate::paimon::manifest_list::{ManifestFile, manifest_files};
use crate::paimon::paths::{
    self, DataPaths, EARLIEST_SNAPSHOT, HINTS, MAIN, changelog_file, consumer_file, manifest_file,
    schema_file, snapshot_file, tag_file,
};
use crate::paimon::reach::{check_options, places};
use crate::paimon::schema::TableSchema;
use crate::paimon::snapshot::{Snapshot, Tag};
use crate::paimon::table::{BranchFiles, Hint, Table};
use crate::paimon::view::{Role, snapshots};
use crate::pipeline::read_each;
use crate::record::{column, find};
use crate::repair::WrongHint;
use crate::scan::{Format, RowsJob, ScanOptions};
use crate::storage::Storage;
use crate::verify::{
    CheckedEntries, Claim, ENTRY_SIGN, EntryBatches, Finding, Inventory, Links, NamedFile, Number, Severity,
    StoredEntries, VerifiedFormat, WholeEntries, caught,
};
use crate::view::{IDENTITY_COLUMN, instants, with_columns};

type ManifestInventory = Inventory<ManifestFile>;

impl VerifiedFormat for Table {
    fn inventory(&self, threads: usize) -> Result<ManifestInventory> {
        let mut found = ManifestInventory::default();
        let mut named = Vec::new();
        let branches = std::iter::once(MAIN.to_owned()).chain(self.files().branch_names()?);
        for branch in branches {
            let files = self.files().of_branch(&branch);
            let schemas = files.schema_ids()?;
            let ids = files.snapshot_ids()?;
            found.hints(wrong_hints(&files, &ids)?);
            check_consumers(&files, &ids, &mut found)?;
            let snapshots = ids.into_iter().map(|id| (files.own(&snapshot_file(id)), Some(id)));
            let tags = files.tag_names()?.into_iter().map(|name| (files.own(&tag_file(&name)), None));
            let changelogs = files.changelog_ids()?.into_iter();
            let changelogs = changelogs.map(|id| (files.own(&changelog_file(id)), Some(id)));
            self.check_schemas(&files, &schemas, threads, &mut found)?;
            let here = snapshots.chain(tags).map(|(path, id)| SnapshotFile { path, id, has_files: true });
            let here = here.chain(changelogs.map(|(path, id)| SnapshotFile { path, id, has_files: false }));
            self.snapshots_of(&files, (here.collect(), &schemas), threads, &mut named, &mut found)?;
        }
        self.check_jobs(&mut found)?;
        self.lists_of(&named, threads, &mut found)?;
        self.check_indexes(&named, threads, &mut found)?;
        Ok(found)
    }

    fn claims(&self) -> Vec<Claim> {
        let snapshot = self.snapshot();
        let claim = |snapshot: &Snapshot| {
            let path = self.files().own(&snapshot_file(snapshot.id));
            let (field, value) = ("totalRecordCount".to_owned(), snapshot.total_record_count?);
            Some(Claim { path, field, value, of: Number::Rows })
        };
        snapshot.and_then(claim).into_iter().collect()
    }

    /// The index files of the table's snapshot.
    fn data_files(&self) -> Result<Vec<NamedFile>> {
        let Some(name) = self.snapshot().and_then(|snapshot| snapshot.index_manifest.as_ref()) else {
            return Ok(Vec::new());
        };
        let Ok(files) = caught(self.storage().as_ref(), IndexFiles::read(self, None))? else {
            return Ok(Vec::new());
        };
        let named_by: Arc<str> = Arc::from(self.manifest_path(name));
        let sizes = column::<Int64Array>(&files.entries, "file_size")?.iter();
        let named = files.paths.iter().zip(sizes).map(|(path, size)| NamedFile {
            path: path.unwrap_or_default().to_owned(),
            size: size.and_then(|size| u64::try_from(size).ok()),
            named_by: Arc::clone(&named_by),
        });
        Ok(named.collect())
    }

    /// The deletion vectors of the table's snapshot.
    fn unlisted_deletes(&self) -> Result<Option<RecordBatch>> {
        let Some(name) = self.snapshot().and_then(|snapshot| snapshot.index_manifest.as_ref()) else {
            return Ok(None);
        };
        let links = caught(self.storage().as_ref(), vector_links(self))?;
        let Some(links) = links.ok().filter(|links| !links.is_empty()) else { return Ok(None) };
        links.rows(&self.manifest_path(name), 0).map(Some)
    }

    fn whole_entries(&self) -> Result<PaimonEntries> {
        let program = with_stats_or_without(self, |options| EntryProgram::new(ROLE, self, options))?;
        Ok(PaimonEntries::new(program, self.location(), self.schema(), self.decoding().limits))
    }

    fn stored_entries(&self) -> Result<RowsJob<Table>> {
        with_stats_or_without(self, |options| {
            let task = RowsJob::of(ROLE, self, options)?;
            task.program(ROLE, self.decoding().clone()).map(|_| task)
        })
    }

    fn anchor(&self) -> String {
        self.files().own(&schema_file(self.schema().id))
    }
}

/// The entries that are read whole.
const ROLE: Role = Role::Changes;

/// What `make` makes with the statistics of all columns. A schema that cannot be read was found already; entries can
/// be read without it.
fn with_stats_or_without<T>(table: &Table, make: impl Fn(&ScanOptions) -> Result<T>) -> Result<T> {
    let stats = Some(table.schema().fields.iter().map(|field| field.name.clone()).collect());
    make(&ScanOptions { stats, ..ScanOptions::default() }).or_else(|_| make(&ScanOptions::default()))
}

/// How the entries of Paimon's manifests are read whole.
pub(crate) struct PaimonEntries {
    program: EntryProgram,
    paths: DataPaths,
    location: String,
    limits: Limits,
}

impl PaimonEntries {
    fn new(program: EntryProgram, location: &str, schema: &TableSchema, limits: Limits) -> PaimonEntries {
        let (paths, location) = (DataPaths::new(location, schema), location.to_owned());
        PaimonEntries { program, paths, location, limits }
    }
}

impl StoredEntries for RowsJob<Table> {
    type Entries = PaimonEntries;

    fn entries(&self, decoding: Decoding) -> Result<PaimonEntries> {
        let (program, limits) = (self.program(ROLE, decoding.clone())?, decoding.limits);
        Ok(PaimonEntries::new(program, &self.types.location, &self.types.table_schema()?, limits))
    }
}

impl WholeEntries for PaimonEntries {
    type Manifest = ManifestFile;

    fn limits(&self) -> Limits {
        self.limits
    }

    fn place_of(&self, manifest: &ManifestFile) -> (String, Option<u64>) {
        let path = format!("{}/{}", self.location, manifest_file(&manifest.file_name));
        (path, Some(manifest.file_size))
    }

    fn entries_of(
        &self,
        manifest: &ManifestFile,
        bytes: Buffer,
        linked: bool,
        notes: &Notes,
    ) -> Result<EntryBatches> {
        let (path, _) = self.place_of(manifest);
        let placed = |error: Error| error.in_file(&path);
        let entries = self.program.open(bytes.into(), manifest, 1).map_err(placed)?.noting(notes);
        let rows: Vec<_> = entries.map(|entries| self.checked(&entries?, linked).map_err(placed)).collect();
        Ok(Box::new(rows.into_iter()))
    }
}

impl PaimonEntries {
    fn checked(&self, entries: &RecordBatch, linked: bool) -> Result<CheckedEntries> {
        let rows = self.program.finish(entries)?;
        let kinds = column::<Int8Array>(entries, "kind")?.values();
        let signs: Int32Array = kinds.iter().map(|kind| if *kind == ADD { 1 } else { -1 }).collect();
        let links = if linked { file_links(entries, &signs)? } else { Links::default() };
        let identities: ArrayRef = Arc::new(identities(entries)?);
        let names = [("record_count", "row_count"), ("file_size_in_bytes", "file_size")];
        let mut more: Vec<(&str, ArrayRef)> =
            vec![(ENTRY_SIGN, Arc::new(signs)), (IDENTITY_COLUMN, identities)];
        for (name, own) in names {
            more.push((name, find(entries, own)?));
        }
        let misplaced = self.paths.misplaced(entries, column(entries, "external_path")?)?;
        let misplaced = misplaced.iter().flatten().enumerate();
        let wrong = misplaced
            .filter_map(|(row, message)| Some((row, Error::new(ErrorKind::Mismatch, message?))))
            .collect();
        Ok(CheckedEntries { rows: with_columns(&rows, more)?, wrong, links })
    }
}

/// A file that holds a snapshot: of a snapshot, tag or changelog.
struct SnapshotFile {
    path: String,
    /// The snapshot id in its name.
    id: Option<i64>,
    /// Whether the files that it names must exist: of a changelog, only those of the changelog itself.
    has_files: bool,
}

/// A snapshot, and the file that holds it.
struct NamedSnapshot {
    snapshot: Snapshot,
    source: SnapshotFile,
    /// Whether the table is at it.
    is_live: bool,
}

impl Table {
    /// Reports why orphans and expiries are refused.
    fn check_jobs(&self, found: &mut ManifestInventory) -> Result<()> {
        if let Ok(schema) = caught(self.storage().as_ref(), self.latest_schema())?
            && let Err(error) = check_options(&schema)
        {
            found.find(Finding::of(&error).in_file(&self.files().own(&schema_file(schema.id))));
        }
        // That folders are not looked into is said of nothing that is wrong with the table.
        if let Err(error) = caught(self.storage().as_ref(), places(&self.clone().noting()))? {
            found.find(Finding::of(&error));
        }
        Ok(())
    }

    fn check_schemas(
        &self,
        files: &BranchFiles<'_>,
        ids: &[i64],
        threads: usize,
        found: &mut ManifestInventory,
    ) -> Result<()> {
        let paths: Vec<_> = ids.iter().map(|id| files.own(&schema_file(*id))).collect();
        let table = self.clone();
        let read = move |storage: &dyn Storage, path: &String| {
            let schema = table.files().parsed(path, TableSchema::from_json);
            // Views show when it was made.
            let id =
                schema.and_then(|schema| instants(std::iter::once(schema.time_millis)).map(|_| schema.id));
            caught(storage, id)
        };
        for ((path, id), schema) in
            paths.clone().iter().zip(ids).zip(read_each(self.storage(), paths, threads, read)?)
        {
            match schema {
                Ok(read) if read == *id => {}
                Ok(read) => found.find(misnamed("schema", read, path)),
                Err(error) => found.find(Finding::of(&error).in_file(path)),
            }
        }
        Ok(())
    }

    /// Reads the snapshots, tags and changelogs of a branch with these schemas.
    fn snapshots_of(
        &self,
        branch: &BranchFiles<'_>,
        (source, schemas): (Vec<SnapshotFile>, &[i64]),
        threads: usize,
        named: &mut Vec<NamedSnapshot>,
        found: &mut ManifestInventory,
    ) -> Result<()> {
        let paths: Vec<_> = source.iter().map(|source| source.path.clone()).collect();
        let table = self.clone();
        let read = move |storage: &dyn Storage, path: &String| {
            let snapshot = match path.rsplit('/').next().is_some_and(|name| name.starts_with("tag-")) {
                true => table.files().parsed(path, Tag::from_json).map(|tag| tag.snapshot),
                false => table.files().parsed(path, Snapshot::from_json),
            };
            caught(storage, snapshot)
        };
        for (source, snapshot) in source.into_iter().zip(read_each(self.storage(), paths, threads, read)?) {
            let snapshot = match snapshot {
                Ok(snapshot) => snapshot,
                Err(error) => {
                    found.find(Finding::of(&error).in_file(&source.path));
                    continue;
                }
            };
            if let Err(error) = snapshots(std::slice::from_ref(&snapshot)) {
                found.find(Finding::of(&error).in_file(&source.path));
            }
            if source.id.is_some_and(|id| id != snapshot.id) {
                found.find(misnamed("snapshot", snapshot.id, &source.path));
            }
            if !schemas.contains(&snapshot.schema_id) {
                let schema = branch.own(&schema_file(snapshot.schema_id));
                let message = format!("{schema:?} does not exist, which it is read with");
                let finding = Finding::new(Severity::Error, ErrorKind::Missing.name(), message);
                found.find(finding.in_file(&source.path).in_field("schemaId"));
            }
            let is_live = source.has_files && self.snapshot() == Some(&snapshot);
            named.push(NamedSnapshot { snapshot, source, is_live });
        }
        Ok(())
    }

    /// Reads the manifest lists of snapshots, each once, and notes which statistics files they name.
    fn lists_of(&self, named: &[NamedSnapshot], threads: usize, found: &mut ManifestInventory) -> Result<()> {
        let mut lists: Vec<List> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for NamedSnapshot { snapshot, source, is_live } in named {
            let own = [
                (Some(&snapshot.base_manifest_list), snapshot.base_manifest_list_size),
                (Some(&snapshot.delta_manifest_list), snapshot.delta_manifest_list_size),
            ];
            // A tag of an expired snapshot keeps its files, but not its changelog.
            let changes = snapshot.changelog_manifest_list.as_ref().filter(|_| source.id.is_some());
            let changes = (changes, snapshot.changelog_manifest_list_size);
            let own = own.into_iter().filter(|_| source.has_files).map(|list| (list, *is_live));
            for ((name, size), is_live) in own.chain([(changes, false)]) {
                let Some(name) = name else { continue };
                let named_by: Arc<str> = Arc::from(source.path.as_str());
                let place = *places.entry(name.clone()).or_insert(lists.len());
                match lists.get_mut(place) {
                    Some(known) => known.is_live |= is_live,
                    None => lists.push(List { name: name.clone(), size, named_by, is_live }),
                }
            }
            if let Some(name) = snapshot.statistics.as_ref().filter(|_| source.has_files) {
                let path = self.files().shared(&paths::statistics_file(name));
                found.files.push(NamedFile { path, size: None, named_by: Arc::from(source.path.as_str()) });
            }
        }
        let table = self.clone();
        let read = move |storage: &dyn Storage, list: &List| {
            let path = table.manifest_path(&list.name);
            let manifests = table.list_of(&list.name, list.size).and_then(|rows| {
                let shown = table.list_rows(&rows, "").and_then(|of| table.manifests_view(&rows, &of));
                Ok((manifest_files(&rows)?, shown.err()))
            });
            caught(storage, manifests.map_err(|error| error.in_file(&path)))
        };
        let manifests = read_each(self.storage(), lists.clone(), threads, read)?;
        for (list, manifests) in lists.into_iter().zip(manifests) {
            let path = self.manifest_path(&list.name);
            if let Ok((_, Some(error))) = &manifests {
                found.fail(error, &path, &list.named_by);
            }
            let by_name = |manifest: ManifestFile| (manifest.file_name.clone(), manifest);
            let manifests = manifests.map(|(manifests, _)| manifests.into_iter().map(by_name));
            found.list((&path, &list.named_by), manifests, list.is_live, differ);
        }
        Ok(())
    }

    /// Reads the index manifests of snapshots, each once.
    fn check_indexes(
        &self,
        named: &[NamedSnapshot],
        threads: usize,
        found: &mut ManifestInventory,
    ) -> Result<()> {
        let mut seen = BTreeSet::new();
        let named = named.iter().filter(|one| one.source.has_files);
        let named = named
            .filter(|one| one.snapshot.index_manifest.as_ref().is_some_and(|name| seen.insert(name.clone())));
        let named: Vec<_> =
            named.map(|one| (self.at_lists_of(&one.snapshot), one.source.path.clone())).collect();
        let read =
            |storage: &dyn Storage, (table, _): &(Table, String)| caught(storage, wrong_indexes(table));
        let wrong = read_each(self.storage(), named.clone(), threads, read)?;
        for ((table, named_by), wrong) in named.into_iter().zip(wrong) {
            let name = table.snapshot().and_then(|snapshot| snapshot.index_manifest.as_ref());
            let Some(name) = name else { continue };
            for error in wrong.unwrap_or_else(|error| vec![error]) {
                found.fail(&error, &self.manifest_path(name), &named_by);
            }
        }
        Ok(())
    }
}

/// A manifest list, and the first file that names it.
#[derive(Clone)]
struct List {
    name: String,
    size: Option<i64>,
    named_by: Arc<str>,
    is_live: bool,
}

/// Hints that name no snapshot which exists; readers do without hints.
pub(in crate::paimon) fn wrong_hints(files: &BranchFiles<'_>, ids: &[i64]) -> Result<Vec<WrongHint>> {
    let (Some(earliest), Some(latest)) = (ids.first(), ids.last()) else { return Ok(Vec::new()) };
    let hints = files.hints("snapshot", &HINTS)?.into_iter();
    let wrong = hints.filter(|(_, Hint(hint))| hint.is_none_or(|id| !ids.contains(&id)));
    let wrong = wrong.map(|(name, Hint(hint))| WrongHint {
        problem: match hint {
            Some(id) => format!("it names snapshot {id}, which does not exist"),
            None => "it names no snapshot".to_owned(),
        },
        text: Some(if name == EARLIEST_SNAPSHOT { earliest } else { latest }.to_string()),
        path: files.own(&name),
    });
    Ok(wrong.collect())
}

/// Checks that the next snapshot of each consumer exists or is not made yet.
fn check_consumers(files: &BranchFiles<'_>, ids: &[i64], found: &mut ManifestInventory) -> Result<()> {
    for id in files.consumer_ids()? {
        let path = files.own(&consumer_file(&id));
        let next = match caught(files.storage.as_ref(), files.parsed(&path, Consumer::from_json))? {
            Ok(consumer) => consumer.next_snapshot,
            Err(error) => {
                found.find(Finding::of(&error).in_file(&path));
                continue;
            }
        };
        let is_known = ids.contains(&next) || ids.last().is_none_or(|last| last.checked_add(1) == Some(next));
        if !is_known {
            let message = format!("its next snapshot {next} does not exist");
            let finding = Finding::new(Severity::Warning, ErrorKind::Missing.name(), message);
            found.find(finding.in_file(&path).in_field("nextSnapshot"));
        }
    }
    Ok(())
}

fn misnamed(what: &str, id: i64, path: &str) -> Finding {
    let message = format!("its content is that of {what} {id}, its name is not");
    Finding::new(Severity::Error, ErrorKind::Mismatch.name(), message).in_file(path).in_field("id")
}

/// The name of a field in which two records of one manifest differ.
fn differ(one: &ManifestFile, other: &ManifestFile) -> Option<&'static str> {
    let facts = [
        ("size", one.file_size != other.file_size),
        ("count of entries", (one.added, one.deleted) != (other.added, other.deleted)),
    ];
    facts.into_iter().find(|(_, differ)| *differ).map(|(what, _)| what)
}
