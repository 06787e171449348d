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
use crate::iceberg::reach::TableReach;
use crate::iceberg::rewrite_paths::rewrite_paths;
use crate::iceberg::scan::Scan;
use crate::iceberg::system::SYSTEM_TABLES;
use crate::reach::{NewestReach, Orphans, Reachable, Unreached, newest_reach};
use crate::rewrite_paths::RewritePaths;
use crate::scan::{Format, ScanOptions, of_snapshots};
use crate::system::{MetadataScan, names};
use crate::table::{self, Newest, Place, TableCore, named, placed};
use crate::verify::VerifyScan;
use crate::view::View;

impl table::Table for Table {
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

    fn at(&self, place: &Place) -> Result<Box<dyn table::Table>> {
        Ok(Box::new(self.at_place(place)?))
    }

    fn refreshed(&self) -> Result<Box<dyn table::Table>> {
        Ok(Box::new(self.latest()?))
    }

    fn resolve(&self, view: View, options: ScanOptions) -> Result<Box<dyn Distributed>> {
        Ok(match view {
            View::Diff { .. } | View::Appends { .. } | View::Growth | View::FileHistory => {
                of_snapshots(self, view, options)?
            }
            View::Verify { data_files } => Box::new(VerifyScan::new(self.clone(), options, data_files)?),
            View::Reachable => Box::new(Reachable::new(TableReach::new(self.clone()), options)?),
            View::Orphans { which, newest } => {
                let reach = self.reach(newest.is_some());
                Box::new(Orphans::new(reach, self.newest_reach(newest), which, options)?)
            }
            View::ExpirePlan { retention, newest } => {
                Box::new(Unreached::expired(self.newest_reach(newest), retention, options)?)
            }
            View::Freed { before, newest } => {
                let of = move |newest: &TableReach| newest.before(&before);
                Box::new(Unreached::freed(self.newest_reach(newest), of, options)?)
            }
            View::MetadataTable(name) => {
                Box::new(MetadataScan::new(self.clone(), SYSTEM_TABLES, &name, options)?)
            }
            view => Box::new(Scan::new(self.clone(), view, options)?),
        })
    }

    fn rewrite_paths(&self, job: &RewritePaths, options: ScanOptions) -> Result<Box<dyn Distributed>> {
        rewrite_paths(self, job, options)
    }

    fn metadata_tables(&self) -> Vec<&'static str> {
        names(SYSTEM_TABLES)
    }
}

impl Table {
    fn reach(&self, is_of_catalog: bool) -> TableReach {
        let table = self.clone();
        if is_of_catalog { TableReach::of_catalog(table) } else { TableReach::new(table) }
    }

    /// What reads the newest version: a catalog, or the table itself.
    pub(in crate::iceberg) fn newest_reach(&self, catalog: Option<Newest>) -> NewestReach<TableReach> {
        let table = self.clone();
        newest_reach(catalog, TableReach::of_catalog, move || table.latest().map(TableReach::new))
    }

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
