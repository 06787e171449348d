//! Each fault of a value or of the framing, in a file built by hand: its kind and its location.

mod common;

use common::hand::{self, block, bytes, file, header, long, record, refused};
use lakebed_avro::{ErrorKind, Limits};

const DEFAULT: Limits = Limits::DEFAULT;

/// A file of two blocks: two valid records, then a valid and an invalid one.
fn broken_fourth(of: &str, good: &[u8], bad: &[u8]) -> Vec<u8> {
    // A long is before the value of each record.
    let keyed =
        |records: [&[u8]; 2]| records.iter().flat_map(|record| [&long(5), *record].concat()).collect();
    let blocks = [(2, keyed([good, good])), (2, keyed([good, bad]))];
    file(&record(&[("k", r#""long""#), ("a", of)]), &blocks)
}

/// The fourth record is refused with `kind`, at `field`.
fn assert_fault(of: &str, good: &[u8], bad: &[u8], limits: Limits, kind: ErrorKind, field: &str) {
    refused(&broken_fourth(of, good, bad), limits, (kind, Some(1), Some(3), Some(field)));
}

#[test]
fn values_that_run_out_or_over() {
    let string = r#""string""#;
    assert_fault(
        string,
        &bytes(b"ok"),
        &[long(9), vec![b'x'; 8]].concat(),
        DEFAULT,
        ErrorKind::Truncated,
        "a",
    );
    let double = [long(1), vec![0; 7]].concat();
    assert_fault(r#"["null", "double"]"#, &long(0), &double, DEFAULT, ErrorKind::Truncated, "a");
    assert_fault(string, &bytes(b"ok"), &long(-1), DEFAULT, ErrorKind::Length, "a");
    let limits = Limits { max_value_bytes: 4, ..DEFAULT };
    assert_fault(string, &bytes(b"four"), &bytes(b"fives"), limits, ErrorKind::Limit, "a");
    let fixed = r#"["null", {"type": "fixed", "name": "f", "size": 5}]"#;
    assert_fault(fixed, &long(0), &[long(1), vec![0; 5]].concat(), limits, ErrorKind::Limit, "a");
}

#[test]
fn numbers_out_of_range() {
    assert_fault(r#""long""#, &long(i64::MIN), &[0xff; 11], DEFAULT, ErrorKind::Varint, "a");
    let wide = [[0xff; 9].as_slice(), &[2]].concat();
    assert_fault(r#""long""#, &long(i64::MAX), &wide, DEFAULT, ErrorKind::Varint, "a");
    let int = i64::from(i32::MIN);
    assert_fault(r#""int""#, &long(int), &long(int - 1), DEFAULT, ErrorKind::IntRange, "a");
    assert_fault(r#""boolean""#, &[1], &[2], DEFAULT, ErrorKind::Boolean, "a");
    let symbols = r#"{"type": "enum", "name": "e", "symbols": ["A", "B"]}"#;
    assert_fault(symbols, &long(1), &long(2), DEFAULT, ErrorKind::Enum, "a");
    assert_fault(symbols, &long(1), &long(-1), DEFAULT, ErrorKind::Enum, "a");
}

#[test]
fn branches_that_do_not_exist() {
    let nulls = [long(0), long(0)].concat();
    for (of, good, bad) in [
        (r#"["null", "long"]"#, long(0), long(2)),
        (r#"["null", "long"]"#, long(0), long(-1)),
        (r#"["null", "long", "string"]"#, long(0), long(3)),
        (r#"["null", "long", "string"]"#, long(0), long(i64::MIN)),
        (r#"{"type": "array", "items": ["null", "long"]}"#, long(0), [long(1), long(2), nulls].concat()),
    ] {
        assert_fault(of, &good, &bad, DEFAULT, ErrorKind::Union, "a");
    }
}

#[test]
fn impossible_runs_of_items() {
    let list = r#"{"type": "array", "items": "long"}"#;
    let good = [long(1), long(7), long(0)].concat();
    let sized = |size: i64| [long(-2), long(size), long(1), long(2), long(0)].concat();
    assert!(hand::read(&broken_fourth(list, &good, &sized(2)), DEFAULT).is_ok());
    assert_fault(list, &good, &sized(1), DEFAULT, ErrorKind::Length, "a");
    assert_fault(list, &good, &sized(-1), DEFAULT, ErrorKind::Length, "a");
    assert_fault(list, &good, &sized(99), DEFAULT, ErrorKind::Truncated, "a");
    assert_fault(list, &good, &long(i64::MAX), DEFAULT, ErrorKind::Truncated, "a");
    let few = Limits { max_items: 4, ..DEFAULT };
    assert_fault(list, &good, &sized(2), few, ErrorKind::Limit, "a");
    let nulls = r#"{"type": "array", "items": "null"}"#;
    let few = Limits { max_zero_width_items: 3, ..DEFAULT };
    let three = [long(3), long(0)].concat();
    assert_fault(nulls, &long(0), &[long(4), long(0)].concat(), few, ErrorKind::Limit, "a");
    assert!(hand::read(&broken_fourth(nulls, &long(0), &three), few).is_ok());
}

#[test]
fn faults_name_the_innermost_field() {
    let inner = record(&[("x", r#""int""#), ("y", r#"["null", "boolean"]"#)]);
    let inner = inner.replace(r#""row""#, r#""inner""#);
    let good = [long(1), long(0)].concat();
    let bad = [long(1), long(1), vec![7]].concat();
    assert_fault(&inner, &good, &bad, DEFAULT, ErrorKind::Boolean, "a.y");
    let list = format!(r#"{{"type": "array", "items": {inner}}}"#);
    let run = |items: &[u8]| [long(1), items.to_vec(), long(0)].concat();
    assert_fault(&list, &run(&good), &run(&bad), DEFAULT, ErrorKind::Boolean, "a.y");
    let map = format!(r#"{{"type": "map", "values": {inner}}}"#);
    let entry = |value: &[u8]| run(&[bytes(b"k"), value.to_vec()].concat());
    assert_fault(&map, &entry(&good), &entry(&bad), DEFAULT, ErrorKind::Boolean, "a.value.y");
    assert_fault(&map, &entry(&good), &run(&[7, 0, 0]), DEFAULT, ErrorKind::Length, "a.key");
}

#[test]
fn faults_after_many_small_items_name_the_field_too() {
    let items = |value: &str| record(&[("key", r#""int""#), ("value", value)]).replace("row", "kv");
    let list = |value: &str| format!(r#"["null", {{"type": "array", "items": {}}}]"#, items(value));
    let run =
        |small: &[u8], last: &[u8]| [&long(1), &long(31), &small.repeat(30), last, &long(0)[..]].concat();
    let longs = |last: &[u8]| run(&[long(3), long(300)].concat(), last);
    let good = longs(&[2, 2]);
    let eleven = [vec![0x80; 10], vec![1]].concat();
    assert_fault(
        &list(r#""long""#),
        &good,
        &longs(&[vec![2], eleven].concat()),
        DEFAULT,
        ErrorKind::Varint,
        "a.value",
    );
    assert_fault(
        &list(r#""long""#),
        &good,
        &longs(&[long(1 << 40), vec![2]].concat()),
        DEFAULT,
        ErrorKind::IntRange,
        "a.key",
    );
    assert_fault(
        &list(r#""long""#),
        &good,
        &[long(1), long(i64::MAX)].concat(),
        DEFAULT,
        ErrorKind::Truncated,
        "a",
    );
    let bounds = |last: &[u8]| run(&[long(3), bytes(b"four")].concat(), last);
    let good = bounds(&[2, 0]);
    assert_fault(&list(r#""bytes""#), &good, &bounds(&[2, 1]), DEFAULT, ErrorKind::Length, "a.value");
    assert_fault(&list(r#""bytes""#), &good, &bounds(&[2, 100]), DEFAULT, ErrorKind::Truncated, "a.value");
    let short = Limits { max_value_bytes: 4, ..DEFAULT };
    assert_fault(
        &list(r#""bytes""#),
        &good,
        &bounds(&[vec![2], bytes(b"fives")].concat()),
        short,
        ErrorKind::Limit,
        "a.value",
    );
    assert_fault(&list(r#""string""#), &good, &bounds(&[2, 2, 0xc3]), DEFAULT, ErrorKind::Utf8, "a.value");
}

#[test]
fn strings_that_are_not_utf8_are_found_to_the_record() {
    let bad = |prefix: &[u8]| bytes(&[prefix, &[0xc3]].concat());
    assert_fault(r#""string""#, &bytes("é".as_bytes()), &bad(b""), DEFAULT, ErrorKind::Utf8, "a");
    let run = |item: &[u8]| [long(2), bytes(b"x"), item.to_vec(), long(0)].concat();
    let list = r#"{"type": "array", "items": "string"}"#;
    assert_fault(list, &run(&bytes(b"y")), &run(&bad(b"y")), DEFAULT, ErrorKind::Utf8, "a");
    let lists = format!(r#"{{"type": "array", "items": {list}}}"#);
    let outer = |item: &[u8]| [long(1), run(item), long(0)].concat();
    assert_fault(&lists, &outer(&bytes(b"y")), &outer(&bad(b"y")), DEFAULT, ErrorKind::Utf8, "a");
    let map = r#"{"type": "map", "values": "string"}"#;
    let entry = |key: &[u8], value: &[u8]| [long(1), key.to_vec(), value.to_vec(), long(0)].concat();
    let good = entry(&bytes(b"k"), &bytes(b"v"));
    assert_fault(map, &good, &entry(&bad(b""), &bytes(b"v")), DEFAULT, ErrorKind::Utf8, "a.key");
    assert_fault(map, &good, &entry(&bytes(b"k"), &bad(b"v")), DEFAULT, ErrorKind::Utf8, "a.value");
    // Two halves of one character in neighbouring values are not a character.
    let halves = [long(2), bytes(&[0xc3]), bytes(&[0xa9]), long(0)].concat();
    assert_fault(list, &run(&bytes(b"y")), &halves, DEFAULT, ErrorKind::Utf8, "a");
}

#[test]
fn the_record_is_found_among_many() {
    let schema = record(&[("a", r#"["null", "string"]"#)]);
    let good = [long(1), bytes(b"good")].concat();
    let bad = [long(1), bytes(&[0xff])].concat();
    for at in [0, 1, 499, 500, 777, 999] {
        let mut records = vec![good.clone(); 1000];
        records[at] = bad.clone();
        // A later one changes nothing.
        records[999] = bad.clone();
        let file = file(&schema, &[(3, good.repeat(3)), (1000, records.concat())]);
        refused(&file, DEFAULT, (ErrorKind::Utf8, Some(1), Some(3 + at as u64), Some("a")));
    }
}

#[test]
fn logical_types_that_do_not_fit_their_type() {
    let decimal = r#"{"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1}"#;
    let unscaled = |number: i32| bytes(&number.to_be_bytes());
    assert_fault(decimal, &unscaled(-999), &unscaled(1000), DEFAULT, ErrorKind::Decimal, "a");
    let wide = decimal.replace("3,", "60,");
    assert_fault(&wide, &unscaled(-999), &bytes(&[0x7f; 26]), DEFAULT, ErrorKind::Decimal, "a");
    let millis = r#"{"type": "long", "logicalType": "timestamp-millis"}"#;
    let most = i64::MAX / 1000;
    assert_fault(millis, &long(most), &long(most + 1), DEFAULT, ErrorKind::Timestamp, "a");
    let duration = r#"{"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}"#;
    assert_fault(duration, &[0x7f; 12], &[0xff; 12], DEFAULT, ErrorKind::Timestamp, "a");
}

#[test]
fn a_null_in_place_of_a_record() {
    let schema = format!(r#"["null", {}]"#, record(&[("a", r#""long""#)]));
    let row = [long(1), long(7)].concat();
    let file = file(&schema, &[(2, [row, long(0)].concat())]);
    refused(&file, DEFAULT, (ErrorKind::Unsupported, Some(0), Some(1), None));
}

#[test]
fn faults_of_the_framing_name_the_block() {
    let schema = record(&[("a", r#""long""#)]);
    let good = [header(&schema, "null"), block(1, &long(7))].concat();
    let refused = |rest: Vec<u8>, kind| {
        refused(&[good.clone(), rest].concat(), DEFAULT, (kind, Some(1), None, None));
    };
    refused(long(1), ErrorKind::Truncated);
    refused(vec![0xff; 11], ErrorKind::Varint);
    refused([long(-1), long(1)].concat(), ErrorKind::Count);
    refused([long(1), long(-1)].concat(), ErrorKind::Length);
    refused([long(1), long(1 << 40)].concat(), ErrorKind::Limit);
    refused([long(1 << 40), long(1)].concat(), ErrorKind::Limit);
    refused([long(1), long(5), vec![0; 4]].concat(), ErrorKind::Truncated);
    refused([long(1), bytes(&long(7)), vec![0; 15]].concat(), ErrorKind::Truncated);
    refused([long(1), bytes(&long(7)), vec![0; 16]].concat(), ErrorKind::Sync);
    refused(block(1, &[2, 2]), ErrorKind::Trailing);
    refused(block(0, &[2]), ErrorKind::Trailing);
    refused(block(3, &[2, 2]), ErrorKind::Truncated);
}

#[test]
fn empty_blocks_do_not_end_the_file() {
    let schema = record(&[("a", r#""long""#)]);
    let file = file(&schema, &[(0, vec![]), (1, long(7)), (0, vec![]), (0, vec![]), (1, long(8))]);
    let rows: usize = hand::read(&file, DEFAULT).unwrap().iter().map(|batch| batch.num_rows()).sum();
    assert_eq!(rows, 2);
}
