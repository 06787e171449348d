//! What reads Paimon's manifests alone: lakebed's core and the paimon crate.

use std::fs;
use std::path::{Path, PathBuf};

use ::paimon::io::FileIO;
use ::paimon::spec::{Manifest, ManifestEntry};
use lakebed::columnar::Decoding;
use lakebed::paimon::manifest::{EntryFilter, EntryReader, entry_columns};
use lakebed_avro::Limits;

use super::Outcome;
use crate::Result;

pub fn core(files: &[PathBuf]) -> Result<Outcome> {
    read(files, None)
}

pub fn core_projected(files: &[PathBuf]) -> Result<Outcome> {
    let columns = ["kind", "partition", "bucket", "file_name", "file_size", "row_count"];
    read(files, Some(&columns.map(str::to_owned)))
}

/// Entries as lakebed's own views take them: judged, checked and brought to one schema.
fn read(files: &[PathBuf], columns: Option<&[String]>) -> Result<Outcome> {
    let columns = entry_columns(columns)?;
    let decoding = Decoding::from(Limits::default());
    let mut batches = Vec::new();
    for file in files {
        let bytes = fs::read(file)?.into();
        for batch in EntryReader::open(bytes, &columns, EntryFilter::default(), None, &decoding, 1)? {
            batches.push(batch?);
        }
    }
    Ok(Outcome::of_batches(batches))
}

/// The paimon crate, to its `ManifestEntry` objects.
pub fn crate_entries(files: &[PathBuf]) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let io = FileIO::from_path("/")?.build()?;
    let mut entries: Vec<ManifestEntry> = Vec::new();
    for file in files {
        entries.extend(runtime.block_on(Manifest::read(&io, path_text(file)?))?);
    }
    Ok(Outcome::new(entries.len() as u64, entries))
}

fn path_text(path: &Path) -> Result<&str> {
    Ok(path.to_str().ok_or("the paimon crate takes UTF-8 paths")?)
}
