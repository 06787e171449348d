//! Sums as a reduce that runs twice: rows are summed up where they are made, and sums where all of them are. One process
//! sums up rows once.

use arrow_array::RecordBatch;

use super::job::{Piece, Pieces, Reduce, foreign, nothing, one, sides};
use crate::error::Result;

sides! {
    pub(crate) enum SumSide {
        Rows,
        Sums,
        /// What was found of [`SumSide::Deletes`].
        Marks,
        /// What is known of sums, for those that there are in the end.
        Known,
        /// What rows are compared with while they are summed up: every process has it before the first row.
        Deletes,
    }
}

/// What rows are summed up to.
pub(crate) trait MergedSums: Send {
    /// Adds rows.
    ///
    /// # Errors
    /// `Required` and `Mismatch` for rows of other columns; `Mismatch` for a sum beyond 64 bits.
    fn add(&mut self, rows: &RecordBatch) -> Result<()>;

    /// Adds what [`MergedSums::drain`] returned elsewhere.
    ///
    /// # Errors
    /// As [`MergedSums::add`].
    fn merge(&mut self, sums: &RecordBatch) -> Result<()>;

    /// Takes what the rows are compared with, before the first of them.
    ///
    /// # Errors
    /// As [`MergedSums::add`]; `Argument` where rows are not compared.
    fn compare(&mut self, _deletes: &RecordBatch) -> Result<()> {
        Err(foreign("rows are compared with nothing"))
    }

    /// Takes what was found by comparing rows. Returns what is passed on.
    ///
    /// # Errors
    /// As [`MergedSums::compare`].
    fn find(&mut self, _marks: RecordBatch) -> Result<Pieces> {
        Err(foreign("rows are compared with nothing"))
    }

    /// What was found by comparing the rows that were added.
    ///
    /// # Errors
    /// None that input could cause.
    fn found(&mut self) -> Result<Option<RecordBatch>> {
        Ok(None)
    }

    /// Adds what is known of sums that are complete.
    ///
    /// # Errors
    /// As [`MergedSums::add`]; `Argument` where nothing is.
    fn know(&mut self, _known: &RecordBatch) -> Result<()> {
        Err(foreign("nothing is known of sums"))
    }

    /// Whether the sums are so many that they are sent on.
    fn is_full(&self) -> bool {
        false
    }

    /// Takes the sums out, in a form for [`MergedSums::merge`], with the hashes of their keys where they have some.
    ///
    /// # Errors
    /// None that input could cause.
    fn drain(&mut self) -> Result<(RecordBatch, Vec<Option<u64>>)>;

    /// What the sums are made to, once they are complete.
    ///
    /// # Errors
    /// As [`MergedSums::add`].
    fn finish(&mut self) -> Result<Pieces>;
}

/// Sums up rows and sums.
pub(crate) struct SumReduce<S> {
    sums: S,
    /// What every process has from the beginning.
    known: Vec<RecordBatch>,
    /// Whether all sums are here in the end; else they are sent on.
    is_last: bool,
}

impl<S: MergedSums> SumReduce<S> {
    /// A reduce of rows, whose sums are sent on.
    pub(crate) fn first(sums: S) -> SumReduce<S> {
        SumReduce { sums, known: Vec::new(), is_last: false }
    }

    /// A reduce of all sums.
    pub(crate) fn last(sums: S) -> SumReduce<S> {
        SumReduce { sums, known: Vec::new(), is_last: true }
    }

    fn drained(&mut self) -> Result<Pieces> {
        let (sums, keys) = self.sums.drain()?;
        one(Piece::keyed(SumSide::Sums, sums, keys))
    }
}

impl<S: MergedSums> Reduce for SumReduce<S> {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Pieces> {
        match SumSide::of(side)? {
            SumSide::Deletes => self.sums.compare(&rows)?,
            SumSide::Rows => self.sums.add(&rows)?,
            SumSide::Sums => self.sums.merge(&rows)?,
            SumSide::Marks => return self.sums.find(rows),
            SumSide::Known => self.known.push(rows),
        }
        if !self.is_last && self.sums.is_full() { self.drained() } else { nothing() }
    }

    fn finish(&mut self) -> Result<Pieces> {
        self.known.iter().try_for_each(|known| self.sums.know(known))?;
        // Of one key, so that one part passes them on.
        let found = self.sums.found()?.map(|found| {
            let keys = vec![Some(0); found.num_rows()];
            Ok(Piece::keyed(SumSide::Marks, found, keys))
        });
        let sums = if self.is_last { self.sums.finish() } else { self.drained() };
        Ok(Box::new(sums?.chain(found)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::whole;

    /// Counts rows, and what is known of rows that there are.
    #[derive(Default)]
    struct Counts {
        rows: usize,
        known: usize,
    }

    impl MergedSums for Counts {
        fn add(&mut self, rows: &RecordBatch) -> Result<()> {
            self.rows += rows.num_rows();
            Ok(())
        }

        fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
            self.add(sums)
        }

        fn know(&mut self, known: &RecordBatch) -> Result<()> {
            self.known += known.num_rows().min(self.rows);
            Ok(())
        }

        fn drain(&mut self) -> Result<(RecordBatch, Vec<Option<u64>>)> {
            Ok((whole(Vec::new(), std::mem::take(&mut self.rows))?, Vec::new()))
        }

        fn finish(&mut self) -> Result<Pieces> {
            one(Piece::alone(SumSide::Known, whole(Vec::new(), self.known)?))
        }
    }

    #[test]
    fn what_is_known_counts_in_the_end_though_every_process_has_it_first() {
        let rows = |count| whole(Vec::new(), count).expect("rows");
        let mut first = SumReduce::first(Counts::default());
        drop(first.push(SumSide::Rows.into(), rows(3)).expect("rows"));
        let sums = first.finish().expect("sums").next().expect("a piece").expect("sums");
        let mut last = SumReduce::last(Counts::default());
        for (side, rows) in [(SumSide::Known.into(), rows(2)), (sums.side, sums.rows)] {
            drop(last.push(side, rows).expect("a side"));
        }
        let known = last.finish().expect("rows").next().expect("a piece").expect("rows");
        assert_eq!(known.rows.num_rows(), 2);
    }
}
