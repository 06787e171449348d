//! A third format, complete: a format is a folder that implements the traits, and a row in a table.
//!
//! Its table is a folder with a file `toy`, whose lines name manifests; a line of a manifest is a file and its rows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use super::*;
use crate::format::{FORMATS, Format, Formats};
use crate::record::find;
use crate::scan::{Batches, ScanOptions, limited};
use crate::storage::{Local, Storage as _};
use crate::table::{LakeTable, Place, TableCore};
use crate::view::{View, project};

/// The row of the format, as in `format.rs`.
const TOY: Format = Format {
    name: "toy",
    open: |location, storage, decoding| {
        let list = storage
            .read(&format!("{location}/toy"))
            .map_err(|_| Error::new(ErrorKind::TableNotFound, "no file toy"))?;
        let manifests = text(&list).lines().map(|name| format!("{location}/{name}")).collect();
        Ok(Box::new(Toy { core: TableCore::new(location, storage, decoding), manifests }))
    },
    folder: "toys",
    is_table: |_, _| Ok(true),
    names_table: |_| false,
    is_file: |_| false,
    reach: |_, _, _| Err(Error::new(ErrorKind::Internal, "no table is in another one")),
    job: read_job::<ToyJob>,
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
    core: TableCore,
    manifests: Vec<String>,
}

impl LakeTable for Toy {
    fn format(&self) -> &'static str {
        TOY.name
    }

    fn core(&self) -> &TableCore {
        &self.core
    }

    fn snapshot_id(&self) -> Option<i64> {
        None
    }

    fn properties(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn data_schema(&self) -> SchemaRef {
        Arc::new(Schema::empty())
    }

    fn partitions_of(&self, _: &RecordBatch) -> Result<RecordBatch> {
        Err(unknown())
    }

    fn at(&self, _: &Place) -> Result<Box<dyn LakeTable>> {
        Err(unknown())
    }

    fn refreshed(&self) -> Result<Box<dyn LakeTable>> {
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
        let read = move |path: String| files(&table.core.storage.read(&path)?, &schema);
        limited(self.options.limit, || Ok(Box::new(self.table.manifests.clone().into_iter().map(read))))
    }
}

impl Distributed for ToyScan {
    fn job(&self, bounds: &Bounds) -> Result<Option<Planned>> {
        let planned = |path: &String| {
            let (size, path) = (self.table.core.storage.read(path)?.len() as u64, path.clone());
            Ok(PlannedManifest { path, size, added: 1, deleted: 0, divisible: false })
        };
        let inputs = self.table.manifests.iter().map(planned).collect::<Result<_>>()?;
        let (options, manifests) = (StoredOptions::from(&self.options), self.table.manifests.clone());
        let job = ToyJob { options, manifests, is_shuffled: bounds.parts.is_some() };
        Ok(Some(Planned::new(job, inputs, bounds)))
    }
}

/// Files, which may be moved by their names.
#[derive(Clone, Serialize, Deserialize)]
struct ToyJob {
    options: StoredOptions,
    manifests: Vec<String>,
    is_shuffled: bool,
}

impl FormatJob for ToyJob {
    const FORMAT: &'static str = "toy";

    fn job(&self) -> &dyn Job {
        self
    }
}

impl Job for ToyJob {
    fn schema(&self) -> Result<SchemaRef> {
        schema(ScanOptions::from(&self.options).columns.as_deref())
    }

    fn shuffles(&self) -> Vec<Shuffle> {
        vec![if self.is_shuffled { Shuffle::ByKey } else { Shuffle::Here }]
    }

    fn map(&self, _: &Process, _: u32) -> Result<ManifestMap> {
        let (job, schema) = (self.clone(), self.schema()?);
        ManifestMap::of_content(move |path, bytes, _| {
            match_manifest_path(&job.manifests, |manifest| manifest, path)?;
            let files = files(&bytes, &schema)?;
            let names = find(&files, "file_path")?;
            let keys: Vec<_> =
                names.as_string::<i32>().iter().map(|name| name.map(|name| hash(name.as_bytes()))).collect();
            one(Piece::keyed(0, files, keys))
        })
    }

    fn reduce(&self, _: usize, _: &Process) -> Result<Box<dyn Reduce>> {
        Ok(Box::new(ToyReduce))
    }
}

struct ToyReduce;

impl Reduce for ToyReduce {
    fn push(&mut self, _: i32, rows: RecordBatch) -> Result<Pieces> {
        one(Piece::rows(rows))
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

fn toy(folder: &Path) -> Box<dyn LakeTable> {
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

    // Manifests one by one, then moved to parts, as other processes read them.
    for parts in [None, Some(1), Some(3)] {
        let bounds = Bounds { parts, ..Bounds::default() };
        let planned = scan.job(&bounds).expect("a job").expect("toys have one");
        let bytes = planned.to_bytes().expect("bytes");
        assert!(SentJob::read(&bytes, &FORMATS).is_err(), "the toy format is not among them");
        let job = Arc::new(SentJob::read(&bytes, &MORE).expect("a job"));
        assert_eq!(job.schema().expect("a schema"), *scan.schema());
        let process = || Process { storage: Arc::new(Local), decoding: Limits::DEFAULT.into(), table: None };
        let read = |path: String| Ok((format!("file:{path}"), Local.read(&path)?.into()));
        let manifests: Vec<String> = planned.manifests.iter().map(|one| one.path.clone()).collect();
        let mapped = job.map(manifests.into_iter().map(read), process()).expect("a map");
        let mapped = mapped.collect::<Result<Vec<_>>>().expect("pieces");
        let stages = planned.shuffles().len();
        assert_eq!(stages, usize::from(parts.is_some()));
        let mut made = rows(job.reduce_all(mapped, &[], &process()).expect("rows"));
        made.sort();
        assert_eq!(made, all, "{parts:?}");
        let elsewhere = std::iter::once(Ok(("/elsewhere/three".to_owned(), Buffer::default().into())));
        assert!(job.map(elsewhere, process()).expect("a map").next().is_some_and(|piece| piece.is_err()));
    }
    fs::remove_dir_all(folder).expect("there");
}

#[test]
fn what_is_not_a_job_is_refused_with_the_reason() {
    let head = |format: &str, job: &str| {
        let version = env!("CARGO_PKG_VERSION");
        format!("lakebed {version}\n{{\"format\":\"{format}\",\"parts\":1,\"filter\":null}}\n{job}\n")
    };
    for (text, words) in [
        (String::new(), "not of this job: its version is missing"),
        ("{}\n".to_owned(), "not of this job: its version is missing"),
        (head("hudi", "{}"), r#"not of this job: unknown format "hudi""#),
        (head("paimon", "{}"), "not of this job: expected value"),
        (head("paimon", r#"{"Rows": {}}"#), "not of this job: missing field `role`"),
        (head("iceberg", r#"{"Files": {}}"#), "not of this job: unknown variant `Files`"),
    ] {
        let error = SentJob::read(text.as_bytes(), &FORMATS).err().expect("no job");
        assert!(error.message().starts_with(words), "{error}");
    }
    let whole = head("paimon", "{}");
    for end in 0..whole.len() {
        assert!(SentJob::read(&whole.as_bytes()[..end], &FORMATS).is_err(), "{end}");
    }
    let other = whole.replace(env!("CARGO_PKG_VERSION"), "0.0.1");
    let error = SentJob::read(other.as_bytes(), &FORMATS).err().expect("another version");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let named = |version| error.message().contains(version);
    assert!(named("lakebed 0.0.1") && named(env!("CARGO_PKG_VERSION")), "{error}");
}
