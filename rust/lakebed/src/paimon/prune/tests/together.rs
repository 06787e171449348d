//! Files that are decided on together.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow_schema::Field;
use serde_json::{Value, json};

use super::{row, table};
use crate::paimon::prune::{EntryPruner, Test};

/// Level, least and greatest value of column `v` of a file.
type File = (i32, i32, i32);

fn strings(lists: &[Option<Vec<&str>>]) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for list in lists {
        match list {
            Some(names) => builder.append_value(names.iter().copied().map(Some)),
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

fn stats(bounds: &[Vec<[Value; 2]>]) -> ArrayRef {
    let rows = |side: usize| {
        let rows = bounds
            .iter()
            .map(|columns| row(&columns.iter().map(|bounds| bounds[side].clone()).collect::<Vec<_>>()));
        Arc::new(BinaryArray::from_iter_values(rows)) as ArrayRef
    };
    let mut nulls = ListBuilder::new(Int64Builder::new());
    bounds.iter().for_each(|columns| nulls.append_value(columns.iter().map(|_| Some(0))));
    let parts = [
        ("min_values", rows(0)),
        ("max_values", rows(1)),
        ("null_counts", Arc::new(nulls.finish()) as ArrayRef),
    ];
    let parts =
        parts.map(|(name, array)| (Arc::new(Field::new(name, array.data_type().clone(), true)), array));
    Arc::new(StructArray::from(parts.to_vec()))
}

fn longs(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

/// Files of one bucket of a table with the primary key `k`, which is from 1 to 9 in all of them.
fn bucket(files: &[File]) -> RecordBatch {
    let key = [json!(1), json!(9)];
    let values = files.iter().map(|(_, min, max)| vec![key.clone(), [json!(min), json!(max)]]);
    let none: Vec<Option<Vec<&str>>> = vec![None; files.len()];
    RecordBatch::try_from_iter([
        (
            "partition",
            Arc::new(BinaryArray::from_iter_values(files.iter().map(|_| row(&[json!(1)])))) as ArrayRef,
        ),
        ("bucket", Arc::new(Int32Array::from_iter_values(files.iter().map(|_| 0)))),
        ("row_count", longs(files.iter().map(|_| 10))),
        ("key_stats", stats(&files.iter().map(|_| vec![key.clone()]).collect::<Vec<_>>())),
        ("value_stats", stats(&values.collect::<Vec<_>>())),
        ("schema_id", longs(files.iter().map(|_| 0))),
        ("level", Arc::new(Int32Array::from_iter_values(files.iter().map(|(level, ..)| *level)))),
        ("value_stats_cols", strings(&none)),
        ("write_cols", strings(&none)),
        ("embedded_file_index", Arc::new(BinaryArray::new_null(files.len()))),
    ])
    .expect("files")
}

/// Which files of a bucket are kept of those whose keys may match.
fn kept(text: &str, options: &Value, files: &[File]) -> Vec<bool> {
    let fields = json!([
        {"id": 0, "name": "k", "type": "INT NOT NULL"},
        {"id": 1, "name": "v", "type": "INT"},
    ]);
    let schema = table(&fields, &json!([]), &json!(["k"]), options);
    let pruner = EntryPruner::new(text, &schema, &BTreeMap::from([(0, schema.clone())])).expect("a filter");
    let files = bucket(files);
    assert_eq!(pruner.tests().contains(&Test::Keys), text.contains('k'), "{text}");
    let by_keys = pruner.passes(Test::Keys, &files).expect("an answer");
    let may_match = pruner.may_match(&files).expect("an answer");
    let together = pruner.decide(&[(files, may_match)]).expect("an answer");
    by_keys.iter().zip(&together[0]).map(|(key, together)| key && together == Some(true)).collect()
}

/// Files of a table with primary keys hide versions of each other's rows.
#[test]
fn values_drop_single_files_only_where_none_overlap() {
    let plain = json!({});
    assert_eq!(kept("v = 5", &plain, &[(0, 1, 3), (0, 4, 6)]), [true, true]);
    assert_eq!(kept("v = 7", &plain, &[(0, 1, 3), (0, 4, 6)]), [false, false]);
    assert_eq!(kept("v = 5", &plain, &[(5, 1, 3)]), [false]);
    assert_eq!(kept("v = 5", &plain, &[(5, 1, 3), (5, 4, 6)]), [false, true]);
    assert_eq!(kept("v = 5", &plain, &[(5, 1, 3), (4, 4, 6)]), [true, true]);
    assert_eq!(kept("v = 5 AND k > 9", &plain, &[(0, 1, 3), (0, 4, 6)]), [false, false]);
}

#[test]
fn merged_rows_hide_their_values() {
    for engine in ["partial-update", "aggregation"] {
        let options = json!({"merge-engine": engine});
        assert_eq!(kept("v = 7", &options, &[(0, 1, 3), (0, 4, 6)]), [true, true]);
        assert_eq!(kept("v = 7", &options, &[(5, 1, 3), (5, 4, 6)]), [false, false]);
        let vectors = json!({"merge-engine": engine, "deletion-vectors.enabled": "true"});
        assert_eq!(kept("v = 7", &vectors, &[(0, 1, 3), (4, 4, 6)]), [false, false]);
    }
}

#[test]
fn with_deletion_vectors_files_above_level_0_are_decided_alone() {
    for options in [json!({"deletion-vectors.enabled": "true"}), json!({"merge-engine": "first-row"})] {
        assert_eq!(kept("v = 5", &options, &[(4, 1, 3), (5, 4, 6)]), [false, true]);
        assert_eq!(kept("v = 5", &options, &[(0, 1, 3), (4, 1, 3), (5, 4, 6)]), [true, false, true]);
    }
    let merging = json!({"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"});
    assert_eq!(kept("v = 5", &merging, &[(4, 1, 3), (5, 4, 6)]), [true, true]);
}

/// A file of a table whose rows are spread: first row id, rows, sequence, columns written, bounds of them.
type Part = (i64, i64, i64, Vec<&'static str>, Vec<[i32; 2]>);

fn kept_parts(text: &str, parts: &[Part]) -> Vec<bool> {
    let fields = json!([
        {"id": 0, "name": "a", "type": "INT"},
        {"id": 1, "name": "b", "type": "INT"},
        {"id": 2, "name": "c", "type": "INT"},
    ]);
    let options = json!({"data-evolution.enabled": "true", "row-tracking.enabled": "true"});
    let schema = table(&fields, &json!([]), &json!([]), &options);
    let pruner = EntryPruner::new(text, &schema, &BTreeMap::from([(0, schema.clone())])).expect("a filter");
    let bounds = parts
        .iter()
        .map(|part| part.4.iter().map(|[lower, upper]| [json!(lower), json!(upper)]).collect::<Vec<_>>());
    let written: Vec<Option<Vec<&str>>> = parts.iter().map(|part| Some(part.3.clone())).collect();
    let files = RecordBatch::try_from_iter([
        ("partition", Arc::new(BinaryArray::from_iter_values(parts.iter().map(|_| [0; 12]))) as ArrayRef),
        ("bucket", Arc::new(Int32Array::from_iter_values(parts.iter().map(|_| 0)))),
        ("file_name", Arc::new(StringArray::from_iter_values(parts.iter().map(|_| "data-1.parquet")))),
        ("row_count", longs(parts.iter().map(|part| part.1))),
        ("value_stats", stats(&bounds.collect::<Vec<_>>())),
        ("max_sequence_number", longs(parts.iter().map(|part| part.2))),
        ("schema_id", longs(parts.iter().map(|_| 0))),
        ("first_row_id", longs(parts.iter().map(|part| part.0))),
        ("value_stats_cols", strings(&vec![None; parts.len()])),
        ("write_cols", strings(&written)),
    ]);
    let files = files.expect("files");
    assert_eq!(pruner.tests(), []);
    let may_match = pruner.may_match(&files).expect("an answer");
    pruner.decide(&[(files, may_match)]).expect("an answer")[0]
        .iter()
        .map(|kept| kept == Some(true))
        .collect()
}

#[test]
fn the_newest_file_of_a_range_decides_on_a_column() {
    let parts: Vec<Part> = vec![
        (0, 10, 1, vec!["a", "b"], vec![[1, 3], [1, 3]]),
        (0, 10, 2, vec!["b"], vec![[7, 9]]),
        (10, 5, 3, vec!["a", "b"], vec![[1, 3], [1, 3]]),
    ];
    assert_eq!(kept_parts("b = 8", &parts), [true, true, false]);
    assert_eq!(kept_parts("b = 2", &parts), [false, false, true]);
    assert_eq!(kept_parts("a = 2 AND b = 8", &parts), [true, true, false]);
    assert_eq!(kept_parts("c = 1", &parts), [false; 3]);
    assert_eq!(kept_parts("c IS NULL", &parts), [true; 3]);
}

#[test]
fn of_columns_of_a_part_of_the_range_nothing_is_known() {
    let parts: Vec<Part> =
        vec![(0, 10, 1, vec!["a", "b"], vec![[1, 3], [1, 3]]), (0, 5, 2, vec!["b"], vec![[7, 9]])];
    assert_eq!(kept_parts("b = 100", &parts), [true, true]);
    assert_eq!(kept_parts("a = 100", &parts), [false, false]);
    let tied: Vec<Part> = vec![(0, 10, 1, vec!["a"], vec![[1, 3]]), (0, 10, 1, vec!["a"], vec![[7, 9]])];
    assert_eq!(kept_parts("a = 100", &tied), [true, true]);
}
