//! A table in a store in memory is the table of the local folder, and what goes wrong has a kind and a path.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use lakebed::format::FORMATS;
use lakebed::scan::ScanOptions;
use lakebed::storage::{Local, Storage};
use lakebed::view::View;
use lakebed::write::ExistingFile;
use lakebed::{ErrorKind, Limits};
use lakebed_object_store::ObjectStorage;
use object_store::memory::InMemory;

const SAMPLE: &str = "../../examples/sample_table";
const PLACE: &str = "s3://lake/db/orders";

fn empty() -> ObjectStorage {
    ObjectStorage::new(Arc::new(InMemory::new()), "s3://lake").unwrap()
}

fn upload(storage: &ObjectStorage, folder: &Path, place: &str) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let place = format!("{place}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            upload(storage, &entry.path(), &place);
        } else {
            storage.create(&place, &std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

fn sample() -> ObjectStorage {
    let storage = empty();
    upload(&storage, Path::new(SAMPLE), PLACE);
    storage
}

/// Rows of a plan, without paths.
fn plan(storage: Arc<dyn Storage>, location: &str) -> Vec<RecordBatch> {
    let table = FORMATS.open(location, None, storage, Limits::DEFAULT.into()).unwrap();
    let columns = ["file_name", "record_count", "partition"].map(str::to_owned).to_vec();
    let table_filter = Some("region = 'emea'".to_owned());
    let options = ScanOptions { columns: Some(columns), table_filter, threads: 4, ..ScanOptions::default() };
    table.scan(View::Plan, options).unwrap().stream().unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_table_is_that_of_the_local_folder() {
    let expected = plan(Arc::new(Local), SAMPLE);
    assert_eq!(expected.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);
    assert_eq!(plan(Arc::new(sample()), PLACE), expected);
    // By another scheme of the same storage.
    assert_eq!(plan(Arc::new(sample()), "s3a://lake/db/orders"), expected);
}

#[test]
fn the_runtime_may_be_the_callers() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let store = Arc::new(InMemory::new());
    upload(&ObjectStorage::new(store.clone(), "s3://lake").unwrap(), Path::new(SAMPLE), PLACE);
    let storage = Arc::new(ObjectStorage::on(runtime.handle().clone(), store.clone(), "s3://lake/").unwrap());
    // Also from within one of its tasks.
    let within = runtime.block_on(runtime.spawn({
        let storage = storage.clone();
        async move { plan(storage, PLACE) }
    }));
    assert_eq!(plan(storage.clone(), PLACE), within.unwrap());
    let narrow = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let refused = ObjectStorage::on(narrow.handle().clone(), store, "s3://lake").err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    drop(runtime);
    let error = storage.read(PLACE).unwrap_err();
    assert_eq!((error.kind(), error.location().path.as_deref()), (ErrorKind::Io, Some(PLACE)), "{error}");
}

#[test]
fn its_own_runtime_serves_tasks_of_another() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let rows = runtime.block_on(async { plan(Arc::new(sample()), PLACE) });
    assert!(!rows.is_empty());
}

#[test]
fn ranges_end_with_the_file() {
    let storage = empty();
    storage.create("s3://lake/a/ten", b"0123456789").unwrap();
    storage.create("s3://lake/a/none", b"").unwrap();
    let read = |name: &str, start, length| {
        storage.read_range(&format!("s3://lake/a/{name}"), start, length).map(|bytes| bytes.to_vec())
    };
    for (start, length, expected) in [
        (0, u64::MAX, "0123456789"),
        (0, 3, "012"),
        (8, 2, "89"),
        (8, 100, "89"),
        (8, u64::MAX, "89"),
        (3, 0, ""),
        (10, 1, ""),
        (11, u64::MAX, ""),
        (u64::MAX, u64::MAX, ""),
    ] {
        assert_eq!(read("ten", start, length).unwrap(), expected.as_bytes(), "{start} {length}");
        assert_eq!(read("none", start, length).unwrap(), b"");
        if length > 0 {
            assert_eq!(read("absent", start, length).unwrap_err().kind(), ErrorKind::Missing);
        }
    }
}

#[test]
fn folders_are_what_objects_lie_in() {
    let storage = empty();
    for name in ["x", "b/y", "b/c/z", "other/w"] {
        storage.create(&format!("s3://lake/a/{name}"), b"12").unwrap();
    }
    let mut names = storage.list("s3://lake/a").unwrap();
    names.sort();
    assert_eq!(names, ["b", "other", "x"]);
    let found = storage.contents("s3://lake/a/").unwrap().unwrap();
    assert_eq!(found.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["x"]);
    let details = found.files[0].details.unwrap();
    assert_eq!(details.size, Some(2));
    assert_eq!(details.modified, storage.modified("s3://lake/a/x").unwrap());
    assert!(details.modified.unwrap() > 1_700_000_000_000);
    assert_eq!(storage.modified("s3://lake/a").unwrap(), None);
    assert_eq!(storage.folders("s3://lake/a").unwrap(), Some(found.folders));
    assert_eq!(storage.folders("s3://lake/absent").unwrap(), None);
    assert_eq!(storage.list("s3://lake/absent").unwrap(), Vec::<String>::new());
    assert_eq!(storage.list("s3://lake").unwrap(), ["a"]);
    assert_eq!(empty().contents("s3://lake/").unwrap(), Some(Default::default()));
}

#[test]
fn one_of_several_writers_gets_a_path() {
    let storage = empty();
    let path = "s3://lake/t/snapshot-1";
    assert!(storage.publish(path, ExistingFile::Refuse, b"first").unwrap());
    assert!(!storage.publish(path, ExistingFile::Refuse, b"second").unwrap());
    assert_eq!(storage.read(path).unwrap().as_slice(), b"first");
    assert!(storage.publish(path, ExistingFile::Replace, b"third").unwrap());
    assert_eq!(storage.read(path).unwrap().as_slice(), b"third");
    storage.remove(path).unwrap();
    assert_eq!(storage.read(path).unwrap_err().kind(), ErrorKind::Missing);
}

#[test]
fn errors_have_a_kind_and_the_path_without_secrets() {
    let storage = ObjectStorage::new(Arc::new(InMemory::new()), "abfss://box@shop.example/lake").unwrap();
    let within = "abfs://box@shop.example/lake";
    for (path, kind) in [
        (format!("{within}/absent"), ErrorKind::Missing),
        (format!("{within}/../up"), ErrorKind::Location),
        (format!("{within}/a//b"), ErrorKind::Location),
        ("abfs://box@other.example/lake/a".to_owned(), ErrorKind::Unsupported),
        ("abfs://box@shop.example/lakes/a".to_owned(), ErrorKind::Unsupported),
        ("s3://box@shop.example/lake/a".to_owned(), ErrorKind::Unsupported),
        ("/lake/a".to_owned(), ErrorKind::Unsupported),
    ] {
        let error = storage.read(&path).unwrap_err();
        assert_eq!(error.kind(), kind, "{path}: {error}");
    }
    let error = storage.read("abfs://box:c4n4ry@shop.example/lake/a?sig=c4n4ry").unwrap_err();
    assert_eq!(error.location().path.as_deref(), Some("abfs://box@shop.example/lake/a"));
    assert!(!format!("{error} {error:?}").contains("c4n4ry"), "{error:?}");
    let storage = storage.with_secrets(["c4n4ry".to_owned()]);
    let error = storage.read(&format!("{within}/c4n4ry/../a")).unwrap_err();
    assert!(!error.message().contains("c4n4ry"), "{error}");
}
