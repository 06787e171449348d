//! What reads Iceberg's manifests alone: lakebed's core and the iceberg crate.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use ::iceberg::spec::Manifest;
use arrow_buffer::Buffer;
use lakebed::columnar::Decoding;
use lakebed::iceberg::manifest::{EntryColumns, EntryReader, Known, ManifestHeader, Statuses};
use lakebed_avro::Limits;

use super::Outcome;
use crate::Result;

pub fn core(files: &[PathBuf]) -> Result<Outcome> {
    read(files, None)
}

pub fn core_projected(files: &[PathBuf]) -> Result<Outcome> {
    let columns = ["status", "file_path", "partition", "record_count", "file_size_in_bytes"];
    read(files, Some(&columns.map(str::to_owned)))
}

/// Entries as lakebed's own views take them: resolved by field id, and brought to one schema.
fn read(files: &[PathBuf], columns: Option<&[String]>) -> Result<Outcome> {
    let columns = Arc::new(EntryColumns::new(columns)?);
    let limits = Limits::default();
    let mut batches = Vec::new();
    for file in files {
        let bytes = Buffer::from(fs::read(file)?);
        let header = ManifestHeader::read(&bytes, limits)?;
        let known = Known { spec_id: header.spec_id, partition: header.partition, ..Known::default() };
        let decoding = Decoding::from(limits);
        for batch in EntryReader::open(bytes, &columns, known, Statuses::ALL, &decoding, 1)? {
            batches.push(batch?);
        }
    }
    Ok(Outcome::of_batches(batches))
}

/// The iceberg crate, to its `ManifestEntry` objects.
pub fn crate_entries(files: &[PathBuf]) -> Result<Outcome> {
    let mut entries = Vec::new();
    for file in files {
        entries.extend(Manifest::parse_avro(&fs::read(file)?)?.into_parts().0);
    }
    Ok(Outcome::new(entries.len() as u64, entries))
}
