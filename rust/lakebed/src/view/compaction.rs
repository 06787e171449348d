//! The view `compaction_plan`: the data files that an engine's compaction would rewrite, in the groups that it would make.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    UInt64Array,
};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::nullif::nullif;
use arrow_select::take::take;

use super::overlap::groups;
use super::{View, select, whole};
use crate::distributed::Distributed;
use crate::error::{Result, fitting};
use crate::notes::Notes;
use crate::record::{column, find, typed};
use crate::scan::{Batches, Scan, ScanOptions, limited};

/// The columns of plans that the choice is made by.
const PLAN: [&str; 6] =
    ["file_path", "partition", "spec_id", "record_count", "file_size_in_bytes", "delete_files"];
/// The columns of deletes that say which of them are of one data file alone.
const DELETES: [&str; 3] = ["file_path", "content_offset", "referenced_data_file"];

/// How Iceberg's `rewrite_data_files` chooses by size and deletes, and packs in the order of the plan.
///
/// Source: `BinPackRewriteFilePlanner.java`, `SizeBasedFileRewritePlanner.java`, `BinPacking.java`.
#[derive(Debug, Clone)]
pub struct BinPack {
    /// The spec whose partitions are groups; files of other specs are in one.
    pub spec_id: i32,
    /// The size that files are written with, in bytes.
    pub target: i64,
    /// Smaller files are rewritten.
    pub min: i64,
    /// Larger files are rewritten.
    pub max: i64,
    /// As many files of a group are rewritten, whatever their size is in all.
    pub min_input_files: usize,
    /// Whether every file is rewritten.
    pub rewrite_all: bool,
    /// The bytes of a group at most.
    pub group_bytes: i64,
    /// The files of a group at most.
    pub group_files: i64,
    /// Files with as many deletes are rewritten.
    pub delete_files: usize,
    /// Files with such a part of their rows deleted by deletes of their own are rewritten.
    pub delete_ratio: f64,
}

/// What decides on a file.
struct Candidate {
    row: usize,
    bytes: i64,
    /// Why it is rewritten; `None` where its group would not be for its sake.
    reason: Option<&'static str>,
    /// Whether its group is rewritten for its sake.
    has_deletes: bool,
}

impl BinPack {
    /// Why a file is rewritten, and whether for its deletes.
    fn candidate(&self, row: usize, bytes: i64, records: i64, deletes: &FileDeletes) -> Candidate {
        let many = deletes.files >= self.delete_files;
        let deleted = deletes.records.min(records) as f64 / records as f64;
        let is_deleted = deletes.files > 0 && deleted >= self.delete_ratio;
        let reasons = [
            (bytes < self.min, "small"),
            (bytes > self.max, "large"),
            (many, "delete files"),
            (is_deleted, "deleted rows"),
            (self.rewrite_all, "all"),
        ];
        let reason = reasons.iter().find(|(is_so, _)| *is_so).map(|(_, reason)| *reason);
        Candidate { row, bytes, reason, has_deletes: many || is_deleted }
    }

    /// The files of a partition in groups, each filled before the next is begun.
    fn groups(&self, files: Vec<Candidate>) -> Result<Vec<Vec<Candidate>>> {
        let mut groups: Vec<Vec<Candidate>> = Vec::new();
        let (mut bytes, mut count) = (0_i64, 0_i64);
        for file in files.into_iter().filter(|file| file.reason.is_some()) {
            let with = fitting(bytes.checked_add(file.bytes), "the bytes of a group")?;
            match groups.last_mut() {
                Some(group) if with <= self.group_bytes && count < self.group_files => {
                    (bytes, count) = (with, count.saturating_add(1));
                    group.push(file);
                }
                _ => {
                    (bytes, count) = (file.bytes, 1);
                    groups.push(vec![file]);
                }
            }
        }
        groups.retain(|group| self.is_worth_it(group));
        Ok(groups)
    }

    fn is_worth_it(&self, group: &[Candidate]) -> bool {
        // Each group's bytes were added up before.
        let bytes: i64 = group.iter().fold(0, |sum, file| sum.saturating_add(file.bytes));
        let several = group.len() > 1;
        self.rewrite_all
            || (several && group.len() >= self.min_input_files)
            || (several && bytes > self.target)
            || bytes > self.max
            || group.iter().any(|file| file.has_deletes)
    }
}

/// The deletes of a data file.
#[derive(Default)]
struct FileDeletes {
    files: usize,
    /// Rows that deletes of this file alone delete.
    records: i64,
    /// Vectors, which are removed with the file.
    vectors: usize,
}

/// Deletes of one data file alone, by path and, of vectors, their offset.
type OwnDeletes = HashSet<(String, Option<i64>)>;

/// The view, resolved: nothing is read.
struct CompactionScan {
    rules: BinPack,
    deletes: Box<dyn Distributed>,
    plan: Box<dyn Distributed>,
    columns: Option<Vec<String>>,
    filter: Option<String>,
    limit: Option<usize>,
    schema: SchemaRef,
}

impl CompactionScan {
    fn rows(&self) -> Result<RecordBatch> {
        let plan: Vec<RecordBatch> = self.plan.stream()?.collect::<Result<_>>()?;
        let plan = concat_batches(self.plan.schema(), &plan)?;
        let lists: &ListArray = column(&plan, PLAN[5])?;
        // A plan without deletes needs no second look at them.
        let own = if lists.values().is_empty() { OwnDeletes::new() } else { self.own_deletes()? };
        let deletes = file_deletes(lists, &own)?;
        let sizes: &Int64Array = column(&plan, PLAN[4])?;
        let records: &Int64Array = column(&plan, PLAN[3])?;
        let mut chosen = Chosen::default();
        for rows in partitions(&plan, self.rules.spec_id)? {
            let files = rows.into_iter().zip(0_usize..).filter_map(|(row, _)| {
                let deletes = deletes.get(row)?;
                Some(self.rules.candidate(row, sizes.value(row), records.value(row), deletes))
            });
            for group in self.rules.groups(files.collect())? {
                chosen.push(&group, &deletes)?;
            }
        }
        select(&chosen.shown(&plan)?, self.columns.as_deref(), self.filter.as_deref())
    }

    fn own_deletes(&self) -> Result<OwnDeletes> {
        let mut own = OwnDeletes::new();
        for rows in self.deletes.stream()? {
            let rows = rows?;
            let [paths, targets] = [column::<StringArray>(&rows, DELETES[0])?, column(&rows, DELETES[2])?];
            let offsets: &Int64Array = column(&rows, DELETES[1])?;
            let offset = |row| offsets.is_valid(row).then(|| offsets.value(row));
            let of_one = (0..rows.num_rows()).filter(|row| targets.is_valid(*row));
            own.extend(of_one.map(|row| (paths.value(row).to_owned(), offset(row))));
        }
        Ok(own)
    }
}

/// The deletes of each data file of a plan.
fn file_deletes(lists: &ListArray, own: &OwnDeletes) -> Result<Vec<FileDeletes>> {
    let deletes = |list: ArrayRef| -> Result<FileDeletes> {
        let list: &StructArray = typed(&list, PLAN[5])?;
        let list = RecordBatch::from(list.clone());
        let (paths, offsets) =
            (column::<StringArray>(&list, "file_path")?, column::<Int64Array>(&list, "content_offset")?);
        let records: &Int64Array = column(&list, "record_count")?;
        let mut found = FileDeletes { files: list.num_rows(), ..FileDeletes::default() };
        for row in 0..list.num_rows() {
            let offset = offsets.is_valid(row).then(|| offsets.value(row));
            found.vectors = found.vectors.saturating_add(usize::from(offset.is_some()));
            if own.contains(&(paths.value(row).to_owned(), offset)) {
                found.records =
                    fitting(found.records.checked_add(records.value(row)), "the deleted rows of a file")?;
            }
        }
        Ok(found)
    };
    let is_there = |row: &usize| lists.is_valid(*row);
    let of_row = |row| if is_there(&row) { deletes(lists.value(row)) } else { Ok(FileDeletes::default()) };
    (0..lists.len()).map(of_row).collect()
}

/// The rows of each partition, in the order of their first files. Files of other specs are in that of nulls alone.
fn partitions(plan: &RecordBatch, spec_id: i32) -> Result<Vec<Vec<usize>>> {
    let specs: &Int32Array = column(plan, PLAN[2])?;
    let is_other: BooleanArray = specs.iter().map(|spec| Some(spec != Some(spec_id))).collect();
    let partition: &StructArray = column(plan, PLAN[1])?;
    let values = partition.columns().iter().map(|values| nullif(values, &is_other));
    let values = values.collect::<std::result::Result<Vec<_>, _>>()?;
    let own = StructArray::try_new_with_length(partition.fields().clone(), values, None, plan.num_rows())?;
    groups(&(Arc::new(own) as ArrayRef))
}

/// The rows of the view.
#[derive(Default)]
struct Chosen {
    groups: i32,
    group: Vec<i32>,
    rows: Vec<u64>,
    reasons: Vec<Option<&'static str>>,
    deletes: Vec<i32>,
    deleted: Vec<i64>,
    vectors: Vec<i32>,
}

impl Chosen {
    fn push(&mut self, group: &[Candidate], deletes: &[FileDeletes]) -> Result<()> {
        let count = |number: usize| fitting(i32::try_from(number).ok(), "the deletes of a file");
        self.groups = fitting(self.groups.checked_add(1), "the number of groups")?;
        for file in group {
            let Some(own) = deletes.get(file.row) else { continue };
            self.group.push(self.groups);
            self.rows.push(fitting(u64::try_from(file.row).ok(), "the number of files")?);
            self.reasons.push(file.reason);
            self.deletes.push(count(own.files)?);
            self.deleted.push(own.records);
            self.vectors.push(count(own.vectors)?);
        }
        Ok(())
    }

    fn shown(self, plan: &RecordBatch) -> Result<RecordBatch> {
        let (rows, count) = (UInt64Array::from(self.rows), self.group.len());
        let of_plan = |name| -> Result<ArrayRef> { Ok(take(&find(plan, name)?, &rows, None)?) };
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("group", Arc::new(Int32Array::from(self.group))),
            ("partition", of_plan(PLAN[1])?),
            ("spec_id", of_plan(PLAN[2])?),
            ("file_path", of_plan(PLAN[0])?),
            ("record_count", of_plan(PLAN[3])?),
            ("file_size_in_bytes", of_plan(PLAN[4])?),
            ("delete_file_count", Arc::new(Int32Array::from(self.deletes))),
            ("deleted_record_count", Arc::new(Int64Array::from(self.deleted))),
            ("removed_delete_count", Arc::new(Int32Array::from(self.vectors))),
            ("reason", Arc::new(StringArray::from(self.reasons))),
        ];
        whole(columns, count)
    }
}

impl Scan for CompactionScan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.limit, || Ok(Box::new(std::iter::once(self.rows()))))
    }

    fn notes(&self) -> Notes {
        self.plan.notes()
    }
}

impl Distributed for CompactionScan {
    fn is_light(&self) -> bool {
        self.plan.is_light()
    }
}

/// The view by these rules, of a table whose views `scan` resolves. Memory is that of the plan and of the paths of deletes.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
pub(crate) fn compaction_plan(
    rules: BinPack,
    options: ScanOptions,
    scan: impl Fn(View, ScanOptions) -> Result<Box<dyn Distributed>>,
) -> Result<Box<dyn Distributed>> {
    let of = |columns: &[&str]| ScanOptions::of_columns(columns, options.threads);
    let deletes = scan(View::Deletes, of(&DELETES))?;
    let plan = scan(View::Plan, ScanOptions { table_filter: options.table_filter, ..of(&PLAN) })?;
    let none = Chosen::default().shown(&RecordBatch::new_empty(Arc::clone(plan.schema())))?;
    let schema = select(&none, options.columns.as_deref(), options.filter.as_deref())?.schema();
    let (columns, filter, limit) = (options.columns, options.filter, options.limit);
    Ok(Box::new(CompactionScan { rules, deletes, plan, columns, filter, limit, schema }))
}
