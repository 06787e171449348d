use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::test_data::{self, Random};

fn minimal() -> Value {
    json!({
        "id": 1, "baseManifestList": "b", "deltaManifestList": "d", "commitUser": "u",
        "commitIdentifier": 5, "commitKind": "APPEND", "timeMillis": 7,
    })
}

fn with(key: &str, value: Value) -> Result<Snapshot> {
    let mut json = minimal();
    json[key] = value;
    Snapshot::from_json(json.to_string().as_bytes())
}

#[test]
fn the_oldest_form_is_read() {
    let snapshot = Snapshot::from_json(minimal().to_string().as_bytes()).expect("a snapshot");
    assert_eq!((snapshot.version, snapshot.schema_id, snapshot.total_record_count), (1, 0, None));
    assert_eq!(with("version", Value::Null).expect("a snapshot").version, 1);
    assert_eq!(with("changelogManifestList", Value::Null).expect("a snapshot").changelog_manifest_list, None);
    assert!(with("logOffsets", json!({})).is_ok() && with("somethingNew", json!([[1]])).is_ok());
    let properties = with("properties", json!({"b": "1", "a": "2"})).expect("a snapshot").properties;
    assert_eq!(properties, Some(vec![("b".into(), "1".into()), ("a".into(), "2".into())]));
    assert_eq!(with("watermark", json!(i64::MIN)).expect("a snapshot").watermark, Some(i64::MIN));
}

#[test]
fn malformed_snapshots_are_refused() {
    for key in minimal().as_object().expect("an object").keys() {
        let mut json = minimal();
        json.as_object_mut().expect("an object").remove(key);
        let error = Snapshot::from_json(json.to_string().as_bytes()).expect_err(key);
        assert_eq!(error.kind(), ErrorKind::Json);
        assert!(error.message().contains(&format!("`{key}`")), "{error}");
    }
    for (key, value) in [
        ("commitKind", json!("FOO")),
        ("commitKind", json!("append")),
        ("id", json!(-1)),
        ("id", json!(1.5)),
        ("id", json!("1")),
        ("timeMillis", json!(9_223_372_036_854_775_808u64)),
        ("deltaManifestListSize", json!(-1)),
        ("baseManifestList", json!("../../etc/passwd")),
        ("indexManifest", json!("a/b")),
        ("statistics", json!("")),
        ("properties", json!({"a": {}})),
    ] {
        assert_eq!(with(key, value.clone()).expect_err(key).kind(), ErrorKind::Json, "{key} {value}");
    }
    let error = with("commitKind", json!("FOO")).expect_err("a commit kind");
    assert!(error.message().contains("FOO") && error.message().contains("ANALYZE"), "{error}");
}

#[test]
fn tags_with_and_without_retention() {
    let read = |extra: Value| {
        let mut json = minimal();
        json.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        Tag::from_json(json.to_string().as_bytes())
    };
    let plain = read(json!({})).expect("a tag");
    assert_eq!((plain.create_time_micros, plain.time_retained), (None, None));
    let created = |fields: Value| read(json!({"tagCreateTime": fields})).map(|tag| tag.create_time_micros);
    assert_eq!(created(json!([1970, 1, 1, 0, 0])).expect("minutes"), Some(0));
    assert_eq!(created(json!([1970, 1, 2, 1, 1, 1])).expect("seconds"), Some(90_061_000_000));
    assert_eq!(created(json!([1970, 1, 1, 0, 0, 0, 123_456_789])).expect("nanos"), Some(123_456));
    assert_eq!(created(Value::Null).expect("null"), None);
    for wrong in [json!([1970]), json!([1970, 13, 1, 0, 0]), json!([1, 1, 1, 1, 1, 1, 1, 1]), json!("now")] {
        assert_eq!(created(wrong).expect_err("not a time").kind(), ErrorKind::Json);
    }
    for seconds in ["86400.000000000", "86400.0", "86400"] {
        let json = minimal().to_string().replacen('{', &format!("{{\"tagTimeRetained\":{seconds},"), 1);
        let tag = Tag::from_json(json.as_bytes()).expect("a tag");
        assert_eq!(tag.time_retained, Some(Duration::from_secs(86_400)));
    }
    assert!(read(json!({"tagTimeRetained": -1})).is_err());
    assert!(read(json!({"tagTimeRetained": 1e300})).is_err());
}

#[test]
fn real_files_parse() {
    for prefix in ["snapshot-", "changelog-"] {
        for (path, bytes) in test_data::files(prefix) {
            if !path.parent().is_some_and(|folder| folder.ends_with(prefix.trim_end_matches('-'))) {
                continue;
            }
            let snapshot = Snapshot::from_json(&bytes).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            let name = path.file_name().expect("a name").to_string_lossy();
            assert_eq!(name, format!("{prefix}{}", snapshot.id), "{path:?}");
            let json: Value = serde_json::from_slice(&bytes).expect("JSON");
            assert_eq!(json["commitKind"], snapshot.commit_kind.name(), "{path:?}");
            assert_eq!(json["totalRecordCount"].as_i64(), snapshot.total_record_count, "{path:?}");
            assert_eq!(json["nextRowId"].as_i64(), snapshot.next_row_id, "{path:?}");
        }
    }
    for (path, bytes) in test_data::files("tag-") {
        let tag = Tag::from_json(&bytes).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let json: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(json.get("tagTimeRetained").is_some(), tag.time_retained.is_some(), "{path:?}");
        assert_eq!(json.get("tagCreateTime").is_some(), tag.create_time_micros.is_some(), "{path:?}");
    }
}

#[test]
fn changed_files_never_panic() {
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    for (_, bytes) in test_data::files("snapshot-").into_iter().chain(test_data::files("tag-")) {
        for _ in 0..50 {
            let _ = Tag::from_json(&random.mutate(&bytes));
        }
    }
}
