//! From an input to record batches: blocks are framed in order, decoded by one or more threads, and returned
//! in file order.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::codec::Inflater;
use crate::container::{Block, Blocks, Header, Input};
use crate::decode::Guard;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::plan::Program;
use crate::threads::each;
use crate::unit::{Cost, DecodedUnit, Worker, check_inflated, decode_unit};

/// How a file is read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Limits for the input.
    pub limits: Limits,
    /// Threads that decode blocks within a call; they end with it.
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

/// Compressed bytes that one thread takes at a time: few enough that memory is a few batches, and enough to
/// be worth a thread.
const UNIT_BYTES: usize = 1 << 20;
const LEAST_UNIT_BYTES: usize = 1 << 16;

/// The record batches of one file, in file order for any number of threads.
///
/// Peak memory is, per thread, one mebibyte of compressed blocks or one block if that is larger, the
/// largest inflated block, and the batches of those blocks up to 32 MiB inflated. After an error the
/// iterator ends.
pub struct Reader {
    blocks: Blocks,
    program: Arc<Program>,
    options: ReadOptions,
    workers: Vec<Worker>,
    queue: VecDeque<Work>,
    spent: Cost,
    ended: bool,
}

/// A part of the file, queued in file order: not decoded yet, decoded, or with an error.
enum Work {
    Blocks(Vec<Block>),
    Decoded(VecDeque<RecordBatch>),
    Failed(Error),
}

impl Reader {
    /// A reader of the blocks after the header of a file.
    ///
    /// `blocks` and `header` are those of [`Blocks::open`], `program` from the header's schema.
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
            inflater: Inflater::new(header.codec, &options.limits, header.sync),
            guard: guard.as_ref().map(|make| make()),
        };
        let workers = std::iter::repeat_with(worker).take(options.threads).collect();
        Reader {
            blocks,
            program,
            options,
            workers,
            queue: VecDeque::new(),
            spent: Cost::default(),
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

    /// The next block; `None` at the end of the file.
    fn next_block(&mut self) -> Result<Option<Block>> {
        let Some(block) = self.blocks.next().transpose()? else { return Ok(None) };
        let cells =
            block.first_record.saturating_add(block.count).saturating_mul(self.program.pools.leaves());
        let most = self.options.limits.max_cells;
        if cells > most { Err(Limits::exceeded("max_cells", most, cells)) } else { Ok(Some(block)) }
    }

    /// The next blocks for one thread, about `share` bytes of the file, and whether the file ends after them
    /// or is malformed there.
    fn next_unit(&mut self, share: usize) -> (Vec<Block>, Result<bool>) {
        let mut unit = Vec::new();
        let (mut payload, mut bytes, mut rows) = (0, 0, 0);
        while payload < share && bytes < UNIT_BYTES && rows < self.options.batch_rows as u64 {
            match self.next_block() {
                Ok(Some(block)) => {
                    // A block without bytes takes memory too: there may be millions.
                    bytes += block.payload.len() + size_of::<Block>();
                    payload += block.payload.len();
                    rows += block.count;
                    unit.push(block);
                }
                Ok(None) => return (unit, Ok(true)),
                Err(error) => return (unit, Err(error)),
            }
        }
        (unit, Ok(false))
    }

    /// Frames blocks until every thread has a part to work on.
    fn frame(&mut self) {
        let idle = self.options.threads.saturating_sub(self.queue.len()).max(1);
        // The rest is divided: at the end of a file no thread waits for another's whole unit.
        let share = self.blocks.remaining().map_or(UNIT_BYTES, |left| left.div_ceil(idle));
        while self.queue.len() < self.options.threads && !self.ended {
            let (unit, end) = self.next_unit(share.max(LEAST_UNIT_BYTES));
            // Blocks before a malformed one are still decoded: their errors are first.
            if !unit.is_empty() {
                self.queue.push_back(Work::Blocks(unit));
            }
            self.ended = *end.as_ref().unwrap_or(&true);
            if let Err(error) = end {
                self.queue.push_back(Work::Failed(error));
            }
        }
    }

    /// Decodes the parts at the front of the queue, one per thread, in place.
    fn decode(&mut self) {
        let window: Vec<Work> = self.queue.drain(..self.options.threads.min(self.queue.len())).collect();
        let units: Vec<&[Block]> = window
            .iter()
            .filter_map(|work| if let Work::Blocks(unit) = work { Some(unit.as_slice()) } else { None })
            .collect();
        let mut results =
            run(&mut self.workers, &self.program, &self.options, self.spent, &units).into_iter();
        let mut done = VecDeque::new();
        for work in window {
            match work {
                Work::Blocks(mut unit) => match results.next().map(|result| self.account(result)) {
                    Some(Ok(decoded)) => {
                        let rest = unit.split_off(decoded.blocks);
                        done.push_back(Work::Decoded(decoded.batches));
                        if !rest.is_empty() {
                            done.push_back(Work::Blocks(rest));
                        }
                    }
                    Some(Err(error)) => done.push_back(Work::Failed(error)),
                    None => done.push_back(Work::Blocks(unit)),
                },
                work => done.push_back(work),
            }
        }
        done.append(&mut self.queue);
        self.queue = done;
    }

    /// Adds up the cost of a unit: each thread only saw its own part.
    fn account(&mut self, result: Result<DecodedUnit>) -> Result<DecodedUnit> {
        let decoded = result?;
        self.spent.items += decoded.cost.items;
        self.spent.inflated += decoded.cost.inflated;
        check_inflated(&self.options.limits, self.spent.inflated)?;
        let most = self.options.limits.max_items;
        if self.spent.items > most {
            return Err(Limits::exceeded("max_items", most, self.spent.items));
        }
        Ok(decoded)
    }
}

/// Decodes each unit on a thread of its own; a single one on this thread.
fn run(
    workers: &mut [Worker],
    program: &Program,
    options: &ReadOptions,
    spent: Cost,
    units: &[&[Block]],
) -> Vec<Result<DecodedUnit>> {
    let jobs = workers.iter_mut().zip(units).collect();
    each(jobs, |(worker, unit)| decode_unit(worker, program, options, spent, unit))
}

impl Iterator for Reader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            match self.queue.front_mut() {
                Some(Work::Decoded(batches)) => match batches.pop_front() {
                    Some(batch) => return Some(Ok(batch)),
                    None => drop(self.queue.pop_front()),
                },
                Some(Work::Failed(_)) => {
                    let failed = self.queue.pop_front();
                    self.queue.clear();
                    self.ended = true;
                    if let Some(Work::Failed(error)) = failed {
                        return Some(Err(error));
                    }
                }
                Some(Work::Blocks(_)) => {
                    self.frame();
                    self.decode();
                }
                None if self.ended => return None,
                None => self.frame(),
            }
        }
    }
}
