//! `sort_orders`: one row per sort order, in the order of the metadata.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array};
use arrow_schema::DataType::{Boolean, Int32, Utf8};
use arrow_schema::Field;

use super::{list, structs};
use crate::error::Result;
use crate::iceberg::metadata::{SortField, SortOrder};
use crate::iceberg::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, required, whole};
use crate::view::{Rows, lists, struct_lists};

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
    let rows = Rows(orders.iter());
    let arrays = vec![
        rows.ints(|order| order.order_id),
        rows.booleans(|order| order.order_id == default),
        fields(orders)?,
    ];
    whole(columns(table)?, arrays, orders.len())
}

fn fields(orders: &[SortOrder]) -> Result<ArrayRef> {
    let fields = || orders.iter().flat_map(|order| &order.fields);
    let rows = Rows(fields());
    let sources = Int32Array::from_iter_values(fields().flat_map(SortField::sources));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("source_ids", lists(fields().map(|field| field.sources().count()), Arc::new(sources))?),
        ("transform", rows.texts(|field| field.transform.as_str())),
        ("direction", rows.texts(|field| field.direction.as_str())),
        ("null_order", rows.texts(|field| field.null_order.as_str())),
    ];
    struct_lists(orders.iter().map(|order| order.fields.len()), columns)
}
