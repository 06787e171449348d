//! The table as the common trait of all formats, and the views that are read at once, from files that name no others.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, StructArray};
use arrow_schema::{Fields, Schema as ArrowSchema, SchemaRef};

use super::Table;
use crate::distributed::Distributed;
use crate::error::Result;
use crate::paimon::partition::PartitionType;
use crate::paimon::paths::{MAIN, changelog_file, snapshot_file, tag_file};
use crate::paimon::rewrite_paths::rewrite_paths;
use crate::paimon::scan::wrong_hints;
use crate::paimon::snapshot::{Snapshot, Tag};
use crate::paimon::system::{SYSTEM_TABLES, Statistics};
use crate::paimon::types::DataField;
use crate::paimon::view::{ManifestRow, Ref, manifests, refs, schemas, snapshots};
use crate::pipeline::both;
use crate::reach::tables_within;
use crate::record::find;
use crate::repair::WrongHint;
use crate::rewrite_paths::RewritePaths;
use crate::scan::{Format, ScanOptions, resolve};
use crate::system::names;
use crate::table::{self, Place, TableCore, named, placed};
use crate::view::{Compaction, TableColumn, View};

impl table::LakeTable for Table {
    fn format(&self) -> &'static str {
        Table::NAME
    }

    fn core(&self) -> &TableCore {
        &self.core
    }

    fn tables_within(&self, is_of_catalog: bool) -> Result<Vec<String>> {
        tables_within(&self.reach(is_of_catalog)?)
    }

    fn snapshot_id(&self) -> Option<i64> {
        self.snapshot().map(|snapshot| snapshot.id)
    }

    fn properties(&self) -> BTreeMap<String, String> {
        self.schema().options.iter().cloned().collect()
    }

    fn identity(&self) -> Result<Option<String>> {
        let main = self.files().of_branch(MAIN);
        let Some(id) = main.schema_ids()?.first().copied() else { return Ok(None) };
        Ok(Some(format!("schema {id} of {} ms", main.schema(id)?.time_millis)))
    }

    fn wrong_hints(&self) -> Result<Vec<WrongHint>> {
        let mut found = Vec::new();
        for branch in std::iter::once(MAIN.to_owned()).chain(self.files().branch_names()?) {
            let files = self.files().of_branch(&branch);
            found.extend(wrong_hints(&files, &files.snapshot_ids()?)?);
        }
        Ok(found)
    }

    fn data_schema(&self) -> SchemaRef {
        let fields = self.schema().fields.iter();
        let fields = fields.map(|field| field.ty.view_field(&field.name).with_nullable(field.ty.nullable));
        Arc::new(ArrowSchema::new(fields.collect::<Fields>()))
    }

    fn key_schema(&self) -> SchemaRef {
        let keys = self.schema().trimmed_primary_keys().into_iter();
        Arc::new(ArrowSchema::new(keys.map(|key| key.ty.storage_field(&key.name)).collect::<Fields>()))
    }

    fn table_columns(&self) -> Result<Vec<TableColumn>> {
        let analyzed = Statistics::of(self)?;
        let column = |field: &DataField| {
            let distinct = analyzed.as_ref().map(|found| found.distinct_count(&field.name)).transpose()?;
            let (id, name, data_type) = (field.id, field.name.clone(), field.ty.kind.to_string());
            Ok(TableColumn { id, name, data_type, distinct: distinct.flatten() })
        };
        self.schema().fields.iter().map(column).collect()
    }

    fn partitions_of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let partition = PartitionType::new(self.schema());
        let columns = partition.fields.iter().map(|field| find(rows, &field.name));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        // Times may be in a coarser unit, which has room for more of them.
        let fields = partition.shown.iter().zip(&columns);
        let fields =
            fields.map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone()));
        let values = StructArray::try_new_with_length(fields.collect(), columns, None, rows.num_rows());
        let values = values?;
        placed(Arc::new(values), None)
    }

    fn at(&self, place: &Place) -> Result<Box<dyn table::LakeTable>> {
        let table = match place {
            Place::Snapshot(id) => self.at_snapshot(*id),
            Place::Tag(name) => self.at_tag(name),
            Place::Branch(name) => self.at_branch(name),
            Place::Named(name) => named(name, |name| self.at_tag(name), |name| self.at_branch(name)),
            Place::Timestamp(millis) => self.at_timestamp(*millis),
            Place::Watermark(watermark) => self.at_watermark(*watermark),
        };
        Ok(Box::new(table?))
    }

    fn refreshed(&self) -> Result<Box<dyn table::LakeTable>> {
        // Snapshots and schemas are read too: after a rollback their numbers are used again.
        Ok(Box::new(self.latest()?))
    }

    fn resolve(&self, view: View, options: ScanOptions) -> Result<Box<dyn Distributed>> {
        resolve(self, view, options)
    }

    fn rewrite_paths(&self, job: &RewritePaths, options: ScanOptions) -> Result<Box<dyn Distributed>> {
        rewrite_paths(self, job, options)
    }

    fn compaction(&self, options: &[(String, String)], filter: Option<&str>) -> Result<Box<dyn Compaction>> {
        self.full_compaction(options, filter)
    }

    fn metadata_tables(&self) -> Vec<&'static str> {
        names(SYSTEM_TABLES)
    }
}

impl Table {
    /// The view `snapshots`: every snapshot file of the branch, in ascending order.
    pub(crate) fn snapshots_view(&self) -> Result<RecordBatch> {
        let files = self.files();
        let read = files.each(files.snapshot_ids()?, |id| snapshot_file(*id), Snapshot::from_json)?;
        snapshots(&values(read))
    }

    /// The view `refs`: `main`, the other branches by name, then the tags of the branch by name.
    pub(crate) fn refs_view(&self) -> Result<RecordBatch> {
        let files = self.files();
        let branches = || {
            let names = std::iter::once(MAIN.to_owned()).chain(files.branch_names()?).collect();
            files.branches(names)
        };
        let owned = files.owned();
        let tags = move || {
            let files = owned.borrowed();
            files.each(files.tag_names()?, |name| tag_file(name), Tag::from_json)
        };
        let (branches, tags) = both(self.storage.as_ref(), branches, tags)?;
        let branches = branches.into_iter().map(|(name, snapshot)| Ref::Branch(name, snapshot));
        let tags = tags?.into_iter().map(|(name, tag)| Ref::Tag(name, tag));
        refs(&branches.chain(tags).collect::<Vec<_>>())
    }

    /// The view `changelogs`: every long-lived changelog of the branch, in ascending order.
    pub(crate) fn changelogs_view(&self) -> Result<RecordBatch> {
        let files = self.files();
        let read = files.each(files.changelog_ids()?, |id| changelog_file(*id), Snapshot::from_json)?;
        snapshots(&values(read))
    }

    /// The view `schemas`: every version of the branch, in ascending order.
    pub(crate) fn schemas_view(&self) -> Result<RecordBatch> {
        schemas(&self.schemas()?.into_values().collect::<Vec<_>>())
    }

    /// The view `manifests` of the kept rows of the list.
    pub(crate) fn manifests_view(&self, list: &RecordBatch, rows: &[ManifestRow]) -> Result<RecordBatch> {
        manifests(list, rows, &self.partition_type())
    }
}

fn values<K>(read: Vec<(K, Snapshot)>) -> Vec<Snapshot> {
    read.into_iter().map(|(_, snapshot)| snapshot).collect()
}
