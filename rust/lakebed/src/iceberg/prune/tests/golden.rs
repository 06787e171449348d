//! Plans compared with those of the engine: the same manifests and files are kept, with the same residuals.

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
use crate::iceberg::types::Type;
use crate::iceberg::view::Role;
use crate::predicate::{Leaf, Literal, Operator};
use crate::record::find;
use crate::relocate::RelocatedStorage;
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

fn expression(json: &Value, schema: &Schema) -> Predicate {
    Predicate::of_expression(&json.to_string(), schema, Names::Exact).expect("an expression")
}

/// A table at one snapshot, with all that plans need.
struct Snapshot {
    types: TableTypes,
    manifests: Vec<ManifestFile>,
    /// The number of the manifest, and its live files.
    files: Vec<(usize, RecordBatch)>,
}

/// The kept manifests and files, and the residuals of the files.
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
            let residual = Residual::new(Arc::clone(&pruner.filter), spec, &self.types.partition);
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

    /// A residual in canonical form.
    fn spelled(&self, residual: Predicate) -> String {
        let none = PartitionType { fields: Vec::new() };
        let bound = RowFilter::new(&residual, &self.types.schema, &none, Names::Exact, Logic::TwoValued)
            .expect("a residual");
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
    let storage = RelocatedStorage::new(Arc::new(Local), file, prefixes);
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

/// The leaves of a filter, `NOT` pushed down to them.
fn leaves(predicate: &Predicate) -> Vec<Leaf> {
    match predicate {
        Predicate::Constant(_) => Vec::new(),
        Predicate::Leaf(leaf) => vec![leaf.clone()],
        Predicate::And(terms) | Predicate::Or(terms) => terms.iter().flat_map(leaves).collect(),
    }
}

/// Known errors and imprecision of the engine with a filter.
#[derive(Debug, Default)]
struct Deviations {
    /// It compares UUIDs as two signed numbers, and -0.0 as less than 0.0.
    wrong: bool,
    /// It compares null in a partition as less than all values.
    null_is_least: bool,
    /// It keeps everything for `IN` with more than 200 values.
    long_list: bool,
    /// It ignores that there are only nulls and NaN.
    float: bool,
    /// It ignores that there may be NaN, which is larger than any other value.
    above: bool,
    /// It proves nothing about nested columns, and does not count nulls of floats in null structs.
    nested: bool,
    /// It tests partitions where a filter does not need them: nothing is beyond the last value of a type, and no
    /// required column is null.
    constant: bool,
    /// It takes the periods that it wrote for times before 1970 as exact, where some are one too low: then it
    /// claims rows that do not match.
    before_1970: bool,
}

impl Deviations {
    fn of(filter: &Predicate, schema: &Schema) -> Deviations {
        let mut known = Deviations::default();
        for leaf in leaves(filter) {
            let field = schema.field_by_name(&leaf.term.column).expect("a column");
            let is_float = matches!(field.ty, Type::Float | Type::Double);
            let zero = |literal: &Literal| literal.to_string().trim_matches('\'').parse() == Ok(0.0_f64);
            known.wrong |= field.ty == Type::Uuid || is_float && leaf.literals.iter().any(zero);
            known.null_is_least |= matches!(leaf.operator, Operator::Lt | Operator::LtEq);
            known.long_list |= leaf.literals.len() > 200;
            known.float |= is_float;
            known.above |= is_float && matches!(leaf.operator, Operator::Gt | Operator::GtEq);
            known.nested |= leaf.term.column.contains('.');
            let last = [i64::from(i32::MAX), i64::MAX].map(|last| Literal::Number(last.to_string()));
            known.constant |= leaf.literals.iter().any(|literal| last.contains(literal));
            known.constant |= field.required && leaf.operator == Operator::IsNull;
            let beyond = |literal: &Literal| {
                let number = literal.to_string().parse::<i64>();
                number.is_ok_and(|number| field.ty == Type::Int && i32::try_from(number).is_err())
            };
            known.constant |= leaf.literals.iter().any(beyond);
            let is_early = |literal: &Literal| {
                literal.to_string().trim_start_matches("TIMESTAMP ").trim_matches('\'') < "1970"
            };
            let is_time = matches!(field.ty.arrow(), arrow_schema::DataType::Timestamp(..));
            known.before_1970 |= is_time && leaf.literals.iter().any(is_early);
        }
        known
    }
}

/// Answers that differ from the engine's.
#[derive(Debug, Default)]
struct Differences {
    place: String,
    found: Vec<String>,
}

impl Differences {
    fn sets<T: Ord + std::fmt::Debug>(
        &mut self,
        what: &str,
        [ours, theirs]: [&BTreeSet<T>; 2],
        [may_be_more, may_be_fewer]: [bool; 2],
    ) {
        let (more, fewer): (Vec<_>, Vec<_>) =
            (ours.difference(theirs).collect(), theirs.difference(ours).collect());
        if !(more.is_empty() || may_be_more) || !(fewer.is_empty() || may_be_fewer) {
            self.found.push(format!("{}: {what}: {more:?} more, {fewer:?} fewer", self.place));
        }
    }
}

/// Compares the answer to one plan.
fn compare(plan: &Value, snapshot: &Snapshot, files: &BTreeMap<u64, String>, differences: &mut Differences) {
    let schema = &snapshot.types.schema;
    let filter = match snapshot.bind(&plan["filter"]) {
        Ok(filter) => filter,
        Err(error) => {
            assert!(plan.get("error").is_some(), "{plan}: {error}");
            return;
        }
    };
    let known = Deviations::of(&expression(&plan["filter"], schema), schema);
    if known.wrong {
        return;
    }
    let found = snapshot.plan(filter);
    if let Some(matched) = plan["manifests_matched"].as_array() {
        let theirs = matched.iter().map(|number| number.as_u64().expect("a number")).collect();
        differences.sets("manifests", [&found.manifests, &theirs], [known.above, known.constant]);
    }
    let precise = known.float || known.long_list;
    if plan["inclusive_metrics"].is_array() {
        let theirs = paths(&plan["inclusive_metrics"], files);
        differences.sets("inclusive", [&found.inclusive, &theirs], [known.nested || known.above, precise]);
    }
    if plan["strict_metrics"].is_array() {
        let theirs = paths(&plan["strict_metrics"], files);
        // Of files whose NaN are not counted nothing is certain.
        differences.sets("strict", [&found.strict, &theirs], [known.float, known.float]);
    }
    if !plan["files"].is_array() {
        return;
    }
    let (ours, theirs) = (found.files.keys().cloned().collect(), paths(&plan["files"], files));
    differences.sets(
        "files",
        [&ours, &theirs],
        [known.nested || known.above, precise || known.null_is_least],
    );
    let whole = snapshot.spelled(expression(&plan["filter"], schema));
    for residual in plan["residuals"].as_array().expect("residuals") {
        let theirs = snapshot.spelled(expression(&residual["json"], schema));
        for path in paths(&residual["files"], files) {
            let Some(ours) = found.files.get(&path) else { continue };
            let ours = snapshot.spelled(Predicate::parse(ours).expect("a residual"));
            let leaves_more = known.before_1970 && (theirs == "true" || ours == whole);
            if ours != theirs && !leaves_more && !(known.null_is_least && path.contains("=null")) {
                differences
                    .found
                    .push(format!("{}: {ours}, not {theirs} is left of {path}", differences.place));
            }
        }
    }
}

#[test]
fn plans_of_the_engine() {
    let mut differences = Differences::default();
    for (folder, summary) in golden() {
        let table = open(&folder, &summary);
        let numbered = lines(&folder.join("expected/plan_files.jsonl.gz"));
        let path = |file: &Value| file["file_path"].as_str().expect("a path").to_owned();
        let number = |file: &Value| file["i"].as_u64().expect("a number");
        let files = numbered.iter().map(|file| (number(file), path(file))).collect();
        let mut snapshots = BTreeMap::new();
        // The plans that are skipped here are among those that the Python tests compare.
        let step = if std::env::var_os("LAKEBED_TRUST").is_some() { 1 } else { 3 };
        for plan in lines(&folder.join("expected/plans.jsonl.gz")).into_iter().step_by(step) {
            let id = plan["snapshot_id"].as_i64().expect("an id");
            let snapshot = snapshots.entry(id).or_insert_with(|| match table.snapshot_id() == Some(id) {
                true => Snapshot::new(&table),
                false => Snapshot::new(&table.at_snapshot(id).expect("a snapshot")),
            });
            differences.place = format!("{} {} {}", folder.display(), id, plan["sql"]);
            compare(&plan, snapshot, &files, &mut differences);
        }
    }
    let Differences { found, .. } = differences;
    assert!(found.is_empty(), "{} differ:\n{}", found.len(), found.join("\n"));
}
