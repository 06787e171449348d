use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::test_data::{self, Random};

fn minimal() -> Value {
    json!({
        "id": 0,
        "fields": [
            {"id": 0, "name": "dt", "type": "STRING NOT NULL"},
            {"id": 1, "name": "k", "type": "INT NOT NULL"},
            {"id": 2, "name": "v", "type": "INT"},
        ],
        "highestFieldId": 2, "partitionKeys": ["dt"], "primaryKeys": ["dt", "k"], "options": {},
    })
}

fn with(changes: impl FnOnce(&mut Value)) -> Result<TableSchema> {
    let mut json = minimal();
    changes(&mut json);
    TableSchema::from_json(json.to_string().as_bytes())
}

fn names(fields: &[&DataField]) -> Vec<String> {
    fields.iter().map(|field| field.name.clone()).collect()
}

#[test]
fn old_versions_imply_options() {
    let schema = with(|_| ()).expect("version 1");
    assert_eq!((schema.version, schema.time_millis, schema.bucket()), (1, 0, 1));
    assert_eq!(schema.option("file.format"), Some("orc"));

    let schema = with(|json| json["version"] = 2.into()).expect("version 2");
    assert_eq!((schema.bucket(), schema.option("file.format")), (-1, Some("orc")));

    let schema = with(|json| json["version"] = 3.into()).expect("version 3");
    assert_eq!((schema.bucket(), schema.options.len()), (-1, 0));

    let schema = with(|json| json["options"] = json!({"bucket": "7", "file.format": "avro"}));
    let schema = schema.expect("version 1 with options");
    assert_eq!((schema.bucket(), schema.option("file.format")), (7, Some("avro")));

    let schema = with(|json| json["version"] = 9.into()).expect("version 9");
    assert_eq!((schema.version, schema.options.len()), (9, 0));
}

#[test]
fn keys_become_fields() {
    let schema = with(|_| ()).expect("a schema");
    assert_eq!(names(&schema.partition_fields()), ["dt"]);
    assert_eq!(names(&schema.trimmed_primary_keys()), ["k"]);
    assert_eq!(names(&schema.bucket_keys()), ["k"]);
    assert_eq!(schema.field_by_id(2).map(|field| field.name.as_str()), Some("v"));
    assert_eq!(schema.field_by_name("k").map(|field| field.id), Some(1));
    assert!(schema.field_by_id(7).is_none() && schema.field_by_name("x").is_none());

    let keyless = with(|json| {
        json["primaryKeys"] = json!([]);
        json["options"] = json!({"bucket-key": "v,k", "bucket": 4});
    });
    let keyless = keyless.expect("an append table");
    assert!(keyless.trimmed_primary_keys().is_empty());
    assert_eq!((names(&keyless.bucket_keys()), keyless.bucket()), (vec!["v".into(), "k".into()], 4));
}

#[test]
fn malformed_schemas_are_refused() {
    for key in ["id", "fields", "highestFieldId", "partitionKeys", "primaryKeys", "options"] {
        let error = with(|json| drop(json.as_object_mut().expect("an object").remove(key)));
        let error = error.expect_err(key);
        assert_eq!(error.kind(), ErrorKind::Json);
        assert!(error.message().contains(key), "{error}");
    }
    let changes: [(&str, Value); 9] = [
        ("id", json!(-0.5)),
        ("partitionKeys", json!(["nope"])),
        ("partitionKeys", json!(["dt", "dt"])),
        ("primaryKeys", json!(["dt"])),
        ("options", json!({"bucket": "many"})),
        ("options", json!({"bucket-key": "nope"})),
        ("options", json!({"bucket": null})),
        ("fields", json!([{"name": "dt", "type": "INT"}])),
        ("highestFieldId", json!(4_294_967_296i64)),
    ];
    for (key, value) in changes {
        let error = with(|json| json[key] = value.clone()).expect_err(key);
        assert_eq!(error.kind(), ErrorKind::Json, "{key} {value}");
    }
    let error = with(|json| json["fields"][2]["id"] = 1.into()).expect_err("an id twice");
    assert!(error.message().contains("id 1"), "{error}");
    let error = with(|json| json["fields"][2]["name"] = "k".into()).expect_err("a name twice");
    assert!(error.message().contains("\"k\""), "{error}");
    let nested = json!({"type": "ROW", "fields": [{"id": 1, "name": "x", "type": "INT"}]});
    let error = with(|json| json["fields"][2]["type"] = json!({"type": "ARRAY", "element": nested}));
    assert!(error.expect_err("a nested id twice").message().contains("id 1"));
    let error = with(|json| json["fields"][2]["type"] = "FOO".into()).expect_err("a type");
    assert_eq!((error.kind(), error.location().field.as_deref()), (ErrorKind::Type, Some("v")));
}

#[test]
fn nested_fields_without_id_are_numbered_above_all_others() {
    let row = json!({"type": "ROW", "fields": [{"name": "x", "type": "INT"}]});
    let schema = with(|json| json["fields"][2]["type"] = row).expect("a schema");
    let TypeKind::Row(fields) = &schema.fields[2].ty.kind else { panic!("a row") };
    assert_eq!(fields[0].id, 3);
}

#[test]
fn real_schemas_parse_and_print_the_same() {
    for (path, bytes) in test_data::files("schema-") {
        let schema = TableSchema::from_json(&bytes).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let original: Value = serde_json::from_slice(&bytes).expect("JSON");
        let printed: Vec<Value> = schema.fields.iter().map(DataField::to_json).collect();
        assert_eq!(Value::Array(printed).to_string(), original["fields"].to_string(), "{path:?}");
        let name = path.file_name().expect("a name").to_string_lossy();
        assert_eq!(name, format!("schema-{}", schema.id));
        for field in &schema.fields {
            if !matches!(field.ty.to_json(), Value::Object(_)) {
                assert_eq!(field.ty.to_json(), Value::String(field.ty.to_string()));
            }
        }
    }
}

#[test]
fn changed_schemas_never_panic() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for (_, bytes) in test_data::files("schema-") {
        for _ in 0..100 {
            if let Ok(schema) = TableSchema::from_json(&random.mutate(&bytes)) {
                schema.fields.iter().for_each(|field| drop((field.to_string(), field.ty.view_type())));
            }
        }
    }
    let deep = [b"[".repeat(100_000), br#"{"fields":"#.to_vec(), b"[{\"type\":".repeat(100_000)];
    for bytes in deep {
        assert!(TableSchema::from_json(&bytes).is_err());
    }
}
