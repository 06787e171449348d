//! What reads Iceberg's manifests alone: lakebed's core and the iceberg crate.

use std::fs;
use std::path::PathBuf;

use ::iceberg::spec::Manifest;
use arrow_buffer::Buffer;
use lakebed_avro::{ReadOptions, Reader};

use super::Outcome;
use crate::Result;

pub fn core(files: &[PathBuf]) -> Result<Outcome> {
    let mut batches = Vec::new();
    for file in files {
        for batch in Reader::open(Buffer::from(fs::read(file)?).into(), ReadOptions::default())? {
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
