//! Opening and time travel, compared with the engine's answers where the shared tables exist.

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use lakebed_avro::Limits;
use serde_json::Value;

use super::*;
use crate::scan::ScanOptions;
use crate::storage::Local;
use crate::table::LakeTable as _;
use crate::table::MAIN;
use crate::test_data;
use crate::view::View;

fn open(location: &Path) -> Result<Table> {
    Table::open(location.to_str().expect("UTF-8"), Arc::new(Local), Limits::DEFAULT)
}

/// The golden tables, and the folder of the engine's answers for each.
fn golden() -> Vec<(Table, PathBuf)> {
    let mut tables = Vec::new();
    for about in test_data::paths("iceberg", &|name| name == "table.json") {
        let folder = about.parent().and_then(Path::parent).expect("a folder");
        let summary: Value = serde_json::from_slice(&fs::read(&about).expect("bytes")).expect("JSON");
        let file = summary["metadata_file"].as_str().expect("a path");
        let table = open(&folder.join(file)).expect("a table");
        if file.matches('/').count() == 1 {
            let found = open(folder).expect("a table");
            assert_eq!(found.metadata_file(), table.metadata_file());
            assert_eq!(found.location(), table.location());
        }
        assert_eq!(table.snapshot_id(), summary["current_snapshot_id"].as_i64());
        assert_eq!(Some(table.metadata().format_version.into()), summary["format_version"].as_i64());
        assert_eq!(table.metadata().next_row_id, summary["next_row_id"].as_i64());
        tables.push((table, folder.join("expected")));
    }
    tables
}

fn lines(path: &Path) -> Vec<Value> {
    let Ok(bytes) = fs::read(path) else { return Vec::new() };
    let text = std::io::read_to_string(flate2::read::GzDecoder::new(bytes.as_slice())).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Asserts that a table has the snapshot and schema of an answer, or cannot be opened if the answer is an
/// error.
fn assert_stands(there: Result<Table>, answer: &Value, schema_id: &str) {
    let Some(id) = answer["snapshot_id"].as_i64() else {
        assert_eq!(there.err().expect("none").kind(), ErrorKind::SnapshotNotFound);
        return;
    };
    let there = there.expect("a table");
    assert_eq!(there.snapshot_id(), Some(id), "{answer}");
    assert_eq!(there.snapshot().expect("known").expect("one").snapshot_id, id);
    assert_eq!(Some(there.schema().schema_id.into()), answer[schema_id].as_i64(), "{answer}");
}

#[test]
fn tables_have_the_snapshot_of_the_engine() {
    for (table, expected) in golden() {
        for answer in lines(&expected.join("time_travel.jsonl.gz")) {
            if let Some(millis) = answer["as_of_ms"].as_i64() {
                assert_stands(table.at_timestamp(millis), &answer, "schema_id");
            } else if let Some(name) = answer["ref"].as_str() {
                let is_tag = answer["type"] == "tag";
                let there = if is_tag { table.at_tag(name) } else { table.at_branch(name) };
                let stands = there.as_ref().map(|there| (there.branch().to_owned(), there.tag().is_some()));
                assert_eq!(stands.ok(), Some((if is_tag { MAIN } else { name }.to_owned(), is_tag)));
                assert_stands(there, &answer, "schema_id");
            } else {
                let id = answer["snapshot_id"].as_i64().expect("an id");
                assert_stands(table.at_snapshot(id), &answer, "schema_id_used");
            }
        }
    }
}

#[test]
fn errors_of_missing_versions_name_existing_ones() {
    for (table, _) in golden() {
        let words = |there: Result<Table>| {
            let error = there.err().expect("nothing there");
            assert_eq!(error.kind(), ErrorKind::SnapshotNotFound);
            error.message().to_owned()
        };
        assert!(words(table.at_snapshot(7)).starts_with("no snapshot 7; there "));
        assert!(words(table.at_tag("none")).starts_with("no tag \"none\"; there "));
        let branches = words(table.at_branch("none"));
        assert!(branches.starts_with("no branch \"none\"; there "));
        assert_eq!(branches.contains("\"main\""), table.snapshot_id().is_some(), "{branches}");
        assert!(words(table.at_timestamp(0)).starts_with("no snapshot at 1970-01-01T00:00"));
        let main = table.at_branch(MAIN).expect("the table itself");
        assert_eq!(main.snapshot_id(), table.snapshot_id());
    }
}

/// A value in the form of the answers, for simple types.
fn json(array: &ArrayRef, row: usize) -> Option<Value> {
    let value = match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::Boolean => array.as_boolean().value(row).into(),
        _ => return None,
    };
    Some(if array.is_null(row) { Value::Null } else { value })
}

/// The metadata tables that are read from the metadata file alone.
const OF_METADATA: [&str; 11] = [
    "encryption_keys",
    "history",
    "metadata_log",
    "metadata_log_entries",
    "name_mapping",
    "partition_specs",
    "partition_statistics",
    "refs",
    "snapshots",
    "sort_orders",
    "statistics",
];

#[test]
fn metadata_tables_are_those_of_the_engine() {
    for (table, expected) in golden() {
        for name in OF_METADATA {
            let scan = table
                .scan(View::MetadataTable(name.to_owned()), ScanOptions::default())
                .expect("a metadata table");
            let batches = scan.stream().expect("rows").collect::<Result<Vec<_>>>().expect("rows");
            let rows = concat_batches(scan.schema(), &batches).expect("one schema");
            let answers = expected.join(format!("{name}.jsonl.gz"));
            if name == "refs" || !answers.exists() {
                continue;
            }
            let answers = lines(&answers);
            assert_eq!(rows.num_rows(), answers.len(), "{name} of {}", table.location());
            for (row, answer) in answers.iter().enumerate() {
                for (field, column) in rows.schema().fields().iter().zip(rows.columns()) {
                    let Some(found) = json(column, row) else { continue };
                    let answer = &answer[field.name()];
                    // The engine opened the current file without the scheme that writers recorded for the others.
                    let (path, file) = (answer.as_str(), found.as_str());
                    let same =
                        path.zip(file).is_some_and(|(path, file)| file.strip_prefix("file://") == Some(path));
                    assert!(found == *answer || same, "{name}: {found} is not {answer}");
                }
            }
        }
    }
}
