//! The view `changes`: the files by which rows were added and removed, commit by commit, with the deletes that a reader of
//! these rows needs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    new_empty_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::interleave::interleave;

use super::Commit;
use super::columns::{HistoryColumns, are_added};
use crate::diff::{CHANGE, DiffScan};
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::field::DATA;
use crate::notes::Notes;
use crate::record::{column, find};
use crate::scan::{Batches, DeletesAs, Format, Scan, ScanOptions, lazily, limited, once, threads};
use crate::view::{View, planned_deletes, with_columns};

/// The place of a commit among those whose changes are shown.
const ORDINAL: &str = "change_ordinal";
const DELETES: &str = "delete_files";
const DELETES_BEFORE: &str = "delete_files_before";
const OWN: [&str; 3] = [ORDINAL, DELETES, DELETES_BEFORE];

/// The changes of commits, resolved: the schema is known, no list is read.
pub(crate) struct ChangesScan<F: Format> {
    changes: Changes<F>,
    after: Option<i64>,
    limit: Option<usize>,
}

/// How the changes of a commit are read.
#[derive(Clone)]
struct Changes<F: Format> {
    table: F,
    /// The columns of files that are needed.
    options: ScanOptions,
    columns: HistoryColumns,
}

/// A commit, and the state before it; `None` for the first one of the table.
struct Step<F: Format> {
    ordinal: i32,
    commit: Commit,
    before: Option<F::Snapshot>,
    after: F::Snapshot,
}

impl<F: Format> ChangesScan<F> {
    /// The changes after the snapshot `after` up to that of the table, all that are known for `None`.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; those of reading the schemas for statistics.
    pub(crate) fn new(table: F, after: Option<i64>, options: ScanOptions) -> Result<ChangesScan<F>> {
        let files = ScanOptions { stats: options.stats.clone(), ..ScanOptions::default() };
        let files = table.program(F::FILES, &files)?;
        let list = no_deletes(Vec::new())?.data_type().clone();
        let ordinal = Arc::new(Field::new(ORDINAL, DataType::Int32, true));
        let deletes = [DELETES, DELETES_BEFORE].map(|name| Arc::new(Field::new(name, list.clone(), true)));
        let fields = F::columns(&files).fields().iter().cloned();
        let all = ArrowSchema::new([ordinal].into_iter().chain(fields).chain(deletes).collect::<Vec<_>>());
        let columns =
            HistoryColumns::new(&HistoryColumns::all(&all), options.columns_and_stats().as_deref())?;
        let (limit, threads) = (options.limit, threads(options.threads));
        let mut options = columns.of_files(&ScanOptions { threads, ..options });
        if let Some(columns) = &mut options.columns {
            columns.retain(|name| !OWN.contains(&name.as_str()));
        }
        options.columns = options.columns_and(&["file_path", "content"]);
        table.program(F::FILES, &options)?;
        Ok(ChangesScan { changes: Changes { table, options, columns }, after, limit })
    }

    /// The commits that changed rows, the oldest first.
    fn steps(&self) -> Result<Vec<Step<F>>> {
        let table = &self.changes.table;
        // It refuses what the table's snapshot was not made from.
        table.appends(self.after)?;
        let line = table.line()?;
        let is_after = |id: i64| self.after == Some(id);
        let first = line.iter().position(|(commit, _)| is_after(commit.snapshot_id));
        if let (None, Some(after), Some((commit, _))) = (first, self.after, line.first())
            && !(after == 0 && commit.parent_id.is_none())
        {
            let message = format!("snapshot {after}, after which changes are asked for, has expired");
            return Err(Error::new(ErrorKind::SnapshotNotFound, message).in_file(table.location()));
        }
        let mut steps = Vec::new();
        let mut before: Option<&F::Snapshot> = None;
        for (place, (commit, snapshot)) in line.iter().enumerate() {
            let is_known = before.is_some() || commit.parent_id.is_none();
            if first.is_none_or(|first| place > first) && is_known && F::changes_rows(commit) {
                let ordinal = fitting(i32::try_from(steps.len()).ok(), "the number of commits")?;
                let (before, after) = (before.cloned(), snapshot.clone());
                steps.push(Step { ordinal, commit: commit.clone(), before, after });
            }
            before = Some(snapshot);
        }
        Ok(steps)
    }
}

impl<F: Format> Scan for ChangesScan<F> {
    fn schema(&self) -> &SchemaRef {
        self.changes.columns.schema()
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.limit, || {
            let changes = self.changes.clone();
            let of_step = move |step| {
                let changes = changes.clone();
                lazily(move || changes.of(step))
            };
            Ok(Box::new(self.steps()?.into_iter().flat_map(of_step)))
        })
    }

    fn notes(&self) -> Notes {
        self.changes.table.notes()
    }
}

impl<F: Format> Distributed for ChangesScan<F> {}

impl<F: Format> Changes<F> {
    /// The changes of a commit: files that were removed, then those that were added and those with other deletes.
    fn of(&self, step: Step<F>) -> Result<Batches> {
        let after = self.table.at_state(&step.after)?;
        let before = step.before.as_ref().map(|before| self.table.at_state(before)).transpose()?;
        let had_deletes = before.as_ref().map_or(Ok(false), has_deletes)?;
        let is_planned = had_deletes || !self.table.plans_all() || has_deletes(&after)?;
        let files = match &before {
            before if is_planned => self.planned(before.as_ref(), &after)?,
            Some(before) => self.compared(before, &after)?,
            None => self.added(&after)?,
        };
        let columns = self.columns.clone();
        Ok(Box::new(files.map(move |files| {
            let files = files?;
            let ordinals: ArrayRef = Arc::new(Int32Array::from_value(step.ordinal, files.num_rows()));
            columns.build(&with_columns(&files, vec![(ORDINAL, ordinals)])?, &step.commit)
        })))
    }

    /// Files that are in one of two snapshots without deletes.
    fn compared(&self, before: &F, after: &F) -> Result<Batches> {
        let options = ScanOptions { columns: self.options.columns_and(&[CHANGE]), ..self.options.clone() };
        let files = DiffScan::new(self.table.clone(), before.clone(), after.clone(), &options)?.stream()?;
        Ok(Box::new(files.map(|files| {
            let files = data_of(&files?)?;
            let added = are_added(&files)?;
            let removed = added.iter().map(|added| !added).collect();
            with_columns(&files, vec![(DELETES, no_deletes(added)?), (DELETES_BEFORE, no_deletes(removed)?)])
        })))
    }

    /// All files of a snapshot without deletes.
    fn added(&self, after: &F) -> Result<Batches> {
        let files = after.scan(View::Files, self.options.clone())?.stream()?;
        Ok(Box::new(files.map(|files| {
            let files = files?;
            let [deletes, before] =
                [true, false].map(|is_after| no_deletes(vec![is_after; files.num_rows()]));
            changed(&with_columns(&files, vec![(DELETES, deletes?), (DELETES_BEFORE, before?)])?, "added")
        })))
    }

    /// The same of two snapshots of which plans leave out files, or one has deletes: plans say which apply to which file.
    fn planned(&self, before: Option<&F>, after: &F) -> Result<Batches> {
        let (mut added, mut removed) = (HashSet::new(), HashSet::new());
        if let Some(before) = before {
            let columns = ScanOptions::of_columns(&["file_path", "content", CHANGE], self.options.threads);
            let options = ScanOptions { table_filter: self.options.table_filter.clone(), ..columns };
            let files =
                DiffScan::new(self.table.clone(), before.clone(), after.clone(), &options)?.stream()?;
            for files in files {
                let files = data_of(&files?)?;
                let paths = column::<StringArray>(&files, "file_path")?;
                for (path, is_added) in paths.iter().flatten().zip(are_added(&files)?) {
                    if is_added { &mut added } else { &mut removed }.insert(path.to_owned());
                }
            }
        }
        let known = match before {
            Some(before) => FilesBefore::read(self.plan(before)?, &removed)?,
            None => FilesBefore::default(),
        };
        let gone = known.gone(&removed)?;
        let is_first = before.is_none();
        let planned = self.plan(after)?.map(move |files| {
            let files = files?;
            known.compared(&files, |path| is_first || added.contains(path))
        });
        Ok(Box::new(gone.into_iter().flat_map(once).chain(planned)))
    }

    fn plan(&self, state: &F) -> Result<Batches> {
        let columns = self.options.columns_and(&[DELETES]);
        let options = ScanOptions { columns, deletes: DeletesAs::Files, ..self.options.clone() };
        state.scan(View::Plan, options)?.stream()
    }
}

/// The files of the snapshot before a commit that have deletes or are gone after it, as its plan has them.
#[derive(Default)]
struct FilesBefore {
    batches: Vec<RecordBatch>,
    /// Where each is, by its path.
    places: HashMap<String, (usize, usize)>,
}

impl FilesBefore {
    fn read(plan: Batches, removed: &HashSet<String>) -> Result<FilesBefore> {
        let mut known = FilesBefore::default();
        for files in plan {
            let files = files?;
            let (paths, deletes) = (column::<StringArray>(&files, "file_path")?, lists(&files)?);
            let is_needed = |row: usize| has_some(deletes, row) || removed.contains(paths.value(row));
            let needed = (0..files.num_rows()).map(|row| Some(is_needed(row)));
            let files = filter_record_batch(&files, &needed.collect::<BooleanArray>())?;
            let paths = column::<StringArray>(&files, "file_path")?;
            for (row, path) in paths.iter().flatten().enumerate() {
                known.places.insert(path.to_owned(), (known.batches.len(), row));
            }
            known.batches.push(files);
        }
        Ok(known)
    }

    /// Those that are gone, as changes.
    fn gone(&self, removed: &HashSet<String>) -> Result<Option<RecordBatch>> {
        if removed.is_empty() {
            return Ok(None);
        }
        let mut gone = Vec::new();
        for files in &self.batches {
            let paths = column::<StringArray>(files, "file_path")?;
            let is_gone = paths.iter().map(|path| path.map(|path| removed.contains(path)));
            gone.push(filter_record_batch(files, &is_gone.collect::<BooleanArray>())?);
        }
        let Some(first) = gone.first() else { return Ok(None) };
        let mut gone = concat_batches(&first.schema(), &gone)?;
        let deletes = gone.schema_ref().index_of(DELETES).map(|place| gone.remove_column(place))?;
        let none = no_deletes(vec![false; gone.num_rows()])?;
        changed(&with_columns(&gone, vec![(DELETES, none), (DELETES_BEFORE, deletes)])?, "removed").map(Some)
    }

    /// Those files of the plan after the commit that are new, or to which other deletes apply than before, as changes.
    fn compared(&self, files: &RecordBatch, is_added: impl Fn(&str) -> bool) -> Result<RecordBatch> {
        let paths = column::<StringArray>(files, "file_path")?;
        let (mut keep, mut words, mut before) = (Vec::new(), Vec::new(), Vec::new());
        let none = no_deletes(vec![false, true])?;
        for row in 0..files.num_rows() {
            let path = paths.value(row);
            let place = self.places.get(path).copied();
            let change = if is_added(path) {
                Some(("added", None))
            } else {
                let then = match place {
                    Some((batch, row)) => {
                        self.batches.get(batch).map(|files| names(files, row)).transpose()?
                    }
                    None => None,
                };
                (names(files, row)? != then.unwrap_or_default()).then_some(("deletes", place))
            };
            keep.push(change.is_some());
            if let Some((word, place)) = change {
                words.push(word);
                // The first array has those that are in no batch.
                let none = (0, usize::from(word == "deletes"));
                before.push(place.map_or(none, |(batch, row)| (batch.saturating_add(1), row)));
            }
        }
        let files = filter_record_batch(files, &BooleanArray::from(keep))?;
        let known: Vec<ArrayRef> =
            self.batches.iter().map(|files| find(files, DELETES)).collect::<Result<_>>()?;
        let arrays: Vec<&dyn Array> =
            [none.as_ref()].into_iter().chain(known.iter().map(|known| known.as_ref())).collect();
        let before = interleave(&arrays, &before)?;
        let change: ArrayRef = Arc::new(StringArray::from_iter_values(words));
        with_columns(&files, vec![(DELETES_BEFORE, before), (CHANGE, change)])
    }
}

/// The deletes of a row of a plan, by path and offset.
fn names(files: &RecordBatch, row: usize) -> Result<HashSet<(String, Option<i64>)>> {
    let lists = lists(files)?;
    if !has_some(lists, row) {
        return Ok(HashSet::new());
    }
    let deletes = lists.value(row);
    let deletes = RecordBatch::from(deletes.as_struct().clone());
    let offsets = column::<Int64Array>(&deletes, "content_offset")?;
    let paths = column::<StringArray>(&deletes, "file_path")?.iter().flatten().map(str::to_owned);
    Ok(paths.zip(offsets).collect())
}

fn lists(files: &RecordBatch) -> Result<&ListArray> {
    column::<ListArray>(files, DELETES)
}

fn has_some(lists: &ListArray, row: usize) -> bool {
    lists.is_valid(row) && lists.value_length(row) > 0
}

/// The deletes of files that have none; null where there is no such file.
fn no_deletes(are_files: Vec<bool>) -> Result<ArrayRef> {
    let item = Arc::new(Field::new_list_field(DataType::Struct(planned_deletes()), true));
    let offsets = OffsetBuffer::from_repeated_length(0, are_files.len());
    let none = new_empty_array(item.data_type());
    Ok(Arc::new(ListArray::try_new(item, offsets, none, Some(NullBuffer::from(are_files)))?))
}

/// Whether a snapshot has deletes.
fn has_deletes<F: Format>(state: &F) -> Result<bool> {
    let options = ScanOptions { limit: Some(1), ..ScanOptions::of_columns(&["file_path"], 1) };
    let first = state.scan(View::Deletes, options)?.stream()?.next().transpose()?;
    Ok(first.is_some_and(|deletes| deletes.num_rows() > 0))
}

/// The data files among some files.
fn data_of(files: &RecordBatch) -> Result<RecordBatch> {
    let contents = column::<Int32Array>(files, "content")?;
    let is_data = contents.iter().map(|content| Some(content == Some(DATA)));
    filter_record_batch(files, &is_data.collect::<BooleanArray>()).map_err(Into::into)
}

/// Files that all changed in one way.
fn changed(files: &RecordBatch, word: &str) -> Result<RecordBatch> {
    let words = std::iter::repeat_n(word, files.num_rows());
    with_columns(files, vec![(CHANGE, Arc::new(StringArray::from_iter_values(words)))])
}
