//! The engine's own plans: the same manifests and files kept, the same left to test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_buffer::BooleanBuffer;
use lakebed_avro::Limits;
use serde_json::Value;

use super::*;
use crate::iceberg::scan::rows_of;
use crate::iceberg::table::Table;
use crate::iceberg::view::Role;
use crate::record::find;
use crate::relocate::Relocated;
use crate::storage::Local;
use crate::test_data;

const COLUMNS: [&str; 9] = [
    "content",
    "file_path",
    "partition",
    "record_count",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
];

/// A table at one snapshot, with all that plans are made of.
struct Snapshot {
    types: TableTypes,
    manifests: Vec<ManifestFile>,
    /// The number of the manifest, and its live files.
    files: Vec<(usize, RecordBatch)>,
}

/// What is kept, and the residual of each file that is.
#[derive(Debug, Default)]
struct Answer {
    manifests: BTreeSet<u64>,
    inclusive: BTreeSet<String>,
    strict: BTreeSet<String>,
    files: BTreeMap<String, String>,
}

impl Snapshot {
    fn new(table: &Table) -> Snapshot {
        let types = table.types().expect("types");
        let manifests = ManifestFile::all(&table.manifest_list().expect("a list")).expect("manifests");
        let mut files = Vec::new();
        for (number, manifest) in manifests.iter().enumerate() {
            let one = vec![manifest.clone()];
            let rows = rows_of(table, Role::Live, types.clone(), &COLUMNS, None, one, 1).expect("files");
            files.extend(rows.map(|batch| (number, batch.expect("files"))));
        }
        Snapshot { types, manifests, files }
    }

    fn bind(&self, filter: &Value) -> Result<RowFilter> {
        bind(filter, &self.types.schema, &self.types.partition, Names::Exact)
    }

    fn plan(&self, filter: RowFilter) -> Answer {
        let summaries = Summaries::new(&self.manifests, &self.types.specs, &self.types.partition);
        let pruner = Pruner::of(filter, &self.types).expect("a pruner");
        let matched = pruner.may_match(&self.manifests, &summaries).expect("an answer");
        let mut answer = Answer::default();
        answer.manifests.extend((0..).zip(&matched).filter(|(_, may)| *may == Some(true)).map(|(at, _)| at));
        for (number, batch) in &self.files {
            let spec_id = self.manifests[*number].spec_id;
            let spec = self.types.specs.iter().find(|spec| spec.spec_id == spec_id).expect("a spec");
            let tuples = find(batch, "partition").expect("tuples");
            let of_spec = pruner.of_spec(spec).expect("a projection");
            let tuple = of_spec.evaluate(tuples.as_struct().columns(), batch.num_rows()).expect("an answer");
            let may = pruner.metrics.may_match(batch).expect("an answer");
            let must = pruner.metrics.must_match(batch).expect("an answer");
            let residual = Residual::new(Arc::new(pruner.filter.clone()), spec, &self.types.partition);
            let residual = residual.expect("residuals").texts(tuples.as_struct()).expect("texts");
            let content = find(batch, "content").expect("a content");
            let content = content.as_primitive::<Int32Type>();
            let paths = find(batch, "file_path").expect("paths");
            let data = |keep: &BooleanBuffer| -> Vec<(usize, String)> {
                let keep = |row: &usize| keep.value(*row) && content.value(*row) == 0;
                let rows = (0..batch.num_rows()).filter(keep);
                rows.map(|row| (row, paths.as_string::<i32>().value(row).to_owned())).collect()
            };
            answer.inclusive.extend(data(&may).into_iter().map(|(_, path)| path));
            answer.strict.extend(data(&must).into_iter().map(|(_, path)| path));
            if matched.value(*number) {
                let left = |row: usize| residual.iter().nth(row).flatten().unwrap_or("TRUE").to_owned();
                answer.files.extend(data(&(&tuple & &may)).into_iter().map(|(row, path)| (path, left(row))));
            }
        }
        answer
    }

    /// A residual in one spelling.
    fn spelled(&self, residual: Predicate) -> String {
        let none = PartitionType { fields: Vec::new() };
        let bound = RowFilter::new(&residual, &self.types.schema, &none, Names::Exact).expect("a residual");
        spelled(&bound.predicate.node)
    }
}

/// The golden tables: the folder of each, and the engine's summary.
fn golden() -> Vec<(PathBuf, Value)> {
    let summaries = test_data::paths("iceberg", &|name| name == "table.json");
    let read = |about: PathBuf| {
        let summary = serde_json::from_slice(&fs::read(&about).expect("bytes")).expect("JSON");
        (about.parent().and_then(Path::parent).expect("a folder").to_owned(), summary)
    };
    summaries.into_iter().map(read).collect()
}

fn open(folder: &Path, summary: &Value) -> Table {
    let file = folder.join(summary["metadata_file"].as_str().expect("a path"));
    let (file, now) = (file.to_str().expect("UTF-8"), folder.to_str().expect("UTF-8"));
    let written = summary["location"].as_str().expect("a location");
    let path = written.split_once("://").map_or(written, |(_, path)| path);
    let prefixes = [written, path].map(|old| (old.to_owned(), now.to_owned()));
    let storage = Relocated::new(Arc::new(Local), file, prefixes);
    Table::open(file, Arc::new(storage), Limits::DEFAULT).expect("a table")
}

fn lines(path: &Path) -> Vec<Value> {
    let Ok(bytes) = fs::read(path) else { return Vec::new() };
    let text = std::io::read_to_string(flate2::read::GzDecoder::new(bytes.as_slice())).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn paths(numbers: &Value, files: &BTreeMap<u64, String>) -> BTreeSet<String> {
    let numbers = numbers.as_array().expect("numbers").iter();
    numbers.map(|number| files[&number.as_u64().expect("a number")].clone()).collect()
}

#[test]
fn plans_of_the_engine() {
    let mut differ = BTreeMap::<String, Vec<String>>::new();
    let mut plans = 0;
    for (folder, summary) in golden() {
        let table = open(&folder, &summary);
        let files: BTreeMap<u64, String> = lines(&folder.join("expected/plan_files.jsonl.gz"))
            .iter()
            .map(|file| {
                (file["i"].as_u64().expect("a number"), file["file_path"].as_str().expect("a path").into())
            })
            .collect();
        let mut snapshots = BTreeMap::new();
        for plan in lines(&folder.join("expected/plans.jsonl.gz")) {
            let id = plan["snapshot_id"].as_i64().expect("an id");
            let at = || {
                if table.snapshot_id() == Some(id) {
                    table.clone()
                } else {
                    table.at_snapshot(id).expect("a snapshot")
                }
            };
            let snapshot = snapshots.entry(id).or_insert_with(|| Snapshot::new(&at()));
            let name = folder.file_name().and_then(|name| name.to_str()).expect("a name");
            let mut note = |kind: &str, what: String| {
                differ.entry(kind.to_owned()).or_default().push(format!("{name} {}: {what}", plan["sql"]));
            };
            let filter = match snapshot.bind(&plan["filter"]) {
                Ok(filter) => filter,
                Err(error) => {
                    if plan.get("error").is_none() {
                        note("refused", error.to_string());
                    }
                    continue;
                }
            };
            plans += 1;
            let found = snapshot.plan(filter);
            let mut compare = |kind: &str, ours: &BTreeSet<String>, theirs: &BTreeSet<String>| {
                if ours != theirs {
                    let more: Vec<_> = ours.difference(theirs).collect();
                    let fewer: Vec<_> = theirs.difference(ours).collect();
                    if !more.is_empty() {
                        note(&format!("{kind} more"), format!("{more:?}"));
                    }
                    if !fewer.is_empty() {
                        note(&format!("{kind} fewer"), format!("{fewer:?}"));
                    }
                }
            };
            let texts =
                |numbers: &Value| numbers.as_array().expect("n").iter().map(Value::to_string).collect();
            if plan.get("manifests_matched").is_some() {
                let ours = found.manifests.iter().map(ToString::to_string).collect();
                compare("manifests", &ours, &texts(&plan["manifests_matched"]));
            }
            for (key, ours) in [("inclusive_metrics", &found.inclusive), ("strict_metrics", &found.strict)] {
                if plan.get(key).is_some() {
                    compare(key, ours, &paths(&plan[key], &files));
                }
            }
            if plan.get("files").is_some() {
                let ours = found.files.keys().cloned().collect();
                compare("files", &ours, &paths(&plan["files"], &files));
                for residual in plan["residuals"].as_array().expect("residuals") {
                    let expected =
                        snapshot.spelled(expressions::predicate(&residual["json"], &snapshot.types.schema));
                    for path in paths(&residual["files"], &files) {
                        let Some(ours) = found.files.get(&path) else { continue };
                        let ours = snapshot.spelled(Predicate::parse(ours).expect("a residual"));
                        if ours != expected {
                            note("residual", format!("{ours}, not {expected}: {path}"));
                        }
                    }
                }
            }
        }
    }
    let mut report = format!("{plans} plans\n");
    for (kind, all) in &differ {
        report += &format!(
            "## {kind}: {}\n{}\n",
            all.len(),
            all.iter().take(400).cloned().collect::<Vec<_>>().join("\n")
        );
    }
    std::fs::write("/tmp/golden_report.txt", report).unwrap();
    assert!(
        differ.is_empty(),
        "{:?}",
        differ.iter().map(|(kind, all)| (kind, all.len())).collect::<Vec<_>>()
    );
}
