//! The engine's own metadata tables (`orders.files` and their kin) under its column names and types
//! (Iceberg's `MetadataTableType.java`); one file a table, or a family of them.

mod entries;
mod files;
mod manifests;
mod partitions;
mod rows;

use super::table::Table;
use crate::system::SystemTable;

/// Every metadata table there is, by name.
pub(crate) const SYSTEM_TABLES: &[SystemTable<Table>] = &[
    files::ALL_DATA_FILES,
    files::ALL_DELETE_FILES,
    entries::ALL_ENTRIES,
    files::ALL_FILES,
    manifests::ALL_MANIFESTS,
    files::DATA_FILES,
    files::DELETE_FILES,
    entries::ENTRIES,
    files::FILES,
    manifests::MANIFESTS,
    partitions::TABLE,
];
