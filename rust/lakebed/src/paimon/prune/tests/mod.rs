//! Filters on tables without files.

mod bucket;
mod cases;
mod together;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use serde_json::{Value, json};

use super::bind::BoundFilter;
use super::partitions::PartitionPredicate;
use crate::paimon::binary_row::encode_rows;
use crate::paimon::schema::TableSchema;
use crate::predicate::Predicate;

/// A table of these fields.
fn table(fields: &Value, partition_keys: &Value, primary_keys: &Value, options: &Value) -> TableSchema {
    let schema = json!({
        "version": 3, "id": 0, "fields": fields, "highestFieldId": 100, "partitionKeys": partition_keys,
        "primaryKeys": primary_keys, "options": options, "timeMillis": 0,
    });
    TableSchema::from_json(schema.to_string().as_bytes()).expect("a schema")
}

fn partition_predicate(predicate: &Predicate, schema: &TableSchema) -> PartitionPredicate {
    let bound = BoundFilter::new(predicate, schema).expect("a filter of the table's columns");
    PartitionPredicate::new(&bound, schema).expect("a filter on partitions")
}

/// A stored row of JSON values: whole numbers as INT, texts as STRING.
fn row(values: &[Value]) -> Vec<u8> {
    let column = |(number, value): (usize, &Value)| {
        let array: ArrayRef = match value {
            Value::String(text) => Arc::new(StringArray::from(vec![text.as_str()])),
            Value::Null => Arc::new(Int32Array::new_null(1)),
            Value::Number(number) => {
                let number = number.as_i64().and_then(|number| i32::try_from(number).ok());
                Arc::new(Int32Array::from(vec![number.expect("an INT")]))
            }
            other => panic!("unknown value {other}"),
        };
        (Arc::new(Field::new(format!("f{number}"), array.data_type().clone(), true)), array)
    };
    let columns: Vec<(Arc<Field>, ArrayRef)> = values.iter().enumerate().map(column).collect();
    let row = StructArray::from(columns);
    assert!(row.fields().iter().all(|field| *field.data_type() != DataType::Null));
    encode_rows(&row, row.fields()).expect("a row").value(0).to_vec()
}
