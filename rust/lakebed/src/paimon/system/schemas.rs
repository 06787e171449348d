//! `$schemas` (Paimon's `SchemasTable.java`): one row per schema version of the branch, oldest first.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::DataType::{Int64, Utf8};
use arrow_schema::Field;
use serde_json::{Map, Value};

use super::{TIMESTAMP, timestamps};
use crate::error::Result;
use crate::paimon::jackson;
use crate::paimon::java_map::hash_map_order;
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::paimon::types::DataField;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "schemas", columns: |_| Ok(columns()), rows };

fn columns() -> Vec<Field> {
    vec![
        required("schema_id", Int64),
        required("fields", Utf8),
        required("partition_keys", Utf8),
        required("primary_keys", Utf8),
        required("options", Utf8),
        optional("comment", Utf8),
        required("update_time", TIMESTAMP),
    ]
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let schemas: Vec<TableSchema> = table.schemas()?.into_values().collect();
    let text = |part: fn(&TableSchema) -> Value| -> Result<ArrayRef> {
        let texts = schemas.iter().map(|schema| jackson::compact(&part(schema)));
        Ok(Arc::new(StringArray::from(texts.collect::<Result<Vec<_>>>()?)))
    };
    let arrays = vec![
        Rows(schemas.iter()).longs(|schema| schema.id),
        text(|schema| schema.fields.iter().map(DataField::to_json).collect())?,
        text(|schema| schema.partition_keys.as_slice().into())?,
        text(|schema| schema.primary_keys.as_slice().into())?,
        text(|schema| {
            let pairs = hash_map_order(&schema.options)
                .into_iter()
                .map(|(key, value)| (key.clone(), value.as_str().into()));
            Value::Object(pairs.collect::<Map<_, _>>())
        })?,
        Rows(schemas.iter()).texts(|schema| schema.comment.as_deref()),
        timestamps(schemas.iter().map(|schema| schema.time_millis))?,
    ];
    whole(columns(), arrays, schemas.len())
}
