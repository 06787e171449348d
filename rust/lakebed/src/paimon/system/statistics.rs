//! `$statistics` (Paimon's `StatisticTable.java`): the result of `ANALYZE`; one row if the table's snapshot
//! names a statistics file, else none.

use std::sync::Arc;

use arrow_array::StringArray;
use arrow_schema::DataType::{Int64, Utf8};
use arrow_schema::Field;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Result;
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
struct Statistics {
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

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let files = table.files();
    let name = table.snapshot().and_then(|snapshot| snapshot.statistics.as_deref());
    let path = name.map(|name| files.shared(&statistics_file(name)));
    let read = |path: &String| files.parsed(path, json::parse::<Statistics>);
    let found = path.iter().map(read).collect::<Result<Vec<_>>>()?;
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
        let wrong =
            |error: serde_json::Error| invalid(format!("`colStats` of {name:?}: {}", json::words(&error)));
        let stats = ColStats::deserialize(stats).map_err(wrong)?;
        Ok((name.clone(), serde_json::to_value(stats).map_err(wrong)?))
    };
    jackson::pretty(&Value::Object(columns.iter().map(normal).collect::<Result<_>>()?))
}
