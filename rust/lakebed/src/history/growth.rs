//! The view `growth`: one row per snapshot, with what is live and what its commit changed.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;

use super::columns::{HistoryColumns, are_added};
use super::line::{Line, Link};
use super::{Counts, DeleteChanges, Deletes, History};
use crate::error::Result;
use crate::grouping::sums::{columns, sum};
use crate::notes::Notes;
use crate::record::find;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited, once, threads};
use crate::view::{instants, select, whole};

/// What is added up, and the numbers of a row in their order.
const SUMMED: [&str; 5] =
    ["file_count", "record_count", "file_size_in_bytes", "delete_file_count", "delete_record_count"];
const NUMBERS: [&str; 15] = [
    "file_count",
    "record_count",
    "file_size_in_bytes",
    "delete_file_count",
    "delete_record_count",
    "added_file_count",
    "added_record_count",
    "added_file_size_in_bytes",
    "added_delete_file_count",
    "added_delete_record_count",
    "removed_file_count",
    "removed_record_count",
    "removed_file_size_in_bytes",
    "removed_delete_file_count",
    "removed_delete_record_count",
];

/// The columns of the view `files` that are added up.
const READ: [&str; 3] = ["content", "record_count", "file_size_in_bytes"];

/// What some files come to, in the order of [`SUMMED`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Totals([i64; 5]);

impl Totals {
    fn and(self, other: Totals, sign: i64) -> Result<Totals> {
        let mut both = self;
        for ((left, right), name) in both.0.iter_mut().zip(other.0).zip(SUMMED) {
            *left = sum(name, *left, right.saturating_mul(sign))?;
        }
        Ok(both)
    }

    fn count(&mut self, content: i32, rows: i64, bytes: i64) -> Result<()> {
        // Deletes count as files and rows; the bytes are those of data.
        let file = if content == 0 { [1, rows, bytes, 0, 0] } else { [0, 0, 0, 1, rows] };
        *self = self.and(Totals(file), 1)?;
        Ok(())
    }

    /// What of it the lists count.
    fn counts(self) -> Counts {
        let [files, rows, _, delete_files, delete_rows] = self.0;
        [files, rows, delete_files, delete_rows]
    }
}

/// What a commit added and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Changed {
    added: Totals,
    removed: Totals,
}

/// How a table grew, resolved: its schema is known, no list is read.
pub(crate) struct GrowthScan<H> {
    history: H,
    options: ScanOptions,
    schema: SchemaRef,
}

impl<H: History> GrowthScan<H> {
    /// Resolves the view: columns and filter are checked.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`.
    pub(crate) fn new(history: H, options: ScanOptions) -> Result<GrowthScan<H>> {
        let none = rows::<H>(&[], &[])?;
        let none = select(&none, options.columns.as_deref(), options.filter.as_deref())?;
        let options = ScanOptions { threads: threads(options.threads), ..options };
        Ok(GrowthScan { history, options, schema: none.schema() })
    }

    fn line(&self) -> Result<Line<H>> {
        Line::read(&self.history, None, self.options.threads)
    }

    /// How the view `files` is read for the sums.
    fn of_files(&self) -> ScanOptions {
        let columns = Some(READ.map(str::to_owned).to_vec());
        ScanOptions { columns, threads: self.options.threads, ..ScanOptions::default() }
    }

    /// What each commit changed, where its manifests were read; of all others nothing.
    fn changed(&self, line: &mut Line<H>) -> Result<HashMap<i64, Changed>> {
        let options = self.of_files();
        let all = HistoryColumns::all(&self.history.changes(&options)?.0);
        let columns = HistoryColumns::new(&all, None, None)?;
        let mut changed: HashMap<i64, Changed> = HashMap::new();
        for files in line.changes(&self.history, &options, &columns)? {
            let files = files?;
            let ids = find(&files, "snapshot_id")?;
            // Rows of a batch are of one commit.
            if let Some(id) = ids.as_primitive::<Int64Type>().values().first() {
                changed.entry(*id).or_default().take(&files)?;
            }
        }
        Ok(changed)
    }

    /// What is live at each commit, which the commits' changes lead to.
    fn grown(&self, links: &[Link<H>], changed: &mut HashMap<i64, Changed>) -> Result<Vec<Totals>> {
        let mut grown: Vec<Totals> = Vec::with_capacity(links.len());
        let mut before: Option<&Link<H>> = None;
        for link in links {
            let of_commit = changed.entry(link.commit.snapshot_id).or_default();
            let live = match (before, grown.last()) {
                (Some(parent), Some(live)) if link.follows => {
                    if link.says_all && !of_commit.is_as_listed::<H>(link.changed)? {
                        *of_commit = self.compared(parent, link)?;
                    }
                    live.and(of_commit.added, 1)?.and(of_commit.removed, -1)?
                }
                _ if link.is_first && of_commit.is_as_listed::<H>(link.changed)? => {
                    of_commit.added.and(of_commit.removed, -1)?
                }
                _ => self.live_at(link)?,
            };
            grown.push(live);
            before = Some(link);
        }
        Ok(grown)
    }

    /// What differs between a snapshot and the one that it was made from.
    fn compared(&self, parent: &Link<H>, link: &Link<H>) -> Result<Changed> {
        let columns = Some([crate::diff::CHANGE].into_iter().chain(READ).map(str::to_owned).collect());
        let options = ScanOptions { columns, ..self.of_files() };
        let mut changed = Changed::default();
        for files in self.history.compared(&parent.snapshot, &link.snapshot, options)? {
            changed.take(&files?)?;
        }
        Ok(changed)
    }

    /// What is live at a snapshot, from its files.
    fn live_at(&self, link: &Link<H>) -> Result<Totals> {
        let mut live = Totals::default();
        for files in self.history.files_at(&link.snapshot, self.of_files())? {
            each_file(&files?, |_, content, rows, bytes| live.count(content, rows, bytes))?;
        }
        Ok(live)
    }

    fn whole(&self) -> Result<RecordBatch> {
        let mut line = self.line()?;
        let mut changed = self.changed(&mut line)?;
        let grown = self.grown(&line.commits, &mut changed)?;
        let snapshots: Vec<_> = line.commits.iter().map(|link| link.snapshot.clone()).collect();
        let deletes = self.history.deletes(&snapshots, self.options.threads)?;
        let numbers = line.commits.iter().zip(grown).enumerate().map(|(place, (link, live))| {
            let of_commit = changed.get(&link.commit.snapshot_id).copied().unwrap_or_default();
            numbers(live, of_commit, deletes.as_ref().and_then(|deletes| deletes.get(place)))
        });
        rows(&line.commits, &numbers.collect::<Vec<_>>())
    }
}

impl<H: History> Scan for GrowthScan<H> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || {
            let (columns, filter) = (self.options.columns.as_deref(), self.options.filter.as_deref());
            Ok(once(select(&self.whole()?, columns, filter)?))
        })
    }

    fn notes(&self) -> Notes {
        self.history.oddities()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        Ok(self.line()?.steps())
    }
}

impl Changed {
    /// Takes in files that a commit changed.
    fn take(&mut self, files: &RecordBatch) -> Result<()> {
        let added = are_added(files)?;
        each_file(files, |row, content, rows, bytes| {
            let is_added = added.get(row).copied().unwrap_or_default();
            let totals = if is_added { &mut self.added } else { &mut self.removed };
            totals.count(content, rows, bytes)
        })
    }

    /// Whether the lists count the same.
    fn is_as_listed<H: History>(&self, listed: Option<Counts>) -> Result<bool> {
        let changed = self.added.and(self.removed, -1)?.counts();
        Ok(listed.is_some_and(|listed| {
            listed.iter().zip(changed).take(H::COUNTED).all(|(one, other)| *one == other)
        }))
    }
}

/// Gives the number of each row, its content, rows and bytes.
fn each_file(files: &RecordBatch, mut take: impl FnMut(usize, i32, i64, i64) -> Result<()>) -> Result<()> {
    let [content, rows, bytes] = READ.map(|name| find(files, name));
    let (content, rows, bytes) = (content?, rows?, bytes?);
    let content = content.as_primitive::<Int32Type>().values().iter();
    let numbers = |column: &ArrayRef| column.as_primitive::<Int64Type>().values().clone();
    for (row, ((content, rows), bytes)) in content.zip(&numbers(&rows)).zip(&numbers(&bytes)).enumerate() {
        take(row, *content, *rows, *bytes)?;
    }
    Ok(())
}

/// The numbers of a row, in the order of [`NUMBERS`]; `deletes` are those that stand in no manifest.
fn numbers(live: Totals, changed: Changed, deletes: Option<&DeleteChanges>) -> [Option<i64>; NUMBERS.len()] {
    let mut numbers = [None; NUMBERS.len()];
    let outside = |of: fn(&DeleteChanges) -> Option<Deletes>| deletes.map(of);
    let parts = [
        (live, outside(|deletes| Some(deletes.live))),
        (changed.added, outside(|deletes| deletes.added)),
        (changed.removed, outside(|deletes| deletes.removed)),
    ];
    for (numbers, (totals, outside)) in numbers.chunks_mut(SUMMED.len()).zip(parts) {
        let mut part = totals.0.map(Some);
        if let (Some(outside), [.., delete_files, delete_rows]) = (outside, &mut part) {
            *delete_files = outside.map(|deletes| deletes.files);
            *delete_rows = outside.and_then(|deletes| deletes.rows);
        }
        numbers.copy_from_slice(&part);
    }
    numbers
}

fn rows<H: History>(links: &[Link<H>], numbers: &[[Option<i64>; NUMBERS.len()]]) -> Result<RecordBatch> {
    let commits = || links.iter().map(|link| link.commit.as_ref());
    let ids = Int64Array::from_iter_values(commits().map(|commit| commit.snapshot_id));
    let parents: Int64Array = commits().map(|commit| commit.parent_id).collect();
    let operations: StringArray = commits().map(|commit| commit.operation.as_deref()).collect();
    let mut all: Vec<(&str, ArrayRef)> = vec![
        ("snapshot_id", Arc::new(ids)),
        ("parent_id", Arc::new(parents)),
        ("committed_at", instants(commits().map(|commit| commit.committed_ms))?),
        ("operation", Arc::new(operations)),
    ];
    all.extend(columns(&NUMBERS, numbers));
    whole(all, links.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletes_outside_of_manifests_take_the_places_of_those_in_them() {
        let live = Totals([5, 50, 500, 0, 0]);
        let vectors = Deletes { files: 2, rows: None };
        let deletes = DeleteChanges { live: vectors, added: None, removed: Some(vectors) };
        let changed = Changed { added: Totals([1, 10, 100, 0, 0]), removed: Totals::default() };
        let found = numbers(live, changed, Some(&deletes));
        let some = |numbers: [i64; 5]| numbers.map(Some);
        assert_eq!(found[..5], [Some(5), Some(50), Some(500), Some(2), None]);
        assert_eq!(found[5..10], [Some(1), Some(10), Some(100), None, None]);
        assert_eq!(found[10..], [Some(0), Some(0), Some(0), Some(2), None]);
        assert_eq!(numbers_of_manifests(), some([1, 10, 100, 2, 20]));
    }

    /// What one data file and two delete files come to.
    fn numbers_of_manifests() -> [Option<i64>; 5] {
        let mut totals = Totals::default();
        for (content, rows, bytes) in [(0, 10, 100), (1, 5, 7), (2, 15, 9)] {
            totals.count(content, rows, bytes).expect("small numbers");
        }
        totals.0.map(Some)
    }
}
