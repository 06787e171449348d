//! Decodes a few blocks on one thread: inflates them, decodes their records and assembles batches.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};

use crate::codec::Inflater;
use crate::container::Block;
use crate::cursor::Fault;
use crate::decode::{Budget, Columns, Guard, Machine, assemble};
use crate::error::{Error, ErrorKind, Location, Result};
use crate::limits::Limits;
use crate::plan::Program;
use crate::reader::ReadOptions;

/// Records between two checks of the size of the batch.
const STRIDE: u64 = 256;

/// Inflated bytes, with those that nulls and defaults take in columns, at which a unit stops: a megabyte
/// of compressed blocks may become any number of bytes.
const MOST_INFLATED: u64 = 32 << 20;

/// What a file has cost so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    pub(crate) items: u64,
    pub(crate) inflated: u64,
}

/// The state of one thread, kept between calls.
pub(crate) struct Worker {
    pub(crate) inflater: Inflater,
    pub(crate) guard: Option<Box<dyn Guard>>,
}

/// The result of a unit: its batches, what it cost, and how many of its blocks were decoded.
pub(crate) struct DecodedUnit {
    pub(crate) batches: VecDeque<RecordBatch>,
    pub(crate) cost: Cost,
    pub(crate) blocks: usize,
}

/// Decodes the blocks of `unit`, up to the one with which [`MOST_INFLATED`] is reached.
pub(crate) fn decode_unit(
    worker: &mut Worker,
    program: &Program,
    options: &ReadOptions,
    before: Cost,
    unit: &[Block],
) -> Result<DecodedUnit> {
    let mut batch = Batch { program, columns: Columns::new(&program.pools), rows: 0 };
    let mut batches = VecDeque::new();
    let mut blocks = 0;
    let mut cost = Cost::default();
    // Bytes of nulls and defaults in columns, which were not in the blocks.
    let mut added = 0;
    let unit_bytes: usize = unit.iter().map(|block| block.payload.len()).sum();
    for (number, block) in unit.iter().enumerate() {
        let inflated = worker.inflater.inflate(&block.payload).map_err(|error| error.at(place(block)))?;
        cost.inflated += inflated.len() as u64;
        check_inflated(&options.limits, before.inflated + cost.inflated).map_err(|e| e.at(place(block)))?;
        check_count(program, &options.limits, block, inflated.len())?;
        let budget = Budget::new(&options.limits, before.items + cost.items);
        let mut machine = Machine::new(program, inflated, budget);
        let mut record = 0;
        while record < block.count {
            let stride = STRIDE.min(block.count - record);
            for _ in 0..stride {
                match machine.record(&mut batch.columns, worker.guard.as_deref_mut()) {
                    Ok(kept) => batch.rows += usize::from(kept),
                    Err(fault) => return Err(fault_error(fault, &machine, block, record)),
                }
                record += 1;
            }
            if batch.rows >= options.batch_rows || batch.columns.byte_size() >= options.batch_bytes {
                match batch.cut() {
                    Ok(batch) => batches.push_back(batch),
                    Err(error) => return Err(locate(error, worker, program, options, unit)),
                }
            }
        }
        cost.items += budget.items - machine.budget().items;
        added += budget.padding - machine.budget().padding;
        let left = machine.cursor().remaining();
        if left > 0 {
            let message = format!("{left} trailing bytes after the block's {} records", block.count);
            return Err(Error::new(ErrorKind::Trailing, message).at(place(block)));
        }
        if number == 0 {
            batch.expect(unit_bytes as f64 / block.payload.len().max(1) as f64, options);
        }
        blocks = number + 1;
        if cost.inflated.saturating_add(added) >= MOST_INFLATED {
            break;
        }
    }
    if batch.rows > 0 {
        batches.push_back(batch.cut().map_err(|error| locate(error, worker, program, options, unit))?);
    }
    Ok(DecodedUnit { batches, cost, blocks })
}

/// The batch being filled.
struct Batch<'p> {
    program: &'p Program,
    columns: Columns,
    rows: usize,
}

impl Batch<'_> {
    /// Makes room for a unit that is `blocks` times as large as its first block, or for a full batch.
    fn expect(&mut self, blocks: f64, options: &ReadOptions) {
        let held = self.columns.byte_size().max(1);
        let full = options.batch_bytes as f64 / held as f64;
        // A tenth more, since blocks differ.
        self.columns.reserve((blocks - 1.0).min(full) * 1.1);
    }

    fn cut(&mut self) -> Result<RecordBatch> {
        let mut columns = std::mem::replace(&mut self.columns, Columns::new(&self.program.pools));
        let rows = std::mem::take(&mut self.rows);
        let schema = self.program.schema();
        let arrays = schema.fields().iter().zip(&self.program.columns).map(|(field, layout)| {
            assemble(&mut columns, layout, rows).map_err(|error| error.within(field.name()))
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
            .map_err(|error| Error::new(ErrorKind::Schema, error.to_string()))
    }
}

pub(crate) fn check_inflated(limits: &Limits, inflated: u64) -> Result<()> {
    let most = limits.max_file_bytes;
    if inflated > most { Err(Limits::exceeded("max_file_bytes", most, inflated)) } else { Ok(()) }
}

/// Refuses a record count that the block's bytes cannot hold, before it is looped over.
fn check_count(program: &Program, limits: &Limits, block: &Block, inflated: usize) -> Result<()> {
    let error = match inflated.checked_div(program.least_bytes) {
        Some(most) if block.count > most as u64 => {
            let message =
                format!("block declares {} records, its {inflated} bytes hold {most} at most", block.count);
            Error::new(ErrorKind::Truncated, message)
        }
        None if block.count > limits.max_zero_width_items => {
            Limits::exceeded("max_zero_width_items", limits.max_zero_width_items, block.count)
        }
        _ => return Ok(()),
    };
    Err(error.at(place(block)))
}

fn place(block: &Block) -> Location {
    Location { offset: Some(block.offset), block: Some(block.index), ..Location::default() }
}

#[cold]
fn fault_error(fault: Fault, machine: &Machine<'_, '_>, block: &Block, record: u64) -> Error {
    let (kind, words) = fault.describe();
    let cursor = machine.cursor();
    let message =
        format!("{words} (byte {} of the inflated block, {} left)", cursor.position(), cursor.remaining());
    Error::new(kind, message).at(Location {
        record: Some(block.first_record + record),
        field: machine.fault_path().map(str::to_owned),
        ..place(block)
    })
}

/// Finds the record with an error that was only found when a column was assembled: the first record for
/// which its block cannot be assembled up to and including it. Decodes the block once for each step of a
/// binary search.
#[cold]
fn locate(
    error: Error,
    worker: &mut Worker,
    program: &Program,
    options: &ReadOptions,
    unit: &[Block],
) -> Error {
    if let (ErrorKind::Limit, Some(first)) = (error.kind(), unit.first()) {
        // The batch as a whole is too large; no single record has the error.
        return error.at(place(first));
    }
    for block in unit {
        let Ok(inflated) = worker.inflater.inflate(&block.payload) else { break };
        let guard = &mut worker.guard;
        let mut assembled = |records: u64| {
            let mut machine = Machine::new(program, inflated, Budget::new(&options.limits, 0));
            let mut batch = Batch { program, columns: Columns::new(&program.pools), rows: 0 };
            for _ in 0..records {
                match machine.record(&mut batch.columns, guard.as_deref_mut()) {
                    Ok(kept) => batch.rows += usize::from(kept),
                    Err(_) => break,
                }
            }
            batch.cut()
        };
        let Err(mut found) = assembled(block.count) else { continue };
        // The first `good` records can be assembled, the first `bad` cannot.
        let (mut good, mut bad) = (0, block.count);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            match assembled(middle) {
                Ok(_) => good = middle,
                Err(earlier) => (bad, found) = (middle, earlier),
            }
        }
        return found.at(Location { record: Some(block.first_record + good), ..place(block) });
    }
    error
}
