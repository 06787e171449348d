//! An external sort of entries: what does not fit into memory is written to disk in sorted runs, which are then
//! merged.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::SchemaRef;
use arrow_select::take::take;

use crate::error::{Error, ErrorKind, Result, fitting};
use crate::record::{PackedBatch, carried};
use crate::spill::{self, HELD_BYTES, Spill, SpilledRange};

/// The number of pieces that a run is written in. One piece of each run is in memory at once.
const PIECES: usize = 256;

/// What does not fit where too many entries are in memory at once.
const ENTRIES: &str = "the number of entries";

/// Makes the sort keys of entries: one array for each key column, of the same types for all batches.
pub(crate) trait KeyMaker: Fn(&RecordBatch) -> Result<Vec<ArrayRef>> {}

impl<F: Fn(&RecordBatch) -> Result<Vec<ArrayRef>>> KeyMaker for F {}

/// Takes entries in any order and returns them sorted by their keys. The sort is stable.
pub(crate) struct Sorter<K: KeyMaker> {
    keys: SortKeys<K>,
    /// How many bytes are held in memory before they are written to disk.
    bound: usize,
    held: Vec<RecordBatch>,
    held_bytes: usize,
    rows: usize,
    disk: Option<Spill>,
    /// The pieces of each run.
    runs: Vec<VecDeque<SpilledPiece>>,
}

/// Entries on disk.
struct SpilledPiece {
    schema: SchemaRef,
    packed: PackedBatch,
    place: SpilledRange,
}

impl<K: KeyMaker> Sorter<K> {
    /// Holds up to `bound` bytes in memory; the default is that of other jobs.
    pub(crate) fn new(keys: K, bound: Option<usize>) -> Sorter<K> {
        let (held, runs, bound) = (Vec::new(), Vec::new(), bound.unwrap_or(HELD_BYTES));
        let keys = SortKeys { keys, order: None };
        Sorter { keys, bound, held, held_bytes: 0, rows: 0, disk: None, runs }
    }

    /// Adds entries.
    ///
    /// # Errors
    /// Those of the entries; `Io` where they exceed the memory and writing to disk fails.
    pub(crate) fn push(&mut self, entries: RecordBatch) -> Result<()> {
        if entries.num_rows() == 0 {
            return Ok(());
        }
        self.rows += entries.num_rows();
        self.held_bytes += entries.get_array_memory_size();
        self.held.push(entries);
        if self.held_bytes > self.bound { self.spill() } else { Ok(()) }
    }

    /// The number of entries.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// All entries in order, in parts of `rows` rows.
    ///
    /// # Errors
    /// As [`Sorter::push`].
    pub(crate) fn sorted(mut self, rows: usize) -> Result<SortedParts<K>> {
        if self.disk.is_some() {
            self.spill()?;
        }
        let source = match self.disk.take() {
            Some(disk) => SortedSource::Merged(Merge::new(self.keys, disk, self.runs)?),
            None => {
                let (entries, order) = self.run()?;
                SortedSource::InMemory { entries: LookedUp::new(entries), order, next: 0 }
            }
        };
        Ok(SortedParts { source, rows: rows.max(1) })
    }

    /// The entries in memory, and their order.
    fn run(&mut self) -> Result<(RecordBatch, Vec<u32>)> {
        let entries = carried::joined(&std::mem::take(&mut self.held))?;
        self.held_bytes = 0;
        let keys = self.keys.of(&entries)?;
        let rows = fitting(u32::try_from(entries.num_rows()).ok(), ENTRIES)?;
        Ok((entries, keys.map_or_else(|| (0..rows).collect(), |keys| order_of(&keys, rows))))
    }

    /// Writes the entries in memory to disk, as a run.
    fn spill(&mut self) -> Result<()> {
        let (entries, order) = self.run()?;
        let mut disk = self.disk.take().map_or_else(Spill::create, Ok)?;
        let mut run = VecDeque::with_capacity(PIECES.min(order.len()));
        let entries = LookedUp::new(entries);
        for rows in order.chunks(order.len().div_ceil(PIECES).max(1)) {
            let piece = entries.rows(rows.to_vec())?;
            let lacks = || Error::new(ErrorKind::Internal, "entries of a type that cannot be on disk");
            let (packed, bytes) = PackedBatch::pack(&piece).ok_or_else(lacks)?;
            run.push_back(SpilledPiece { schema: piece.schema(), packed, place: disk.write(&bytes)? });
        }
        self.runs.push(run);
        self.disk = Some(disk);
        Ok(())
    }
}

/// Sort keys as bytes with the same order.
struct SortKeys<K: KeyMaker> {
    keys: K,
    order: Option<RowConverter>,
}

impl<K: KeyMaker> SortKeys<K> {
    /// The keys of entries; `None` where there are no keys.
    fn of(&mut self, entries: &RecordBatch) -> Result<Option<Rows>> {
        let columns = if entries.num_rows() == 0 { Vec::new() } else { (self.keys)(entries)? };
        if columns.is_empty() {
            return Ok(None);
        }
        let refused = |error: arrow_schema::ArrowError| Error::new(ErrorKind::Unsupported, error.to_string());
        let order = match &self.order {
            Some(order) => order,
            None => {
                let fields = columns.iter().map(|values| SortField::new(values.data_type().clone()));
                self.order.insert(RowConverter::new(fields.collect()).map_err(refused)?)
            }
        };
        order.convert_columns(&columns).map(Some).map_err(refused)
    }
}

/// How the first `rows` keys are sorted, equal ones in their order.
fn order_of(keys: &Rows, rows: u32) -> Vec<u32> {
    // Most comparisons are decided by the first bytes, which lie side by side.
    let key = |row: u32| keys.row(row as usize);
    let mut order: Vec<_> = (0..rows).map(|row| (first_bytes(key(row).as_ref()), row)).collect();
    let length = order.first().map_or(0, |(_, row)| key(*row).as_ref().len());
    if length <= FIRST_BYTES && order.iter().all(|(_, row)| key(*row).as_ref().len() == length) {
        order.sort_by_key(|(first, _)| *first);
    } else {
        order.sort_by(|(left, left_row), (right, right_row)| {
            left.cmp(right).then_with(|| key(*left_row).cmp(&key(*right_row)))
        });
    }
    order.into_iter().map(|(_, row)| row).collect()
}

/// The number of bytes of a key that are compared before all of it.
const FIRST_BYTES: usize = 16;

/// Numbers with the order of the first bytes of a key; it goes on with zeros.
fn first_bytes(key: &[u8]) -> (u64, u64) {
    let mut first = [0; FIRST_BYTES];
    first.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let both = u128::from_be_bytes(first);
    ((both >> 64) as u64, both as u64)
}

/// Entries whose rows are looked up in another order.
struct LookedUp {
    entries: RecordBatch,
    /// Whether each column has several values: one that is the same everywhere is not looked up.
    varies: Vec<bool>,
}

impl LookedUp {
    fn new(entries: RecordBatch) -> LookedUp {
        let most = entries.num_rows().saturating_sub(1);
        let varies = |column: &ArrayRef| column.slice(0, most) != column.slice(column.len() - most, most);
        let varies = entries.columns().iter().map(varies).collect();
        LookedUp { entries, varies }
    }

    /// The rows at these places.
    fn rows(&self, places: Vec<u32>) -> Result<RecordBatch> {
        let places = UInt32Array::from(places);
        let columns = self.entries.columns().iter().zip(&self.varies).map(|(column, varies)| match varies {
            true => take(column, &places, None),
            // There are at most as many places as rows.
            false => Ok(column.slice(0, places.len())),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
        let columns = columns.collect::<std::result::Result<_, _>>()?;
        Ok(RecordBatch::try_new_with_options(self.entries.schema(), columns, &options)?)
    }
}

/// Entries in their order, part by part.
pub(crate) struct SortedParts<K: KeyMaker> {
    source: SortedSource<K>,
    rows: usize,
}

enum SortedSource<K: KeyMaker> {
    InMemory { entries: LookedUp, order: Vec<u32>, next: usize },
    Merged(Merge<K>),
}

impl<K: KeyMaker> Iterator for SortedParts<K> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        match &mut self.source {
            SortedSource::InMemory { entries, order, next } => {
                let end = next.saturating_add(self.rows).min(order.len());
                let rows = order.get(*next..end).filter(|rows| !rows.is_empty())?;
                *next = end;
                Some(entries.rows(rows.to_vec()))
            }
            SortedSource::Merged(merge) => merge.next(self.rows).transpose(),
        }
    }
}

/// A merge of runs on disk. One piece of each run is in memory.
struct Merge<K: KeyMaker> {
    keys: SortKeys<K>,
    disk: Spill,
    runs: Vec<Run>,
    /// The key of the next entry of each run; equal keys are in the order of the runs.
    least: BinaryHeap<Reverse<(Box<[u8]>, usize)>>,
}

struct Run {
    pieces: VecDeque<SpilledPiece>,
    now: Option<LoadedPiece>,
}

/// A piece in memory.
struct LoadedPiece {
    entries: RecordBatch,
    keys: Option<Rows>,
    /// Its next row.
    next: usize,
    /// The index of its row `first` in the input of the current part.
    start: usize,
    first: usize,
}

impl LoadedPiece {
    /// The key of its next row; empty where there are no keys.
    fn key(&self) -> &[u8] {
        self.keys.as_ref().map(|keys| keys.row(self.next).data()).unwrap_or_default()
    }
}

impl<K: KeyMaker> Merge<K> {
    fn new(keys: SortKeys<K>, disk: Spill, runs: Vec<VecDeque<SpilledPiece>>) -> Result<Merge<K>> {
        let runs: Vec<_> = runs.into_iter().map(|pieces| Run { pieces, now: None }).collect();
        let mut merge = Merge { keys, disk, runs, least: BinaryHeap::new() };
        for run in 0..merge.runs.len() {
            merge.load(run)?;
            merge.note(run);
        }
        Ok(merge)
    }

    /// The next entries, at most `rows`.
    fn next(&mut self, rows: usize) -> Result<Option<RecordBatch>> {
        let (mut pieces, mut end, mut taken) = (Vec::new(), 0, Vec::new());
        for loaded in self.runs.iter_mut().filter_map(|run| run.now.as_mut()) {
            let left = loaded.entries.num_rows() - loaded.next;
            pieces.push(loaded.entries.slice(loaded.next, left));
            // Without rows that an earlier part has taken.
            (loaded.start, loaded.first, end) = (end, loaded.next, end + left);
        }
        while taken.len() < rows {
            let Some(Reverse((_, run))) = self.least.pop() else { break };
            let Some(loaded) = self.runs.get_mut(run).and_then(|run| run.now.as_mut()) else { continue };
            let before = self.least.peek().map(|Reverse((key, run))| (&**key, *run));
            // All that come before the next entry of every other run.
            while loaded.next < loaded.entries.num_rows()
                && taken.len() < rows
                && before.is_none_or(|before| (loaded.key(), run) < before)
            {
                let place = loaded.start + loaded.next - loaded.first;
                taken.push(fitting(u32::try_from(place).ok(), ENTRIES)?);
                loaded.next += 1;
            }
            if loaded.next == loaded.entries.num_rows() {
                self.load(run)?;
                if let Some(loaded) = self.runs.get_mut(run).and_then(|run| run.now.as_mut()) {
                    (loaded.start, end) = (end, end + loaded.entries.num_rows());
                    pieces.push(loaded.entries.clone());
                }
            }
            self.note(run);
        }
        if taken.is_empty() {
            return Ok(None);
        }
        LookedUp::new(carried::joined(&pieces)?).rows(taken).map(Some)
    }

    /// Loads the next piece of a run in place of the current one.
    fn load(&mut self, run: usize) -> Result<()> {
        let Some(run) = self.runs.get_mut(run) else { return Ok(()) };
        run.now = None;
        let Some(SpilledPiece { schema, packed, place }) = run.pieces.pop_front() else { return Ok(()) };
        let mut bytes = Vec::new();
        self.disk.read(place, &mut bytes)?;
        let entries = packed.unpack(&schema, &bytes).ok_or_else(spill::changed)?;
        let keys = self.keys.of(&entries)?;
        run.now = Some(LoadedPiece { entries, keys, next: 0, start: 0, first: 0 });
        Ok(())
    }

    fn note(&mut self, run: usize) {
        let loaded = self.runs.get(run).and_then(|run| run.now.as_ref());
        let loaded = loaded.filter(|loaded| loaded.next < loaded.entries.num_rows());
        self.least.extend(loaded.map(|loaded| Reverse((loaded.key().into(), run))));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    use super::*;

    fn values(entries: &RecordBatch, column: usize) -> Vec<i64> {
        entries.column(column).as_primitive::<Int64Type>().values().to_vec()
    }

    fn rows(keys: Vec<i64>, numbers: Vec<i64>) -> RecordBatch {
        let columns: [ArrayRef; 2] = [Arc::new(Int64Array::from(keys)), Arc::new(Int64Array::from(numbers))];
        RecordBatch::try_from_iter(["key", "number"].into_iter().zip(columns)).expect("two columns")
    }

    /// The first column as the key, or none.
    fn first_column(sorts: bool) -> impl KeyMaker {
        move |entries: &RecordBatch| Ok(entries.columns().iter().take(usize::from(sorts)).cloned().collect())
    }

    #[test]
    fn parts_are_the_same_whether_rows_were_on_disk_or_not() {
        let sorted = |sorts: bool, bound: usize| -> Vec<RecordBatch> {
            let mut sorter = Sorter::new(first_column(sorts), Some(bound));
            for batch in 0..7i64 {
                let numbers: Vec<i64> = (batch * 1000..batch * 1000 + 100 * (batch + 1)).collect();
                let keys = numbers.iter().map(|number| number.wrapping_mul(7919) % 50 - 25).collect();
                sorter.push(rows(keys, numbers)).expect("room");
            }
            assert_eq!(sorter.rows(), 2800);
            assert_eq!(sorter.disk.is_some(), bound < usize::MAX);
            sorter.sorted(333).expect("room").collect::<Result<_>>().expect("rows")
        };
        for sorts in [true, false] {
            let held = sorted(sorts, usize::MAX);
            let sizes: Vec<usize> = held.iter().map(RecordBatch::num_rows).collect();
            assert_eq!(sizes, [333, 333, 333, 333, 333, 333, 333, 333, 136]);
            let all: Vec<(i64, i64)> =
                held.iter().flat_map(|part| values(part, 0).into_iter().zip(values(part, 1))).collect();
            // Equal keys stay in the order of the numbers.
            assert!(all.is_sorted_by_key(|(key, number)| (if sorts { *key } else { 0 }, *number)));
            for bound in [0, 5000, 20_000] {
                assert_eq!(sorted(sorts, bound), held, "{sorts} {bound}");
            }
        }
    }

    #[test]
    fn nothing_sorted_is_nothing() {
        let mut sorter = Sorter::new(first_column(true), Some(0));
        sorter.push(rows(Vec::new(), Vec::new())).expect("room");
        assert_eq!(sorter.sorted(10).expect("room").count(), 0);
    }
}
