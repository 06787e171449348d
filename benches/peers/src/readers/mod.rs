//! What is timed: the two floors, lakebed's core and the other Rust readers, each from path to result.

mod avro;
mod iceberg;
mod paimon;
mod write;

use std::any::Any;
use std::fs;
use std::hint::black_box;
use std::io::Cursor;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_avro::reader::ReaderBuilder;
use arrow_avro::schema::AvroSchema;
use serde_json::Value;

use crate::Result;
use crate::container::{Container, Inflater};
use crate::walk::Program;

/// One thing to time.
pub struct Peer {
    /// The library, or the floor's name.
    pub name: &'static str,
    /// `entries`: every column; `projected`: the columns in [`PROJECTED`]; `encode`: the entries written again.
    pub task: &'static str,
    /// The only format that it reads, if it does not read all of them.
    pub format: Option<&'static str>,
    work: Work,
}

/// What a peer does with all the files.
enum Work {
    /// A run reads them. Nothing is kept between runs.
    Read(Run),
    /// They are read once, before the clock starts, for runs that write them.
    Write(fn(&[PathBuf]) -> Result<Job>),
}

type Run = fn(&[PathBuf]) -> Result<Outcome>;

/// One run, as often as it is called.
pub type Job = Box<dyn Fn() -> Result<Outcome>>;

impl Peer {
    /// Whether it writes the files again, from records that its process then holds.
    pub fn writes(&self) -> bool {
        matches!(self.work, Work::Write(_))
    }

    /// What is to be timed, over these files.
    pub fn prepare(&self, files: &[PathBuf]) -> Result<Job> {
        match self.work {
            Work::Read(run) => {
                let files = files.to_vec();
                Ok(Box::new(move || run(&files)))
            }
            Work::Write(prepare) => prepare(files),
        }
    }
}

/// What a run leaves behind; dropped only after the clock has stopped.
pub struct Outcome {
    /// Entries seen.
    pub rows: u64,
    /// The size of what was written, where anything was \[bytes\].
    pub bytes: Option<usize>,
    _kept: Box<dyn Any>,
}

impl Outcome {
    fn new(rows: u64, kept: impl Any) -> Self {
        Self { rows, bytes: None, _kept: Box::new(kept) }
    }

    fn of_batches(batches: Vec<RecordBatch>) -> Self {
        Self::new(batches.iter().map(|batch| batch.num_rows() as u64).sum(), batches)
    }
}

const fn of_all(name: &'static str, task: &'static str, run: Run) -> Peer {
    Peer { name, task, format: None, work: Work::Read(run) }
}

const fn of_avro(name: &'static str, task: &'static str, run: Run) -> Peer {
    Peer { name, task, format: Some("avro"), work: Work::Read(run) }
}

const fn of_paimon(name: &'static str, task: &'static str, run: Run) -> Peer {
    Peer { name, task, format: Some("paimon"), work: Work::Read(run) }
}

const fn of_iceberg(name: &'static str, task: &'static str, run: Run) -> Peer {
    Peer { name, task, format: Some("iceberg"), work: Work::Read(run) }
}

/// All of them, in the order in which they are reported.
pub const PEERS: &[Peer] = &[
    of_all("inflate", "entries", inflate),
    of_all("walk", "entries", walk),
    of_avro("lakebed core", "entries", avro::core),
    of_avro("lakebed core", "projected", avro::core_projected),
    of_paimon("lakebed core", "entries", paimon::core),
    of_paimon("lakebed core", "projected", paimon::core_projected),
    of_iceberg("lakebed core", "entries", iceberg::core),
    of_iceberg("lakebed core", "projected", iceberg::core_projected),
    of_all("arrow-avro", "entries", arrow_avro),
    of_all("arrow-avro", "projected", arrow_avro_projected),
    of_paimon("paimon", "entries", paimon::crate_entries),
    of_iceberg("iceberg", "entries", iceberg::crate_entries),
    of_all("apache-avro", "entries", apache_avro),
    Peer { name: "apache-avro", task: "encode", format: None, work: Work::Write(write::apache_avro) },
];

/// The record fields that a projected read keeps, of any format.
const PROJECTED: [&str; 15] = [
    "_KIND",
    "_PARTITION",
    "_BUCKET",
    "_FILE_NAME",
    "_FILE_SIZE",
    "_ROW_COUNT",
    "status",
    "file_path",
    "partition",
    "record_count",
    "file_size_in_bytes",
    "station",
    "temp",
    "id",
    "country",
];

/// The records that are gone into for them.
const FILES: [&str; 2] = ["_FILE", "data_file"];

/// The table format of a manifest, by its writer schema; `avro` for any other file.
pub fn format_of(schema: &str) -> &'static str {
    let has = |field: &str| schema.contains(&format!("\"{field}\""));
    match FILES.map(has) {
        [true, _] => "paimon",
        [_, true] => "iceberg",
        _ => "avro",
    }
}

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
    Ok(Outcome::of_batches(batches))
}

/// Drops the fields that are not in [`PROJECTED`] from an entry's schema.
fn project(record: &mut Value) {
    let Some(Value::Array(fields)) = record.get_mut("fields") else { return };
    let named =
        |field: &Value, names: &[&str]| field["name"].as_str().is_some_and(|name| names.contains(&name));
    fields.retain(|field| named(field, &PROJECTED) || named(field, &FILES));
    fields.iter_mut().filter(|field| named(field, &FILES)).for_each(|file| project(&mut file["type"]));
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
