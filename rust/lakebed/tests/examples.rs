//! What the programs in `examples/` print of a table whose files its engine has told.

use std::collections::BTreeSet;
use std::error::Error;

#[allow(dead_code, reason = "its main")]
#[path = "../examples/diff_snapshots.rs"]
mod diff_snapshots;
#[allow(dead_code, reason = "its main")]
#[path = "../examples/plan_table.rs"]
mod plan_table;

const TABLE: &str = "../../tests/data/golden/paimon/append_compacted";
const ANSWERS: &str = "../../tests/data/golden/paimon/expected/append_compacted/live.jsonl";

/// The names of the files that are live at a snapshot, as the engine has them.
fn live(snapshot: &str) -> BTreeSet<String> {
    let answers = std::fs::read_to_string(ANSWERS).unwrap();
    let answers = answers.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let answer = answers.into_iter().find(|answer| answer["at"] == snapshot).unwrap();
    answer["live_files"].as_array().unwrap().iter().map(|file| name(file.as_str().unwrap())).collect()
}

fn name(path: &str) -> String {
    path.rsplit('/').next().unwrap().to_owned()
}

/// The lines that a program prints.
fn printed(program: impl Fn(&mut dyn std::io::Write) -> Result<(), Box<dyn Error>>) -> Vec<String> {
    let mut out = Vec::new();
    program(&mut out).unwrap();
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_plan_has_all_live_files_or_those_of_the_filter() {
    let lines = printed(|out| plan_table::plan(TABLE, None, out));
    let (steps, files): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.starts_with('#'));
    let planned: BTreeSet<String> = files.iter().map(|line| name(line.split('\t').next().unwrap())).collect();
    assert_eq!(planned, live("snapshot-7"));
    assert!(!steps.is_empty());
    let none = printed(|out| plan_table::plan(TABLE, Some("a < -1000000".to_owned()), out));
    assert!(none.iter().all(|line| line.starts_with('#')), "{none:?}");
}

#[test]
fn a_difference_is_that_of_the_live_files() {
    let (before, after) = (live("snapshot-4"), live("snapshot-6"));
    let lines = printed(|out| diff_snapshots::diff(TABLE, 4, 6, out));
    let of = |sign| lines.iter().filter(|line| line.starts_with(sign)).map(|line| name(line)).collect();
    let (removed, added): (BTreeSet<_>, BTreeSet<_>) = (of('-'), of('+'));
    assert_eq!(removed, &before - &after);
    assert_eq!(added, &after - &before);
    assert!(!removed.is_empty() && !added.is_empty());
}
