//! Which buckets filters select.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{row, table};
use crate::murmur;
use crate::paimon::prune::{BucketMemo, EntryPruner};
use crate::paimon::schema::TableSchema;

fn append(key_type: &str, options: &Value) -> TableSchema {
    let fields = json!([
        {"id": 0, "name": "pt", "type": "INT"},
        {"id": 1, "name": "k", "type": key_type},
        {"id": 2, "name": "k2", "type": "STRING"},
        {"id": 3, "name": "v", "type": "INT"},
    ]);
    table(&fields, &json!(["pt"]), &json!([]), options)
}

/// The buckets, of `total`, that a filter leaves of partition `pt` = 1.
fn buckets(text: &str, schema: &TableSchema, total: i32) -> BTreeSet<i32> {
    let schemas = BTreeMap::from([(0, schema.clone())]);
    let pruner = EntryPruner::new(text, schema, &schemas).expect("a filter");
    let mut memo = BucketMemo::default();
    let partition = row(&[json!(1)]);
    let mut keeps =
        |bucket: &i32| memo.keeps(&pruner, &partition, i64::from(*bucket), Some(total)).expect("an answer");
    (0..total.max(4)).filter(|bucket| keeps(bucket)).collect()
}

/// A row is in the bucket of its hash, by the function that the table names.
#[test]
fn hashes_are_those_of_java() {
    for (value, hash, bucket) in [
        (json!(1), 1_465_514_398, 0),
        (json!(0), -300_363_099, 1),
        (json!("cherry"), 1_276_117_372, 0),
        (json!("pear"), 1_583_780_653, 1),
    ] {
        assert_eq!(murmur::hash(&row(std::slice::from_ref(&value))[4..], 42), hash, "{value}");
        let key_type = if value.is_string() { "STRING" } else { "INT" };
        let schema = append(key_type, &json!({"bucket": "2", "bucket-key": "k"}));
        let text = format!("k = {}", value.to_string().replace('"', "'"));
        assert_eq!(buckets(&text, &schema, 2), BTreeSet::from([bucket]), "{text}");
    }
}

#[test]
fn every_key_must_be_known() {
    let schema = append("INT", &json!({"bucket": "8", "bucket-key": "k,k2"}));
    let all: BTreeSet<i32> = (0..8).collect();
    for text in
        ["k = 1", "k = 1 OR k2 = 'a'", "k > 1 AND k2 = 'a'", "k <> 1 AND k2 = 'a'", "v = 1", "k IS NULL"]
    {
        assert_eq!(buckets(text, &schema, 8), all, "{text}");
    }
    let one = buckets("k = 1 AND k2 = 'a'", &schema, 8);
    assert_eq!(one.len(), 1);
    let other = buckets("k = 2 AND k2 = 'b'", &schema, 8);
    let either = buckets("(k = 1 AND k2 = 'a') OR (k = 2 AND k2 = 'b')", &schema, 8);
    assert_eq!(either, one.union(&other).copied().collect());
    assert!(buckets("k IN (1, 2) AND k2 IN ('a', 'b')", &schema, 8).is_superset(&either));
    assert_eq!(buckets("k IN (1, 2) AND k = 1 AND k2 = 'a'", &schema, 8), one);
    assert_eq!(buckets("k = 1 AND k = 2 AND k2 = 'a'", &schema, 8), BTreeSet::new());
    let many: Vec<String> = (0..1001).map(|number| number.to_string()).collect();
    assert_eq!(buckets(&format!("k IN ({}) AND k2 = 'a'", many.join(", ")), &schema, 8), all);
}

#[test]
fn a_bucket_may_be_named() {
    let schema = append("INT", &json!({"bucket": "8", "bucket-key": "k"}));
    assert_eq!(buckets("pt = 1 AND bucket = 2", &schema, 8), BTreeSet::from([2]));
    assert_eq!(buckets("pt = 2 OR bucket > 5", &schema, 8), BTreeSet::from([6, 7]));
    assert_eq!(buckets("pt = 2", &schema, 8), BTreeSet::new());
}

/// The number of buckets is that of the entry, not that of the current schema.
#[test]
fn the_number_of_buckets_is_that_of_the_entry() {
    let schema = append("INT", &json!({"bucket": "2", "bucket-key": "k"}));
    for total in [-1, -2, 0] {
        assert_eq!(buckets("k = 1", &schema, total).len(), 4);
    }
    let seven = 1_465_514_398 % 7;
    assert_eq!(buckets("k = 1", &schema, 7), BTreeSet::from([seven]));
    for unhashed in ["-1", "-2"] {
        let schema = append("INT", &json!({"bucket": unhashed, "bucket-key": "k"}));
        let kept = buckets("k = 1", &schema, 7).len();
        assert_eq!(kept, if unhashed == "-1" { 7 } else { 1 });
    }
}

#[test]
fn conditions_of_other_partitions_are_ignored() {
    let schema = append("INT", &json!({"bucket": "97", "bucket-key": "k"}));
    let here = buckets("k = 5", &schema, 97);
    assert_eq!(buckets("(pt = 1 AND k = 5) OR (pt = 2 AND k = 6)", &schema, 97), here);
    assert_eq!(buckets("pt = 2 AND k = 5", &schema, 97), BTreeSet::new());
    assert_eq!(buckets("pt = 1 OR k = 5", &schema, 97).len(), 97);
}

#[test]
fn other_functions() {
    let modulo = append("BIGINT", &json!({"bucket": "5", "bucket-key": "k", "bucket-function.type": "mod"}));
    assert_eq!(buckets("k = 7", &modulo, 5), BTreeSet::from([2]));
    assert_eq!(buckets("k = -1", &modulo, 5), BTreeSet::from([4]));
    let hive = |key_type| {
        append(key_type, &json!({"bucket": "1000", "bucket-key": "k", "bucket-function.type": "hive"}))
    };
    // `Long.hashCode`, `String.hashCode` of ASCII, `BigDecimal.hashCode` as Java computes them.
    for (key_type, text, hash) in [
        ("INT", "k = 42", 42),
        ("BIGINT", "k = 4294967297", 0),
        ("STRING", "k = 'abc'", 96_354),
        ("DECIMAL(10, 2)", "k = 12.30", 31 * 123 + 1),
        ("DECIMAL(10, 2)", "k = 0", 0),
        ("BOOLEAN", "k = true", 1),
    ] {
        assert_eq!(buckets(text, &hive(key_type), 1000), BTreeSet::from([hash % 1000]), "{text}");
    }
}
