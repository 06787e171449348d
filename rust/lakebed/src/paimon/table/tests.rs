//! Which snapshot a table is at, over a storage in memory that can change under the reader.

use std::collections::BTreeMap;
use std::sync::Mutex;

use arrow_buffer::Buffer;
use lakebed_avro::Limits;
use serde_json::{Value, json};

use super::*;

use crate::paimon::system::SYSTEM_TABLES;
use crate::scan::{Scan as _, ScanOptions, ViewScan};
use crate::system::MetadataScan;
use crate::view::View;

/// Files by path; vanishing ones are listed, but missing when they are read.
#[derive(Default)]
struct Memory {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    vanishing: Vec<String>,
}

impl Storage for Memory {
    fn read(&self, path: &str) -> Result<Buffer> {
        let mut files = self.files.lock().expect("no reader panics");
        if self.vanishing.iter().any(|vanishing| vanishing == path) {
            files.remove(path);
        }
        let missing = || Error::new(ErrorKind::Missing, "no such file").in_file(path);
        files.get(path).map(|bytes| Buffer::from_vec(bytes.clone())).ok_or_else(missing)
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let files = self.files.lock().expect("no reader panics");
        let below = files.keys().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        let mut names: Vec<String> =
            below.filter_map(|rest| rest.split('/').next()).map(str::to_owned).collect();
        names.dedup();
        Ok(names)
    }
}

fn schema(id: i64) -> Value {
    let field = json!({"id": 0, "name": "a", "type": "INT"});
    json!({"version": 3, "id": id, "fields": [field], "highestFieldId": 0, "partitionKeys": [],
        "primaryKeys": [], "options": {"of": id.to_string()}, "timeMillis": id})
}

/// Snapshot `id`, committed `id` × 100 ms after 1970 under schema 0.
fn snapshot(id: i64) -> Value {
    json!({"version": 3, "id": id, "schemaId": 0, "baseManifestList": "b", "deltaManifestList": "d",
        "commitUser": "u", "commitIdentifier": 1, "commitKind": "APPEND", "timeMillis": id * 100})
}

fn memory(snapshots: &[i64], others: &[(&str, &str)]) -> Memory {
    let mut files = BTreeMap::new();
    let mut put = |path: &str, text: String| files.insert(format!("t/{path}"), text.into_bytes());
    for id in [0, 1] {
        put(&format!("schema/schema-{id}"), schema(id).to_string());
    }
    for id in snapshots {
        put(&format!("snapshot/snapshot-{id}"), snapshot(*id).to_string());
    }
    for (path, text) in others {
        put(path, (*text).to_owned());
    }
    Memory { files: Mutex::new(files), vanishing: Vec::new() }
}

fn open(memory: Memory) -> Result<Table> {
    Table::open("t/", Arc::new(memory), Limits::DEFAULT)
}

fn latest(snapshots: &[i64], hints: &[(&str, &str)]) -> Option<i64> {
    let table = open(memory(snapshots, hints)).expect("a table");
    table.snapshot().map(|snapshot| snapshot.id)
}

/// The table on branch `dev`, whose snapshots are 1 and 2 under a schema of its own, with tag `v1` of 1.
fn branched() -> Table {
    let (one, two, own) = (snapshot(1).to_string(), snapshot(2).to_string(), schema(0).to_string());
    let files = [
        ("branch/branch-dev/schema/schema-0", own.as_str()),
        ("branch/branch-dev/snapshot/snapshot-1", &one),
        ("branch/branch-dev/snapshot/snapshot-2", &two),
        ("branch/branch-dev/tag/tag-v1", &one),
        ("branch/branch-new/schema/schema-0", &own),
        ("tag/tag-gone", &one),
    ];
    open(memory(&[3, 4], &files)).expect("a table")
}

fn refused(table: Result<Table>) -> String {
    let error = table.err().expect("an error");
    assert_eq!(error.kind(), ErrorKind::SnapshotNotFound);
    error.message().to_owned()
}

/// The branch, snapshot and schema of a table.
fn place(table: &Table) -> (&str, Option<i64>, i64) {
    (table.branch(), table.snapshot().map(|snapshot| snapshot.id), table.schema().id)
}

#[test]
fn the_latest_snapshot_is_found_whatever_the_hint_says() {
    assert_eq!(latest(&[1, 2, 3], &[("snapshot/LATEST", "3")]), Some(3));
    assert_eq!(latest(&[1, 2, 3, 4], &[("snapshot/LATEST", "3")]), Some(4), "a stale hint");
    assert_eq!(latest(&[2, 3], &[("snapshot/LATEST", "9")]), Some(3), "a hint to nothing");
    assert_eq!(latest(&[2, 10], &[]), Some(10), "no hint");
    for garbage in ["", "x", "-1", "0", "9223372036854775807", "1 2", "\u{0}"] {
        assert_eq!(latest(&[2, 10], &[("snapshot/LATEST", garbage)]), Some(10), "{garbage:?}");
    }
    assert_eq!(latest(&[2], &[("snapshot/LATEST", " 2\n")]), Some(2), "space around the number");
    assert_eq!(latest(&[], &[]), None, "no snapshot");
    assert_eq!(latest(&[], &[("snapshot/LATEST", "1")]), None, "a hint and no snapshot");
}

#[test]
fn files_that_are_not_snapshots_are_ignored() {
    let files = [
        ("snapshot/snapshot-1b5f3a1e-0b1c-4d7e-9f00-0123456789ab.tmp", "{"),
        ("snapshot/snapshot-007", "{"),
        ("snapshot/snapshot-", "{"),
        ("snapshot/EARLIEST", "1"),
    ];
    assert_eq!(latest(&[2, 10], &files), Some(10));
}

#[test]
fn a_snapshot_that_vanishes_before_it_is_read_is_not_the_latest() {
    let rolled_back = |path: &str| {
        let mut memory = memory(&[1, 2, 3], &[]);
        memory.vanishing = vec![path.to_owned()];
        open(memory).expect("a table").snapshot().map(|snapshot| snapshot.id)
    };
    assert_eq!(rolled_back("t/snapshot/snapshot-3"), Some(2));
    let expiring = || {
        let mut memory = memory(&[1, 2, 3], &[]);
        memory.vanishing = vec!["t/snapshot/snapshot-1".to_owned(), "t/snapshot/snapshot-2".to_owned()];
        open(memory).expect("a table")
    };
    let scan = ViewScan::new(expiring(), View::Snapshots, ScanOptions::default()).expect("a scan");
    let rows: usize = scan.stream().expect("rows").map(|batch| batch.expect("rows").num_rows()).sum();
    assert_eq!(rows, 1);
    assert_eq!(place(&expiring().at_timestamp(300).expect("a snapshot")).1, Some(3));
    assert!(refused(expiring().at_timestamp(250)).contains("3 to 3"));
}

#[test]
fn a_snapshot_is_asked_for_by_its_id_and_by_nothing_else() {
    let table = branched();
    assert_eq!(place(&table), ("main", Some(4), 1));
    assert_eq!(place(&table.at_snapshot(3).expect("a snapshot")), ("main", Some(3), 0));
    // Tag `gone` has snapshot 1, but is not used instead of it.
    let message = refused(table.at_snapshot(1));
    assert_eq!(
        message,
        "no snapshot 1; the table has 3 to 4, the first committed at 1970-01-01T00:00:00.300Z"
    );
    let none = open(memory(&[], &[])).expect("a table");
    assert_eq!(refused(none.at_snapshot(1)), "no snapshot 1; the table has none");
}

#[test]
fn a_time_gives_the_latest_snapshot_until_then() {
    let table = open(memory(&[3, 4, 7, 8, 9, 20], &[])).expect("a table");
    let at = |millis| place(&table.at_timestamp(millis).expect("a snapshot")).1;
    for (millis, id) in
        [(300, 3), (399, 3), (400, 4), (699, 4), (700, 7), (899, 8), (1999, 9), (2000, 20), (i64::MAX, 20)]
    {
        assert_eq!(at(millis), Some(id), "{millis}");
    }
    for millis in [299, 0, -1, i64::MIN] {
        assert!(refused(table.at_timestamp(millis)).contains("3 to 20"), "{millis}");
    }
    let (same, later) =
        (snapshot(1).to_string(), snapshot(1).to_string().replacen("\"id\":1", "\"id\":2", 1));
    let files = [("snapshot/snapshot-1", same.as_str()), ("snapshot/snapshot-2", &later)];
    let table = open(memory(&[], &files)).expect("a table");
    assert_eq!(place(&table.at_timestamp(100).expect("a snapshot")).1, Some(2), "committed at the same time");
}

#[test]
fn a_watermark_gives_the_first_snapshot_that_has_reached_it() {
    let watermarks = [json!(null), json!(i64::MIN), json!(100), json!(null), json!(100), json!(300)];
    let texts: Vec<(String, String)> = (1i64..)
        .zip(watermarks)
        .map(|(id, watermark)| {
            let mut file = snapshot(id);
            file["watermark"] = watermark;
            (format!("snapshot/snapshot-{id}"), file.to_string())
        })
        .collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let table = open(memory(&[], &files)).expect("a table");
    for (watermark, id) in [(i64::MIN, 3), (0, 3), (100, 3), (101, 6), (300, 6)] {
        assert_eq!(place(&table.at_watermark(watermark).expect("a snapshot")).1, Some(id), "{watermark}");
    }
    assert!(refused(table.at_watermark(301)).contains("watermark of 301"));
    assert!(refused(branched().at_watermark(0)).contains("3 to 4"));
}

#[test]
fn a_tag_is_a_snapshot_of_its_own() {
    let table = branched();
    let tagged = table.at_tag("gone").expect("a tag");
    assert_eq!((place(&tagged), tagged.tag()), (("main", Some(1), 0), Some("gone")));
    assert_eq!(tagged.at_snapshot(3).expect("a snapshot").tag(), None);
    assert_eq!(refused(table.at_tag("v1")), "no tag \"v1\"; there is only \"gone\"");
    for name in ["", "..", "../tag/tag-gone", "gone/", "a\u{0}"] {
        refused(table.at_tag(name));
    }
}

#[test]
fn a_branch_has_snapshots_schemas_and_tags_of_its_own() {
    let table = branched();
    let dev = table.at_branch("dev").expect("a branch");
    assert_eq!(place(&dev), ("dev", Some(2), 0));
    assert_eq!(place(&dev.at_tag("v1").expect("a tag")), ("dev", Some(1), 0));
    assert_eq!(place(&dev.at_snapshot(1).expect("a snapshot")), ("dev", Some(1), 0));
    assert_eq!(place(&dev.at_timestamp(150).expect("a snapshot")), ("dev", Some(1), 0));
    assert!(refused(dev.at_snapshot(4)).contains("branch \"dev\" has 1 to 2"));
    assert_eq!(refused(dev.at_tag("gone")), "no tag \"gone\" on branch \"dev\"; there is only \"v1\"");
    assert_eq!(place(&dev.at_branch("main").expect("a branch")), ("main", Some(4), 1));
    assert_eq!(place(&table.at_branch("new").expect("a branch")), ("new", None, 0));
    assert_eq!(dev.manifest_path("m"), "t/manifest/m");
    assert_eq!(refused(dev.at_branch("x")), "no branch \"x\"; there are \"main\", \"dev\", \"new\"");
    for name in ["", "..", "dev/", "../branch/branch-dev"] {
        refused(table.at_branch(name));
    }
}

#[test]
fn options_are_those_of_the_latest_schema() {
    let table = branched().at_snapshot(3).expect("a snapshot");
    assert_eq!(table.schema().option("of"), Some("0"));
    let scan = MetadataScan::new(table, SYSTEM_TABLES, "options", ScanOptions::default()).expect("a table");
    let rows = scan.stream().expect("rows").next().expect("a batch").expect("rows");
    assert!(format!("{:?}", rows.column(1)).contains("\"1\""), "{rows:?}");
}
