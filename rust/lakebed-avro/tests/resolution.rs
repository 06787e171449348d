//! Reading with another schema, compared with the resolution of apache-avro; guards and skipping with it.

mod common;

use std::sync::Arc;

use apache_avro::{Reader as ApacheReader, Schema as ApacheSchema};
use arrow_array::RecordBatch;
use lakebed_avro::{Blocks, ErrorKind, Limits, Program, Projection, ReadOptions, Reader, Result, Schema};
use serde_json::{Value as Json, json};

use common::rng::Rng;
use common::{memory, sample};

fn read_as(file: &[u8], reader: &str, projection: &Projection) -> Result<Vec<RecordBatch>> {
    let (header, blocks) = Blocks::open(memory(file), Limits::DEFAULT)?;
    let writer = Schema::parse(header.schema()?, &Limits::DEFAULT)?;
    let reader = Schema::parse_reader(reader, &Limits::DEFAULT)?;
    let program = Arc::new(Program::resolve_as(&writer, &reader, projection, &[])?);
    Reader::new(&header, blocks, program, None, ReadOptions::default()).collect()
}

/// A reader's schema made from a writer's: fields are dropped, reversed and added, primitive types promoted.
/// Named types that are used again by their names stay as they are.
fn evolve(rng: &mut Rng, writer: &Json) -> Json {
    match writer {
        Json::String(name) => {
            let wider: &[&str] = match name.as_str() {
                "int" => &["int", "long", "double"],
                "long" => &["long", "double"],
                "float" => &["float", "double"],
                _ => return writer.clone(),
            };
            json!(rng.pick(wider))
        }
        Json::Object(object) if object.contains_key("logicalType") => writer.clone(),
        Json::Object(object) => {
            let mut object = object.clone();
            for key in ["items", "values"] {
                if let Some(below) = object.get(key) {
                    let below = evolve(rng, below);
                    object.insert(key.to_owned(), below);
                }
            }
            if let Some(Json::Array(fields)) = object.get("fields") {
                let fields = evolve_fields(rng, fields);
                object.insert("fields".to_owned(), fields);
            }
            Json::Object(object)
        }
        _ => writer.clone(),
    }
}

fn evolve_fields(rng: &mut Rng, fields: &[Json]) -> Json {
    let mut wanted: Vec<Json> = fields
        .iter()
        .map(|field| json!({"name": field["name"], "type": evolve(rng, &field["type"])}))
        .collect();
    if rng.once_in(2) {
        wanted.reverse();
    }
    // A dropped field must not define a type that a later field names.
    if wanted.last().is_some_and(|last| last["type"].is_string()) && rng.once_in(2) {
        wanted.pop();
    }
    let added = [
        json!({"name": "added", "type": "long", "default": 7}),
        json!({"name": "added", "type": ["null", "string"], "default": null}),
        json!({"name": "added", "type": {"type": "array", "items": "int"}, "default": [1, 2]}),
        json!({"name": "added", "type": {"type": "map", "values": "string"}, "default": {"k": "v"}}),
    ];
    if rng.once_in(2) {
        wanted.push(rng.pick(&added).clone());
    }
    Json::Array(wanted)
}

/// Where the resolution of apache-avro differs from the specification.
///
/// - A value of a union is read as the first branch that it fits in any way, even a record of another name;
///   by the specification names must match.
/// - A type that is named again is decoded by the reader's definition of that name, not the writer's.
fn reference_differs(schema: &Json) -> bool {
    match schema {
        Json::Array(branches) => {
            branches.len() != 2
                || !branches.contains(&json!("null"))
                || branches.iter().any(reference_differs)
        }
        Json::Object(object) => {
            let fields = object.get("fields").and_then(Json::as_array);
            fields.into_iter().flatten().any(|field| reference_differs(&field["type"]))
                || ["items", "values"].iter().any(|key| object.get(*key).is_some_and(reference_differs))
        }
        Json::String(name) => !common::schemas::PLAIN.contains(&name.as_str()),
        _ => false,
    }
}

#[test]
fn evolved_schemas_give_the_values_of_the_reference_decoder() {
    let (mut rows, mut evolved) = (0, 0);
    for seed in 0..common::files(1500) {
        let sample = sample(seed, 20);
        let mut rng = Rng::new(seed);
        let (header, _) = Blocks::open(memory(&sample.bytes), Limits::DEFAULT).unwrap();
        let writer: Json = serde_json::from_str(header.schema().unwrap()).unwrap();
        if reference_differs(&writer) {
            continue;
        }
        let reader = evolve(&mut rng, &writer);
        // After reversing fields, a name may be before the definition of its type.
        let Ok(schema) = ApacheSchema::parse(&reader) else { continue };
        let reference =
            ApacheReader::builder(sample.bytes.as_slice()).reader_schema(&schema).build().unwrap();
        let Ok(values) = reference.collect::<std::result::Result<Vec<_>, _>>() else { continue };
        let batches = read_as(&sample.bytes, &reader.to_string(), &Projection::All)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}: {writer} as {reader}"));
        if let Err(why) = common::check::table(&batches, &values.iter().collect::<Vec<_>>()) {
            panic!("seed {seed}: {why}: {writer} as {reader}");
        }
        rows += values.len();
        evolved += usize::from(reader != writer);
    }
    assert!(rows > 1000 && evolved > 300, "{rows} rows, {evolved} evolved");
}

#[test]
fn a_files_own_schema_changes_nothing() {
    for seed in 0..common::files(300) {
        let sample = sample(seed, 20);
        let (header, _) = Blocks::open(memory(&sample.bytes), Limits::DEFAULT).unwrap();
        let batches = read_as(&sample.bytes, header.schema().unwrap(), &Projection::All).unwrap();
        let values: Vec<_> = sample.values.iter().collect();
        common::check::table(&batches, &values).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}

#[test]
fn both_paths_are_named() {
    let writer = common::hand::record(&[("old", &inner(r#""string""#, "x"))]);
    let reader = inner(r#""int""#, "x");
    let reader = format!(
        r#"{{"type": "record", "name": "row", "fields": [{{"name": "new", "aliases": ["old"], "type": {reader}}}]}}"#
    );
    let error = read_as(&common::hand::file(&writer, &[]), &reader, &Projection::All).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unresolvable);
    assert_eq!(error.message(), "the writer's old.x (string) does not resolve to the reader's new.x (int)");
    assert_eq!(error.location().field.as_deref(), Some("new.x"));
}

fn inner(kind: &str, name: &str) -> String {
    format!(r#"{{"type": "record", "name": "inner", "fields": [{{"name": "{name}", "type": {kind}}}]}}"#)
}
