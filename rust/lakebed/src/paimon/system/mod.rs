//! The engine's own metadata tables (`orders$options` and their kin) under its column names, types and
//! texts (Paimon's package `org.apache.paimon.table.system`); one file a table.

mod aggregation_fields;
mod branches;
mod buckets;
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

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_schema::{DataType, TimeUnit};

use super::table::Table;
use crate::error::Result;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::instants;

/// Every metadata table there is, by name.
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

/// Milliseconds since 1970 as the engine's TIMESTAMP(3).
fn timestamps(millis: impl IntoIterator<Item = impl Into<Option<i64>>>) -> Result<ArrayRef> {
    Ok(wall_clock(&instants(millis.into_iter())?))
}

/// Instants as the wall clock of UTC; the engine prints them in the zone of its machine.
fn wall_clock(instants: &ArrayRef) -> ArrayRef {
    let instants = instants.as_primitive::<TimestampMicrosecondType>();
    Arc::new(instants.clone().with_timezone_opt(None::<&str>))
}

/// The engine's TIMESTAMP(3), in the unit that Spark takes.
const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
