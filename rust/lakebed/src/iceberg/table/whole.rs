//! The views that are made whole, from the metadata file alone.

use arrow_array::RecordBatch;

use super::Table;
use crate::error::Result;
use crate::iceberg::metadata::{Wanted, Which};
use crate::iceberg::system::SYSTEM_TABLES;
use crate::iceberg::view::{Ref, refs, schemas, snapshots};
use crate::scan::{Scan, ScanOptions};
use crate::system::{MetadataScan, names};

impl Table {
    /// The view `snapshots`: every snapshot that is there, in the order of the metadata, which is that of the
    /// commits.
    ///
    /// # Errors
    /// Those of [`Table::read`].
    pub fn snapshots_view(&self) -> Result<RecordBatch> {
        snapshots(&self.read(&Wanted { snapshots: Which::All, ..Wanted::CURRENT })?.snapshots)
    }

    /// The view `refs`: `main`, the other branches by name, then the tags by name.
    ///
    /// # Errors
    /// Those of [`Table::read`].
    pub fn refs_view(&self) -> Result<RecordBatch> {
        let named = self.metadata.refs.values().map(|one| one.snapshot_id).collect();
        let metadata = self.read(&Wanted { snapshots: Which::Ids(named), ..Wanted::CURRENT })?;
        let all = metadata.refs.iter();
        refs(all.map(|(name, named)| Ref { name, named, snapshot: metadata.snapshot(named.snapshot_id) }))
    }

    /// The view `schemas`: every version of the schema, in the order of the metadata.
    ///
    /// # Errors
    /// Those of [`Table::read`].
    pub fn schemas_view(&self) -> Result<RecordBatch> {
        let metadata = self.read(&Wanted { schemas: Which::All, ..Wanted::CURRENT })?;
        schemas(&metadata.schemas, metadata.current_schema_id)
    }

    /// The names of the metadata tables that an Iceberg table has.
    pub fn metadata_tables(&self) -> Vec<&'static str> {
        names(SYSTEM_TABLES)
    }

    /// Resolves one of those.
    ///
    /// # Errors
    /// `UnknownColumn` for a table or column that is not there, naming those that are; `Predicate`.
    pub fn metadata_scan(&self, name: &str, options: ScanOptions) -> Result<Box<dyn Scan>> {
        Ok(Box::new(MetadataScan::new(self.clone(), SYSTEM_TABLES, name, options)?))
    }
}
