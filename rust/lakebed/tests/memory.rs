//! Files for which there is not enough memory.

#[path = "../../lakebed-avro/tests/common/allocator.rs"]
mod allocator;

use std::fs;

use allocator::{fail_at, held};
use lakebed::iceberg::metadata::{MetadataFile, TableMetadata, WantedElements};
use lakebed::storage::{Local, Storage};
use lakebed::{ErrorKind, Result};
use lakebed_avro::Limits;

const LARGE: usize = 1 << 20;

/// Does work twice. The first time its first large allocation fails: that is an error, and no memory is leaked.
fn assert_survived<T>(work: impl Fn() -> Result<T>) -> T {
    drop(work());
    let before = held();
    fail_at(LARGE);
    let error = work().err().expect("there was no memory");
    assert_eq!(error.kind(), ErrorKind::Avro(lakebed_avro::ErrorKind::Limit), "{error}");
    assert!(error.message().starts_with("no memory for "), "{error}");
    drop(error);
    assert_eq!(held(), before);
    work().expect("there is memory again")
}

#[test]
fn no_memory_for_a_file_is_an_error() {
    let path = std::env::temp_dir().join(format!("lakebed-memory-{}", std::process::id()));
    fs::write(&path, vec![b'x'; 2 * LARGE]).unwrap();
    let read = assert_survived(|| Local.read(path.to_str().unwrap()));
    fs::remove_file(&path).unwrap();
    assert_eq!(read.len(), 2 * LARGE);
}

#[test]
fn no_memory_for_a_text_in_metadata_is_an_error() {
    let written = include_str!("../../../tests/data/malformed/iceberg_metadata/y_good.json");
    let text = format!(r#"{{"long": "{}", {}"#, "x".repeat(2 * LARGE), &written[1..]);
    let file = MetadataFile::of_bytes(text.into_bytes().into(), Limits::DEFAULT);
    let metadata = assert_survived(|| TableMetadata::read(&file, &WantedElements::CURRENT));
    assert!(metadata.current_schema_id >= 0);
}
