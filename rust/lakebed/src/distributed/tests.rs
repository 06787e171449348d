//! The third format of the tests, whose views are the same in one process and in many, and what is no job.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_buffer::Buffer;
use lakebed_avro::Limits;

use super::*;
use crate::format::{FORMATS, Formats};
use crate::scan::{Batches, ScanOptions};
use crate::storage::{Local, Storage as _};
use crate::table::{LakeTable, Place};
use crate::view::View;

/// All formats but the toy.
const FEWER: Formats = Formats(&[FORMATS.0[0], FORMATS.0[1]]);

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // It may be there no more.
        drop(fs::remove_dir_all(&self.0));
    }
}

fn toy(folder: &Path) -> Box<dyn LakeTable> {
    let entry = |status: &str, path: &str, rows: usize| {
        let partition = &path[..1];
        let numbers = format!(r#""partition": "{partition}", "rows": {rows}, "bytes": {}"#, 100 * rows);
        format!("{{\"status\": \"{status}\", \"path\": \"{path}\", {numbers}}}\n")
    };
    let first = entry("added", "a1", 1) + &entry("added", "b1", 2);
    let second = entry("added", "a1", 1) + &entry("deleted", "b1", 2) + &entry("added", "a2", 3);
    let metadata = r#"{"columns": ["id"], "snapshots": [
        {"id": 1, "manifests": [{"name": "one", "bytes": 1}]},
        {"id": 2, "manifests": [{"name": "two", "bytes": 2}]}]}"#;
    let inside = folder.join("toy");
    fs::create_dir_all(&inside).expect("a folder");
    for (name, text) in [("toy.json", metadata), ("one", &first), ("two", &second)] {
        fs::write(inside.join(name), text).expect("a file");
    }
    let location = folder.to_str().expect("UTF-8");
    let refused = FEWER.open(location, None, Arc::new(Local), Limits::DEFAULT.into());
    assert_eq!(refused.err().map(|error| error.kind()), Some(ErrorKind::TableNotFound));
    FORMATS.open(location, None, Arc::new(Local), Limits::DEFAULT.into()).expect("a toy")
}

/// Rows as text, in an order of their own.
fn rows(batches: Batches) -> Vec<String> {
    let mut rows = Vec::new();
    for batch in batches {
        let batch = batch.expect("rows");
        rows.extend((0..batch.num_rows()).map(|row| format!("{:?}", batch.slice(row, 1).columns())));
    }
    rows.sort();
    rows
}

#[test]
fn a_third_format_is_a_folder_and_a_row() {
    let folder = Folder(std::env::temp_dir().join(format!("lakebed-toy-{}", std::process::id())));
    let table = toy(&folder.0);
    assert_eq!((table.format(), table.snapshot_id()), ("toy", Some(2)));
    let diff = View::Diff { before: Place::Snapshot(1), after: Place::Snapshot(2) };
    for (view, count, shuffles) in [(View::Files, 2, 0), (View::Partitions, 1, 1), (diff, 2, 1)] {
        let scan = table.scan(view.clone(), ScanOptions::default()).expect("a scan");
        let all = rows(scan.stream().expect("rows"));
        assert_eq!(all.len(), count, "{}: {all:?}", view.name());
        let few = ScanOptions { limit: Some(1), ..ScanOptions::default() };
        let few = table.scan(view.clone(), few).expect("a scan").stream().expect("rows");
        assert_eq!(few.map(|rows| rows.map_or(0, |rows| rows.num_rows())).sum::<usize>(), 1);

        // Manifests one by one, then moved to parts, as other processes read them.
        for parts in [None, Some(1), Some(3)] {
            let bounds = Bounds { parts, ..Bounds::default() };
            let planned = scan.job(&bounds).expect("a job").expect("toys have one");
            let bytes = planned.to_bytes().expect("bytes");
            assert!(SentJob::read(&bytes, &FEWER).is_err(), "the toy format is not among them");
            let job = Arc::new(SentJob::read(&bytes, &FORMATS).expect("a job"));
            assert_eq!(job.schema_of(usize::MAX).expect("a schema"), *scan.schema());
            let process =
                || Process { storage: Arc::new(Local), decoding: Limits::DEFAULT.into(), table: None };
            let read = |path: String| Ok((format!("file:{path}"), Local.read(&path)?.into()));
            let manifests: Vec<String> = planned.manifests.iter().map(|one| one.path.clone()).collect();
            let mapped = job.map(manifests.into_iter().map(read), process()).expect("a map");
            let mapped = mapped.collect::<Result<Vec<_>>>().expect("pieces");
            assert_eq!(planned.shuffles().len(), shuffles, "{}", view.name());
            let made = rows(job.reduce_all(mapped, &[], &process()).expect("rows"));
            assert_eq!(made, all, "{} in {parts:?}", view.name());
            let elsewhere = std::iter::once(Ok(("/elsewhere/three".to_owned(), Buffer::default().into())));
            assert!(job.map(elsewhere, process()).expect("a map").next().is_some_and(|piece| piece.is_err()));
        }
    }
}

#[test]
fn what_is_not_a_job_is_refused_with_the_reason() {
    let head = |format: &str, job: &str| {
        let version = env!("CARGO_PKG_VERSION");
        format!("lakebed {version}\n{{\"format\":\"{format}\",\"parts\":1,\"filter\":null}}\n{job}\n")
    };
    for (text, words) in [
        (String::new(), "not of this job: its version is missing"),
        ("{}\n".to_owned(), "not of this job: its version is missing"),
        (head("hudi", "{}"), r#"not of this job: unknown format "hudi""#),
        (head("paimon", "{}"), "not of this job: expected value"),
        (head("paimon", r#"{"Rows": {}}"#), "not of this job: missing field `role`"),
        (head("iceberg", r#"{"Files": {}}"#), "not of this job: unknown variant `Files`"),
    ] {
        let error = SentJob::read(text.as_bytes(), &FORMATS).err().expect("no job");
        assert!(error.message().starts_with(words), "{error}");
    }
    let whole = head("paimon", "{}");
    for end in 0..whole.len() {
        assert!(SentJob::read(&whole.as_bytes()[..end], &FORMATS).is_err(), "{end}");
    }
    let other = whole.replace(env!("CARGO_PKG_VERSION"), "0.0.1");
    let error = SentJob::read(other.as_bytes(), &FORMATS).err().expect("another version");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let named = |version| error.message().contains(version);
    assert!(named("lakebed 0.0.1") && named(env!("CARGO_PKG_VERSION")), "{error}");
}
