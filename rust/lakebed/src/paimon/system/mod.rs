//! The engine's own metadata tables (`orders$options` and the like), with the engine's column names, types
//! and texts (Paimon's package `org.apache.paimon.table.system`); one file per table.

mod aggregation_fields;
mod branches;
mod buckets;
mod consumers;
mod file_indexes;
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

use arrow_array::{ArrayRef, TimestampMicrosecondArray};
use arrow_schema::{DataType, TimeUnit};

pub(super) use statistics::Statistics;

use super::table::Table;
use crate::error::Result;
use crate::record::typed;
use crate::system::SystemTable;
use crate::view::instants;

/// All metadata tables, by name.
pub(crate) const SYSTEM_TABLES: &[SystemTable<Table>] = &[
    aggregation_fields::TABLE,
    branches::TABLE,
    buckets::TABLE,
    consumers::TABLE,
    file_indexes::TABLE,
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
    wall_clock(&instants(millis.into_iter())?)
}

/// Instants as wall-clock times in UTC; the engine prints them in its machine's time zone.
fn wall_clock(instants: &ArrayRef) -> Result<ArrayRef> {
    let instants: &TimestampMicrosecondArray = typed(instants, "time")?;
    Ok(Arc::new(instants.clone().with_timezone_opt(None::<&str>)))
}

/// The engine's TIMESTAMP(3), in microseconds, which Spark accepts.
const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
