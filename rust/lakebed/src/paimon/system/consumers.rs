//! `$consumers` (Paimon's `ConsumersTable.java`): one row per consumer of the branch, by id.

use arrow_schema::DataType::{Int64, Utf8};
use arrow_schema::Field;
use serde::Deserialize;

use crate::error::Result;
use crate::json;
use crate::paimon::paths::consumer_file;
use crate::paimon::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "consumers", columns: |_| Ok(columns()), rows };

/// A `consumer-<id>` file (Paimon's `Consumer.java`).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Consumer {
    next_snapshot: i64,
}

fn columns() -> Vec<Field> {
    vec![required("consumer_id", Utf8), required("next_snapshot_id", Int64)]
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let files = table.files();
    let consumers = files.each(files.consumer_ids()?, |id| consumer_file(id), json::parse::<Consumer>)?;
    let rows = Rows(consumers.iter());
    let arrays = vec![rows.texts(|(id, _)| id.as_str()), rows.longs(|(_, consumer)| consumer.next_snapshot)];
    whole(columns(), arrays, consumers.len())
}
