//! The table as the common trait of all formats.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};

use super::Table;
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::partition::partitions_of;
use crate::iceberg::rewrite_paths::rewrite_paths;
use crate::iceberg::system::SYSTEM_TABLES;
use crate::rewrite_paths::RewritePaths;
use crate::scan::{Format, ScanOptions, resolve};
use crate::system::names;
use crate::table::{self, Place, TableCore, named, placed};
use crate::view::View;

impl table::LakeTable for Table {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn format(&self) -> &'static str {
        Table::NAME
    }

    fn format_version(&self) -> Option<i32> {
        Some(self.metadata().format_version)
    }

    fn core(&self) -> &TableCore {
        &self.core
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

    fn partitions_of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let (types, id) = (self.types()?, self.metadata().default_spec_id);
        let spec = types.specs.iter().find(|spec| spec.spec_id == id);
        let spec =
            spec.ok_or_else(|| Error::new(ErrorKind::Required, format!("there is no partition spec {id}")))?;
        let partitions: ArrayRef = Arc::new(partitions_of(rows, self.schema(), spec, &types.partition)?);
        placed(partitions, Some(id))
    }

    fn at(&self, place: &Place) -> Result<Box<dyn table::LakeTable>> {
        Ok(Box::new(self.at_place(place)?))
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

impl Table {
    fn at_place(&self, place: &Place) -> Result<Table> {
        match place {
            Place::Snapshot(id) => self.at_snapshot(*id),
            Place::Tag(name) => self.at_tag(name),
            Place::Branch(name) => self.at_branch(name),
            Place::Named(name) => named(name, |name| self.at_tag(name), |name| self.at_branch(name)),
            Place::Timestamp(millis) => self.at_timestamp(*millis),
            Place::Watermark(_) => {
                Err(Error::new(ErrorKind::Unsupported, "Iceberg's snapshots have no watermarks"))
            }
        }
    }
}
