//! `$consumers` (Paimon's `ConsumersTable.java`): one row per consumer of the branch, by id.

use std::sync::Arc;

use arrow_array::{Int64Array, StringArray};
use arrow_schema::DataType::{Int64, Utf8};
use arrow_schema::Field;
use serde::Deserialize;

use crate::error::Result;
use crate::json;
use crate::paimon::paths::consumer_file;
use crate::paimon::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};

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
    let ids = consumers.iter().map(|(id, _)| id);
    let next = consumers.iter().map(|(_, consumer)| consumer.next_snapshot);
    let arrays = vec![
        Arc::new(StringArray::from_iter_values(ids)) as _,
        Arc::new(Int64Array::from_iter_values(next)) as _,
    ];
    whole(columns(), arrays, consumers.len())
}
