//! lakebed's core on files that are no manifests: whatever their schema says.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_buffer::Buffer;
use lakebed_avro::{Blocks, Limits, Program, Projection, ReadOptions, Reader, Schema};

use super::{Outcome, PROJECTED};
use crate::Result;

pub fn core(files: &[PathBuf]) -> Result<Outcome> {
    read(files, |_| Projection::All)
}

pub fn core_projected(files: &[PathBuf]) -> Result<Outcome> {
    read(files, |schema| {
        let named = PROJECTED.iter().filter(|name| schema.contains(&format!("\"{name}\"")));
        Projection::Paths(named.map(|name| (*name).to_owned()).collect())
    })
}

fn read(files: &[PathBuf], projection: impl Fn(&str) -> Projection) -> Result<Outcome> {
    let mut batches = Vec::new();
    for file in files {
        let bytes = Buffer::from(fs::read(file)?);
        let (header, blocks) = Blocks::open(bytes.into(), Limits::DEFAULT)?;
        let text = header.schema()?;
        let schema = Schema::parse(text, &Limits::DEFAULT)?;
        let program = Arc::new(Program::resolve(&schema, &projection(text), &[])?);
        for batch in Reader::new(&header, blocks, program, None, ReadOptions::default()) {
            batches.push(batch?);
        }
    }
    Ok(Outcome::of_batches(batches))
}
