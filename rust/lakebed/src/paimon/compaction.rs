//! Which data files Paimon's `sys.compact` rewrites, by the kind of the table and its options, as of Paimon 1.4.

use std::collections::{HashMap, HashSet, VecDeque};

use arrow_array::{Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_row::Rows;

use super::binary_row::KeyOrder;
use super::schema::TableSchema;
use super::sections::sections;
use super::table::Table;
use super::write::{is_on, memory_size};
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::predicate::Predicate;
use crate::record::{column, find};
use crate::scan::Batches;
use crate::view::{ChosenFile, Compaction, FileDeletes, OptionTexts, View, groups};

const TARGET: &str = "target-file-size";
const MIN_FILES: &str = "compaction.min.file-num";
const FILE_LIMIT: &str = "compaction.file-num-limit";
const DELETE_RATIO: &str = "compaction.delete-ratio-threshold";
const OPEN_COST: &str = "source.split.open-file-cost";
const LEVELS: &str = "num-levels";
const RUNS: &str = "num-sorted-run.compaction-trigger";
const REWRITE_ALL: &str = "compaction.force-rewrite-all-files";

/// The options that choose files.
const OPTIONS: [&str; 8] =
    [TARGET, MIN_FILES, FILE_LIMIT, DELETE_RATIO, OPEN_COST, LEVELS, RUNS, REWRITE_ALL];

/// Options of tables whose compaction is another one.
const OTHERS: [&str; 4] =
    ["clustering.incremental", "data-evolution.enabled", "pk-clustering-override", "chain-table.enabled"];
/// Options that make the choice depend on more than manifests.
const MORE: [&str; 2] = ["record-level.expire-time", "file.format.per.level"];

/// Fewer files of a bucket without keys are not compacted in full.
const LEAST_FILES: usize = 3;

/// The rules of a table, for a full compaction.
struct FullCompaction {
    strategy: Strategy,
    rewrite_all: bool,
    has_vectors: bool,
    /// The size that files are written with, in bytes.
    target: i64,
    /// Files of this size are large.
    large: i64,
}

/// How the files of a bucket are chosen.
enum Strategy {
    /// Without keys and buckets. Source: `AppendCompactCoordinator.java`.
    Unbucketed { open_cost: i64, min_files: usize, limit: usize, delete_ratio: f64 },
    /// Without keys, in buckets. Source: `BucketedAppendCompactManager.java`.
    Bucketed { min_files: usize },
    /// Source: `CompactStrategy.java`, `MergeTreeCompactTask.java`, `IntervalPartition.java`.
    Keyed { keys: KeyOrder, max_level: i32 },
}

impl Table {
    /// The rules of a full compaction under these options.
    ///
    /// # Errors
    /// `Argument` for an option that chooses nothing or does not have such a value, and for a condition on columns other
    /// than partitions; `Unsupported` for tables that the engine compacts by other rules.
    pub(super) fn full_compaction(
        &self,
        options: &[(String, String)],
        filter: Option<&str>,
    ) -> Result<Box<dyn Compaction>> {
        let schema = self.schema();
        let given = OptionTexts(options);
        given.check_names(&OPTIONS)?;
        check_kind(schema)?;
        check_filter(schema, filter)?;
        let all = [&schema.options, options].concat();
        let all = OptionTexts(&all);
        let has_keys = !schema.primary_keys.is_empty();
        let target = bytes(&all, TARGET, if has_keys { 128 << 20 } else { 256 << 20 })?;
        let count = |name: &str, default: i64| {
            let found = all.number(name, || Ok(default))?;
            all.check(name, found > 0, "more than 0")?;
            Ok::<_, Error>(usize::try_from(found).unwrap_or(usize::MAX))
        };
        let strategy = match (has_keys, schema.bucket()) {
            (true, _) => {
                let levels = all.number(LEVELS, || Ok(all.number(RUNS, || Ok(5))?.saturating_add(1)))?;
                let is_right = i32::try_from(levels).is_ok_and(|levels| levels > 1);
                all.check(LEVELS, is_right, "more than 1, and an int")?;
                let max_level = i32::try_from(levels.saturating_sub(1)).unwrap_or(i32::MAX);
                Strategy::Keyed { keys: KeyOrder::of(&schema.trimmed_primary_keys())?, max_level }
            }
            (false, -1) => Strategy::Unbucketed {
                open_cost: bytes(&all, OPEN_COST, 4 << 20)?,
                min_files: count(MIN_FILES, 5)?,
                limit: count(FILE_LIMIT, 100_000)?,
                delete_ratio: all.ratio(DELETE_RATIO, 0.2)?,
            },
            (false, _) => Strategy::Bucketed { min_files: count(MIN_FILES, 5)? },
        };
        Ok(Box::new(FullCompaction {
            strategy,
            rewrite_all: all.is_true(REWRITE_ALL),
            has_vectors: is_on(schema, "deletion-vectors.enabled", false),
            target,
            large: target / 10 * 7,
        }))
    }
}

/// Refuses tables that the engine compacts by other rules, or not at all.
fn check_kind(schema: &TableSchema) -> Result<()> {
    let refused = |what: &str| {
        let message = format!("what a compaction chooses is not known of a table {what}");
        Err(Error::new(ErrorKind::Unsupported, message))
    };
    if let Some(option) = OTHERS.iter().find(|option| is_on(schema, option, false)) {
        return refused(&format!("with {option}"));
    }
    if let Some(option) = MORE.iter().find(|option| schema.option(option).is_some()) {
        return refused(&format!("with {option}"));
    }
    let is_across = schema.partition_keys.iter().any(|key| !schema.primary_keys.contains(key));
    match schema.bucket() {
        -2 => refused("whose buckets are postponed"),
        -1 if !schema.primary_keys.is_empty() && is_across => {
            refused("whose keys have dynamic buckets across partitions")
        }
        _ => Ok(()),
    }
}

/// Refuses a condition on more than partitions, which the engine refuses.
fn check_filter(schema: &TableSchema, filter: Option<&str>) -> Result<()> {
    let Some(text) = filter else { return Ok(()) };
    let predicate = Predicate::parse(text)?;
    let is_other = |name: &&str| !schema.partition_keys.iter().any(|key| key == name);
    let Some(name) = predicate.columns().into_iter().find(is_other) else { return Ok(()) };
    let keys = schema.partition_keys.join(", ");
    let message = format!("partitions are compacted whole: where takes their columns ({keys}), not {name}");
    Err(Error::new(ErrorKind::Argument, message))
}

fn bytes(options: &OptionTexts<'_>, name: &str, default: i64) -> Result<i64> {
    let Some(text) = options.text(name) else { return Ok(default) };
    let size = memory_size(text).and_then(|size| i64::try_from(size).ok());
    size.ok_or_else(|| options.refused(name, "a size such as 128 mb"))
}

/// The columns of files that the choice is made by.
struct Files<'b> {
    sizes: &'b Int64Array,
    records: &'b Int64Array,
    levels: &'b Int32Array,
    vectors: HashMap<usize, Vector>,
}

/// The deletion vector of a file.
struct Vector {
    index_file: String,
    cardinality: Option<i64>,
    deletes: FileDeletes,
}

impl<'b> Files<'b> {
    fn of(batch: &'b RecordBatch, vectors: HashMap<usize, Vector>) -> Result<Files<'b>> {
        let sizes = column(batch, "file_size_in_bytes")?;
        Ok(Files { sizes, records: column(batch, "record_count")?, levels: column(batch, "level")?, vectors })
    }

    fn bytes(&self, rows: &[usize]) -> Result<i64> {
        let sum = rows.iter().try_fold(0_i64, |sum, row| sum.checked_add(self.sizes.value(*row)));
        fitting(sum, "the bytes of files")
    }

    fn chosen(&self, row: usize, reason: &'static str) -> ChosenFile {
        let deletes = self.vectors.get(&row).map(|vector| vector.deletes).unwrap_or_default();
        ChosenFile { row, reason, deletes }
    }
}

const DELETES: [&str; 4] = ["referenced_data_file", "file_path", "cardinality", "record_count"];

/// The deletion vectors of files, by rows.
fn vectors(files: &RecordBatch, deletes: Batches) -> Result<HashMap<usize, Vector>> {
    let paths: &StringArray = column(files, "file_path")?;
    let rows: HashMap<&str, usize> = paths.iter().flatten().zip(0..).collect();
    let mut found = HashMap::new();
    for batch in deletes {
        let batch = batch?;
        let [targets, index_files] =
            [column::<StringArray>(&batch, DELETES[0])?, column::<StringArray>(&batch, DELETES[1])?];
        let [cardinalities, records] =
            [column::<Int64Array>(&batch, DELETES[2])?, column::<Int64Array>(&batch, DELETES[3])?];
        for at in (0..batch.num_rows()).filter(|at| targets.is_valid(*at)) {
            let Some(row) = rows.get(targets.value(at)) else { continue };
            let cardinality = cardinalities.is_valid(at).then(|| cardinalities.value(at));
            let deletes = FileDeletes { files: 1, records: records.value(at), vectors: 1 };
            let vector = Vector { index_file: index_files.value(at).to_owned(), cardinality, deletes };
            found.insert(*row, vector);
        }
    }
    Ok(found)
}

impl Compaction for FullCompaction {
    fn place(&self) -> (View, &'static [&'static str]) {
        (View::Files, &["partition", "bucket", "level"])
    }

    fn columns(&self) -> (&'static [&'static str], &'static [&'static str]) {
        let of_files: &[&str] = match self.strategy {
            Strategy::Unbucketed { .. } => &[],
            Strategy::Bucketed { .. } => &["min_sequence_number"],
            Strategy::Keyed { .. } => &["min_key", "max_key", "delete_row_count"],
        };
        (of_files, &DELETES)
    }

    fn groups(
        &self,
        batch: &RecordBatch,
        deletes: &dyn Fn() -> Result<Batches>,
    ) -> Result<Vec<Vec<ChosenFile>>> {
        let vectors = if self.has_vectors { vectors(batch, deletes()?)? } else { HashMap::new() };
        let files = Files::of(batch, vectors)?;
        let buckets = groups(&[find(batch, "partition")?, find(batch, "bucket")?])?.into_iter();
        let found: Result<Vec<Vec<Vec<ChosenFile>>>> = match &self.strategy {
            Strategy::Unbucketed { open_cost, min_files, limit, delete_ratio } => {
                let is_taken = |row: &usize| self.is_taken(&files, *row, *delete_ratio);
                let taken: HashSet<usize> = (0..batch.num_rows()).filter(is_taken).take(*limit).collect();
                let taken = buckets.map(|rows| rows.into_iter().filter(|row| taken.contains(row)).collect());
                taken.map(|rows| self.packed(&files, rows, *open_cost, *min_files)).collect()
            }
            Strategy::Bucketed { min_files } => {
                let numbers: &Int64Array = column(batch, "min_sequence_number")?;
                let queued = buckets.map(|rows| queue(rows, |row| numbers.value(row)));
                queued
                    .map(|rows| Ok(self.of_bucket(&files, rows, *min_files)?.into_iter().collect()))
                    .collect()
            }
            Strategy::Keyed { keys, max_level } => {
                let keys = [keys.rows(column(batch, "min_key")?)?, keys.rows(column(batch, "max_key")?)?];
                let retracting: &Int64Array = column(batch, "delete_row_count")?;
                let tree = Tree { rules: self, files: &files, keys, retracting };
                Ok(buckets.map(|rows| tree.chosen(rows, *max_level)).collect())
            }
        };
        Ok(found?.into_iter().flatten().collect())
    }
}

impl FullCompaction {
    /// Whether a file without bucket is a candidate.
    fn is_taken(&self, files: &Files<'_>, row: usize, delete_ratio: f64) -> bool {
        let is_deleted = files.vectors.get(&row).is_some_and(|vector| {
            let most = files.records.value(row) as f64 * delete_ratio;
            vector.cardinality.is_none_or(|cardinality| cardinality as f64 > most)
        });
        files.sizes.value(row) < self.large || is_deleted
    }

    fn reason(&self, files: &Files<'_>, row: usize) -> &'static str {
        if files.sizes.value(row) < self.large { "small" } else { "deleted rows" }
    }

    /// The candidates of a partition in groups: those that share an index file together.
    fn packed(
        &self,
        files: &Files<'_>,
        rows: Vec<usize>,
        open_cost: i64,
        min_files: usize,
    ) -> Result<Vec<Vec<ChosenFile>>> {
        let mut rest = Vec::new();
        let (mut numbers, mut marked) = (HashMap::new(), Vec::<Vec<usize>>::new());
        for row in rows {
            let Some(vector) = files.vectors.get(&row) else {
                rest.push(row);
                continue;
            };
            let number = *numbers.entry(&vector.index_file).or_insert(marked.len());
            match marked.get_mut(number) {
                Some(set) => set.push(row),
                None => marked.push(vec![row]),
            }
        }
        // Files with vectors are rewritten, however few they are.
        let mut found = self.binned(files, marked, open_cost, 1)?;
        if !self.has_vectors || rest.len() > 1 {
            let rest = rest.into_iter().map(|row| vec![row]).collect();
            found.extend(self.binned(files, rest, open_cost, min_files)?);
        }
        let chosen = |rows: Vec<usize>| {
            rows.into_iter().map(|row| files.chosen(row, self.reason(files, row))).collect()
        };
        Ok(found.into_iter().map(chosen).collect())
    }

    /// Sets of files, the smallest first, in groups of twice the target; what is left over is one of `least` files.
    fn binned(
        &self,
        files: &Files<'_>,
        sets: Vec<Vec<usize>>,
        open_cost: i64,
        least: usize,
    ) -> Result<Vec<Vec<usize>>> {
        let sized = sets.into_iter().map(|rows| Ok((files.bytes(&rows)?, rows)));
        let mut sized = sized.collect::<Result<Vec<_>>>()?;
        sized.sort_by_key(|(bytes, _)| *bytes);
        let (mut groups, mut group, mut sum) = (Vec::new(), Vec::new(), 0_i64);
        for (bytes, rows) in sized {
            let opened = i64::try_from(rows.len()).ok().and_then(|count| count.checked_mul(open_cost));
            let with = opened.and_then(|cost| cost.checked_add(bytes)?.checked_add(sum));
            sum = fitting(with, "the bytes of a group")?;
            group.extend(rows);
            if group.len() > 1 && sum >= self.target.saturating_mul(2) {
                groups.push(std::mem::take(&mut group));
                sum = 0;
            }
        }
        if !group.is_empty() && group.len() >= least {
            groups.push(group);
        }
        Ok(groups)
    }

    /// What is rewritten of a bucket without keys, whose files are in the order of the engine's queue.
    fn of_bucket(
        &self,
        files: &Files<'_>,
        rows: Vec<usize>,
        min_files: usize,
    ) -> Result<Option<Vec<ChosenFile>>> {
        if !self.rewrite_all && !self.has_vectors && rows.len() < LEAST_FILES {
            return self.oldest(files, rows, min_files);
        }
        let is_large = |row: &usize| files.sizes.value(*row) >= self.large;
        let is_left = |row: &usize| !self.rewrite_all && is_large(row) && !files.vectors.contains_key(row);
        let rows: Vec<usize> = rows.into_iter().skip_while(is_left).collect();
        let large = rows.iter().filter(|row| is_large(row)).count();
        let is_worth_it = rows.len() >= LEAST_FILES && rows.len().saturating_sub(large) > large;
        if rows.is_empty() || !(self.rewrite_all || self.has_vectors || is_worth_it) {
            return Ok(None);
        }
        let reason = |row: &usize| match () {
            () if !is_large(row) => "small",
            () if files.vectors.contains_key(row) => "deleted rows",
            () if self.rewrite_all => "all",
            // Files of a bucket stay in their order.
            () => "between others",
        };
        Ok(Some(rows.iter().map(|row| files.chosen(*row, reason(row))).collect()))
    }

    /// The oldest files that are enough, which the engine takes where there are too few for all.
    fn oldest(
        &self,
        files: &Files<'_>,
        rows: Vec<usize>,
        min_files: usize,
    ) -> Result<Option<Vec<ChosenFile>>> {
        let mut taken = VecDeque::new();
        for row in rows {
            taken.push_back(row);
            if taken.len() >= min_files {
                return Ok(Some(taken.into_iter().map(|row| files.chosen(row, "small")).collect()));
            }
            if files.bytes(taken.make_contiguous())? >= self.target.saturating_mul(2) {
                taken.pop_front();
            }
        }
        Ok(None)
    }
}

/// The order of the elements of Java's `PriorityQueue`: the engine walks it, which is not the order of its numbers.
fn queue(rows: Vec<usize>, number: impl Fn(usize) -> i64) -> Vec<usize> {
    let mut heap: Vec<usize> = Vec::with_capacity(rows.len());
    for row in rows {
        let mut at = heap.len();
        heap.push(row);
        while let Some(above) = at.checked_sub(1).map(|at| at / 2) {
            let is_less =
                matches!((heap.get(above), heap.get(at)), (Some(a), Some(b)) if number(*b) < number(*a));
            if !is_less {
                break;
            }
            heap.swap(above, at);
            at = above;
        }
    }
    heap
}

/// The files of a table with keys.
struct Tree<'t> {
    rules: &'t FullCompaction,
    files: &'t Files<'t>,
    /// The first key and the last key of each file.
    keys: [Rows; 2],
    /// Rows of each file that retract others; null where it is not known.
    retracting: &'t Int64Array,
}

impl Tree<'_> {
    /// The groups of a bucket.
    fn chosen(&self, rows: Vec<usize>, max_level: i32) -> Vec<Vec<ChosenFile>> {
        let level = |row: &usize| self.files.levels.value(*row);
        let top = rows.iter().map(level).max().unwrap_or(0).max(max_level);
        if rows.iter().all(|row| level(row) == top) {
            let reason = |row: &usize| match () {
                () if self.rules.rewrite_all => Some("all"),
                () if self.files.vectors.contains_key(row) => Some("deleted rows"),
                () => None,
            };
            return rows.iter().filter_map(|row| Some(vec![self.files.chosen(*row, reason(row)?)])).collect();
        }
        let (mut groups, mut waiting) = (Vec::new(), Vec::new());
        for section in self.sections(rows) {
            match *section {
                [row] if self.files.sizes.value(row) >= self.rules.large => {
                    groups.extend(self.merged(std::mem::take(&mut waiting), top));
                    groups.extend(self.alone(row, top));
                }
                _ => waiting.push(section),
            }
        }
        groups.extend(self.merged(waiting, top));
        groups
    }

    /// The files in the order of their keys, those together whose keys overlap.
    fn sections(&self, mut rows: Vec<usize>) -> Vec<Vec<usize>> {
        let [first, last] = &self.keys;
        rows.sort_by_key(|row| (first.row(*row), last.row(*row)));
        sections(rows, |row| (first.row(row), Some(last.row(row))))
    }

    /// The group of sections that are written in one; a file by itself is not, unless it must be.
    fn merged(&self, sections: Vec<Vec<usize>>, top: i32) -> Option<Vec<ChosenFile>> {
        if let [section] = sections.as_slice()
            && let [row] = **section
        {
            return self.alone(row, top);
        }
        let of_section = |rows: Vec<usize>| {
            let reason = if rows.len() > 1 { "overlap" } else { "small" };
            rows.into_iter().map(move |row| self.files.chosen(row, reason))
        };
        let group: Vec<ChosenFile> = sections.into_iter().flat_map(of_section).collect();
        (!group.is_empty()).then_some(group)
    }

    /// A file that overlaps no other: it is rewritten for what it has in it, else only its level changes.
    fn alone(&self, row: usize, top: i32) -> Option<Vec<ChosenFile>> {
        let retracts = self.retracting.is_null(row) || self.retracting.value(row) > 0;
        let reason = match () {
            () if retracts => "delete rows",
            () if self.rules.rewrite_all => "all",
            () if self.files.levels.value(row) != top => {
                let kept = ChosenFile { row, reason: "level", deletes: FileDeletes::default() };
                return Some(vec![kept]);
            }
            () => return None,
        };
        Some(vec![self.files.chosen(row, reason)])
    }
}
