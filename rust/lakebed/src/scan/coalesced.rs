//! Small batches are put together: each batch costs a consumer as much as thousands of rows.

use std::mem::take;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;

use crate::error::Result;

/// Batches with fewer rows and bytes than these are put together.
const SMALL_ROWS: usize = 1 << 10;
const SMALL_BYTES: usize = 1 << 20;

/// The held rows are returned at this many rows, bytes or batches: enough that the cost of a batch is small,
/// and few enough that they cause no delay and no relevant memory.
const ENOUGH_ROWS: usize = 1 << 13;
const ENOUGH_BYTES: usize = 8 << 20;
const ENOUGH_BATCHES: usize = 64;

/// The same rows in the same order, with small batches put together. An error is given after the rows before it, an
/// interruption at once.
pub(super) struct CoalescedBatches<I> {
    batches: I,
    held: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    /// What follows the held rows: a large batch or an error.
    next: Option<Result<RecordBatch>>,
}

impl<I> CoalescedBatches<I> {
    pub(super) fn new(batches: I) -> CoalescedBatches<I> {
        CoalescedBatches { batches, held: Vec::new(), rows: 0, bytes: 0, next: None }
    }

    fn is_small(batch: &RecordBatch) -> bool {
        batch.num_rows() < SMALL_ROWS && batch.get_array_memory_size() < SMALL_BYTES
    }

    fn hold(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        self.bytes += batch.get_array_memory_size();
        self.held.push(batch);
    }

    fn is_full(&self) -> bool {
        self.rows >= ENOUGH_ROWS || self.bytes >= ENOUGH_BYTES || self.held.len() >= ENOUGH_BATCHES
    }

    /// The held rows as one batch.
    fn give(&mut self) -> Option<Result<RecordBatch>> {
        (self.rows, self.bytes) = (0, 0);
        let mut held = take(&mut self.held);
        if held.len() < 2 {
            return held.pop().map(Ok);
        }
        let schema = held.first()?.schema();
        Some(concat_batches(&schema, &held).map_err(Into::into))
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for CoalescedBatches<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if let Some(next) = self.next.take() {
            return Some(next);
        }
        while !self.is_full() {
            match self.batches.next() {
                Some(Ok(batch)) if Self::is_small(&batch) => self.hold(batch),
                Some(Err(error)) if error.is_interruption() => return Some(Err(error)),
                next => {
                    self.next = next;
                    break;
                }
            }
        }
        self.give().or_else(|| self.next.take())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int64Array};

    use super::*;
    use crate::error::{Error, ErrorKind};

    fn batch(numbers: std::ops::Range<i64>) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
        RecordBatch::try_from_iter([("n", numbers)]).expect("a batch")
    }

    fn coalesced(batches: Vec<Result<RecordBatch>>) -> Vec<Result<Vec<i64>>> {
        let numbers = |batch: RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
        CoalescedBatches::new(batches.into_iter()).map(|batch| batch.map(numbers)).collect()
    }

    fn sizes(found: &[Result<Vec<i64>>]) -> Vec<usize> {
        found.iter().map(|rows| rows.as_ref().map_or(0, Vec::len)).collect()
    }

    #[test]
    fn small_batches_are_combined_and_large_ones_are_not() {
        let large = SMALL_ROWS as i64;
        let ends = [0, 3, 5, 5 + large, 6 + large, 7 + large, 8 + large];
        let batches = ends.windows(2).map(|pair| Ok(batch(pair[0]..pair[1]))).collect();
        let found = coalesced(batches);
        assert_eq!(sizes(&found), [5, SMALL_ROWS, 3]);
        let rows: Vec<i64> = found.into_iter().flat_map(Result::unwrap).collect();
        assert_eq!(rows, (0..8 + large).collect::<Vec<_>>());
    }

    #[test]
    fn nobody_waits_for_many_or_long_ones() {
        let one_by_one = (0..100).map(|number| Ok(batch(number..number + 1))).collect();
        assert_eq!(sizes(&coalesced(one_by_one)), [ENOUGH_BATCHES, 100 - ENOUGH_BATCHES]);
        let long = SMALL_ROWS as i64 - 1;
        let found = coalesced((0..20).map(|number| Ok(batch(number * long..number * long + long))).collect());
        assert_eq!(sizes(&found), [9 * long as usize, 9 * long as usize, 2 * long as usize]);
    }

    #[test]
    fn few_rows_may_be_many_bytes() {
        let text = "x".repeat(SMALL_BYTES);
        let texts: ArrayRef = Arc::new(arrow_array::StringArray::from(vec![text]));
        let large = RecordBatch::try_from_iter([("text", texts)]).expect("a batch");
        let batches = vec![Ok(large.clone()), Ok(large.clone()), Ok(large)];
        assert_eq!(CoalescedBatches::new(batches.into_iter()).count(), 3);
    }

    #[test]
    fn rows_before_an_error_are_given_first() {
        let error = || Error::new(ErrorKind::Argument, "on purpose");
        let found = coalesced(vec![Ok(batch(0..2)), Ok(batch(2..3)), Err(error()), Ok(batch(3..4))]);
        assert_eq!(sizes(&found), [3, 0, 1]);
        assert_eq!(found[1].as_ref().unwrap_err().kind(), ErrorKind::Argument);
        assert!(coalesced(Vec::new()).is_empty());
        assert!(coalesced(vec![Err(error())])[0].is_err());
        let interrupted = || Err(Error::interruption("by the test"));
        assert_eq!(sizes(&coalesced(vec![Ok(batch(0..2)), interrupted()])), [0, 2]);
    }
}
