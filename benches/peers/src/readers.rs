//! What is timed: the two floors, lakebed's core and the three other Rust readers, each from path to result.

use std::any::Any;
use std::fs;
use std::hint::black_box;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_avro::reader::ReaderBuilder;
use arrow_avro::schema::AvroSchema;
use lakebed::paimon::manifest::{EntryFilter, EntryReader, entry_columns};
use lakebed_avro::ReadOptions;
use paimon::io::FileIO;
use paimon::spec::{Manifest, ManifestEntry};
use serde_json::Value;

use crate::Result;
use crate::container::{Container, Inflater};
use crate::walk::Program;

/// One thing to time.
pub struct Peer {
    /// The library, or the floor's name.
    pub name: &'static str,
    /// `entries`: every column; `projected`: the columns in [`PROJECTED`].
    pub task: &'static str,
    /// Reads all the files. Nothing is kept between runs.
    pub run: fn(&[PathBuf]) -> Result<Outcome>,
}

/// What a run leaves behind; dropped only after the clock has stopped.
pub struct Outcome {
    /// Entries seen.
    pub rows: u64,
    _kept: Box<dyn Any>,
}

impl Outcome {
    fn new(rows: u64, kept: impl Any) -> Self {
        Self { rows, _kept: Box::new(kept) }
    }
}

/// All of them, in the order in which they are reported.
pub const PEERS: &[Peer] = &[
    Peer { name: "inflate", task: "entries", run: inflate },
    Peer { name: "walk", task: "entries", run: walk },
    Peer { name: "lakebed core", task: "entries", run: lakebed_core },
    Peer { name: "lakebed core", task: "projected", run: lakebed_core_projected },
    Peer { name: "arrow-avro", task: "entries", run: arrow_avro },
    Peer { name: "arrow-avro", task: "projected", run: arrow_avro_projected },
    Peer { name: "paimon", task: "entries", run: paimon },
    Peer { name: "apache-avro", task: "entries", run: apache_avro },
];

/// The record fields that a projected read keeps, at whatever depth they stand.
const PROJECTED: [&str; 7] =
    ["_KIND", "_PARTITION", "_BUCKET", "_FILE", "_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT"];

fn inflate(files: &[PathBuf]) -> Result<Outcome> {
    let mut inflater = Inflater::new()?;
    let mut rows = 0;
    for file in files {
        Container::open(file)?.for_each_block(&mut inflater, |records, payload, _| {
            black_box(payload);
            rows += records;
            Ok(())
        })?;
    }
    Ok(Outcome::new(rows, ()))
}

fn walk(files: &[PathBuf]) -> Result<Outcome> {
    let mut inflater = Inflater::new()?;
    let (mut rows, mut loops) = (0, Vec::new());
    for file in files {
        let container = Container::open(file)?;
        let program = Program::compile(&container.schema)?;
        container.for_each_block(&mut inflater, |records, payload, len| {
            let mut pos = 0;
            for _ in 0..records {
                pos = program.walk(payload, pos, &mut loops);
            }
            rows += records;
            match pos == len {
                true => Ok(()),
                false => Err(format!("{records} records took {pos} of {len} bytes").into()),
            }
        })?;
    }
    Ok(Outcome::new(rows, ()))
}

fn lakebed_core(files: &[PathBuf]) -> Result<Outcome> {
    read_lakebed(files, None)
}

fn lakebed_core_projected(files: &[PathBuf]) -> Result<Outcome> {
    let columns = ["kind", "partition", "bucket", "file_name", "file_size", "row_count"];
    read_lakebed(files, Some(&columns.map(str::to_owned)))
}

/// Entries as lakebed's own views take them: judged, checked and brought to one schema.
fn read_lakebed(files: &[PathBuf], columns: Option<&[String]>) -> Result<Outcome> {
    let columns = entry_columns(columns)?;
    let mut batches = Vec::new();
    for file in files {
        let bytes = fs::read(file)?.into();
        let options = ReadOptions::default();
        for batch in EntryReader::open(bytes, &columns, EntryFilter::default(), None, options)? {
            batches.push(batch?);
        }
    }
    Ok(Outcome::new(batches.iter().map(|batch| batch.num_rows() as u64).sum(), batches))
}

fn arrow_avro(files: &[PathBuf]) -> Result<Outcome> {
    read_batches(files, |_| Ok(ReaderBuilder::new()))
}

fn arrow_avro_projected(files: &[PathBuf]) -> Result<Outcome> {
    read_batches(files, |writer_schema| {
        let mut schema: Value = serde_json::from_str(writer_schema)?;
        project(&mut schema);
        Ok(ReaderBuilder::new().with_reader_schema(AvroSchema::new(schema.to_string())))
    })
}

fn read_batches(files: &[PathBuf], builder: impl Fn(&str) -> Result<ReaderBuilder>) -> Result<Outcome> {
    let mut batches: Vec<RecordBatch> = Vec::new();
    for file in files {
        let container = Container::open(file)?;
        // Batches of 1,024 rows, the default, are as fast here as any larger size.
        let builder = builder(&container.schema)?;
        for batch in builder.build(Cursor::new(container.into_bytes()))? {
            batches.push(batch?);
        }
    }
    Ok(Outcome::new(batches.iter().map(|batch| batch.num_rows() as u64).sum(), batches))
}

/// Drops the fields that are not in [`PROJECTED`] from every record of a schema.
fn project(schema: &mut Value) {
    match schema {
        Value::Array(branches) => branches.iter_mut().for_each(project),
        Value::Object(object) => {
            if let Some(Value::Array(fields)) = object.get_mut("fields") {
                fields.retain(|field| field["name"].as_str().is_some_and(|name| PROJECTED.contains(&name)));
                fields.iter_mut().for_each(|field| project(&mut field["type"]));
            }
        }
        _ => {}
    }
}

fn paimon(files: &[PathBuf]) -> Result<Outcome> {
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

fn apache_avro(files: &[PathBuf]) -> Result<Outcome> {
    let mut values = Vec::new();
    for file in files {
        for value in apache_avro::Reader::new(Cursor::new(fs::read(file)?))? {
            values.push(value?);
        }
    }
    Ok(Outcome::new(values.len() as u64, values))
}
