//! From an input to record batches: blocks are framed in order, decoded by one thread or several,
//! and come out in file order.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use crate::codec::Inflater;
use crate::container::{Block, Blocks, Header, Input};
use crate::cursor::Fault;
use crate::decode::{Budget, Columns, Guard, Machine, assemble};
use crate::error::{Error, ErrorKind, Location, Result};
use crate::limits::Limits;
use crate::plan::Program;

/// How a file is read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// What the input may cost.
    pub limits: Limits,
    /// Threads that decode blocks inside one call; they end with it.
    pub threads: usize,
    /// Rows at which a batch is cut.
    pub batch_rows: usize,
    /// Arrow bytes at which a batch is cut, to within 256 records.
    pub batch_bytes: usize,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions { limits: Limits::DEFAULT, threads: 1, batch_rows: 1 << 16, batch_bytes: 32 << 20 }
    }
}

/// Makes the guard of each thread.
pub type GuardFactory = Arc<dyn Fn() -> Box<dyn Guard> + Send + Sync>;

/// Compressed bytes that one thread takes at a time: enough to pay for a thread, few enough that
/// memory stays at a few batches.
const UNIT_BYTES: usize = 1 << 20;

/// Records between two looks at the size of the batch.
const STRIDE: u64 = 256;

/// The record batches of one file, in file order whatever the number of threads.
///
/// Peak memory is, per thread, one mebibyte of compressed blocks or one block if that is larger, the
/// largest inflated block, and the batches of those blocks. After an error the iterator ends.
pub struct Reader {
    blocks: Blocks,
    program: Arc<Program>,
    options: ReadOptions,
    workers: Vec<Worker>,
    ready: VecDeque<RecordBatch>,
    spent: Spent,
    ended: bool,
}

/// What a file has cost so far.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    items: u64,
    inflated: u64,
}

/// One thread's contexts, kept from call to call.
struct Worker {
    inflater: Inflater,
    guard: Option<Box<dyn Guard>>,
}

impl Reader {
    /// A reader behind the header of a file.
    ///
    /// `blocks` and `header` come from [`Blocks::open`], `program` from the header's schema.
    pub fn new(
        header: &Header,
        blocks: Blocks,
        program: Arc<Program>,
        guard: Option<GuardFactory>,
        options: ReadOptions,
    ) -> Reader {
        let options =
            ReadOptions { limits: options.limits.capped(), threads: options.threads.max(1), ..options };
        let worker = || Worker {
            inflater: Inflater::new(header.codec, &options.limits),
            guard: guard.as_ref().map(|make| make()),
        };
        let workers = std::iter::repeat_with(worker).take(options.threads).collect();
        Reader {
            blocks,
            program,
            options,
            workers,
            ready: VecDeque::new(),
            spent: Spent::default(),
            ended: false,
        }
    }

    /// Opens `input` and reads all its columns.
    pub fn open(input: Input, options: ReadOptions) -> Result<Reader> {
        let (header, blocks) = Blocks::open(input, options.limits)?;
        let schema = crate::Schema::parse(header.schema()?, &options.limits)?;
        let program = Program::resolve(&schema, &crate::Projection::All, &[])?;
        Ok(Reader::new(&header, blocks, Arc::new(program), None, options))
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        self.program.schema()
    }

    /// The next blocks for one thread; empty at the end of the file.
    fn next_unit(&mut self) -> Result<Vec<Block>> {
        let mut unit = Vec::new();
        let (mut bytes, mut rows) = (0, 0);
        while bytes < UNIT_BYTES && rows < self.options.batch_rows as u64 {
            let Some(block) = self.blocks.next().transpose()? else { break };
            let cells =
                block.first_record.saturating_add(block.count).saturating_mul(self.program.pools.leaves());
            if cells > self.options.limits.max_cells {
                return Err(Limits::exceeded("max_cells", self.options.limits.max_cells, cells));
            }
            // A block without bytes takes memory too: there may be millions.
            bytes += block.payload.len() + size_of::<Block>();
            rows += block.count;
            unit.push(block);
        }
        Ok(unit)
    }

    /// Decodes one unit per thread and keeps the batches in order.
    fn fill(&mut self) -> Result<()> {
        let mut units = Vec::new();
        let mut framing = Ok(());
        while units.len() < self.options.threads {
            match self.next_unit() {
                Ok(unit) if unit.is_empty() => {
                    self.ended = true;
                    break;
                }
                Ok(unit) => units.push(unit),
                // What stands before a broken block is still decoded: its errors come first.
                Err(error) => {
                    framing = Err(error);
                    break;
                }
            }
        }
        let (program, options, spent) = (&self.program, &self.options, self.spent);
        let decode =
            |worker: &mut Worker, unit: Vec<Block>| decode_unit(worker, program, options, spent, &unit);
        let jobs = self.workers.iter_mut().zip(units);
        let results: Vec<Result<Decoded>> = if jobs.len() < 2 {
            jobs.map(|(worker, unit)| decode(worker, unit)).collect()
        } else {
            std::thread::scope(|scope| {
                let spawn = |(worker, unit)| {
                    std::thread::Builder::new().spawn_scoped(scope, move || decode(worker, unit))
                };
                let handles: Vec<_> = jobs.map(spawn).collect();
                handles.into_iter().map(|handle| handle?.join().unwrap_or_else(resume)).collect()
            })
        };
        for result in results {
            let (batches, cost) = result?;
            self.spent.items += cost.items;
            self.spent.inflated += cost.inflated;
            // Each thread saw only its own part of what is spent.
            check_inflated(&self.options.limits, self.spent.inflated)?;
            let most = self.options.limits.max_items;
            if self.spent.items > most {
                return Err(Limits::exceeded("max_items", most, self.spent.items));
            }
            self.ready.extend(batches);
        }
        framing
    }
}

fn resume(panic: Box<dyn std::any::Any + Send>) -> Result<Decoded> {
    std::panic::resume_unwind(panic)
}

impl Iterator for Reader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.fill() {
                self.ended = true;
                self.ready.clear();
                return Some(Err(error));
            }
        }
    }
}

type Decoded = (Vec<RecordBatch>, Spent);

fn decode_unit(
    worker: &mut Worker,
    program: &Program,
    options: &ReadOptions,
    before: Spent,
    unit: &[Block],
) -> Result<Decoded> {
    let mut batch = Batch { program, columns: Columns::new(&program.pools), rows: 0 };
    let mut batches = Vec::new();
    let mut cost = Spent::default();
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
                    Ok(batch) => batches.push(batch),
                    Err(error) => return Err(locate(error, worker, program, options, unit)),
                }
            }
        }
        cost.items += budget.items - machine.budget().items;
        let left = machine.cursor().remaining();
        if left > 0 {
            let message = format!("{left} bytes are left behind the block's {} records", block.count);
            return Err(Error::new(ErrorKind::Trailing, message).at(place(block)));
        }
        if number == 0 {
            batch.expect(unit_bytes as f64 / block.payload.len().max(1) as f64, options);
        }
    }
    if batch.rows > 0 {
        batches.push(batch.cut().map_err(|error| locate(error, worker, program, options, unit))?);
    }
    Ok((batches, cost))
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
        // A tenth more, since blocks are not all alike.
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

fn check_inflated(limits: &Limits, inflated: u64) -> Result<()> {
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

/// Finds the record behind an error that only showed when a whole column was folded: the first whose
/// block does not fold up to and with it. Decodes a block once per halving.
#[cold]
fn locate(
    error: Error,
    worker: &mut Worker,
    program: &Program,
    options: &ReadOptions,
    unit: &[Block],
) -> Error {
    if let (ErrorKind::Limit, Some(first)) = (error.kind(), unit.first()) {
        // The batch as a whole is too large, no record in it is at fault.
        return error.at(place(first));
    }
    for block in unit {
        let Ok(inflated) = worker.inflater.inflate(&block.payload) else { break };
        let guard = &mut worker.guard;
        let mut fold = |records: u64| {
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
        let Err(mut found) = fold(block.count) else { continue };
        // The first `good` records fold, the first `bad` do not.
        let (mut good, mut bad) = (0, block.count);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            match fold(middle) {
                Ok(_) => good = middle,
                Err(earlier) => (bad, found) = (middle, earlier),
            }
        }
        return found.at(Location { record: Some(block.first_record + good), ..place(block) });
    }
    error
}
