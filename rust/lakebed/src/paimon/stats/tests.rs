//! Stored statistics, read with another schema.

use std::collections::BTreeMap;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int32Type, Int64Type};
use arrow_array::{Array, Decimal128Array, Int32Array};
use serde_json::{Value, json};

use super::*;
use crate::paimon::binary_row::encode_rows;
use crate::test_data;

fn schema(id: i64, fields: &Value) -> TableSchema {
    let schema = json!({
        "version": 3, "id": id, "fields": fields, "highestFieldId": 100, "partitionKeys": [],
        "primaryKeys": [], "options": {}, "timeMillis": 0,
    });
    TableSchema::from_json(schema.to_string().as_bytes()).expect("a schema")
}

/// The statistics of one entry.
struct Entry<'a> {
    schema_id: i64,
    bounds: [StructArray; 2],
    null_counts: Vec<Option<i64>>,
    stats_cols: Option<&'a [&'a str]>,
    write_cols: Option<&'a [&'a str]>,
}

fn names(list: Option<&[&str]>) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    match list {
        Some(names) => lists.append_value(names.iter().copied().map(Some)),
        None => lists.append_null(),
    }
    Arc::new(lists.finish())
}

/// The entry as a batch of one row, of which `row_count` are in the file.
fn entries(entry: &Entry<'_>, row_count: i64) -> RecordBatch {
    let encoded = entry.bounds.each_ref().map(|row| {
        let rows = encode_rows(row, row.fields()).expect("a row");
        Arc::new(rows) as ArrayRef
    });
    let mut counts = ListBuilder::new(Int64Builder::new());
    counts.append_value(entry.null_counts.iter().copied());
    let [lower, upper] = encoded;
    let columns =
        [("min_values", lower), ("max_values", upper), ("null_counts", Arc::new(counts.finish()) as _)];
    let columns: Vec<(Arc<Field>, ArrayRef)> = columns
        .into_iter()
        .map(|(name, array)| (Arc::new(Field::new(name, array.data_type().clone(), true)), array))
        .collect();
    RecordBatch::try_from_iter([
        ("row_count", Arc::new(Int64Array::from(vec![row_count])) as ArrayRef),
        ("value_stats", Arc::new(StructArray::from(columns))),
        ("schema_id", Arc::new(Int64Array::from(vec![entry.schema_id]))),
        ("value_stats_cols", names(entry.stats_cols)),
        ("write_cols", names(entry.write_cols)),
    ])
    .expect("a batch")
}

fn ints(values: &[Option<i32>]) -> StructArray {
    if values.is_empty() {
        return StructArray::new_empty_fields(1, None);
    }
    let columns = values.iter().enumerate().map(|(number, value)| {
        let field = Field::new(format!("f{number}"), DataType::Int32, true);
        (Arc::new(field), Arc::new(Int32Array::from(vec![*value])) as ArrayRef)
    });
    StructArray::from(columns.collect::<Vec<_>>())
}

/// Null count and bounds of the columns, all INT, of one entry.
fn int_stats(view: &StatsView, entries: &RecordBatch) -> Vec<[Option<i64>; 3]> {
    let stats = view.build(entries).expect("statistics");
    let number = |array: &ArrayRef| {
        array.is_valid(0).then(|| match array.data_type() {
            DataType::Int32 => array.as_primitive::<Int32Type>().value(0).into(),
            _ => array.as_primitive::<Int64Type>().value(0),
        })
    };
    let columns = stats.as_struct().columns().iter().map(|column| {
        let column = column.as_struct();
        [1, 4, 5].map(|place| number(column.column(place)))
    });
    columns.collect()
}

fn view(table: &TableSchema, file: TableSchema) -> StatsView {
    let names: Vec<String> = table.fields.iter().map(|field| field.name.clone()).collect();
    StatsView::new(&names, table, BTreeMap::from([(file.id, file)]), BoundsConversion::Sound).expect("a view")
}

#[test]
fn cases_of_other_projects() {
    let Some(path) = test_data::shared().map(|root| root.join("data/cases/paimon_stats_evolution.json"))
    else {
        return;
    };
    let cases: Value = serde_json::from_slice(&std::fs::read(path).expect("the cases")).expect("JSON");
    for case in cases["cases"].as_array().expect("cases") {
        let stats = case["stats"].as_array().expect("statistics");
        let bound = |name: &str| {
            let values = stats.iter().map(|stats| stats[name].as_i64().map(|value| value as i32));
            ints(&values.collect::<Vec<_>>())
        };
        let entry = Entry {
            schema_id: 0,
            bounds: [bound("min"), bound("max")],
            null_counts: stats.iter().map(|stats| stats["null_count"].as_i64()).collect(),
            stats_cols: None,
            write_cols: None,
        };
        let batch = entries(&entry, case["row_count"].as_i64().expect("a row count"));
        let expected = case["expect"].as_array().expect("answers").iter();
        let expected = expected.map(|stats| ["null_count", "min", "max"].map(|name| stats[name].as_i64()));
        let table = schema(1, &case["table_schema"]);
        let view = view(&table, schema(0, &case["file_schema"]));
        assert_eq!(int_stats(&view, &batch), expected.collect::<Vec<_>>(), "{}", case["id"]);
    }
}

const FILE: [(i32, &str); 3] = [(0, "a"), (1, "b"), (2, "c")];

fn int_schema(id: i64, fields: &[(i32, &str)], ty: &str) -> TableSchema {
    let fields = fields.iter().map(|(id, name)| json!({"id": id, "name": name, "type": ty}));
    schema(id, &Value::from(fields.collect::<Vec<_>>()))
}

#[test]
fn names_are_those_of_the_file() {
    let table = int_schema(1, &[(1, "a"), (9, "b"), (0, "c")], "INT");
    let view = view(&table, int_schema(0, &FILE, "INT"));
    let unknown = [None; 3];
    let given = |stats_cols, write_cols, values: &[i32]| {
        let values: Vec<Option<i32>> = values.iter().copied().map(Some).collect();
        let entry = Entry {
            schema_id: 0,
            bounds: [ints(&values), ints(&values)],
            null_counts: vec![Some(0); values.len()],
            stats_cols,
            write_cols,
        };
        int_stats(&view, &entries(&entry, 10))
    };
    let known = |value: i64| [Some(0), Some(value), Some(value)];
    let absent = [Some(10), None, None];
    assert_eq!(given(None, None, &[1, 2, 3]), [known(2), absent, known(1)]);
    assert_eq!(given(Some(&["b"]), None, &[2]), [known(2), absent, unknown]);
    assert_eq!(given(Some(&[]), None, &[]), [unknown, absent, unknown]);
    let system = ["c", "b", "_ROW_ID", "_SEQUENCE_NUMBER"];
    assert_eq!(given(None, Some(&system), &[3, 2, 7, 8]), [known(2), absent, unknown]);
    // A row with another number of values than names, or than fields of its schema, is ignored.
    assert_eq!(given(None, None, &[1, 2]), [unknown, absent, unknown]);
    assert_eq!(given(None, Some(&["a", "b"]), &[1, 2, 3]), [unknown, absent, unknown]);
}

#[test]
fn bounds_of_another_type_are_cast_where_that_is_sound() {
    let table = int_schema(1, &FILE, "TINYINT");
    let file = int_schema(0, &FILE, "INT");
    let entry = Entry {
        schema_id: 0,
        bounds: [ints(&[Some(1), Some(1), None]), ints(&[Some(100), Some(300), None])],
        null_counts: vec![Some(0); 3],
        stats_cols: None,
        write_cols: None,
    };
    let batch = entries(&entry, 10);
    let bounds = |view: &StatsView| {
        let stats = view.build(&batch).expect("statistics");
        let columns = stats.as_struct().columns().iter().map(|column| {
            [4, 5].map(|place| {
                let bound = column.as_struct().column(place).as_primitive::<arrow_array::types::Int8Type>();
                bound.is_valid(0).then(|| bound.value(0))
            })
        });
        columns.collect::<Vec<_>>()
    };
    let none = [None, None];
    assert_eq!(bounds(&view(&table, file.clone())), [[Some(1), Some(100)], none, none]);
    let names = FILE.map(|(_, name)| name.to_owned());
    let engine = StatsView::new(&names, &table, BTreeMap::from([(0, file)]), BoundsConversion::Engine)
        .expect("a view");
    assert_eq!(bounds(&engine), [[Some(1), Some(100)], [Some(1), Some(44)], none]);
}

#[test]
fn nulls_that_a_cast_makes_are_not_counted_as_none() {
    let table = int_schema(1, &FILE, "DECIMAL(3, 0)");
    let entry = Entry {
        schema_id: 0,
        bounds: [ints(&[Some(1), Some(1), None]), ints(&[Some(999), Some(1000), None])],
        null_counts: vec![Some(2), Some(2), Some(10)],
        stats_cols: None,
        write_cols: None,
    };
    let stats = view(&table, int_schema(0, &FILE, "INT")).build(&entries(&entry, 10)).expect("statistics");
    let counts = stats.as_struct().columns().iter().map(|column| {
        let counts = column.as_struct().column(1).as_primitive::<Int64Type>();
        counts.is_valid(0).then(|| counts.value(0))
    });
    assert_eq!(counts.collect::<Vec<_>>(), [Some(2), None, Some(10)]);
    let most: &Decimal128Array =
        stats.as_struct().column(0).as_struct().column(5).as_primitive::<Decimal128Type>();
    assert_eq!(most.value(0), 999);
}
