//! The engine's own metadata tables (`orders$options` and the like), with the engine's column names, types
//! and texts (Paimon's package `org.apache.paimon.table.system`); one file per table.

mod aggregation_fields;
mod branches;
mod buckets;
mod columns;
mod consumers;
mod file_key_ranges;
mod files;
mod manifests;
mod options;
mod partitions;
mod planned;
mod rows;
mod schemas;
mod snapshots;
mod statistics;
mod table_indexes;
mod tags;

use super::table::Table;
use crate::system::SystemTable;

/// All metadata tables, by name.
pub(crate) const SYSTEM_TABLES: &[SystemTable<Table>] = &[
    aggregation_fields::TABLE,
    branches::TABLE,
    buckets::TABLE,
    consumers::TABLE,
    file_key_ranges::TABLE,
    files::TABLE,
    manifests::TABLE,
    options::TABLE,
    partitions::TABLE,
    schemas::TABLE,
    snapshots::TABLE,
    statistics::TABLE,
    table_indexes::TABLE,
    tags::TABLE,
];
