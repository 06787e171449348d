//! The table as every format shows itself.

use std::collections::BTreeMap;

use super::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::scan::Scan;
use crate::iceberg::system::SYSTEM_TABLES;
use crate::notes::Notes;
use crate::scan::{self, ScanOptions};
use crate::system::{MetadataScan, names};
use crate::table::{self, Place};
use crate::view::View;

impl table::Table for Table {
    fn format(&self) -> &'static str {
        "iceberg"
    }

    fn format_version(&self) -> Option<i32> {
        Some(self.metadata().format_version)
    }

    fn location(&self) -> &str {
        self.location()
    }

    fn snapshot_id(&self) -> Option<i64> {
        self.snapshot_id()
    }

    fn properties(&self) -> BTreeMap<String, String> {
        self.metadata().properties.iter().cloned().collect()
    }

    fn branch(&self) -> &str {
        self.branch()
    }

    fn tag(&self) -> Option<&str> {
        self.tag()
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn at(&self, place: &Place) -> Result<Box<dyn table::Table>> {
        let table = match place {
            Place::Snapshot(id) => self.at_snapshot(*id),
            Place::Tag(name) => self.at_tag(name),
            Place::Branch(name) => self.at_branch(name),
            Place::Timestamp(millis) => self.at_timestamp(*millis),
            Place::Watermark(_) => {
                Err(Error::new(ErrorKind::Unsupported, "Iceberg's snapshots have no watermarks"))
            }
        };
        Ok(Box::new(table?))
    }

    fn scan(&self, view: View, options: ScanOptions) -> Result<Box<dyn scan::Scan>> {
        Ok(Box::new(Scan::new(self.clone(), view, options)?))
    }

    fn metadata_tables(&self) -> Vec<&'static str> {
        names(SYSTEM_TABLES)
    }

    fn metadata_scan(&self, name: &str, options: ScanOptions) -> Result<Box<dyn scan::Scan>> {
        Ok(Box::new(MetadataScan::new(self.clone(), SYSTEM_TABLES, name, options)?))
    }
}
