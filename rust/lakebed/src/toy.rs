//! A third format, which tests alone have: what a format is beside the core's traits.
//!
//! A table's folder has a folder `toy`: in it `toy.json`, with the columns of rows and the snapshots, each with its
//! manifests, and the manifests, a line of JSON for each entry. Files of entries that are "added" are live; those that
//! are "deleted" only say that the manifest's commit removed a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::columnar::Decoding;
use crate::diff::{Change, Difference, OneSide};
use crate::distributed::{Bounds, Distributed};
use crate::error::{Error, ErrorKind, Result};
use crate::grouping::sums::{self, SentSums as _, sent_sums, sum};
use crate::grouping::{FileGroups, SumOptions};
use crate::json::{parse, parse_within};
use crate::record::column;
use crate::scan::{
    Absent, Amount, Batches, Format, Funnel, LiveFiles, OpenManifest, RowsJob, ScanOptions, Stage, once,
    resolve,
};
use crate::storage::{Storage, present};
use crate::table::{LakeTable, Place, TableCore};
use crate::view::{View, only, project, whole};

pub(crate) const FOLDER: &str = "toy";
pub(crate) const FILE: &str = "toy.json";

/// The file `toy.json`.
#[derive(Deserialize)]
struct Metadata {
    columns: Vec<String>,
    snapshots: Vec<ToySnapshot>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct ToySnapshot {
    id: i64,
    manifests: Vec<Manifest>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    name: String,
    bytes: u64,
}

#[derive(Deserialize)]
struct Entry {
    status: String,
    path: String,
    partition: String,
    rows: i64,
    bytes: i64,
}

#[derive(Clone)]
pub(crate) struct ToyTable {
    core: TableCore,
    metadata: Arc<Metadata>,
    snapshot: Option<ToySnapshot>,
}

impl ToyTable {
    pub(crate) fn is_at(location: &str, storage: &Arc<dyn Storage>) -> Result<bool> {
        Ok(storage.list(&format!("{location}/{FOLDER}"))?.iter().any(|name| name == FILE))
    }

    pub(crate) fn open(location: &str, storage: Arc<dyn Storage>, decoding: Decoding) -> Result<ToyTable> {
        let path = format!("{location}/{FOLDER}/{FILE}");
        let none = || Error::new(ErrorKind::TableNotFound, format!("no {FOLDER}/{FILE}")).in_file(location);
        let metadata = present(storage.read(&path))?.ok_or_else(none)?;
        let metadata: Metadata = parse(&metadata).map_err(|error| error.in_file(&path))?;
        let snapshot = metadata.snapshots.last().cloned();
        Ok(ToyTable {
            core: TableCore::new(location, storage, decoding),
            metadata: Arc::new(metadata),
            snapshot,
        })
    }
}

impl LakeTable for ToyTable {
    fn format(&self) -> &'static str {
        ToyTable::NAME
    }

    fn core(&self) -> &TableCore {
        &self.core
    }

    fn snapshot_id(&self) -> Option<i64> {
        self.snapshot.as_ref().map(|snapshot| snapshot.id)
    }

    fn data_schema(&self) -> SchemaRef {
        let columns = self.metadata.columns.iter().map(|name| Field::new(name, DataType::Utf8, true));
        Arc::new(Schema::new(columns.collect::<Vec<_>>()))
    }

    fn at(&self, place: &Place) -> Result<Box<dyn LakeTable>> {
        let mut snapshots = self.metadata.snapshots.iter();
        let snapshot = snapshots.find(|snapshot| *place == Place::Snapshot(snapshot.id)).cloned();
        let none = || Error::new(ErrorKind::SnapshotNotFound, format!("a toy has no {place:?}"));
        Ok(Box::new(ToyTable { snapshot: Some(snapshot.ok_or_else(none)?), ..self.clone() }))
    }

    fn refreshed(&self) -> Result<Box<dyn LakeTable>> {
        let TableCore { location, storage, decoding, .. } = self.core.clone();
        Ok(Box::new(ToyTable::open(&location, storage, decoding)?))
    }

    fn resolve(&self, view: View, options: ScanOptions) -> Result<Box<dyn Distributed>> {
        resolve(self, view, options)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ToyRole {
    Files,
    /// With the identity last.
    Identified,
}

/// The columns of the rows, and what counts them.
pub(crate) struct ToyProgram {
    schema: SchemaRef,
    funnel: Funnel,
}

impl Format for ToyTable {
    const NAME: &'static str = "toy";
    const FILES: ToyRole = ToyRole::Files;
    const DIFFERENCE: &'static [Difference<ToyTable>] = &[
        Difference { change: Change::Removed, of: Change::Removed, role: ToyRole::Identified, has: |_| true },
        Difference { change: Change::Added, of: Change::Added, role: ToyRole::Identified, has: |_| true },
    ];

    type Snapshot = ToySnapshot;
    type Manifest = Manifest;
    type Role = ToyRole;
    type Types = ();
    type Program = ToyProgram;
    type Job = Absent<ToyTable>;
    type LiveJob = RowsJob<ToyTable>;
    type Groups = Partitions;
    type Deletes = Absent<ToyTable>;
    type Repairs = Absent<ToyTable>;
    type Reach = Absent<ToyTable>;
    type StoredEntries = Absent<ToyTable>;

    fn core_mut(&mut self) -> &mut TableCore {
        &mut self.core
    }

    fn name_of(manifest: &Manifest) -> &str {
        &manifest.name
    }

    fn path_of(&self, manifest: &Manifest) -> String {
        format!("{}/{FOLDER}/{}", self.location(), manifest.name)
    }

    fn size_of(manifest: &Manifest) -> Option<u64> {
        Some(manifest.bytes)
    }

    fn manifests_at(&self, at: &ToyTable, _filter: Option<&str>) -> Result<OneSide<Manifest>> {
        let kept = at.snapshot.iter().flat_map(|snapshot| snapshot.manifests.clone());
        Ok(OneSide { kept: kept.collect(), pruned: Vec::new() })
    }

    fn sent_types(&self, _options: &ScanOptions) -> Result<()> {
        Ok(())
    }

    fn sent_program(
        _types: &(),
        role: ToyRole,
        options: &ScanOptions,
        _decoding: Decoding,
    ) -> Result<ToyProgram> {
        let (all, identity) = (rows(&[])?.schema(), Field::new(IDENTITY, DataType::Binary, true));
        let shown: Vec<_> = all.fields().iter().filter(|field| field.name() != IDENTITY).cloned().collect();
        let mut fields = project(&shown, |field| field.name(), options.columns.as_deref())?;
        fields.extend((role == ToyRole::Identified).then_some(Arc::new(identity)));
        Ok(ToyProgram { schema: Arc::new(Schema::new(fields)), funnel: Funnel::default() })
    }

    fn counted(program: ToyProgram, funnel: &Funnel) -> ToyProgram {
        ToyProgram { funnel: funnel.clone(), ..program }
    }

    fn columns(program: &ToyProgram) -> &SchemaRef {
        &program.schema
    }

    fn rows(program: &Arc<ToyProgram>, manifest: OpenManifest<'_, Manifest>) -> Result<Batches> {
        let bytes = manifest.content.into_bytes()?;
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let entries: Result<Vec<Entry>> = lines.map(parse_within).collect();
        let mut entries = entries.map_err(|error| error.in_file(manifest.path))?;
        let all = amount(&entries);
        entries.retain(|entry| entry.status == "added");
        program.funnel.pass(&LIVE, || [all, amount(&entries)]);
        Ok(once(only(&rows(&entries)?, &program.schema)?))
    }

    fn types_of(_files: &RowsJob<ToyTable>) -> &() {
        &()
    }

    fn live_job(&self, options: &ScanOptions, bounds: &Bounds) -> Result<Option<LiveFiles<ToyTable>>> {
        RowsJob::of_live(ToyRole::Files, self, options, self.manifests_at(self, None)?.kept, bounds)
    }
}

static LIVE: Stage = Stage { order: 1, step: "entries", why: "status of the entry: added" };

fn amount(entries: &[Entry]) -> Amount {
    let sum = |number: fn(&Entry) -> i64| entries.iter().map(number).map(i64::unsigned_abs).sum();
    Amount { count: entries.len() as u64, rows: sum(|entry| entry.rows), bytes: sum(|entry| entry.bytes) }
}

const IDENTITY: &str = "_identity";

/// Files with all columns, and the identity.
fn rows(entries: &[Entry]) -> Result<RecordBatch> {
    let numbers = |number: fn(&Entry) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(entries.iter().map(number)))
    };
    let paths = StringArray::from_iter_values(entries.iter().map(|entry| &entry.path));
    let identities = BinaryArray::from_iter_values(entries.iter().map(|entry| &entry.path));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("file_path", Arc::new(paths)),
        ("partition", partitions(entries.iter().map(|entry| &entry.partition))),
        ("record_count", numbers(|entry| entry.rows)),
        ("file_size_in_bytes", numbers(|entry| entry.bytes)),
        (IDENTITY, Arc::new(identities)),
    ];
    whole(columns, entries.len())
}

/// The column `partition`, which is a struct in every format.
fn partitions<'p>(values: impl Iterator<Item = &'p String>) -> ArrayRef {
    let values: ArrayRef = Arc::new(StringArray::from_iter_values(values));
    Arc::new(StructArray::from(vec![(Arc::new(Field::new(PART, DataType::Utf8, true)), values)]))
}

const PART: &str = "part";

/// Sums of the files of a partition.
#[derive(Clone, Default)]
struct PartSums {
    file_count: i64,
    record_count: i64,
    file_size_in_bytes: i64,
}

sent_sums! { PartSums: file_count, record_count, file_size_in_bytes }

/// Sums of the files of each partition.
#[derive(Default)]
pub(crate) struct Partitions(BTreeMap<String, PartSums>);

impl Partitions {
    fn add(&mut self, partition: &str, more: &PartSums) -> Result<()> {
        let sums = self.0.entry(partition.to_owned()).or_default();
        sums.file_count = sum("file_count", sums.file_count, more.file_count)?;
        sums.record_count = sum("record_count", sums.record_count, more.record_count)?;
        sums.file_size_in_bytes =
            sum("file_size_in_bytes", sums.file_size_in_bytes, more.file_size_in_bytes)?;
        Ok(())
    }

    fn sums(&self) -> Vec<PartSums> {
        self.0.values().cloned().collect()
    }
}

impl FileGroups<ToyTable> for Partitions {
    const INPUT: &'static [&'static str] = &["partition", "record_count", "file_size_in_bytes"];

    fn sent(_types: &(), _summing: &SumOptions) -> Result<Partitions> {
        Ok(Partitions::default())
    }

    fn extend(&mut self, files: &RecordBatch) -> Result<()> {
        let partitions = RecordBatch::from(column::<StructArray>(files, "partition")?);
        let partitions = column::<StringArray>(&partitions, PART)?;
        let [rows, bytes] =
            ["record_count", "file_size_in_bytes"].map(|name| column::<Int64Array>(files, name));
        for ((partition, rows), bytes) in partitions.iter().zip(rows?).zip(bytes?) {
            let (record_count, file_size_in_bytes) = (rows.unwrap_or(0), bytes.unwrap_or(0));
            let file = PartSums { file_count: 1, record_count, file_size_in_bytes };
            self.add(partition.unwrap_or_default(), &file)?;
        }
        Ok(())
    }

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        sums::each(sums, |key, sums| self.add(&String::from_utf8_lossy(key), &sums))
    }

    fn count(&self) -> usize {
        self.0.len()
    }

    fn drain(&mut self) -> Result<RecordBatch> {
        let sums = std::mem::take(self);
        sums::batch(BinaryArray::from_iter_values(sums.0.keys()), &sums.sums())
    }

    fn shown_partitions(&self) -> Result<RecordBatch> {
        let mut shown = vec![("partition", partitions(self.0.keys()))];
        shown.extend(PartSums::columns(&self.sums()));
        whole(shown, self.0.len())
    }
}
