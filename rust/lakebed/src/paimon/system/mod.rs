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

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};

use super::table::Table;
use super::view::{batch, instants, select};
use crate::error::{Error, ErrorKind, Result};

/// Batches of one table's rows, made as they are asked for.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// One of the engine's metadata tables.
struct SystemTable {
    /// The name behind the `$`.
    name: &'static str,
    /// The columns, in the engine's order, as nullable as it declares them.
    columns: fn() -> Vec<Field>,
    /// The rows of a table with so many threads; every batch has exactly these columns.
    rows: fn(&Table, usize) -> Result<Batches>,
}

/// Every metadata table there is, by name.
const SYSTEM_TABLES: &[SystemTable] = &[
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

/// The names of the engine's metadata tables that a Paimon table has.
pub fn metadata_tables() -> Vec<&'static str> {
    SYSTEM_TABLES.iter().map(|table| table.name).collect()
}

/// What of a metadata table is wanted.
#[derive(Debug, Clone, Default)]
pub struct MetadataOptions {
    /// Columns, in this order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// A filter on the metadata table's own columns.
    pub filter: Option<String>,
    /// The most rows to give.
    pub limit: Option<usize>,
    /// Threads inside each call; 0 for one per processor.
    pub threads: usize,
}

/// One of the engine's metadata tables, resolved: its schema is known, nothing of its rows is read.
pub struct MetadataScan {
    table: Table,
    system: &'static SystemTable,
    options: MetadataOptions,
    schema: SchemaRef,
}

impl MetadataScan {
    /// Resolves the metadata table `name` of `table`; columns and filter are checked, no file is read.
    ///
    /// # Errors
    /// `UnknownColumn` for a table or column that is not there, naming those that are; `Predicate`.
    pub fn new(table: Table, name: &str, options: MetadataOptions) -> Result<MetadataScan> {
        let system = SYSTEM_TABLES.iter().find(|system| system.name == name).ok_or_else(|| {
            let known = metadata_tables().join(", ");
            Error::new(ErrorKind::UnknownColumn, format!("no metadata table {name:?}; there are {known}"))
        })?;
        let none = RecordBatch::new_empty(Arc::new(ArrowSchema::new((system.columns)())));
        let none = select(&none, options.columns.as_deref(), options.filter.as_deref())?;
        Ok(MetadataScan { table, system, options, schema: none.schema() })
    }

    /// The schema of the rows.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Starts reading.
    ///
    /// # Errors
    /// Those of reading the files that the table is made of; more may come with the batches.
    pub fn stream(&self) -> Result<Batches> {
        let rows = (self.system.rows)(&self.table, super::scan::threads(self.options.threads))?;
        let options = self.options.clone();
        let selected =
            rows.map(move |rows| select(&rows?, options.columns.as_deref(), options.filter.as_deref()));
        Ok(Box::new(limited(selected, self.options.limit.unwrap_or(usize::MAX))))
    }
}

/// The first `left` rows; nothing behind an error.
fn limited(
    batches: impl Iterator<Item = Result<RecordBatch>> + Send,
    mut left: usize,
) -> impl Iterator<Item = Result<RecordBatch>> + Send {
    batches.map_while(move |batch| {
        if left == 0 {
            return None;
        }
        let Ok(batch) = batch else {
            left = 0;
            return Some(batch);
        };
        let batch = if batch.num_rows() > left { batch.slice(0, left) } else { batch };
        left -= batch.num_rows();
        Some(Ok(batch))
    })
}

/// A table that is made whole.
fn whole(columns: Vec<Field>, arrays: Vec<ArrayRef>, rows: usize) -> Result<Batches> {
    let batch = batch(&Arc::new(ArrowSchema::new(columns)), arrays, rows)?;
    Ok(Box::new(std::iter::once(Ok(batch))))
}

/// Milliseconds since 1970 as the engine's TIMESTAMP(3).
fn timestamps(millis: impl IntoIterator<Item = impl Into<Option<i64>>>) -> Result<ArrayRef> {
    Ok(wall_clock(&instants(millis.into_iter())?))
}

/// Instants as the wall clock of UTC; the engine prints them in the zone of its machine.
fn wall_clock(instants: &ArrayRef) -> ArrayRef {
    let instants = instants.as_primitive::<TimestampMicrosecondType>();
    Arc::new(instants.clone().with_timezone_opt(None::<&str>))
}

fn required(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, false)
}

fn optional(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

/// The engine's TIMESTAMP(3), in the unit that Spark takes.
const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
