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
mod partition_stats;
mod partitions;
mod position_deletes;
mod refs;
mod rows;
mod snapshots;
mod sort_orders;
mod statistics;

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};

use super::table::Table;
use crate::system::SystemTable;
use crate::view::map_names;

/// All metadata tables, by name.
pub(crate) const SYSTEM_TABLES: &[SystemTable<Table>] = &[
    files::ALL_DATA_FILES,
    files::ALL_DELETE_FILES,
    entries::ALL_ENTRIES,
    files::ALL_FILES,
    manifests::ALL_MANIFESTS,
    partition_stats::COMPUTED,
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
    partition_stats::STORED,
    partitions::TABLE,
    position_deletes::TABLE,
    refs::TABLE,
    snapshots::TABLE,
    sort_orders::TABLE,
    statistics::TABLE,
];

/// An instant, as the engine's `timestamptz`.
fn instant() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// User-defined key-value pairs.
fn pairs() -> DataType {
    let names = map_names();
    let entry =
        vec![Field::new(names.key, DataType::Utf8, false), Field::new(names.value, DataType::Utf8, true)];
    DataType::Map(Arc::new(Field::new(names.entry, DataType::Struct(entry.into()), false)), false)
}

/// A list of `item`s.
fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

/// A list of structs of these fields.
fn structs(fields: &[(&str, DataType)]) -> DataType {
    let fields: Fields = fields.iter().map(|(name, ty)| Field::new(*name, ty.clone(), true)).collect();
    list(DataType::Struct(fields))
}
