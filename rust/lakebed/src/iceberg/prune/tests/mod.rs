//! Filters of other projects' tests and of the engine's plans, with their results.

mod cases;
mod golden;
mod periods;
mod strict;

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int32Builder, Int64Builder, MapBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use serde_json::Value;

use super::*;
use crate::iceberg::types::Schema;
use crate::iceberg::value::text::parse_hex;
use crate::predicate::{BoundLeaf, Node};
use crate::view::map_names;

/// Binds the expression of a case, with the case of names or without.
fn bind(filter: &Value, schema: &Schema, partition: &PartitionType, names: Names) -> Result<RowFilter> {
    bind_with(Logic::TwoValued, filter, schema, partition, names)
}

fn bind_with(
    logic: Logic,
    filter: &Value,
    schema: &Schema,
    partition: &PartitionType,
    names: Names,
) -> Result<RowFilter> {
    RowFilter::new(
        &Predicate::of_expression(&filter.to_string(), schema, names)?,
        schema,
        partition,
        names,
        logic,
    )
}

/// One entry with the metrics of a case's file.
fn entry(file: &Value) -> RecordBatch {
    let rows: ArrayRef = Arc::new(Int64Array::from(vec![file["record_count"].as_i64().expect("rows")]));
    let counts = ["value_counts", "null_value_counts", "nan_value_counts"].map(|name| {
        let mut map = MapBuilder::new(Some(map_names()), Int32Builder::new(), Int64Builder::new());
        for (id, count) in file[name].as_object().into_iter().flatten() {
            map.keys().append_value(id.parse().expect("an id"));
            map.values().append_value(count.as_i64().expect("a count"));
        }
        map.append(file[name].is_object()).expect("a map");
        (name, Arc::new(map.finish()) as ArrayRef)
    });
    let bounds = ["lower_bounds", "upper_bounds"].map(|name| {
        let mut map = MapBuilder::new(Some(map_names()), Int32Builder::new(), BinaryBuilder::new());
        for (id, bound) in file[name].as_object().into_iter().flatten() {
            let Some(bound) = bound.as_str() else { continue };
            map.keys().append_value(id.parse().expect("an id"));
            map.values().append_value(parse_hex(bound).expect("hex"));
        }
        map.append(file[name].is_object()).expect("a map");
        (name, Arc::new(map.finish()) as ArrayRef)
    });
    let columns = std::iter::once(("record_count", rows)).chain(counts).chain(bounds);
    RecordBatch::try_from_iter(columns).expect("an entry")
}

/// The terms of a predicate in canonical order and form, without repeats.
fn spelled(node: &Node) -> String {
    let all = |terms: &[Node], word: &str| {
        let mut terms: Vec<_> = terms.iter().map(spelled).collect();
        terms.sort();
        format!("({})", terms.join(word))
    };
    match node {
        Node::Constant(value) => value.to_string(),
        Node::Leaf(leaf) => leaf_spelled(leaf),
        Node::And(terms) => all(terms, " and "),
        Node::Or(terms) => all(terms, " or "),
    }
}

fn leaf_spelled(leaf: &BoundLeaf) -> String {
    let name = match (leaf.operator.name(), leaf.operands.values.len()) {
        ("IN", 1) => "=",
        ("NOT IN", 1) => "<>",
        (name, _) => name,
    };
    format!("{} {name} {:?}", leaf.column.index, leaf.operands.values)
}
