//! Deletes with the data files that they apply to.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::deletes::LiveDeletes;
use super::plan::Plan;
use super::program::EntryProgram;
use super::rows::rows_of;
use crate::error::{Result, fitting};
use crate::iceberg::deletes::DeleteIndex;
use crate::iceberg::table::Table;
use crate::iceberg::view::{DATA_FILE_COUNT, DATA_FILES, Role};
use crate::record::column;
use crate::scan::{Batches, EntrySource, ScanOptions, threads};
use crate::view::{lists, with_columns};

/// The most data files that the deletes of a batch have together, unless the batch has a single delete.
const FILES_PER_BATCH: usize = 1 << 16;

/// Starts reading: all manifests are read before the first row is returned.
pub(super) fn stream(table: &Table, program: &Arc<EntryProgram>, options: &ScanOptions) -> Result<Batches> {
    let threads = threads(options.threads);
    let filter = options.table_filter.as_deref();
    let (list, types) = (table.list_for(filter)?, table.types()?);
    let manifests = Plan::of_list(table, list.clone(), filter)?.of_role(Role::Deletes);
    let deletes = LiveDeletes::read(table, &types, manifests.clone(), filter, (threads, false))?;
    let data = Plan::of_list(table, list, None)?;
    let applied = DeleteTargets::read(table, &deletes.index, data, threads, program.view.has(DATA_FILES))?;
    let entries = EntrySource::new(Arc::clone(program), table.clone());
    let entries = entries.opening(|program, manifest| program.entries(manifest));
    let entries = entries.stream(manifests, options);
    let (program, applied, mut next) = (Arc::clone(program), Arc::new(applied), 0);
    let cuts = entries.flat_map(move |entries| {
        let first = next;
        next += entries.as_ref().map_or(0, RecordBatch::num_rows);
        applied.cuts(entries, first)
    });
    Ok(Box::new(cuts.map(move |entries| program.rows(&entries?, ""))))
}

/// The data files that each delete applies to.
struct DeleteTargets {
    /// The number of data files of each delete, by the number of the delete.
    counts: Vec<i64>,
    /// The data files, where they are requested.
    files: Option<DataFilePaths>,
}

/// Data files by the numbers of their deletes.
struct DataFilePaths {
    /// The paths of the data files, a chunk for each batch they were in.
    chunks: Vec<StringArray>,
    /// Chunk and row of each file that a delete applies to, delete by delete.
    places: Vec<(u32, u32)>,
    /// Where the places of each delete begin, and the end.
    starts: Vec<usize>,
}

impl DeleteTargets {
    /// Looks up the deletes of every data file in the manifests of `plan`.
    fn read(
        table: &Table,
        index: &DeleteIndex,
        plan: Plan,
        threads: usize,
        list: bool,
    ) -> Result<DeleteTargets> {
        let columns: Vec<&str> = index.input().collect();
        let manifests = plan.of_role(Role::LiveData);
        let rows = rows_of(table, Role::LiveData, table.types()?, &columns, None, manifests, threads)?;
        let mut counts = vec![0; index.len()];
        let (mut chunks, mut pairs, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for entries in rows {
            let entries = entries?;
            let files = index.files(&entries)?;
            let chunk = fitting(u32::try_from(chunks.len()).ok(), "the number of batches")?;
            for (row, number) in (0..entries.num_rows()).zip(0u32..) {
                found.clear();
                index.append(&files, row, &mut found)?;
                for delete in &found {
                    let delete = usize::try_from(*delete).unwrap_or_default();
                    counts.get_mut(delete).into_iter().for_each(|count| *count += 1);
                    if list {
                        pairs.push((delete, (chunk, number)));
                    }
                }
            }
            if list {
                chunks.push(column::<StringArray>(&entries, "file_path")?.clone());
            }
        }
        let files = list.then(|| DataFilePaths::new(chunks, pairs, counts.len()));
        Ok(DeleteTargets { counts, files })
    }

    /// `entries` of deletes, the first with the number `first`, with their data files, in pieces.
    fn cuts(
        self: &Arc<DeleteTargets>,
        entries: Result<RecordBatch>,
        mut first: usize,
    ) -> impl Iterator<Item = Result<RecordBatch>> + use<> {
        let applied = Arc::clone(self);
        let mut left = Some(entries);
        std::iter::from_fn(move || {
            let entries = match left.take()? {
                Ok(entries) if entries.num_rows() == 0 => return None,
                Ok(entries) => entries,
                Err(error) => return Some(Err(error)),
            };
            let count = applied.fitting(first, entries.num_rows());
            left = Some(Ok(entries.slice(count, entries.num_rows() - count)));
            let cut = applied.describe(&entries.slice(0, count), first);
            first += count;
            Some(cut)
        })
    }

    /// How many of `rows` deletes from `first` on fit into a batch.
    fn fitting(&self, first: usize, rows: usize) -> usize {
        let Some(files) = &self.files else { return rows };
        let starts = files.starts.get(first..=first + rows).unwrap_or_default();
        let most = starts.first().map_or(0, |start| start + FILES_PER_BATCH);
        starts.partition_point(|end| *end <= most).saturating_sub(1).clamp(1, rows)
    }

    fn describe(&self, entries: &RecordBatch, first: usize) -> Result<RecordBatch> {
        let rows = first..first + entries.num_rows();
        let counts = self.counts.get(rows.clone()).unwrap_or_default().to_vec();
        let mut more: Vec<(&str, ArrayRef)> = vec![(DATA_FILE_COUNT, Arc::new(Int64Array::from(counts)))];
        if let Some(files) = &self.files {
            let starts = files.starts.get(rows.start..=rows.end).unwrap_or_default();
            let lengths = starts.windows(2).map(|pair| pair.iter().copied().reduce(|start, end| end - start));
            let range = starts.first().copied().unwrap_or(0)..starts.last().copied().unwrap_or(0);
            more.push((DATA_FILES, lists(lengths.map(Option::unwrap_or_default), files.paths(range))?));
        }
        with_columns(entries, more)
    }
}

impl DataFilePaths {
    fn new(chunks: Vec<StringArray>, mut pairs: Vec<(usize, (u32, u32))>, deletes: usize) -> DataFilePaths {
        pairs.sort_unstable();
        let starts = (0..=deletes).map(|delete| pairs.partition_point(|(of, _)| *of < delete)).collect();
        DataFilePaths { chunks, places: pairs.into_iter().map(|(_, place)| place).collect(), starts }
    }

    fn paths(&self, range: std::ops::Range<usize>) -> ArrayRef {
        let mut paths = StringBuilder::new();
        for (chunk, row) in self.places.get(range).unwrap_or_default() {
            let path = self.chunks.get(*chunk as usize).map(|chunk| chunk.value(*row as usize));
            paths.append_option(path);
        }
        Arc::new(paths.finish())
    }
}
