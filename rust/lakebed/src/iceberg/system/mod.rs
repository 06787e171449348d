//! The engine's own metadata tables (`db.orders.history` and the like), with the engine's column names and
//! types (Iceberg's `MetadataTableType.java` and the classes it names), and similar tables for what only the
//! metadata file records; one file per table or family of tables.

mod encryption_keys;
mod entries;
mod files;
mod history;
mod manifests;
mod metadata_log;
mod metadata_log_entries;
mod name_mapping;
mod partition_specs;
mod partition_statistics;
mod partitions;
mod position_deletes;
mod refs;
mod rows;
mod snapshots;
mod sort_orders;
mod statistics;
mod types;

use super::table::Table;
use crate::system::SystemTable;

/// All metadata tables, by name.
pub(crate) const SYSTEM_TABLES: &[SystemTable<Table>] = &[
    files::ALL_DATA_FILES,
    files::ALL_DELETE_FILES,
    entries::ALL_ENTRIES,
    files::ALL_FILES,
    manifests::ALL_MANIFESTS,
    files::DATA_FILES,
    files::DELETE_FILES,
    encryption_keys::TABLE,
    entries::ENTRIES,
    files::FILES,
    history::TABLE,
    manifests::MANIFESTS,
    metadata_log::TABLE,
    metadata_log_entries::TABLE,
    name_mapping::TABLE,
    partition_specs::TABLE,
    partition_statistics::TABLE,
    partitions::TABLE,
    position_deletes::TABLE,
    refs::TABLE,
    snapshots::TABLE,
    sort_orders::TABLE,
    statistics::TABLE,
];
