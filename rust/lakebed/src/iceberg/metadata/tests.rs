//! Metadata of all versions, valid and malformed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_buffer::Buffer;
use lakebed_avro::{ErrorKind as AvroKind, Limits};
use serde_json::{Value, json};

use super::*;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Local, Storage};
use crate::test_data::{self, Random};

/// Every metadata file of the shared tables.
fn files() -> Vec<PathBuf> {
    test_data::paths("iceberg", &|name| name.contains("metadata.json") || name.starts_with("TableMetadata"))
}

fn read_file(path: &Path, wanted: &WantedElements) -> Result<TableMetadata> {
    let file = MetadataFile::open(path.to_str().expect("UTF-8"), Arc::new(Local), Limits::DEFAULT)?;
    TableMetadata::read(&file, wanted)
}

/// One file, at any path, read in pieces of any length.
struct One(Vec<u8>);

impl Storage for One {
    fn read(&self, _path: &str) -> Result<Buffer> {
        Ok(Buffer::from_slice_ref(&self.0))
    }

    fn list(&self, _folder: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

fn read_with(bytes: impl Into<Vec<u8>>, wanted: &WantedElements, limits: Limits) -> Result<TableMetadata> {
    let file = MetadataFile::open("t/metadata/v1.metadata.json", Arc::new(One(bytes.into())), limits)?;
    TableMetadata::read(&file, wanted)
}

fn read(json: &Value) -> Result<TableMetadata> {
    read_with(json.to_string(), &WantedElements::ALL, Limits::DEFAULT)
}

fn refused(json: &Value) -> Error {
    read(json).expect_err("an error")
}

fn schema(id: i32) -> Value {
    json!({"type": "struct", "schema-id": id, "fields": [
        {"id": 1, "name": "a", "required": true, "type": "long"}]})
}

fn snapshot(id: i64) -> Value {
    json!({"snapshot-id": id, "timestamp-ms": id * 10, "manifest-list": format!("s3://b/snap-{id}.avro"),
        "sequence-number": id, "schema-id": 0, "summary": {"operation": "append", "added-records": "1"}})
}

/// Metadata of version 2 with the fields of `more` inserted, or removed where they are null.
fn second(more: &Value) -> Value {
    let mut json = json!({
        "format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "s3://b/t/",
        "last-sequence-number": 34, "last-updated-ms": 1_602_638_573_590_i64, "last-column-id": 3,
        "current-schema-id": 0, "schemas": [schema(0)], "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 1000,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
    });
    let object = json.as_object_mut().expect("an object");
    for (key, value) in more.as_object().expect("an object") {
        if value.is_null() {
            object.remove(key);
        } else {
            object.insert(key.clone(), value.clone());
        }
    }
    json
}

#[test]
fn real_files_are_read_or_refused_for_missing_fields() {
    let mut refusals = Vec::new();
    for path in files() {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let all = match read_file(&path, &WantedElements::ALL) {
            Ok(all) => all,
            Err(error) => {
                refusals.push((name, error.kind(), error.to_string()));
                continue;
            }
        };
        let current = read_file(&path, &WantedElements::CURRENT).expect("metadata");
        assert_eq!(current.schema(current.current_schema_id), all.schema(all.current_schema_id), "{name}");
        let heads = [&current, &all].map(|one| one.current_snapshot_id.and_then(|id| one.snapshot(id)));
        assert_eq!(heads[0], heads[1], "{name}");
        assert!(current.snapshots.len() <= 1, "{name}: only the current one is kept");
    }
    for (name, kind, words) in refusals {
        let (expected, lacks) = match name.as_str() {
            "TableMetadataUnsupportedVersion.json" => (ErrorKind::Version, "42"),
            "TableMetadataV2MissingSortOrder.json" => (ErrorKind::Required, "`sort-orders`"),
            "TableMetadataV2CurrentSchemaNotFound.json" => (ErrorKind::Required, "`current-schema-id`"),
            "v0.metadata.json" => (ErrorKind::Required, "`format-version`"),
            "vfinal.metadata.json" => (ErrorKind::Json, "integer `9876543210123456789`"),
            _ => panic!("{words}"),
        };
        assert_eq!(kind, expected, "{words}");
        assert!(words.contains(lacks), "{words}");
    }
}

#[test]
fn missing_fields_have_defaults() {
    let read = read(&second(&json!({"current-snapshot-id": -1, "properties": {"a": "b", "n": 7}})));
    let metadata = read.expect("metadata");
    assert_eq!(metadata.location, "s3://b/t", "without the slash");
    assert_eq!((metadata.current_snapshot_id, metadata.next_row_id), (None, None));
    assert!(metadata.refs.is_empty() && metadata.snapshots.is_empty() && metadata.snapshot_log.is_empty());
    assert_eq!(metadata.property("n"), Some("7"));
    assert_eq!(metadata.last_sequence_number, 34);
}

#[test]
fn version_one_has_its_schema_and_partition_fields_alone() {
    let first = json!({
        "format-version": 1, "location": "/t", "last-updated-ms": 1, "last-column-id": 1,
        "schema": schema(0), "properties": null, "current-snapshot-id": 5,
        "partition-spec": [{"name": "a", "transform": "identity", "source-id": 1, "field-id": 1003}],
        "snapshots": [{"snapshot-id": 5, "timestamp-ms": 9, "manifests": ["m0.avro", "m1.avro"]}],
    });
    let metadata = read(&first).expect("metadata");
    assert_eq!((metadata.current_schema_id, metadata.default_spec_id), (0, 0));
    assert_eq!((metadata.last_partition_id, metadata.last_sequence_number), (1003, 0));
    assert_eq!(metadata.sort_orders, [SortOrder::UNSORTED]);
    let snapshot = metadata.snapshot(5).expect("a snapshot");
    assert_eq!(snapshot.manifests, ["m0.avro", "m1.avro"]);
    assert_eq!((snapshot.sequence_number, &snapshot.operation, &snapshot.summary), (0, &None, &None));
    assert_eq!(metadata.refs.get(MAIN).map(|main| main.snapshot_id), Some(5));
}

#[test]
fn later_versions_ignore_fields_of_the_first() {
    let leftovers = json!({"schema": {"no": "schema"}, "partition-spec": [7], "unknown": [{"key": [1]}]});
    assert!(read(&second(&leftovers)).is_ok());
    let error = refused(&second(&json!({"schemas": null, "schema": schema(0)})));
    assert_eq!((error.kind(), error.message()), (ErrorKind::Required, "there is no `schemas`"));
}

#[test]
fn errors_name_missing_fields() {
    for key in [
        "format-version",
        "table-uuid",
        "location",
        "last-sequence-number",
        "last-updated-ms",
        "last-column-id",
        "current-schema-id",
        "schemas",
        "default-spec-id",
        "partition-specs",
        "last-partition-id",
        "default-sort-order-id",
        "sort-orders",
    ] {
        let error = refused(&second(&json!({ key: null })));
        assert_eq!(error.kind(), ErrorKind::Required);
        assert_eq!(error.message(), format!("there is no `{key}`"));
        assert_eq!(error.location().path.as_deref(), Some("t/metadata/v1.metadata.json"));
    }
    for (key, list) in [
        ("current-schema-id", "schemas"),
        ("default-spec-id", "partition-specs"),
        ("default-sort-order-id", "sort-orders"),
    ] {
        let error = refused(&second(&json!({ key: 9 })));
        assert_eq!(error.message(), format!("`{key}` is 9, which `{list}` does not have"));
    }
}

#[test]
fn wrong_values_are_located() {
    let text = |more| second(&more).to_string();
    let mut bad = snapshot(3);
    bad["timestamp-ms"] = json!("yesterday");
    let json = text(json!({"snapshots": [snapshot(1), bad]}));
    let error = read_with(json.clone(), &WantedElements::ALL, Limits::DEFAULT).expect_err("an error");
    assert_eq!(error.kind(), ErrorKind::Json);
    assert_eq!(error.location().field.as_deref(), Some("snapshots[1].timestamp-ms"));
    let end = json.find("yesterday\"").expect("the value") + "yesterday".len();
    assert_eq!(error.location().offset, Some(end as u64), "the last byte of the value");
    assert!(!error.to_string().contains('\n'));

    let cases = [
        (json!({"last-updated-ms": 1e300}), ErrorKind::Json, "last-updated-ms"),
        (json!({"last-column-id": 1_u64 << 40}), ErrorKind::Json, "last-column-id"),
        (json!({"schemas": {"a": 1}}), ErrorKind::Json, "schemas"),
        (json!({"schemas": [7]}), ErrorKind::Json, "schemas[0]"),
        (json!({"snapshots": [{"timestamp-ms": 1}]}), ErrorKind::Required, "snapshots[0]"),
        (json!({"refs": [1]}), ErrorKind::Json, "refs"),
        (json!({"refs": {"b": {"snapshot-id": 1, "type": "twig"}}}), ErrorKind::Json, "refs.b"),
        (json!({"snapshots": [snapshot(35)]}), ErrorKind::Mismatch, "last-sequence-number"),
        (json!({"format-version": 5}), ErrorKind::Version, "format-version"),
    ];
    for (more, kind, field) in cases {
        let error = refused(&second(&more));
        assert_eq!(error.kind(), kind, "{error}");
        let found = error.location().field.clone().unwrap_or_default();
        assert!(found.starts_with(field), "{found} is not {field}: {error}");
    }
}

#[test]
fn ids_are_exact() {
    let id = 3_051_729_675_574_597_004_i64;
    let mut one = snapshot(1);
    one["snapshot-id"] = json!(id);
    one["parent-snapshot-id"] = json!(-1);
    one["schema-id"] = json!("0");
    let metadata = read(&second(&json!({"snapshots": [one], "current-snapshot-id": id}))).expect("metadata");
    let found = metadata.snapshot(id).expect("a snapshot");
    assert_eq!((found.parent_id, found.schema_id), (None, Some(0)));
    assert_eq!(metadata.current_snapshot_id, Some(id));
    for wrong in [json!(9_876_543_210_123_456_789_u64), json!(3.0), json!("3")] {
        let error = refused(&second(&json!({"current-snapshot-id": wrong})));
        assert_eq!(error.location().field.as_deref(), Some("current-snapshot-id"), "{error}");
    }
}

#[test]
fn only_wanted_fields_are_kept_in_any_order() {
    let more = json!({"snapshots": [snapshot(1), snapshot(2), snapshot(3)], "current-snapshot-id": 1,
        "schemas": [schema(0), schema(1), schema(2)], "current-schema-id": 1,
        "snapshot-log": [{"timestamp-ms": 10, "snapshot-id": 1}]});
    let metadata = second(&more);
    let object = metadata.as_object().expect("an object").clone();
    let backwards: serde_json::Map<String, Value> = object.into_iter().rev().collect();
    for json in [metadata, Value::Object(backwards)] {
        let read =
            |wanted: &WantedElements| read_with(json.to_string(), wanted, Limits::DEFAULT).expect("metadata");
        let ids = |read: &TableMetadata| -> (Vec<i64>, Vec<i32>) {
            let snapshots = read.snapshots.iter().map(|one| one.snapshot_id).collect();
            (snapshots, read.schemas.iter().map(|one| one.schema_id).collect())
        };
        let current = read(&WantedElements::CURRENT);
        assert_eq!(ids(&current), (vec![1], vec![1]));
        assert!(current.snapshot_log.is_empty() && current.lineage.is_empty());
        let some = WantedElements { snapshots: ElementFilter::Ids([3, 7].into()), ..WantedElements::CURRENT };
        let mut some = read(&some);
        some.snapshots.sort_by_key(|one| one.snapshot_id);
        assert_eq!(ids(&some), (vec![1, 3], vec![1]));
        let all = read(&WantedElements::ALL);
        assert_eq!(ids(&all), (vec![1, 2, 3], vec![0, 1, 2]));
        assert_eq!((all.snapshot_log.len(), all.lineage.len()), (1, 3));
    }
}

#[test]
fn snapshots_are_passed_on_as_they_are_read() {
    let some: Vec<Value> =
        (1..=9000).map(|id| json!({"snapshot-id": id, "timestamp-ms": id, "manifests": []})).collect();
    let text = second(&json!({"snapshots": some, "current-snapshot-id": 9000})).to_string();
    let file = MetadataFile::of_bytes(Buffer::from(text.as_bytes()), Limits::DEFAULT);
    let metadata = TableMetadata::read(&file, &WantedElements::CURRENT).expect("metadata");
    let (mut ids, mut calls) = (Vec::new(), 0);
    let read = metadata.each_snapshot(&file, |some| {
        ids.extend(some.iter().map(|one| one.snapshot_id));
        calls += 1;
        Ok(())
    });
    assert!(read.is_ok());
    assert!(ids.into_iter().eq(1..=9000));
    assert_eq!(calls, 3);
}

#[test]
fn snapshots_are_given_away_where_the_list_lacks_the_schema_of_version_1() {
    let of_first = json!({"format-version": 1, "schema": schema(1), "current-schema-id": null});
    let text = second(&of_first).to_string();
    let file = MetadataFile::of_bytes(Buffer::from(text.as_bytes()), Limits::DEFAULT);
    let metadata = TableMetadata::read(&file, &WantedElements::CURRENT).expect("metadata");
    assert_eq!(metadata.current_schema_id, 1);
    metadata.each_snapshot(&file, |_| Ok(())).expect("snapshots");
}

#[test]
fn compressed_text_is_recognised_by_its_first_bytes() {
    use std::io::Write;
    let text = second(&json!({})).to_string();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).expect("written");
    let bytes = encoder.finish().expect("finished");
    let read = |bytes: &[u8]| read_with(bytes, &WantedElements::ALL, Limits::DEFAULT);
    assert!(read(&bytes).is_ok());
    for cut in 1..bytes.len() {
        let error = read(&bytes[..cut]).expect_err("an error");
        assert!(
            matches!(error.kind(), ErrorKind::Avro(AvroKind::Truncated) | ErrorKind::Json),
            "{cut}: {error}"
        );
    }
    let mut flipped = bytes.clone();
    let last = flipped.len() - 5;
    flipped[last] ^= 1;
    assert_eq!(read(&flipped).expect_err("an error").kind(), ErrorKind::Avro(AvroKind::Codec));
    let error = read(b"\x28\xb5\x2f\xfd....").expect_err("an error");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn limits_bound_the_text_and_each_element() {
    let text = second(&json!({"snapshots": [snapshot(1)], "unknown": "x".repeat(400_000)})).to_string();
    for limits in [
        Limits { max_file_bytes: 1000, ..Limits::DEFAULT },
        Limits { max_value_bytes: 100_000, ..Limits::DEFAULT },
    ] {
        let error = read_with(text.clone(), &WantedElements::ALL, limits).expect_err("an error");
        assert_eq!(error.kind(), ErrorKind::Avro(AvroKind::Limit), "{error}");
    }
}

#[test]
fn every_prefix_is_refused() {
    let text =
        second(&json!({"snapshots": [snapshot(1)], "refs": {}, "properties": {"é": "\\\""}})).to_string();
    for end in 0..text.len() {
        let error =
            read_with(&text.as_bytes()[..end], &WantedElements::ALL, Limits::DEFAULT).expect_err("an error");
        assert_eq!(error.kind(), ErrorKind::Avro(AvroKind::Truncated), "{end}: {error}");
        assert_eq!(error.location().offset, Some(end as u64));
    }
    assert!(read_with(format!("{text} \n"), &WantedElements::ALL, Limits::DEFAULT).is_ok());
    let error = read_with(format!("{text}}}"), &WantedElements::ALL, Limits::DEFAULT).expect_err("an error");
    assert_eq!(error.location().offset, Some(text.len() as u64));
}

#[test]
fn deep_nesting_is_an_error_or_passed_over() {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let text = |key: &str| {
        let json = second(&json!({})).to_string();
        format!("{},\"{key}\":{}}}", &json[..json.len() - 1], deep(100_000))
    };
    assert!(read_with(text("unknown"), &WantedElements::ALL, Limits::DEFAULT).is_ok());
    for key in ["schema", "refs", "properties", "partition-spec", "snapshots", "location"] {
        let error = read_with(text(key), &WantedElements::ALL, Limits::DEFAULT).expect_err("an error");
        assert_eq!(error.kind(), ErrorKind::Json, "{key}: {error}");
    }
}

#[test]
fn malformed_files_are_errors_of_one_line() {
    let mut random = Random(0x1ceb_e260);
    let samples: Vec<Vec<u8>> = files().iter().map(|path| std::fs::read(path).expect("bytes")).collect();
    let plain =
        samples.into_iter().filter(|bytes| bytes.len() < 8192).chain([second(&json!({})).to_string().into()]);
    for bytes in plain {
        for _ in 0..40 {
            if let Err(error) = read_with(random.mutate(&bytes), &WantedElements::ALL, Limits::DEFAULT) {
                let words = error.to_string();
                assert!(words.len() < 1024 && !words.contains('\n'), "{words}");
            }
        }
    }
}

#[test]
fn long_files_are_read_piece_by_piece() {
    let snapshots: Vec<Value> = (1..=30).map(snapshot).collect();
    let mut json = second(&json!({"snapshots": snapshots, "current-snapshot-id": 30}));
    json["properties"] = json!({"long": "é".repeat(5 << 20)});
    let text = json.to_string();
    // Pieces start with the last byte of the one before, and the length may be a multiple of theirs.
    for padding in [0, (12 << 20) - 2 - text.len(), (12 << 20) - 1 - text.len()] {
        let text = text.clone() + &" ".repeat(padding);
        let metadata = read_with(text, &WantedElements::CURRENT, Limits::DEFAULT).expect("metadata");
        assert_eq!(metadata.property("long").map(str::len), Some(10 << 20));
        assert_eq!(metadata.snapshots.len(), 1);
    }
}
