//! The view `growth`: one row per snapshot, with what is live and what its commit changed.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;

use super::line::{CommitGroup, Line, Link};
use super::totals::{CommitChange, CommitTotals, READ, SUMMED, Sums, each_file};
use super::{DeleteChanges, UnlistedDeletes, compared, written_by};
use crate::distributed::Distributed;
use crate::error::Result;
use crate::grouping::sums::columns;
use crate::notes::Notes;
use crate::pipeline::{Pipeline, Width};
use crate::scan::{Batches, Format, Scan, ScanOptions, Step, limited, once, threads};
use crate::view::{View, instants, select, whole};

/// The numbers of a row, in order.
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

/// The growth of a table, resolved: the schema is known, no list is read.
pub(crate) struct GrowthScan<F: Format> {
    history: F,
    options: ScanOptions,
    schema: SchemaRef,
}

impl<F: Format> GrowthScan<F> {
    /// Resolves the view: columns and filter are checked.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(crate) fn new(history: F, options: ScanOptions) -> Result<GrowthScan<F>> {
        let none = rows::<F>(&[], &[])?;
        let none = select(&none, options.columns.as_deref(), options.filter.as_deref())?;
        let options = ScanOptions { threads: threads(options.threads), ..options };
        Ok(GrowthScan { history, options, schema: none.schema() })
    }

    fn line(&self) -> Result<Line<F>> {
        Line::read(&self.history, None, self.options.threads)
    }

    /// The options to read the view `files` with, for the sums.
    fn of_files(&self) -> ScanOptions {
        let columns = Some(READ.map(str::to_owned).to_vec());
        ScanOptions { columns, threads: self.options.threads, ..ScanOptions::default() }
    }

    /// The changes of each commit whose manifests were read.
    fn changed(&self, line: &mut Line<F>) -> Result<HashMap<i64, CommitChange>> {
        let options = self.of_files();
        let mut changed: HashMap<i64, CommitChange> = HashMap::new();
        for group in line.groups() {
            match group {
                CommitGroup::Written(manifests) => {
                    let sums = Sums { source: written_by(&self.history, &options)? };
                    let width = Width::new(self.history.core().storage().as_ref(), options.threads);
                    for sum in Pipeline::new(sums, manifests, width) {
                        let (id, sum) = sum?;
                        changed.entry(id).or_default().and(sum)?;
                    }
                }
                CommitGroup::Compared(before, after, commit) => {
                    let sum = self.compared(&before, &after)?;
                    changed.entry(commit.snapshot_id).or_default().and(sum)?;
                }
            }
        }
        Ok(changed)
    }

    /// The sums at each commit, computed from the commits' changes.
    fn grown(
        &self,
        links: &[Link<F>],
        changed: &mut HashMap<i64, CommitChange>,
    ) -> Result<Vec<CommitTotals>> {
        let mut grown: Vec<CommitTotals> = Vec::with_capacity(links.len());
        let mut before: Option<&Link<F>> = None;
        for link in links {
            let of_commit = changed.entry(link.commit.snapshot_id).or_default();
            let live = match (before, grown.last()) {
                (Some(parent), Some(live)) if link.follows => {
                    if link.is_complete && !of_commit.is_as_listed::<F>(link.changed)? {
                        *of_commit = self.compared(&parent.snapshot, &link.snapshot)?;
                    }
                    live.and(of_commit.added, 1)?.and(of_commit.removed, -1)?
                }
                _ if link.is_first && of_commit.is_as_listed::<F>(link.changed)? => {
                    of_commit.added.and(of_commit.removed, -1)?
                }
                _ => self.live_at(link)?,
            };
            grown.push(live);
            before = Some(link);
        }
        Ok(grown)
    }

    /// The difference between a snapshot and its parent.
    fn compared(&self, before: &F::Snapshot, after: &F::Snapshot) -> Result<CommitChange> {
        let columns = Some([crate::diff::CHANGE].into_iter().chain(READ).map(str::to_owned).collect());
        let options = ScanOptions { columns, ..self.of_files() };
        let mut changed = CommitChange::default();
        for files in compared(&self.history, before, after, &options)? {
            changed.take(&files?)?;
        }
        Ok(changed)
    }

    /// The sums at a snapshot, read from its files.
    fn live_at(&self, link: &Link<F>) -> Result<CommitTotals> {
        let mut live = CommitTotals::default();
        let at = self.history.at_state(&link.snapshot)?;
        for files in at.resolve(View::Files, self.of_files())?.stream()? {
            each_file(&files?, |_, content, rows, bytes| live.count(content, rows, bytes))?;
        }
        Ok(live)
    }

    fn whole(&self) -> Result<RecordBatch> {
        let mut line = self.line()?;
        let mut changed = self.changed(&mut line)?;
        let grown = self.grown(&line.commits, &mut changed)?;
        let snapshots: Vec<_> = line.commits.iter().map(|link| link.snapshot.clone()).collect();
        let deletes = self.history.unlisted(&snapshots, self.options.threads)?;
        let numbers = line.commits.iter().zip(grown).enumerate().map(|(place, (link, live))| {
            let of_commit = changed.get(&link.commit.snapshot_id).copied().unwrap_or_default();
            numbers(live, of_commit, deletes.as_ref().and_then(|deletes| deletes.get(place)))
        });
        rows(&line.commits, &numbers.collect::<Vec<_>>())
    }
}

impl<F: Format> Scan for GrowthScan<F> {
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
        self.history.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        Ok(self.line()?.steps())
    }
}

impl<F: Format> Distributed for GrowthScan<F> {}

/// The numbers of a row, in the order of [`NUMBERS`]; `deletes` are those that are in no manifest.
fn numbers(
    live: CommitTotals,
    changed: CommitChange,
    deletes: Option<&DeleteChanges>,
) -> [Option<i64>; NUMBERS.len()] {
    let mut numbers = [None; NUMBERS.len()];
    let outside = |of: fn(&DeleteChanges) -> Option<UnlistedDeletes>| deletes.map(of);
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

fn rows<F: Format>(links: &[Link<F>], numbers: &[[Option<i64>; NUMBERS.len()]]) -> Result<RecordBatch> {
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
        let live = CommitTotals([5, 50, 500, 0, 0]);
        let vectors = UnlistedDeletes { files: 2, rows: None };
        let deletes = DeleteChanges { live: vectors, added: None, removed: Some(vectors) };
        let changed =
            CommitChange { added: CommitTotals([1, 10, 100, 0, 0]), removed: CommitTotals::default() };
        let found = numbers(live, changed, Some(&deletes));
        let some = |numbers: [i64; 5]| numbers.map(Some);
        assert_eq!(found[..5], [Some(5), Some(50), Some(500), Some(2), None]);
        assert_eq!(found[5..10], [Some(1), Some(10), Some(100), None, None]);
        assert_eq!(found[10..], [Some(0), Some(0), Some(0), Some(2), None]);
        assert_eq!(numbers_of_manifests(), some([1, 10, 100, 2, 20]));
    }

    /// The totals of one data file and two delete files.
    fn numbers_of_manifests() -> [Option<i64>; 5] {
        let mut totals = CommitTotals::default();
        for (content, rows, bytes) in [(0, 10, 100), (1, 5, 7), (2, 15, 9)] {
            totals.count(content, rows, bytes).expect("small numbers");
        }
        totals.0.map(Some)
    }
}
