//! The table as the common trait of all formats, and the views that are read at once, from the metadata file alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};

use super::Table;
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::discovery::wrong_hint;
use crate::iceberg::metadata::{ElementFilter, Snapshot, SnapshotRef, WantedElements};
use crate::iceberg::partition::partitions_of;
use crate::iceberg::rewrite_paths::rewrite_paths;
use crate::iceberg::system::SYSTEM_TABLES;
use crate::iceberg::types::FieldRef;
use crate::iceberg::view::{Ref, refs, schemas, snapshots};
use crate::reach::tables_within;
use crate::repair::WrongHint;
use crate::rewrite_paths::RewritePaths;
use crate::scan::{Format, ScanOptions, resolve};
use crate::system::names;
use crate::table::{self, Place, TableCore, named, placed};
use crate::view::{Compaction, TableColumn, View};
use std::collections::{HashMap, HashSet};

impl table::LakeTable for Table {
    fn format(&self) -> &'static str {
        Table::NAME
    }

    fn format_version(&self) -> Option<i32> {
        Some(self.metadata().format_version)
    }

    fn core(&self) -> &TableCore {
        &self.core
    }

    fn tables_within(&self, is_of_catalog: bool) -> Result<Vec<String>> {
        tables_within(&self.reach(is_of_catalog)?)
    }

    fn snapshot_id(&self) -> Option<i64> {
        self.snapshot_id()
    }

    fn properties(&self) -> BTreeMap<String, String> {
        self.metadata().properties.iter().cloned().collect()
    }

    fn data_schema(&self) -> SchemaRef {
        Arc::new(ArrowSchema::new(self.schema().arrow()))
    }

    fn identity(&self) -> Result<Option<String>> {
        Ok(self.metadata().table_uuid.clone())
    }

    fn wrong_hints(&self) -> Result<Vec<WrongHint>> {
        Ok(wrong_hint(self.location(), self.storage())?.into_iter().collect())
    }

    fn unused_keys(&self) -> Result<Option<i64>> {
        let keys = &self.metadata().encryption_keys;
        let mut used: HashSet<String> = keys.iter().filter_map(|key| key.encrypted_by_id.clone()).collect();
        if !keys.is_empty() {
            self.each_snapshot(|some| {
                used.extend(some.into_iter().filter_map(|snapshot| snapshot.key_id));
                Ok(())
            })?;
        }
        let unused = keys.iter().filter(|key| !used.contains(&key.key_id)).count();
        Ok(i64::try_from(unused).ok())
    }

    fn compaction(&self, options: &[(String, String)], _filter: Option<&str>) -> Result<Box<dyn Compaction>> {
        self.bin_pack(options)
    }

    fn table_columns(&self) -> Result<Vec<TableColumn>> {
        let distinct = self.distinct_counts()?;
        let column = |(name, field): (&str, &FieldRef)| TableColumn {
            id: field.id,
            name: name.to_owned(),
            data_type: field.ty.to_string(),
            distinct: distinct.get(&field.id).copied(),
        };
        Ok(self.schema().primitives().map(column).collect())
    }

    fn absent_partition_fields(&self) -> Result<BTreeMap<i32, Vec<String>>> {
        let types = self.types()?;
        let absent = types.specs.iter().map(|spec| (spec.spec_id, types.partition.absent_in(spec)));
        Ok(absent.filter(|(_, fields)| !fields.is_empty()).collect())
    }

    fn partitions_of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let (types, id) = (self.types()?, self.metadata().default_spec_id);
        let spec = types.specs.iter().find(|spec| spec.spec_id == id);
        let spec =
            spec.ok_or_else(|| Error::new(ErrorKind::Required, format!("there is no partition spec {id}")))?;
        let partitions: ArrayRef = Arc::new(partitions_of(rows, self.schema(), spec, &types.partition)?);
        placed(partitions, Some(id))
    }

    fn at(&self, place: &Place) -> Result<Box<dyn table::LakeTable>> {
        let table = match place {
            Place::Snapshot(id) => self.at_snapshot(*id),
            Place::Tag(name) => self.at_tag(name),
            Place::Branch(name) => self.at_branch(name),
            Place::Named(name) => named(name, |name| self.at_tag(name), |name| self.at_branch(name)),
            Place::Timestamp(millis) => self.at_timestamp(*millis),
            Place::Watermark(_) => {
                Err(Error::new(ErrorKind::Unsupported, "Iceberg's snapshots have no watermarks"))
            }
        };
        Ok(Box::new(table?))
    }

    fn refreshed(&self) -> Result<Box<dyn table::LakeTable>> {
        Ok(Box::new(self.latest()?))
    }

    fn resolve(&self, view: View, options: ScanOptions) -> Result<Box<dyn Distributed>> {
        resolve(self, view, options)
    }

    fn rewrite_paths(&self, job: &RewritePaths, options: ScanOptions) -> Result<Box<dyn Distributed>> {
        rewrite_paths(self, job, options)
    }

    fn metadata_tables(&self) -> Vec<&'static str> {
        names(SYSTEM_TABLES)
    }
}

/// The blobs whose property `ndv` counts distinct values (Puffin specification, "Blob types").
const THETA_SKETCH: &str = "apache-datasketches-theta-v1";

impl Table {
    /// By field id the number of distinct values, and the snapshot that they were counted in: of each column those of the
    /// newest snapshot up to the table's own with such statistics.
    fn distinct_counts(&self) -> Result<HashMap<i32, (i64, i64)>> {
        let files = self.read(&WantedElements { statistics: true, ..WantedElements::CURRENT })?.statistics;
        let mut counts = HashMap::new();
        if files.is_empty() {
            return Ok(counts);
        }
        // The oldest is first, so that newer ones replace its counts.
        for snapshot in self.snapshots_to_here()? {
            let of_snapshot = files.iter().filter(|file| file.snapshot_id == snapshot.snapshot_id);
            for blob in
                of_snapshot.flat_map(|file| &file.blob_metadata).filter(|blob| blob.kind == THETA_SKETCH)
            {
                let ndv = blob.properties.iter().find(|(name, _)| name == "ndv").map(|(_, ndv)| ndv.parse());
                if let ([id], Some(Ok(ndv))) = (blob.fields.as_slice(), ndv) {
                    counts.insert(*id, (ndv, blob.snapshot_id));
                }
            }
        }
        Ok(counts)
    }

    /// The view `snapshots` in batches: every existing snapshot, in the order of the metadata, which is that
    /// of the commits.
    pub(crate) fn snapshots_view(&self) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        self.each_snapshot(|some| {
            batches.push(snapshots(&some)?);
            Ok(())
        })?;
        Ok(batches)
    }

    /// The view `refs`: `main`, the other branches by name, then the tags by name.
    pub(crate) fn refs_view(&self) -> Result<RecordBatch> {
        let named = self.metadata.refs.values().map(|one| one.snapshot_id).collect();
        let metadata =
            self.read(&WantedElements { snapshots: ElementFilter::Ids(named), ..WantedElements::CURRENT })?;
        let known: HashMap<i64, &Snapshot> =
            metadata.snapshots.iter().rev().map(|snapshot| (snapshot.snapshot_id, snapshot)).collect();
        let snapshot = |named: &SnapshotRef| known.get(&named.snapshot_id).copied();
        refs(metadata.refs.iter().map(|(name, named)| Ref { name, named, snapshot: snapshot(named) }))
    }

    /// The view `schemas`: every version of the schema, in the order of the metadata.
    pub(crate) fn schemas_view(&self) -> Result<RecordBatch> {
        let metadata =
            self.read(&WantedElements { schemas: ElementFilter::All, ..WantedElements::CURRENT })?;
        schemas(&metadata.schemas, metadata.current_schema_id)
    }
}
