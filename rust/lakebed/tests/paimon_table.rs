//! Whole tables through a storage in memory, which tests can damage.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_select::concat::concat_batches;
use lakebed::distributed::Bounds;
use lakebed::paimon::Table;
use lakebed::scan::ScanOptions;
use lakebed::storage::Storage;
use lakebed::table::LakeTable as _;
use lakebed::view::View;
use lakebed::{Error, ErrorKind, Limits, Result};

/// The distance between the offsets at which files are damaged: usually the longer one.
fn step(usual: usize, thorough: usize) -> usize {
    if std::env::var_os("LAKEBED_TRUST").is_some() { thorough } else { usual }
}

/// Files by path; the sample table is at `t`.
#[derive(Clone)]
struct Memory(BTreeMap<String, Vec<u8>>);

impl Memory {
    fn sample() -> Memory {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sample_table");
        let mut files = BTreeMap::new();
        for folder in ["snapshot", "schema", "manifest"] {
            for file in std::fs::read_dir(root.join(folder)).unwrap() {
                let path = file.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap();
                files.insert(format!("t/{folder}/{name}"), std::fs::read(&path).unwrap());
            }
        }
        Memory(files)
    }

    fn set(mut self, path: &str, bytes: impl Into<Vec<u8>>) -> Memory {
        self.0.insert(path.to_owned(), bytes.into());
        self
    }

    fn without(mut self, path: &str) -> Memory {
        self.0.remove(path).unwrap_or_else(|| panic!("{path} is not there to be taken away"));
        self
    }

    fn open(&self) -> Result<Table> {
        Table::open("t", Arc::new(self.clone()), Limits::DEFAULT)
    }

    fn scan(&self, view: View, options: ScanOptions) -> Result<RecordBatch> {
        let scan = self.open()?.scan(view, options)?;
        let batches = scan.stream()?.collect::<Result<Vec<_>>>()?;
        Ok(concat_batches(scan.schema(), &batches).unwrap())
    }

    fn files(&self) -> Result<RecordBatch> {
        self.scan(View::Files, ScanOptions::default())
    }
}

impl Storage for Memory {
    fn read(&self, path: &str) -> Result<Buffer> {
        let bytes = self.0.get(path).cloned();
        bytes
            .map(Buffer::from_vec)
            .ok_or_else(|| Error::new(ErrorKind::Missing, "no such file").in_file(path))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let prefix = format!("{folder}/");
        Ok(self.0.keys().filter_map(|path| path.strip_prefix(&prefix)).map(str::to_owned).collect())
    }
}

/// Path and records of the manifests in use.
fn manifests(memory: &Memory) -> Vec<String> {
    let scan = memory.open().unwrap().scan(View::Entries, ScanOptions::default()).unwrap();
    let planned = scan.job(&Bounds::default()).unwrap().unwrap();
    planned.manifests.into_iter().map(|manifest| manifest.path).collect()
}

fn snapshot_id(memory: &Memory) -> i64 {
    memory.open().unwrap().snapshot().unwrap().id
}

#[test]
fn the_latest_snapshot_is_found_whatever_the_hint_says() {
    let sample = Memory::sample();
    let latest = snapshot_id(&sample);
    assert!(latest > 2);
    let hint = "t/snapshot/LATEST";
    for text in ["", "garbage", "0", "-3", "1", "99999999999999999999", &i64::MAX.to_string()] {
        assert_eq!(snapshot_id(&sample.clone().set(hint, text)), latest, "hint {text:?}");
    }
    // A hint to a snapshot that does not exist, and neither does the next one.
    assert_eq!(snapshot_id(&sample.clone().set(hint, "500")), latest);
    assert_eq!(snapshot_id(&sample.clone().without(hint)), latest);
    // Numbers are compared as numbers, and unfinished files are ignored.
    let renamed = sample.0[&format!("t/snapshot/snapshot-{latest}")].clone();
    let text = String::from_utf8(renamed).unwrap().replace(&format!("\"id\" : {latest}"), "\"id\" : 100");
    let renumbered = sample.set("t/snapshot/snapshot-100", text).set("t/snapshot/snapshot-101abc.tmp", "");
    assert_eq!(snapshot_id(&renumbered.clone().without(hint)), 100);
}

#[test]
fn a_table_without_snapshots_is_empty() {
    let mut memory = Memory::sample();
    memory.0.retain(|path, _| !path.starts_with("t/snapshot/"));
    assert!(memory.open().unwrap().snapshot().is_none());
    let views = [View::Snapshots, View::Manifests, View::Entries, View::Files];
    for (number, view) in views.into_iter().enumerate() {
        assert_eq!(memory.scan(view, ScanOptions::default()).unwrap().num_rows(), 0, "view {number}");
    }
    memory.0.retain(|path, _| !path.starts_with("t/schema/"));
    assert_eq!(memory.open().err().unwrap().kind(), ErrorKind::TableNotFound);
}

#[test]
fn every_cut_of_every_metadata_file_is_an_error_with_its_path() {
    let sample = Memory::sample();
    let table = sample.open().unwrap();
    let snapshot = table.snapshot().unwrap();
    let lists = [&snapshot.base_manifest_list, &snapshot.delta_manifest_list];
    let lists = lists.map(|name| format!("t/manifest/{name}"));
    for path in manifests(&sample).into_iter().chain(lists) {
        let whole = sample.0[&path].clone();
        for cut in (0..whole.len()).step_by(step(101, 37)).chain([whole.len() - 1]) {
            let error = sample.clone().set(&path, &whole[..cut]).files().unwrap_err();
            assert_eq!(error.kind().name(), "truncated", "{path} cut at {cut}: {error}");
            assert_eq!(error.location().path.as_deref(), Some(path.as_str()));
            assert!(error.location().offset.is_some());
        }
        let longer = [whole.as_slice(), b"x"].concat();
        let error = sample.clone().set(&path, longer).files().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{path}");
        let error = sample.clone().without(&path).files().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing, "{path}");
        assert_eq!(error.location().path.as_deref(), Some(path.as_str()));
    }
}

#[test]
fn flipped_bytes_never_panic_and_never_change_the_number_of_entries() {
    let sample = Memory::sample();
    let entries = sample.scan(View::Entries, ScanOptions::default()).unwrap().num_rows();
    for path in manifests(&sample) {
        let whole = sample.0[&path].clone();
        for at in (0..whole.len()).step_by(step(167, 61)) {
            let mut bent = whole.clone();
            bent[at] ^= 0x15;
            // Bytes without a checksum may become other values, but never more or fewer entries.
            if let Ok(read) = sample.clone().set(&path, bent).scan(View::Entries, ScanOptions::default()) {
                assert_eq!(read.num_rows(), entries, "{path} at {at}");
            }
        }
    }
}

#[test]
fn threads_change_nothing() {
    let sample = Memory::sample();
    let read = |threads| {
        let options = ScanOptions { threads, stats: Some(vec!["amount".to_owned()]), ..Default::default() };
        sample.scan(View::Files, options).unwrap()
    };
    let one = read(1);
    assert!(one.num_rows() > 0);
    for threads in [2, 3, 16] {
        assert_eq!(read(threads), one, "{threads} threads");
    }
}

#[test]
fn filters_keep_what_a_filter_over_all_rows_keeps() {
    let sample = Memory::sample();
    let partitions = |filter: Option<&str>| {
        let options =
            ScanOptions { table_filter: filter.map(str::to_owned), threads: 1, ..Default::default() };
        sample.scan(View::Files, options).unwrap()
    };
    let all = partitions(None).num_rows();
    let mut sum = 0;
    for day in ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"] {
        let one = partitions(Some(&format!("dt = DATE '{day}'"))).num_rows();
        let others = partitions(Some(&format!("not dt = '{day}'"))).num_rows();
        assert!(one > 0);
        assert_eq!(one + others, all, "{day}");
        sum += one;
    }
    assert_eq!(sum, all);
    let halves = [0, 1].map(|bucket| partitions(Some(&format!("bucket = {bucket}"))).num_rows());
    assert_eq!(halves[0] + halves[1], all);
    assert!(halves.iter().all(|rows| *rows > 0));
    // Of all rows, the view's own filter keeps the same, also by columns that are not asked for.
    let options = ScanOptions {
        columns: Some(vec!["file_path".to_owned()]),
        filter: Some("bucket = 0".to_owned()),
        limit: Some(all),
        ..Default::default()
    };
    let own = sample.scan(View::Files, options).unwrap();
    assert_eq!((own.num_rows(), own.num_columns()), (halves[0], 1));
    assert_eq!(partitions(Some("dt > '2030-01-01' or region in ('emea', 'apac', 'us')")).num_rows(), all);
    assert_eq!(partitions(Some("bucket = 7")).num_rows(), 0);
}

#[test]
fn the_limit_stops_and_columns_are_the_requested_ones() {
    let sample = Memory::sample();
    let columns = ["record_count", "file_path"].map(str::to_owned).to_vec();
    for limit in [0, 1, 5, 10_000] {
        let options =
            ScanOptions { columns: Some(columns.clone()), limit: Some(limit), ..Default::default() };
        let read = sample.scan(View::Files, options).unwrap();
        assert_eq!(read.num_rows(), limit.min(sample.files().unwrap().num_rows()));
        let schema = read.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["record_count", "file_path"]);
    }
}

#[test]
fn wrong_requests_are_refused_before_a_manifest_is_read() {
    let sample = Memory::sample();
    let mut lists_only = sample.clone();
    for path in manifests(&sample) {
        lists_only.0.remove(&path);
    }
    let refused = |options: ScanOptions| {
        let scan = lists_only.open().unwrap().scan(View::Files, options);
        scan.err().expect("refused").kind()
    };
    let text = |text: &str| Some(text.to_owned());
    let names = |name: &str| Some(vec![name.to_owned()]);
    let default = ScanOptions::default;
    assert_eq!(refused(ScanOptions { columns: names("nope"), ..default() }), ErrorKind::UnknownColumn);
    assert_eq!(refused(ScanOptions { stats: names("nope"), ..default() }), ErrorKind::UnknownColumn);
    assert_eq!(refused(ScanOptions { table_filter: text("nope = 1"), ..default() }), ErrorKind::FilterColumn);
    for filter in ["amount > 'x'", "dt >", "dt = 5", "dt = '2026-13-01'", "bucket = 'x'"] {
        assert_eq!(
            refused(ScanOptions { table_filter: text(filter), ..default() }),
            ErrorKind::Predicate,
            "{filter}"
        );
    }
}

#[test]
fn errors_of_missing_snapshots_have_the_range_of_existing_ones() {
    let table = Memory::sample().open().unwrap();
    let latest = table.snapshot().unwrap().id;
    let error = table.at_snapshot(latest + 1).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::SnapshotNotFound);
    assert!(error.message().contains(&format!("to {latest}")), "{error}");
    assert_eq!(table.at_snapshot(2).unwrap().snapshot().unwrap().id, 2);
}
