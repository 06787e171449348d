//! A third format, complete: a format is a folder that implements the traits, and a row in a table.
//!
//! Its table is a folder with a file `toy`, whose lines name manifests; a line of a manifest is a file and its rows.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use super::*;
use crate::columnar::Decoding;
use crate::format::{FORMATS, Format, Formats};
use crate::record::find;
use crate::scan::{ScanOptions, limited, once};
use crate::storage::{Local, Storage};
use crate::table::{Place, Table};
use crate::view::{View, project};

/// The row of the format, as in `format.rs`.
const TOY: Format = Format {
    name: "toy",
    open: |location, storage, _| {
        let list = storage
            .read(&format!("{location}/toy"))
            .map_err(|_| Error::new(ErrorKind::TableNotFound, "no file toy"))?;
        let manifests = text(&list).lines().map(|name| format!("{location}/{name}")).collect();
        Ok(Box::new(Toy { location: location.to_owned(), storage, manifests }))
    },
    folder: "toys",
    is_table: |_, _| Ok(true),
    names_table: |_| false,
    is_file: |_| false,
    reach: |_, _, _| Err(Error::new(ErrorKind::Internal, "no table is in another one")),
    work_types: WorkTypes { tasks: &[work_type!(ToyTask)], groups: &[], exchanges: &[work_type!(ToySums)] },
};

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

fn schema(columns: Option<&[String]>) -> Result<SchemaRef> {
    let fields = [("file_path", DataType::Utf8), ("record_count", DataType::Int64)];
    let fields = fields.map(|(name, kind)| Field::new(name, kind, true));
    Ok(Arc::new(Schema::new(project(&fields, |field| field.name(), columns)?)))
}

/// The files of a manifest.
fn files(bytes: &[u8], schema: &Schema) -> Result<RecordBatch> {
    let lines: Vec<(&str, &str)> = text(bytes).lines().filter_map(|line| line.split_once(' ')).collect();
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(lines.iter().map(|(name, _)| name)));
    let rows =
        Int64Array::from_iter_values(lines.iter().map(|(_, rows)| rows.parse::<i64>().expect("a number")));
    let all =
        RecordBatch::try_from_iter([("file_path", names), ("record_count", Arc::new(rows) as ArrayRef)])?;
    let wanted: Vec<usize> = schema
        .fields()
        .iter()
        .map(|field| all.schema().index_of(field.name()))
        .collect::<std::result::Result<_, _>>()?;
    all.project(&wanted).map_err(Into::into)
}

#[derive(Clone)]
struct Toy {
    location: String,
    storage: Arc<dyn Storage>,
    manifests: Vec<String>,
}

impl Table for Toy {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn format(&self) -> &'static str {
        TOY.name
    }

    fn location(&self) -> &str {
        &self.location
    }

    fn snapshot_id(&self) -> Option<i64> {
        None
    }

    fn properties(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn branch(&self) -> &str {
        "main"
    }

    fn tag(&self) -> Option<&str> {
        None
    }

    fn data_schema(&self) -> SchemaRef {
        Arc::new(Schema::empty())
    }

    fn partitions_of(&self, _: &RecordBatch) -> Result<RecordBatch> {
        Err(unknown())
    }

    fn at(&self, _: &Place) -> Result<Box<dyn Table>> {
        Err(unknown())
    }

    fn refreshed(&self) -> Result<Box<dyn Table>> {
        Err(unknown())
    }

    fn resolve(&self, view: View, options: ScanOptions) -> Result<Box<dyn Distributed>> {
        if !matches!(view, View::Files) {
            return Err(unknown());
        }
        Ok(Box::new(ToyScan { schema: schema(options.columns.as_deref())?, table: self.clone(), options }))
    }

    fn rewrite_paths(
        &self,
        _: &crate::rewrite_paths::RewritePaths,
        _: ScanOptions,
    ) -> Result<Box<dyn Distributed>> {
        Err(unknown())
    }

    fn metadata_tables(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

fn unknown() -> Error {
    Error::new(ErrorKind::Unsupported, "toys have files only")
}

struct ToyScan {
    table: Toy,
    options: ScanOptions,
    schema: SchemaRef,
}

impl Scan for ToyScan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        let (table, schema) = (self.table.clone(), Arc::clone(&self.schema));
        let read = move |path: String| files(&table.storage.read(&path)?, &schema);
        limited(self.options.limit, || Ok(Box::new(self.table.manifests.clone().into_iter().map(read))))
    }
}

impl Distributed for ToyScan {
    fn manifests(&self) -> Result<Vec<PlannedManifest>> {
        let planned = |path: &String| {
            let (size, path) = (self.table.storage.read(path)?.len() as u64, path.clone());
            Ok(PlannedManifest { path, size, added: 1, deleted: 0, divisible: false })
        };
        self.table.manifests.iter().map(planned).collect()
    }

    fn task(&self, _: Part) -> Result<Box<dyn ManifestTask>> {
        let (options, manifests) = (StoredOptions::from(&self.options), self.table.manifests.clone());
        Ok(Box::new(ToyTask { options, manifests }))
    }

    fn exchange(&self, _: &[i32]) -> Result<Exchanged> {
        let exchange = Box::new(ToySums { options: StoredOptions::from(&self.options) });
        Ok(Exchanged {
            exchange,
            sides: vec![self.manifests()?],
            together: true,
            made: Vec::new(),
            seen: None,
        })
    }
}

#[derive(Serialize, Deserialize)]
struct ToyTask {
    options: StoredOptions,
    manifests: Vec<String>,
}

impl NamedWork for ToyTask {
    const NAME: &'static str = "toy";
}

impl ManifestTask for ToyTask {
    fn ready(self: Box<Self>, _: Decoding) -> Result<ReadyTask> {
        let schema = schema(ScanOptions::from(&self.options).columns.as_deref())?;
        let own = Arc::clone(&schema);
        Ok(ReadyTask::new(schema, move |path, bytes, _| {
            match_manifest_path(&self.manifests, |manifest| manifest, path)?;
            Ok(once(files(&bytes, &own)?))
        }))
    }
}

/// Files, distributed to parts by their names.
#[derive(Serialize, Deserialize)]
struct ToySums {
    options: StoredOptions,
}

impl NamedWork for ToySums {
    const NAME: &'static str = "toy.files";
}

impl Exchange for ToySums {
    fn schema(&self) -> Result<SchemaRef> {
        schema(ScanOptions::from(&self.options).columns.as_deref())
    }

    fn partitioner(&self, _: Decoding, parts: u32) -> Result<ManifestPartitioner> {
        let schema = self.schema()?;
        Ok(Box::new(move |_, bytes| {
            let files = files(&bytes, &schema)?;
            let names = find(&files, "file_path")?;
            let keys = names.as_string::<i32>().iter().map(|name| name.map(|name| hash(name.as_bytes())));
            let piece = with_parts(&files, keys, parts)?;
            Ok(Box::new(std::iter::once(Ok((0, piece)))))
        }))
    }

    fn gather(&self) -> Result<Box<dyn Gather>> {
        Ok(Box::new(ToyGather))
    }
}

struct ToyGather;

impl Gather for ToyGather {
    fn push(&mut self, _: i32, rows: RecordBatch) -> Result<Batches> {
        Ok(once(rows))
    }
}

/// All formats, and the toy format.
const MORE: Formats = Formats(&[FORMATS.0[0], FORMATS.0[1], TOY]);

fn rows(batches: impl IntoIterator<Item = Result<RecordBatch>>) -> Vec<(String, i64)> {
    let mut rows = Vec::new();
    for batch in batches {
        let batch = batch.expect("rows");
        let (names, counts) =
            (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<Int64Type>());
        rows.extend(names.iter().flatten().map(str::to_owned).zip(counts.values().iter().copied()));
    }
    rows
}

fn toy(folder: &Path) -> Box<dyn Table> {
    fs::create_dir_all(folder).expect("a folder");
    for (name, text) in [("toy", "one\ntwo\n"), ("one", "a 1\nb 2\n"), ("two", "c 3\n")] {
        fs::write(folder.join(name), text).expect("a file");
    }
    let location = folder.to_str().expect("UTF-8");
    MORE.open(location, None, Arc::new(Local), Limits::DEFAULT.into()).expect("a toy")
}

#[test]
fn a_third_format_is_a_folder_and_a_row() {
    let folder = std::env::temp_dir().join(format!("lakebed-toy-{}", std::process::id()));
    let table = toy(&folder);
    assert_eq!(table.format(), "toy");
    let refused = FORMATS.open(table.location(), None, Arc::new(Local), Limits::DEFAULT.into());
    assert_eq!(refused.err().map(|error| error.kind()), Some(ErrorKind::TableNotFound));
    let all = [("a".to_owned(), 1), ("b".to_owned(), 2), ("c".to_owned(), 3)];
    let scan = table.scan(View::Files, ScanOptions::default()).expect("a scan");
    assert_eq!(rows(scan.stream().expect("rows")), all);
    let few =
        table.scan(View::Files, ScanOptions { limit: Some(2), ..ScanOptions::default() }).expect("a scan");
    assert_eq!(rows(few.stream().expect("rows")), all[..2]);

    // Manifests one by one, as other processes read them.
    let text = scan.task(Part::Rows).and_then(|task| task.to_text()).expect("text");
    assert!(FORMATS.task(&text).is_err(), "the toy format is not among them");
    let task = MORE.task(&text).and_then(|task| task.ready(Limits::DEFAULT.into())).expect("a task");
    assert_eq!(task.schema(), scan.schema());
    let read = |path: &str| Local.read(path).expect("a manifest");
    let manifests = scan.manifests().expect("manifests");
    let made = manifests
        .iter()
        .flat_map(|one| task.run(&format!("file:{}", one.path), read(&one.path).into()).expect("rows"));
    assert_eq!(rows(made), all);
    assert!(task.run("/elsewhere/three", Buffer::default().into()).is_err());

    // Shuffled by part.
    let Exchanged { exchange, sides, .. } = scan.exchange(&[]).expect("an exchange");
    let exchange = MORE.exchange(&exchange.to_text().expect("text")).expect("an exchange");
    let partitioner = exchange.partitioner(Limits::DEFAULT.into(), 2).expect("a partitioner");
    let mut made = Vec::new();
    for part in 0..2 {
        let mut gather = exchange.gather().expect("a part");
        for one in &sides[0] {
            for piece in partitioner(&one.path, read(&one.path)).expect("pieces") {
                let (side, piece) = piece.expect("a piece");
                let parts = piece.column(2).as_primitive::<arrow_array::types::Int32Type>();
                let of_part = parts.iter().map(|number| Some(number == Some(part))).collect();
                let own =
                    filter_record_batch(&piece.project(&[0, 1]).expect("columns"), &of_part).expect("rows");
                made.extend(rows(gather.push(side, own).expect("rows")));
            }
        }
        made.extend(rows(gather.finish().expect("rows")));
    }
    made.sort();
    assert_eq!(made, all);
    assert!(scan.group_task().is_err(), "toys do not aggregate");
    fs::remove_dir_all(folder).expect("there");
}
