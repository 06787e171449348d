use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray, new_null_array};
use serde_json::{Value, json};

use super::*;
use crate::iceberg::fields::ENTRY;
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::table::TableTypes;
use crate::iceberg::types::Schema;
use crate::test_data::cases;

/// A table of one string column and the specs of a case: their ids, and "unpartitioned" or a transform of it.
fn types(specs: &Value) -> TableTypes {
    let schema = json!({"type": "struct", "fields": [
        {"id": 1, "name": "data", "required": false, "type": "string"}]});
    let spec = |(id, spec): (&String, &Value)| {
        let fields = match spec.as_str().expect("a spec").strip_suffix("(data)") {
            Some(transform) => {
                json!([{"name": "data_p", "transform": transform, "source-id": 1, "field-id": 1000}])
            }
            None => {
                assert_eq!(spec, "unpartitioned");
                json!([])
            }
        };
        PartitionSpec::from_fields(id.parse().expect("an id"), &fields).expect("a spec")
    };
    let specs: Vec<_> = specs.as_object().expect("specs").iter().map(spec).collect();
    TableTypes::new(Arc::new(Schema::from_json(&schema).expect("a schema")), specs.into(), Vec::new())
}

/// A file of a case: `file_path`, `sequence_number` and so on, null where it does not say.
fn entries(files: &[Value], types: &TableTypes) -> RecordBatch {
    let longs = |name: &str| -> ArrayRef {
        Arc::new(files.iter().map(|file| file[name].as_i64()).collect::<Int64Array>())
    };
    let ints = |name: &str| -> ArrayRef {
        let ints =
            files.iter().map(|file| file[name].as_i64().map(|int| i32::try_from(int).expect("32 bits")));
        Arc::new(ints.collect::<Int32Array>())
    };
    let texts = |name: &str| -> ArrayRef {
        Arc::new(files.iter().map(|file| file[name].as_str()).collect::<StringArray>())
    };
    let columns = ENTRY.iter().map(|spec| {
        let column = match spec.column {
            "content" | "spec_id" => ints(spec.column),
            "sequence_number" => longs(spec.column),
            "file_path" | "file_format" | "referenced_data_file" => texts(spec.column),
            "partition" => {
                let value = |file: &Value| file["partition"][0].as_i64().map(|value| value as i32);
                let values: ArrayRef = Arc::new(files.iter().map(value).collect::<Int32Array>());
                let fields = types.partition.arrow_fields();
                Arc::new(StructArray::try_new(fields, vec![values], None).expect("tuples"))
            }
            "equality_ids" => {
                let mut ids = ListBuilder::new(Int32Builder::new());
                files.iter().for_each(|_| ids.append_value([Some(1)]));
                Arc::new(ids.finish())
            }
            _ => new_null_array(&(spec.data_type)(), files.len()),
        };
        (spec.column, column)
    });
    RecordBatch::try_from_iter(columns).expect("entries")
}

fn delete(case: &Value) -> Value {
    let (content, format) = match case["content"].as_str().expect("a content") {
        "position" => (1, "PARQUET"),
        "equality" => (2, "PARQUET"),
        "deletion-vector" => (1, "Puffin"),
        other => panic!("unknown content {other}"),
    };
    let mut delete = case.clone();
    delete["content"] = content.into();
    delete["file_format"] = format.into();
    delete["file_path"] = case["name"].clone();
    delete
}

/// The names of the deletes of a case that apply to its data file.
fn applied(case: &Value) -> Result<Vec<String>> {
    let types = types(&case["specs"]);
    let deletes: Vec<Value> = case["deletes"].as_array().expect("deletes").iter().map(delete).collect();
    let mut file = case["data_file"].clone();
    file["file_path"] = file["path"].clone();
    let mut index = DeleteIndexBuilder::new(types.clone())?;
    index.push(&entries(&deletes, &types))?;
    let index = index.finish(Vec::new())?;
    let mut found = Vec::new();
    index.append(&index.files(&entries(&[file], &types))?, 0, &mut found)?;
    let name = |number: &i32| deletes[usize::try_from(*number).expect("a number")]["name"].clone();
    Ok(found.iter().map(|number| name(number).as_str().expect("a name").to_owned()).collect())
}

#[test]
fn cases_of_the_engine() {
    let kinds = HashMap::from([
        ("multiple-deletion-vectors", "duplicate"),
        ("deletion-vector-older-than-data", "mismatch"),
    ]);
    for case in cases("iceberg_delete_index.json") {
        match (&case["expect"], applied(&case)) {
            (Value::Array(expected), Ok(mut found)) => {
                let mut expected: Vec<&str> =
                    expected.iter().map(|name| name.as_str().expect("a name")).collect();
                expected.sort_unstable();
                found.sort_unstable();
                assert_eq!(found, expected, "{case}");
            }
            (Value::Object(expected), Err(error)) => {
                let kind = expected["error"].as_str().expect("a kind");
                assert_eq!(kinds.get(kind), Some(&error.kind().name()), "{case}: {error}");
            }
            (_, found) => panic!("{case}: {found:?}"),
        }
    }
}
