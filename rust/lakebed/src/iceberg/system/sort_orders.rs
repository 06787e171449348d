//! `sort_orders`: one row per sort order, in the order of the metadata.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, StringArray};
use arrow_schema::DataType::{Boolean, Int32, Utf8};
use arrow_schema::Field;

use super::types::{list, structs};
use crate::error::Result;
use crate::iceberg::metadata::{SortField, SortOrder};
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};
use crate::view::{lists, struct_lists};

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "sort_orders", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    let field = [("source_ids", list(Int32)), ("transform", Utf8), ("direction", Utf8), ("null_order", Utf8)];
    Ok(vec![
        required("order_id", Int32),
        required("is_default", Boolean),
        required("fields", structs(&field)),
    ])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let (orders, default) = (&table.metadata().sort_orders, table.metadata().default_sort_order_id);
    let is_default = orders.iter().map(|order| Some(order.order_id == default));
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(orders.iter().map(|order| order.order_id))),
        Arc::new(is_default.collect::<BooleanArray>()),
        fields(orders)?,
    ];
    whole(columns(table)?, arrays, orders.len())
}

fn fields(orders: &[SortOrder]) -> Result<ArrayRef> {
    let fields = || orders.iter().flat_map(|order| &order.fields);
    let text = |value: fn(&SortField) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(fields().map(value)))
    };
    let sources = Int32Array::from_iter_values(fields().flat_map(SortField::sources));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("source_ids", lists(fields().map(|field| field.sources().count()), Arc::new(sources))?),
        ("transform", text(|field| &field.transform)),
        ("direction", text(|field| &field.direction)),
        ("null_order", text(|field| &field.null_order)),
    ];
    struct_lists(orders.iter().map(|order| order.fields.len()), columns)
}
