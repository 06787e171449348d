//! Partition types and paths of tables that the engine wrote, compared with its own.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use super::*;
use crate::iceberg::test_values::array;

/// The folders of the engine's answers.
fn golden() -> Vec<PathBuf> {
    let tables = shared().map(|root| root.join("data/golden/iceberg"));
    let tables = tables.into_iter().flat_map(|root| std::fs::read_dir(root).expect("golden tables"));
    tables.map(|table| table.expect("a table").path().join("expected")).filter(|path| path.is_dir()).collect()
}

/// The engine's summary of a table, and its schemas, the current one first.
fn summary(expected: &std::path::Path) -> (Value, Vec<Schema>) {
    let summary = std::fs::read(expected.join("table.json")).expect("a summary");
    let summary: Value = serde_json::from_slice(&summary).expect("JSON");
    let schemas = summary["schemas"].as_array().unwrap().iter().map(|json| Schema::from_json(json).unwrap());
    let mut schemas: Vec<Schema> = schemas.collect();
    let current = summary["current_schema_id"].as_i64().unwrap();
    schemas.sort_by_key(|schema| i64::from(schema.schema_id) != current);
    (summary, schemas)
}

fn specs(summary: &Value) -> Vec<PartitionSpec> {
    let specs = summary["specs"].as_array().unwrap().iter();
    specs.map(|answer| PartitionSpec::from_json(&answer["spec"]).unwrap()).collect()
}

#[test]
fn types_of_specs() {
    for expected in golden() {
        let (summary, schemas) = summary(&expected);
        for (answer, spec) in summary["specs"].as_array().unwrap().iter().zip(specs(&summary)) {
            let unified = PartitionType::unify(std::slice::from_ref(&spec), &[&schemas[0]]);
            let mut fields = printed(&unified);
            // Java prints them in the order of the spec, and those of dropped columns as unknown.
            fields.sort_by_key(|field| {
                spec.fields.iter().position(|known| field.starts_with(&known.field_id.to_string()))
            });
            let engine = answer["partition_type"].as_str().unwrap();
            if !engine.contains("unknown") {
                assert_eq!(format!("struct<{}>", fields.join(", ")), engine, "{}", expected.display());
            }
            assert_eq!(Value::Bool(spec.is_unpartitioned()), answer["is_unpartitioned"]);
        }
    }
}

#[test]
fn paths_of_files() {
    for expected in golden() {
        let (summary, schemas) = summary(&expected);
        let specs = specs(&summary);
        let unified = PartitionType::unify(&specs, &schemas.iter().collect::<Vec<_>>());
        let Ok(file) = std::fs::File::open(expected.join("raw_entries.jsonl.gz")) else { continue };
        for line in BufReader::new(flate2::read::GzDecoder::new(file)).lines() {
            let entry: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let Some(path) = entry["file_path"].as_str() else { continue };
            let spec = specs.iter().find(|spec| entry["spec_id"] == spec.spec_id).unwrap();
            let tuple = entry["partition"].as_array().unwrap().iter().map(|field| {
                let id = field["field_id"].as_i64().unwrap();
                let known =
                    unified.fields.iter().find(|known| i64::from(known.field.field_id) == id).unwrap();
                (id.to_string(), array(&known.ty, &field["value"]))
            });
            let tuple: Vec<(String, ArrayRef)> = tuple.collect();
            let tuple = tuples(tuple.iter().map(|(id, column)| (id.as_str(), Arc::clone(column))).collect());
            let ours = unified.paths(&unified.align(&tuple, spec).unwrap(), spec).unwrap();
            // Puffin files are not in the folder of a partition.
            if !path.ends_with(".puffin") {
                let between = path.split("/data/").nth(1).and_then(|below| below.rsplit_once('/'));
                assert_eq!(ours.value(0), between.map_or("", |(folder, _)| folder), "{path}");
            }
        }
    }
}
