use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int32Builder, Int64Builder, ListBuilder, MapBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray, new_null_array};
use serde_json::{Value, json};

use super::*;
use crate::iceberg::fields::ENTRY;
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::paths::TableFormat;
use crate::iceberg::table::TableTypes;
use crate::iceberg::types::{Schema, Type};
use crate::record::mistyped;
use crate::test_data::{Random, cases};
use crate::view::map_names;

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
    let format = TableFormat { version: 2, location: "/t".to_owned() };
    TableTypes::new(Arc::new(Schema::from_json(&schema).expect("a schema")), specs.into(), Vec::new(), format)
}

/// A file of a case: `file_path`, `sequence_number` and so on, null where it is unknown.
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
            "value_counts" | "null_value_counts" | "nan_value_counts" => counts(files, spec.column),
            "lower_bounds" | "upper_bounds" => bounds(files, spec.column),
            _ => new_null_array(&(spec.data_type)(), files.len()),
        };
        (spec.column, column)
    });
    RecordBatch::try_from_iter(columns).expect("entries")
}

/// Counts by field id: `{"1": 3}`, null where they are unknown.
fn counts(files: &[Value], name: &str) -> ArrayRef {
    let mut maps = MapBuilder::new(Some(map_names()), Int32Builder::new(), Int64Builder::new());
    for file in files {
        for (id, count) in file[name].as_object().into_iter().flatten() {
            maps.keys().append_value(id.parse().expect("an id"));
            maps.values().append_value(count.as_i64().expect("a count"));
        }
        maps.append(file[name].is_object()).expect("a map");
    }
    Arc::new(maps.finish())
}

/// Bounds by field id: `{"1": "text"}`, null where they are unknown.
fn bounds(files: &[Value], name: &str) -> ArrayRef {
    let mut maps = MapBuilder::new(Some(map_names()), Int32Builder::new(), BinaryBuilder::new());
    for file in files {
        for (id, bound) in file[name].as_object().into_iter().flatten() {
            maps.keys().append_value(id.parse().expect("an id"));
            maps.values().append_value(bound.as_str().expect("a text"));
        }
        maps.append(file[name].is_object()).expect("a map");
    }
    Arc::new(maps.finish())
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
    let index = index.finish(vec![EqualityField { id: 1, ty: Type::String, required: false }])?;
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

/// A case of one partitioned spec, one without partitions and a file of the former in partition 0.
fn case(deletes: &[Value], more: &Value) -> Value {
    let file = json!({"path": "s3://b/a", "sequence_number": 3, "spec_id": 1, "partition": [0]});
    let deletes = deletes.iter().map(|delete| {
        let all = json!({"name": "d", "sequence_number": 5, "spec_id": 1, "partition": [0]});
        merged(&all, delete)
    });
    json!({
        "specs": {"0": "unpartitioned", "1": "bucket[16](data)"},
        "deletes": deletes.collect::<Vec<_>>(),
        "data_file": merged(&file, more),
    })
}

fn merged(one: &Value, other: &Value) -> Value {
    let mut both = one.clone();
    for (key, value) in other.as_object().expect("an object") {
        both[key] = value.clone();
    }
    both
}

fn applies(delete: Value, file: &Value) -> bool {
    !applied(&case(&[delete], file)).expect("an answer").is_empty()
}

/// The reserved id of the paths in position deletes.
const PATH: &str = "2147483546";

#[test]
fn position_deletes_whose_bounds_are_one_path_are_of_that_file() {
    let of = |lower: &str, upper: &str| json!({"content": "position", "lower_bounds": {PATH: lower}, "upper_bounds": {PATH: upper}});
    let here = json!({});
    assert!(applies(of("s3://b/a", "s3://b/a"), &here));
    assert!(!applies(of("s3://b/c", "s3://b/c"), &here));
    // A lower bound other than the upper bound does not restrict the delete, as in the engine.
    assert!(applies(of("s3://b/c", "s3://b/d"), &here));
    assert!(!applies(of("s3a://b/a", "s3a://b/a"), &here));
    let referring = json!({"content": "position", "referenced_data_file": "s3://b/c"});
    assert!(!applies(referring, &here));
}

#[test]
fn position_deletes_of_an_unpartitioned_spec_are_not_global() {
    for (content, global) in [("position", false), ("equality", true)] {
        let delete = json!({"content": content, "spec_id": 0, "partition": null});
        assert_eq!(applies(delete, &json!({})), global, "{content}");
    }
}

#[test]
fn null_partitions_are_equal() {
    let nowhere = json!({"partition": [null]});
    for content in ["position", "equality"] {
        assert!(applies(json!({"content": content, "partition": [null]}), &nowhere));
        assert!(!applies(json!({"content": content}), &nowhere));
    }
}

#[test]
fn a_deletion_vector_applies_whatever_its_partition() {
    let vector = json!({"content": "deletion-vector", "referenced_data_file": "s3://b/a", "partition": [1]});
    assert!(applies(vector.clone(), &json!({})));
    let error = applied(&case(&[merged(&vector, &json!({"sequence_number": 2}))], &json!({}))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let lost = json!({"content": "deletion-vector"});
    let error = applied(&case(&[lost], &json!({}))).unwrap_err();
    assert_eq!((error.kind(), error.location().path.as_deref()), (ErrorKind::Required, Some("d")));
}

#[test]
fn position_deletes_of_one_file_apply_whatever_their_partition() {
    let file = json!({"content": "position", "referenced_data_file": "s3://b/a"});
    assert!(applies(file.clone(), &json!({})));
    for (other, does) in [
        (json!({"partition": [1]}), true),
        (json!({"partition": [null]}), true),
        (json!({"spec_id": 0, "partition": null}), true),
        (json!({"partition": [1], "sequence_number": 2}), false),
    ] {
        assert_eq!(applies(merged(&file, &other), &json!({})), does, "{other}");
    }
    // A deletion vector replaces position deletes.
    let vector = json!({"content": "deletion-vector", "referenced_data_file": "s3://b/a", "name": "v"});
    let both = case(&[merged(&file, &json!({"partition": [1]})), vector], &json!({}));
    assert_eq!(applied(&both).expect("a vector"), ["v"]);
}

#[test]
fn equality_deletes_of_missing_specs_are_refused() {
    let delete = json!({"content": "equality", "spec_id": 7});
    assert_eq!(applied(&case(&[delete], &json!({}))).unwrap_err().kind(), ErrorKind::Required);
}

/// Metrics of the column that equality deletes compare: values, nulls and bounds.
fn stats(values: i64, nulls: i64, bounds: Option<(&str, &str)>) -> Value {
    let mut stats = json!({"value_counts": {"1": values}, "null_value_counts": {"1": nulls}});
    if let Some((lower, upper)) = bounds {
        stats["lower_bounds"] = json!({"1": lower});
        stats["upper_bounds"] = json!({"1": upper});
    }
    stats
}

#[test]
fn equality_deletes_are_left_out_where_metrics_share_no_value() {
    let delete = |stats: &Value| merged(&json!({"content": "equality"}), stats);
    let low = stats(3, 0, Some(("a", "c")));
    let high = stats(3, 0, Some(("d", "f")));
    let both = stats(3, 0, Some(("c", "d")));
    let with_nulls = stats(3, 1, Some(("a", "c")));
    let only_nulls = stats(3, 3, None);
    let unknown = json!({});
    for (deleted, file, applies_to) in [
        (&low, &high, false),
        (&low, &both, true),
        (&high, &both, true),
        (&with_nulls, &high, false),
        (&low, &only_nulls, false),
        (&only_nulls, &low, false),
        (&only_nulls, &with_nulls, true),
        (&with_nulls, &only_nulls, true),
        (&unknown, &low, true),
        (&low, &unknown, true),
        // Both may hold nulls that are not counted.
        (&unknown, &only_nulls, true),
        (&json!({"lower_bounds": {"1": "a"}, "upper_bounds": {"1": "b"}}), &high, false),
        (&json!({"lower_bounds": {"1": "a"}}), &high, true),
        (&stats(3, -1, Some(("a", "c"))), &with_nulls, true),
    ] {
        assert_eq!(applies(delete(deleted), file), applies_to, "{deleted} {file}");
    }
}

/// Whether `delete` applies to `file` by the rules of the specification, in the simplest form.
fn by_the_rules(delete: &Value, file: &Value) -> bool {
    let number = |one: &Value, name: &str| one[name].as_i64();
    let same = |name: &str| delete[name] == file[name];
    let older = number(file, "sequence_number") < number(delete, "sequence_number");
    if delete["content"] == "position" {
        return match &delete["referenced_data_file"] {
            Value::Null => same("spec_id") && same("partition") && (older || same("sequence_number")),
            path => *path == file["path"] && (older || same("sequence_number")),
        };
    }
    let text = |one: &Value, name: &str| one[name]["1"].as_str().map(str::to_owned);
    let ranges = [(delete, file), (file, delete)].map(|(low, high)| {
        let (lowest, highest) = (text(low, "lower_bounds"), text(high, "upper_bounds"));
        lowest.zip(highest).is_none_or(|(lowest, highest)| lowest <= highest)
    });
    let known = [delete, file].iter().all(|one| one["lower_bounds"].is_object());
    let nulls = [delete, file].iter().all(|one| one["null_value_counts"]["1"] != 0);
    let shares = nulls || !known || ranges == [true, true];
    older && shares && (number(delete, "spec_id") == Some(0) || (same("spec_id") && same("partition")))
}

#[test]
fn random_deletes_apply_by_the_rules() {
    let mut random = Random(11);
    for round in 0..40 {
        let one = |random: &mut Random, name: usize| {
            let spec = i64::from(random.below(4) > 0);
            let partition = if spec == 0 { json!(null) } else { json!([random.below(3)]) };
            let mut file =
                json!({"sequence_number": random.below(6), "spec_id": spec, "partition": partition});
            file["path"] = format!("p{}", random.below(9)).into();
            file["name"] = name.to_string().into();
            if random.below(4) > 0 {
                let low = char::from(b'a' + random.below(20) as u8);
                let high = char::from(low as u8 + random.below(3) as u8);
                let nulls = if random.below(4) > 0 { 0 } else { 1 };
                file = merged(&file, &stats(9, nulls, Some((&low.to_string(), &high.to_string()))));
            }
            file
        };
        let deletes = (0..150).map(|name| {
            let mut delete = one(&mut random, name);
            delete["content"] = if random.below(4) > 0 { "equality" } else { "position" }.into();
            if delete["content"] == "position" && random.below(2) > 0 {
                delete["referenced_data_file"] = delete["path"].clone();
            }
            delete
        });
        let deletes: Vec<Value> = deletes.collect();
        let file = one(&mut random, 0);
        let mut case = case(&[], &json!({}));
        (case["deletes"], case["data_file"]) = (deletes.clone().into(), file.clone());
        let mut found: Vec<usize> =
            applied(&case).expect("deletes").iter().map(|name| name.parse().expect("a number")).collect();
        found.sort_unstable();
        let expected: Vec<usize> =
            (0..deletes.len()).filter(|place| by_the_rules(&deletes[*place], &file)).collect();
        assert_eq!(found, expected, "round {round}: {file}");
    }
}

/// Entries may be sent by another process: nothing in them is believed.
#[test]
fn entries_with_a_column_of_another_type_are_refused() {
    let types = types(&json!({"0": "bucket[16](data)"}));
    let delete = json!({"content": 2, "spec_id": 0, "sequence_number": 2, "file_path": "a", "partition": [1],
        "file_format": "parquet"});
    let entries = entries(&[delete], &types);
    let read = |entries: &RecordBatch| -> Result<DeleteIndex> {
        let mut index = DeleteIndexBuilder::new(types.clone())?;
        index.push(entries)?;
        index.finish(vec![EqualityField { id: 1, ty: Type::String, required: false }])
    };
    assert_eq!(read(&entries).unwrap().len(), 1);
    let checked = ["content", "file_path", "file_format", "partition", "sequence_number", "equality_ids"];
    for (name, entries) in mistyped(&entries).filter(|(name, _)| checked.contains(&name.as_str())) {
        let error = read(&entries).err().unwrap();
        assert_eq!(
            (error.kind(), error.location().field.as_deref()),
            (ErrorKind::Mismatch, Some(name.as_str()))
        );
    }
}
