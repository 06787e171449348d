//! The view `compaction_plan`: the data files that an engine's compaction would rewrite, in the groups that it would make.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::take;

use super::{View, select, whole};
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::notes::Notes;
use crate::record::find;
use crate::scan::{Batches, Scan, ScanOptions, limited};
use crate::words::unknown;

/// The columns of files that every compaction shows, after those of its own.
const FILE: [&str; 3] = ["file_path", "record_count", "file_size_in_bytes"];

/// The rules by which an engine's compaction chooses files.
pub trait Compaction: Send + Sync {
    /// The view that has the files, and its columns that say where a file belongs, which are shown.
    fn place(&self) -> (View, &'static [&'static str]);

    /// The columns of the view that are read besides, and those of `deletes`.
    fn columns(&self) -> (&'static [&'static str], &'static [&'static str]);

    /// The groups of files that are rewritten together. `deletes` reads the table's deletes.
    ///
    /// # Errors
    /// Those of `deletes`; `Overflow` for sums that do not fit.
    fn groups(
        &self,
        files: &RecordBatch,
        deletes: &dyn Fn() -> Result<Batches>,
    ) -> Result<Vec<Vec<ChosenFile>>>;
}

/// A file that is rewritten.
#[derive(Debug, Clone, Copy)]
pub struct ChosenFile {
    /// Its row among the files.
    pub row: usize,
    /// Why it is rewritten.
    pub reason: &'static str,
    /// What deletes its rows.
    pub deletes: FileDeletes,
}

/// The deletes of a data file.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileDeletes {
    /// How many apply.
    pub files: usize,
    /// Rows that deletes of this file alone delete.
    pub records: i64,
    /// Vectors, which are removed with the file.
    pub vectors: usize,
}

/// Options of an engine by their names, as texts, of which the last of a name counts.
pub(crate) struct OptionTexts<'o>(pub(crate) &'o [(String, String)]);

impl OptionTexts<'_> {
    pub(crate) fn check_names(&self, known: &[&str]) -> Result<()> {
        let other = self.0.iter().find(|(name, _)| !known.contains(&name.as_str()));
        let Some((name, _)) = other else { return Ok(()) };
        Err(Error::new(ErrorKind::Argument, unknown("option", name, known.iter().copied())))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(given, _)| given == name).map(|(_, text)| text.trim())
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    pub(crate) fn number(&self, name: &str, default: impl FnOnce() -> Result<i64>) -> Result<i64> {
        let Some(text) = self.text(name) else { return default() };
        text.parse().map_err(|_| self.refused(name, "a whole number"))
    }

    pub(crate) fn ratio(&self, name: &str, default: f64) -> Result<f64> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let found = text.parse().ok().filter(|ratio| *ratio > 0.0 && *ratio <= 1.0);
        found.ok_or_else(|| self.refused(name, "a number above 0, and 1 at most"))
    }

    pub(crate) fn check(&self, name: &str, is_so: bool, wanted: &str) -> Result<()> {
        if is_so { Ok(()) } else { Err(self.refused(name, wanted)) }
    }

    pub(crate) fn refused(&self, name: &str, wanted: &str) -> Error {
        let text = self.text(name).unwrap_or("its default");
        Error::new(ErrorKind::Argument, format!("{name} is {text}, not {wanted}"))
    }
}

/// The view, resolved: nothing is read.
struct CompactionScan {
    rules: Box<dyn Compaction>,
    deletes: Box<dyn Distributed>,
    files: Box<dyn Distributed>,
    columns: Option<Vec<String>>,
    filter: Option<String>,
    limit: Option<usize>,
    schema: SchemaRef,
}

impl CompactionScan {
    fn rows(&self) -> Result<RecordBatch> {
        let files: Vec<RecordBatch> = self.files.stream()?.collect::<Result<_>>()?;
        let files = concat_batches(self.files.schema(), &files)?;
        let groups = self.rules.groups(&files, &|| self.deletes.stream())?;
        let rows = shown(self.rules.as_ref(), &files, &groups)?;
        select(&rows, self.columns.as_deref(), self.filter.as_deref())
    }
}

/// The rows of the view.
fn shown(rules: &dyn Compaction, files: &RecordBatch, groups: &[Vec<ChosenFile>]) -> Result<RecordBatch> {
    let count = |number: usize| fitting(i32::try_from(number).ok(), "the number of groups or deletes");
    let chosen: Vec<&ChosenFile> = groups.iter().flatten().collect();
    let numbers: Vec<i32> = (1..)
        .zip(groups)
        .flat_map(|(number, group)| std::iter::repeat_n(number, group.len()))
        .map(count)
        .collect::<Result<_>>()?;
    let rows = chosen.iter().map(|file| fitting(u64::try_from(file.row).ok(), "the number of files"));
    let rows = UInt64Array::from(rows.collect::<Result<Vec<u64>>>()?);
    let deletes = chosen.iter().map(|file| count(file.deletes.files)).collect::<Result<Vec<i32>>>()?;
    let vectors = chosen.iter().map(|file| count(file.deletes.vectors)).collect::<Result<Vec<i32>>>()?;
    let deleted: Int64Array = chosen.iter().map(|file| Some(file.deletes.records)).collect();
    let reasons: StringArray = chosen.iter().map(|file| Some(file.reason)).collect();
    let mut columns: Vec<(&str, ArrayRef)> = vec![("group", Arc::new(Int32Array::from(numbers)))];
    for name in rules.place().1.iter().chain(&FILE) {
        columns.push((name, take(&find(files, name)?, &rows, None)?));
    }
    columns.push(("delete_file_count", Arc::new(Int32Array::from(deletes))));
    columns.push(("deleted_record_count", Arc::new(deleted)));
    columns.push(("removed_delete_count", Arc::new(Int32Array::from(vectors))));
    columns.push(("reason", Arc::new(reasons)));
    whole(columns, chosen.len())
}

impl Scan for CompactionScan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.limit, || Ok(Box::new(std::iter::once(self.rows()))))
    }

    fn notes(&self) -> Notes {
        self.files.notes()
    }
}

impl Distributed for CompactionScan {
    fn is_light(&self) -> bool {
        self.files.is_light()
    }
}

/// The view by these rules, of a table whose views `scan` resolves. Memory is that of the files and of what the rules keep
/// of deletes.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
pub(crate) fn compaction_plan(
    rules: Box<dyn Compaction>,
    options: ScanOptions,
    scan: impl Fn(View, ScanOptions) -> Result<Box<dyn Distributed>>,
) -> Result<Box<dyn Distributed>> {
    let ((view, place), (more, of_deletes)) = (rules.place(), rules.columns());
    let of = |columns: &[&str]| ScanOptions::of_columns(columns, options.threads);
    let deletes = scan(View::Deletes, of(of_deletes))?;
    let of_files = of(&[place, &FILE, more].concat());
    let files = scan(view, ScanOptions { table_filter: options.table_filter, ..of_files })?;
    let none = shown(rules.as_ref(), &RecordBatch::new_empty(Arc::clone(files.schema())), &[])?;
    let schema = select(&none, options.columns.as_deref(), options.filter.as_deref())?.schema();
    let (columns, filter, limit) = (options.columns, options.filter, options.limit);
    Ok(Box::new(CompactionScan { rules, deletes, files, columns, filter, limit, schema }))
}
