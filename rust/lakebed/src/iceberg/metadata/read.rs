//! Reads metadata: the keys, and defaults for missing ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

use super::logs::{
    EncryptionKey, MetadataLogEntry, PartitionStatisticsFile, SnapshotLogEntry, SortOrder, StatisticsFile,
};
use super::scanner::Scanner;
use super::section::Section;
use super::snapshot::{Lineage, Snapshot, SnapshotHead, SnapshotRef, StoredSnapshot};
use super::stored::Strings;
use super::{ElementFilter, MetadataFile, TableMetadata, WantedElements};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::discovery::table_folder;
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::types::Schema;
use crate::json::check_depth;

/// The latest supported version of the format.
const MAX_VERSION: i32 = 4;

/// How many snapshots are passed on at once: a batch of rows.
const SNAPSHOTS_AT_ONCE: usize = 4096;

impl TableMetadata {
    /// Reads a metadata file from start to end, and keeps the requested elements.
    ///
    /// Memory is that of the kept elements, one piece of the file and its longest element. The current schema
    /// and snapshot are always kept. The file is read a second time where their ids are after them and they
    /// are not the last of their lists.
    ///
    /// Unknown keys are ignored, nulls count as missing, and of keys that appear twice the last one counts.
    ///
    /// # Errors
    /// `Json` and `Type` for text that is not table metadata, `Required` for a missing key, `Location` for a location
    /// without a scheme in version 4, whose paths would be ambiguous, `Mismatch` for
    /// sequence numbers above the table's last, `Version` for a later format, all with the place in the
    /// (inflated) text; `Unsupported` for the metadata of a view; of the Avro layer's kinds, `Truncated` for a file that ends early, `Codec`, `Limit`
    /// for more than `max_file_bytes` of text or an element of more than `max_value_bytes`; those of the
    /// storage.
    pub fn read(file: &MetadataFile, wanted: &WantedElements) -> Result<TableMetadata> {
        let read = || {
            let mut draft = Draft::new(wanted, Current::default());
            draft.read(file)?;
            if !draft.settle()? {
                draft = Draft::new(wanted, draft.current);
                draft.read(file)?;
                draft.settle()?;
            }
            draft.finish(table_folder(file.path()))
        };
        read().map_err(|error: Error| file.place(error))
    }

    /// Reads every snapshot of the same file, some at a time, in file order, without keeping those that
    /// `each` was given.
    ///
    /// # Errors
    /// Those of [`TableMetadata::read`], and of `each`.
    pub fn each_snapshot(
        &self,
        file: &MetadataFile,
        mut each: impl FnMut(Vec<Snapshot>) -> Result<()>,
    ) -> Result<()> {
        let wanted = WantedElements { snapshots: ElementFilter::All, ..WantedElements::CURRENT };
        let known = Current { schema: Some(self.current_schema_id), snapshot: self.current_snapshot_id };
        let mut read = || {
            let mut draft = Draft::new(&wanted, known);
            let mut resolved = |mut snapshots: Vec<Snapshot>| {
                if let Some(location) = self.base() {
                    snapshots.iter_mut().for_each(|snapshot| snapshot.resolve_paths(location));
                }
                each(snapshots)
            };
            draft.each = Some(&mut resolved);
            draft.read(file)?;
            // The rest of the file was checked when it was read for `self`.
            draft.give_snapshots(1)
        };
        read().map_err(|error: Error| file.place(error))
    }
}

impl MetadataFile {
    /// Whether it is the metadata of a view; false also for a file that cannot be read.
    pub(in crate::iceberg) fn is_view(&self) -> bool {
        let mut draft = Draft::new(&WantedElements::CURRENT, Current::default());
        draft.read(self).is_ok() && draft.is_view()
    }
}

/// The ids of the current elements, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Current {
    pub(super) schema: Option<i32>,
    pub(super) snapshot: Option<i64>,
}

/// The values found so far, by key.
pub(super) struct Draft<'w> {
    pub(super) wanted: &'w WantedElements,
    /// Receives snapshots as soon as there are some.
    each: Option<&'w mut dyn FnMut(Vec<Snapshot>) -> Result<()>>,
    pub(super) format_version: Option<i32>,
    pub(super) table_uuid: Option<String>,
    /// The identity of a view, whose metadata has the same name as a table's.
    view_uuid: Option<IgnoredAny>,
    pub(super) location: Option<String>,
    pub(super) last_sequence_number: Option<i64>,
    pub(super) last_updated_ms: Option<i64>,
    pub(super) last_column_id: Option<i32>,
    pub(super) current: Current,
    pub(super) schema: Option<Box<RawValue>>,
    pub(super) has_schemas: bool,
    pub(super) schemas: Section<Box<RawValue>, Arc<Schema>>,
    pub(super) partition_spec: Option<Value>,
    pub(super) partition_specs: Option<Vec<PartitionSpec>>,
    pub(super) default_spec_id: Option<i32>,
    pub(super) last_partition_id: Option<i32>,
    pub(super) sort_orders: Option<Vec<SortOrder>>,
    pub(super) default_sort_order_id: Option<i32>,
    pub(super) properties: Option<Strings>,
    pub(super) snapshots: Section<StoredSnapshot, Snapshot>,
    /// The snapshot with the highest sequence number, and its position.
    pub(super) latest: Option<(Lineage, u64)>,
    /// The ids of all snapshots.
    pub(super) snapshot_ids: Vec<i64>,
    pub(super) lineage: Vec<Lineage>,
    pub(super) refs: Option<BTreeMap<String, SnapshotRef>>,
    pub(super) snapshot_log: Vec<SnapshotLogEntry>,
    pub(super) metadata_log: Vec<MetadataLogEntry>,
    pub(super) statistics: Vec<StatisticsFile>,
    pub(super) partition_statistics: Vec<PartitionStatisticsFile>,
    pub(super) next_row_id: Option<i64>,
    pub(super) encryption_keys: Option<Vec<EncryptionKey>>,
}

impl<'w> Draft<'w> {
    fn new(wanted: &'w WantedElements, current: Current) -> Draft<'w> {
        let schema = |json: Box<RawValue>| Schema::parse(json.get().as_bytes()).map(Arc::new);
        Draft {
            wanted,
            each: None,
            format_version: None,
            table_uuid: None,
            view_uuid: None,
            location: None,
            last_sequence_number: None,
            last_updated_ms: None,
            last_column_id: None,
            current,
            schema: None,
            has_schemas: false,
            schemas: Section::new(wanted.schemas.clone(), schema, |schema| schema.schema_id.into()),
            partition_spec: None,
            partition_specs: None,
            default_spec_id: None,
            last_partition_id: None,
            sort_orders: None,
            default_sort_order_id: None,
            properties: None,
            snapshots: Section::new(wanted.snapshots.clone(), Snapshot::try_from, |one| one.snapshot_id),
            latest: None,
            snapshot_ids: Vec::new(),
            lineage: Vec::new(),
            refs: None,
            snapshot_log: Vec::new(),
            metadata_log: Vec::new(),
            statistics: Vec::new(),
            partition_statistics: Vec::new(),
            next_row_id: None,
            encryption_keys: None,
        }
    }

    /// Reads a file from its start to its end.
    fn read(&mut self, file: &MetadataFile) -> Result<()> {
        let mut scanner = Scanner::new(file.text()?, *file.limits());
        scanner.members(|scanner, key| self.member(scanner, key))?;
        scanner.finish()
    }

    /// Reads the value of one key.
    fn member(&mut self, scanner: &mut Scanner<'_>, key: &str) -> Result<()> {
        match key {
            "format-version" => self.format_version = scanner.made(supported)?,
            "table-uuid" => self.table_uuid = scanner.value()?,
            "view-uuid" => self.view_uuid = scanner.value()?,
            "location" => self.location = scanner.value()?,
            "last-sequence-number" => self.last_sequence_number = scanner.value()?,
            "last-updated-ms" => self.last_updated_ms = scanner.value()?,
            "last-column-id" => self.last_column_id = scanner.value()?,
            "schema" => self.schema = scanner.made(bounded)?,
            "schemas" => self.read_schemas(scanner)?,
            "current-schema-id" => self.current.schema = scanner.value()?,
            "partition-spec" => self.partition_spec = scanner.value()?,
            "partition-specs" => self.read_partition_specs(scanner)?,
            "default-spec-id" => self.default_spec_id = scanner.value()?,
            "last-partition-id" => self.last_partition_id = scanner.value()?,
            "sort-orders" => self.sort_orders = scanner.value()?,
            "default-sort-order-id" => self.default_sort_order_id = scanner.value()?,
            "properties" => self.properties = scanner.value()?,
            "current-snapshot-id" => self.current.snapshot = scanner.made(current)?,
            "snapshots" => self.read_snapshots(scanner)?,
            "refs" => self.refs = scanner.value()?,
            "snapshot-log" => self.snapshot_log = list(scanner, self.wanted.snapshot_log)?,
            "metadata-log" => self.metadata_log = list(scanner, self.wanted.metadata_log)?,
            "statistics" => self.statistics = list(scanner, self.wanted.statistics)?,
            "partition-statistics" => self.partition_statistics = list(scanner, self.wanted.statistics)?,
            "next-row-id" => self.next_row_id = scanner.value()?,
            "encryption-keys" => self.encryption_keys = scanner.value()?,
            _ => scanner.skip()?,
        }
        Ok(())
    }

    fn read_schemas(&mut self, scanner: &mut Scanner<'_>) -> Result<()> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        struct MetadataHead {
            #[serde(default)]
            schema_id: i32,
        }
        self.has_schemas = !scanner.skip_null()?;
        if !self.has_schemas {
            return Ok(());
        }
        self.schemas.clear();
        let current = self.current.schema.map(i64::from);
        scanner.elements(|scanner| {
            let found = scanner.look_for(["schema-id"])?;
            let found = found.and_then(|([id], end)| Some((i32::try_from(id.unwrap_or(0)).ok()?, end)));
            let (id, end) = match found {
                Some(found) => found,
                None => scanner.look().map(|(MetadataHead { schema_id }, end)| (schema_id, end))?,
            };
            self.schemas.take(scanner, id.into(), end, current)
        })
    }

    fn read_partition_specs(&mut self, scanner: &mut Scanner<'_>) -> Result<()> {
        if scanner.skip_null()? {
            return Ok(());
        }
        let specs = self.partition_specs.insert(Vec::new());
        scanner.elements(|scanner| {
            specs.push(scanner.made(|json: Value| PartitionSpec::from_json(&json))?);
            Ok(())
        })
    }

    fn read_snapshots(&mut self, scanner: &mut Scanner<'_>) -> Result<()> {
        if scanner.skip_null()? {
            return Ok(());
        }
        self.snapshots.clear();
        self.lineage.clear();
        self.snapshot_ids.clear();
        self.latest = None;
        let current = self.current.snapshot;
        scanner.elements(|scanner| {
            let offset = scanner.offset();
            let lineage = match self.snapshots.take_any(scanner)? {
                Some(snapshot) => {
                    let lineage = snapshot.lineage();
                    self.give_snapshots(SNAPSHOTS_AT_ONCE)?;
                    lineage
                }
                None => {
                    let found = scanner.look_for(SnapshotHead::KEYS)?;
                    let found = found.and_then(|(numbers, end)| Some((SnapshotHead::of(numbers)?, end)));
                    let (head, end) = found.map_or_else(|| scanner.look(), Ok)?;
                    self.snapshots.take(scanner, head.snapshot_id, end, current)?;
                    head.lineage()
                }
            };
            if self.latest.is_none_or(|(latest, _)| latest.sequence_number < lineage.sequence_number) {
                self.latest = Some((lineage, offset));
            }
            self.snapshot_ids.push(lineage.snapshot_id);
            if self.wanted.lineage {
                self.lineage.push(lineage);
            }
            Ok(())
        })
    }

    /// Passes the kept snapshots on, if there is a receiver and at least `least` of them.
    fn give_snapshots(&mut self, least: usize) -> Result<()> {
        match &mut self.each {
            Some(each) if self.snapshots.len() >= least => each(self.snapshots.take_kept()),
            _ => Ok(()),
        }
    }

    /// Whether this is the metadata of a view (Iceberg's view specification; `ViewMetadataParser.java`).
    pub(super) fn is_view(&self) -> bool {
        self.view_uuid.is_some() && self.table_uuid.is_none()
    }

    /// Finds the current elements; false if the file must be read again for them.
    fn settle(&mut self) -> Result<bool> {
        let schemas = self.schemas.settle(self.current.schema.map(i64::from))?;
        Ok(self.snapshots.settle(self.current.snapshot)? && schemas)
    }
}

/// The elements of a list, if it is requested.
fn list<T: DeserializeOwned + Send>(scanner: &mut Scanner<'_>, wanted: bool) -> Result<Vec<T>> {
    let mut kept = Vec::new();
    if !wanted {
        scanner.skip()?;
    } else if !scanner.skip_null()? {
        scanner.elements(|scanner| {
            kept.push(scanner.value()?);
            Ok(())
        })?;
    }
    Ok(kept)
}

/// A schema that is not read before it is known whether it is the current one.
fn bounded(schema: Option<Box<RawValue>>) -> Result<Option<Box<RawValue>>> {
    schema.iter().try_for_each(|json| check_depth(json.get().as_bytes()))?;
    Ok(schema)
}

fn supported(version: Option<i32>) -> Result<Option<i32>> {
    match version {
        Some(version) if !(1..=MAX_VERSION).contains(&version) => {
            let message = format!("format-version {version} is not read: versions 1 to {MAX_VERSION} are");
            Err(Error::new(ErrorKind::Version, message))
        }
        version => Ok(version),
    }
}

/// The id of the current snapshot; many writers write -1 for none.
fn current(id: Option<i64>) -> Result<Option<i64>> {
    Ok(id.filter(|id| *id != -1))
}
