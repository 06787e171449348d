//! Maps of which only some keys are kept: the result is the same as reading all of them and filtering.

mod common;

use std::sync::Arc;

use apache_avro::types::Value;
use arrow_array::RecordBatch;
use lakebed_avro::{Blocks, ErrorKind, Limits, Program, Projection, ReadOptions, Reader, Result, Schema};

use common::hand::{self, bytes, long};
use common::rng::Rng;
use common::{check, memory, sample};

fn read(file: &[u8], projection: &Projection, limits: Limits) -> Result<Vec<RecordBatch>> {
    let (header, blocks) = Blocks::open(memory(file), limits)?;
    let schema = Schema::parse(header.schema()?, &limits)?;
    let program = Arc::new(Program::resolve(&schema, projection, &[])?);
    let options = ReadOptions { limits, batch_rows: 7, ..ReadOptions::default() };
    Reader::new(&header, blocks, program, None, options).collect()
}

/// The dotted paths of all maps with int keys.
fn maps(fields: &arrow_schema::Fields, prefix: &str, schema: &Schema) -> Vec<String> {
    let mut found = Vec::new();
    for field in fields {
        let path = format!("{prefix}{}", field.name());
        if let arrow_schema::DataType::Struct(below) = field.data_type() {
            found.extend(maps(below, &format!("{path}."), schema));
        }
        if schema.has_int_keys(&path) {
            found.push(path);
        }
    }
    found
}

/// Drops the entries of other keys from the map at `path`.
fn filter(value: &mut Value, path: &str, keys: &[i32]) {
    let (head, rest) = path.split_once('.').unwrap_or((path, ""));
    match value {
        Value::Union(_, value) => filter(value, path, keys),
        Value::Record(fields) => {
            fields
                .iter_mut()
                .filter(|(name, _)| name == head)
                .for_each(|(_, value)| filter(value, rest, keys));
        }
        Value::Array(items) => items.retain(|item| key_of(item).is_some_and(|key| keys.contains(&key))),
        _ => {}
    }
}

fn key_of(item: &Value) -> Option<i32> {
    let Value::Record(fields) = item else { return None };
    if let Some((_, Value::Int(key))) = fields.first() { Some(*key) } else { None }
}

/// The keys of the map at `path`, in the order of the file.
fn keys_in(value: &Value, path: &str) -> Vec<i32> {
    let (head, rest) = path.split_once('.').unwrap_or((path, ""));
    match value {
        Value::Union(_, value) => keys_in(value, path),
        Value::Record(fields) => fields
            .iter()
            .filter(|(name, _)| name == head)
            .flat_map(|(_, value)| keys_in(value, rest))
            .collect(),
        Value::Array(items) => items.iter().filter_map(key_of).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_kept_keys_are_those_that_a_filter_keeps() {
    let (mut kept, mut dropped) = (0, 0);
    for seed in 0..common::files(500) {
        let sample = sample(seed, 20);
        let schema = Schema::parse(&sample.schema.canonical_form(), &Limits::DEFAULT);
        let Ok(schema) = schema else { continue };
        let program = Program::resolve(&schema, &Projection::All, &[]).unwrap();
        let paths = maps(program.schema().fields(), "", &schema);
        let mut rng = Rng::new(seed);
        let mut values = sample.values.clone();
        let mut wanted = Vec::new();
        for path in &paths {
            let there: Vec<i32> = values.iter().flat_map(|value| keys_in(value, path)).collect();
            let mut keys: Vec<i32> = there.iter().filter(|_| rng.once_in(3)).copied().collect();
            keys.push(rng.long() as i32);
            values.iter_mut().for_each(|value| filter(value, path, &keys));
            let left = values.iter().map(|value| keys_in(value, path).len()).sum::<usize>();
            (kept, dropped) = (kept + left, dropped + there.len() - left);
            wanted.push((path.clone(), keys));
        }
        let columns = program.schema().fields().iter().map(|field| field.name().clone());
        let projection = Projection::Keyed { paths: columns.collect(), keys: wanted };
        let batches = read(&sample.bytes, &projection, Limits::DEFAULT)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        if let Err(why) = check::table(&batches, &values.iter().collect::<Vec<_>>()) {
            panic!("seed {seed}: {why}: {projection:?}");
        }
    }
    assert!(kept > 1000 && dropped > 1000, "{kept} kept, {dropped} dropped");
}

const BOUNDS: &str = r#"["null", {"type": "array", "logicalType": "map", "items": {"type": "record", "name": "kv",
    "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "bytes"}]}}]"#;

fn keyed(paths: &[&str], path: &str, keys: &[i32]) -> Projection {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    Projection::Keyed { paths, keys: vec![(path.to_owned(), keys.to_vec())] }
}

fn pair(key: i64, value: &[u8]) -> Vec<u8> {
    [long(key), bytes(value)].concat()
}

#[test]
fn dropped_entries_are_checked_and_counted_like_kept_ones() {
    let schema = hand::record(&[("a", BOUNDS)]);
    let payload = |pairs: &[Vec<u8>]| [long(1), long(pairs.len() as i64), pairs.concat(), long(0)].concat();
    let kept = |payload: Vec<u8>, limits| {
        let file = hand::file(&schema, &[(1, payload)]);
        read(&file, &keyed(&["a"], "a", &[2]), limits)
            .map(|batches| arrow_array::cast::AsArray::as_map(batches[0].column(0)).value_length(0))
    };
    let three = payload(&[pair(1, b"one"), pair(2, b"two"), pair(70, &[7; 100])]);
    assert_eq!(kept(three.clone(), Limits::DEFAULT).unwrap(), 1);
    assert_eq!(kept([long(1), long(0)].concat(), Limits::DEFAULT).unwrap(), 0);
    let error = |payload, limits| {
        let error = kept(payload, limits).unwrap_err();
        (error.kind(), error.location().field.clone().unwrap_or_default())
    };
    let few = Limits { max_items: 2, ..Limits::DEFAULT };
    assert_eq!(error(three.clone(), few), (ErrorKind::Limit, "a".to_owned()));
    let short = Limits { max_value_bytes: 99, ..Limits::DEFAULT };
    assert_eq!(error(three.clone(), short), (ErrorKind::Limit, "a.value".to_owned()));
    let wide = payload(&[pair(1, b"one"), pair(1 << 40, b"two")]);
    assert_eq!(error(wide, Limits::DEFAULT), (ErrorKind::IntRange, "a.key".to_owned()));
    let cut = three[..three.len() - 50].to_vec();
    let pairs = [pair(1, b"one"), pair(2, b"two"), pair(3, b"three")].concat();
    let sized = |size: usize| [long(1), long(-3), long(size as i64), pairs.clone(), long(0)].concat();
    assert_eq!(kept(sized(pairs.len()), Limits::DEFAULT).unwrap(), 1);
    assert_eq!(error(sized(pairs.len() - 1), Limits::DEFAULT), (ErrorKind::Length, "a".to_owned()));
    assert_eq!(error(cut, Limits::DEFAULT), (ErrorKind::Truncated, "a.value".to_owned()));
}

#[test]
fn keys_can_be_requested_only_of_maps_with_int_keys() {
    let schema =
        hand::record(&[("a", BOUNDS), ("b", r#"{"type": "map", "values": "int"}"#), ("c", r#""int""#)]);
    let file = hand::file(&schema, &[(1, [long(0), long(0), long(5)].concat())]);
    let error = |path| read(&file, &keyed(&["a"], path, &[1]), Limits::DEFAULT).unwrap_err();
    for path in ["b", "c", "a.key", "none"] {
        assert_eq!(error(path).kind(), ErrorKind::UnknownColumn);
        assert_eq!(error(path).location().field.as_deref(), Some(path));
    }
    // A null stays a null, and keys of maps that are not projected change nothing.
    let batches = read(&file, &keyed(&["a"], "a", &[1]), Limits::DEFAULT).unwrap();
    assert_eq!(batches[0].column(0).null_count(), 1);
    let batches = read(&file, &keyed(&["c"], "a", &[1]), Limits::DEFAULT).unwrap();
    assert_eq!(batches[0].num_columns(), 1);
}

#[test]
fn keys_must_come_before_their_values() {
    let items = |fields: &str| {
        hand::record(&[(
            "a",
            &format!(
                r#"{{"type": "array", "items": {{"type": "record", "name": "kv", "fields": [{fields}]}}}}"#
            ),
        )])
    };
    let (key, value) = (r#"{"name": "key", "type": "int"}"#, r#"{"name": "value", "type": "long"}"#);
    let schema = |text: &str| Schema::parse(text, &Limits::DEFAULT).unwrap();
    let reader = schema(&items(&format!("{key}, {value}")));
    let writer = schema(&items(&format!("{value}, {key}")));
    let projection = keyed(&["a"], "a", &[1]);
    assert!(Program::resolve_as(&reader, &reader, &projection, &[]).is_ok());
    let error = Program::resolve_as(&writer, &reader, &projection, &[]).unwrap_err();
    assert_eq!((error.kind(), error.location().field.as_deref()), (ErrorKind::Unresolvable, Some("a")));
}
