//! `$statistics` (Paimon's `StatisticTable.java`): the result of `ANALYZE`; one row if the table's snapshot
//! names a statistics file, else none.

use std::sync::Arc;

use arrow_array::StringArray;
use arrow_schema::DataType::{Int64, Utf8};
use arrow_schema::Field;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::json::{self, invalid};
use crate::paimon::jackson;
use crate::paimon::paths::statistics_file;
use crate::paimon::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "statistics", columns: |_| Ok(columns()), rows };

/// A statistics file (Paimon's `Statistics.java`).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::paimon) struct Statistics {
    snapshot_id: i64,
    schema_id: i64,
    merged_record_count: Option<i64>,
    merged_record_size: Option<i64>,
    /// By column name, in file order.
    col_stats: Option<Map<String, Value>>,
}

/// The statistics of one column (Paimon's `ColStats.java`); bounds are values cast to STRING.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ColStats {
    col_id: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    distinct_count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    null_count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    avg_len: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_len: Option<i64>,
}

fn columns() -> Vec<Field> {
    vec![
        required("snapshot_id", Int64),
        required("schema_id", Int64),
        optional("mergedRecordCount", Int64),
        optional("mergedRecordSize", Int64),
        optional("colstat", Utf8),
    ]
}

impl Statistics {
    /// Those that the table's snapshot names: commits name what the last `ANALYZE` wrote.
    ///
    /// # Errors
    /// Those of reading the file.
    pub(in crate::paimon) fn of(table: &Table) -> Result<Option<Statistics>> {
        let files = table.files();
        let name = table.snapshot().and_then(|snapshot| snapshot.statistics.as_deref());
        let path = name.map(|name| files.shared(&statistics_file(name)));
        path.map(|path| files.parsed(&path, json::parse::<Statistics>)).transpose()
    }

    /// The number of distinct values of a column, and the snapshot that they were counted in.
    ///
    /// # Errors
    /// `Argument` for statistics of a column that are none.
    pub(in crate::paimon) fn distinct_count(&self, column: &str) -> Result<Option<(i64, i64)>> {
        let stats = self.col_stats.as_ref().and_then(|columns| columns.get(column));
        let stats = stats.map(|stats| col_stats(column, stats)).transpose()?;
        Ok(stats.and_then(|stats| stats.distinct_count).map(|count| (count, self.snapshot_id)))
    }
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let found: Vec<Statistics> = Statistics::of(table)?.into_iter().collect();
    let rows = Rows(found.iter());
    let col_stats = found.iter().map(|file| file.col_stats.as_ref().map(engine_text).transpose());
    let arrays = vec![
        rows.longs(|file| file.snapshot_id),
        rows.longs(|file| file.schema_id),
        rows.longs(|file| file.merged_record_count),
        rows.longs(|file| file.merged_record_size),
        Arc::new(col_stats.collect::<Result<StringArray>>()?) as _,
    ];
    whole(columns(), arrays, found.len())
}

/// The columns' statistics as the engine prints them: its own keys in its own order.
fn engine_text(columns: &Map<String, Value>) -> Result<String> {
    let normal = |(name, stats): (&String, &Value)| {
        let stats = serde_json::to_value(col_stats(name, stats)?).map_err(|error| wrong(name, &error))?;
        Ok((name.clone(), stats))
    };
    jackson::pretty(&Value::Object(columns.iter().map(normal).collect::<Result<_>>()?))
}

fn col_stats(column: &str, stats: &Value) -> Result<ColStats> {
    ColStats::deserialize(stats).map_err(|error| wrong(column, &error))
}

fn wrong(column: &str, error: &serde_json::Error) -> Error {
    invalid(format!("`colStats` of {column:?}: {}", json::words(error)))
}
