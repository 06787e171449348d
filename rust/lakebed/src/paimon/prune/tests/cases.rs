//! Case tables beside the project: `$LAKEBED_SHARED/data/cases/paimon_partition_*.json`.

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{Array, ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, StructArray};
use arrow_schema::Field;
use serde_json::{Value, json};
use std::sync::Arc;

use super::{partition_predicate, row, table};
use crate::predicate::tests::cases::{Columns, cases, predicate};
use crate::predicate::{Literal, Operator, Predicate};

fn parsed(json: &Value) -> Predicate {
    predicate(json, &mut Columns::new())
}

/// The names of fields.
fn names(fields: &Value) -> Vec<Value> {
    fields.as_array().expect("fields").iter().map(|field| field["name"].clone()).collect()
}

/// Any of the partitions listed.
fn any_of(partitions: &[Value], fields: &Value) -> Predicate {
    let equal = |(name, value): (&Value, &Value)| {
        let literal = match value {
            Value::Number(number) => Literal::Number(number.to_string()),
            Value::String(text) => Literal::String(text.clone()),
            Value::Null => Literal::Null,
            other => panic!("unknown value {other}"),
        };
        Predicate::leaf(name.as_str().expect("a name"), Operator::EqNullSafe, vec![literal])
    };
    let names = names(fields);
    let all = |partition: &Value| {
        let values = partition.as_array().expect("values");
        Predicate::and(names.iter().zip(values).map(equal).collect())
    };
    Predicate::or(partitions.iter().map(all).collect())
}

/// A manifest list of one manifest with bounds of its partitions.
fn list(stats: &[Value], rows: i64) -> RecordBatch {
    let bound = |name: &str| {
        let values: Vec<Value> = stats.iter().map(|stats| stats[name].clone()).collect();
        Arc::new(BinaryArray::from_vec(vec![&row(&values)])) as ArrayRef
    };
    let mut nulls = ListBuilder::new(Int64Builder::new());
    nulls.append_value(stats.iter().map(|stats| stats["null_count"].as_i64()));
    let parts = [
        ("min_values", bound("min")),
        ("max_values", bound("max")),
        ("null_counts", Arc::new(nulls.finish()) as ArrayRef),
    ];
    let parts =
        parts.map(|(name, array)| (Arc::new(Field::new(name, array.data_type().clone(), true)), array));
    let none = || Arc::new(Int32Array::new_null(1)) as ArrayRef;
    RecordBatch::try_from_iter([
        ("num_added_files", Arc::new(Int64Array::from(vec![rows])) as ArrayRef),
        ("num_deleted_files", Arc::new(Int64Array::from(vec![0]))),
        ("partition_stats", Arc::new(StructArray::from(parts.to_vec()))),
        ("min_bucket", none()),
        ("max_bucket", none()),
    ])
    .expect("a list")
}

#[test]
fn partitions_and_their_bounds() {
    for case in cases("paimon_partition_predicate") {
        let filter = &case["filter"];
        let fields = &filter["type"];
        let schema = table(fields, &Value::from(names(fields)), &json!([]), &json!({}));
        let predicate = match filter["partitions"].as_array() {
            Some(partitions) => any_of(partitions, fields),
            None => parsed(&filter["predicate"]),
        };
        let predicate = partition_predicate(&predicate, &schema);
        let answer = match case["row"].as_array() {
            Some(values) => predicate.matches(&row(values), 0).expect("an answer"),
            None => {
                let stats = case["stats"].as_array().expect("statistics");
                let rows = case["row_count"].as_i64().expect("a row count");
                predicate.may_match(&list(stats, rows)).expect("an answer")[0]
            }
        };
        assert_eq!(Value::Bool(answer), case["expect"], "{case}");
    }
}

#[test]
fn residuals_of_partitions() {
    for case in cases("paimon_partition_value") {
        let schema =
            table(&case["table_type"], &Value::from(names(&case["partition_type"])), &json!([]), &json!({}));
        let predicate = partition_predicate(&parsed(&case["predicate"]), &schema);
        let partition = row(case["partition"].as_array().expect("values"));
        let open = predicate.rest(&partition, 0).expect("an answer").written();
        assert_eq!(open.to_string(), parsed(&case["expect"]).to_string(), "{case}");
    }
}

#[test]
fn filters_on_partitions() {
    for case in cases("paimon_partition_split") {
        let schema = table(&case["table_type"], &case["partition_keys"], &json!([]), &json!({}));
        let predicate = partition_predicate(&parsed(&case["filter"]), &schema);
        let (answer, expected) = match case["partition"].as_array() {
            Some(values) => (predicate.matches(&row(values), 0).expect("an answer"), &case["expect"]),
            None => (predicate.can_prune(), &case["expect"]["extracts_partition_predicate"]),
        };
        assert_eq!(Value::Bool(answer), *expected, "{case}");
    }
}
