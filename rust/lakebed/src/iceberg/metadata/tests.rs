//! Metadata of all versions, as written and made crooked.

use std::path::PathBuf;
use std::sync::Arc;

use lakebed_avro::Limits;

use super::*;
use crate::error::Result;
use crate::storage::Local;
use crate::test_data;

/// Every metadata file of the shared tables.
fn files() -> Vec<PathBuf> {
    test_data::paths("iceberg", &|name| name.contains("metadata.json") || name.starts_with("TableMetadata"))
}

fn read(path: &std::path::Path, wanted: &Wanted) -> Result<TableMetadata> {
    let file = MetadataFile::open(path.to_str().expect("UTF-8"), Arc::new(Local), Limits::DEFAULT)?;
    TableMetadata::read(&file, wanted)
}

#[test]
fn real_files_are_read() {
    let mut failed = Vec::new();
    for path in files() {
        if let Err(error) = read(&path, &Wanted::ALL) {
            failed.push(error.to_string());
        }
    }
    panic!("{}", failed.join("\n"));
}
