//! The stages of a job in one process, each an iterator that pulls what comes before it.

use std::collections::VecDeque;

use super::job::{Job, Piece, Pieces, Reduce, Shuffle, foreign};
use super::shuffle::PlacedPieces;
use crate::error::Result;
use crate::scan::{Batches, once};

/// The reduces of a job by the shuffles between them: stage 0 is the map with the reduces that no shuffle comes before.
pub(super) struct Stages(Vec<Shuffle>);

impl Stages {
    pub(super) fn of(job: &dyn Job) -> Stages {
        Stages(job.shuffles())
    }

    pub(super) fn last(&self) -> usize {
        self.0.iter().filter(|shuffle| **shuffle != Shuffle::Here).count()
    }

    /// The stage of a reduce; the one after the last, for rows.
    pub(super) fn of_step(&self, step: usize) -> usize {
        let before = self.0.iter().take(step + 1).filter(|shuffle| **shuffle != Shuffle::Here).count();
        before + usize::from(step >= self.0.len())
    }

    /// The reduces of a stage.
    pub(super) fn steps(&self, stage: usize) -> Vec<usize> {
        (0..self.0.len()).filter(|step| self.of_step(*step) == stage).collect()
    }

    pub(super) fn is_to_one(&self, stage: usize) -> bool {
        let first = self.steps(stage).first().and_then(|step| self.0.get(*step)).copied();
        first == Some(Shuffle::ToOne)
    }
}

/// A reduce that was begun, and what it has made.
pub(super) type OpenReduce = (Box<dyn Reduce>, VecDeque<Pieces>);

/// Rows of one side, and the part that they are of.
type PartSide = (i32, i32, Batches);

/// What a reduce makes of pieces of this process.
pub(super) fn reduced(pieces: Pieces, open: OpenReduce) -> Pieces {
    reduced_sides(pieces.map(|piece| piece.map(|piece| (piece.side, once(piece.rows)))), open)
}

/// What a reduce makes of the rows of some sides, each of which is opened when those before it were taken.
pub(crate) fn reduced_here(
    sides: impl IntoIterator<Item = Result<(i32, Batches)>, IntoIter: Send + 'static>,
    reduce: impl Reduce + 'static,
) -> Pieces {
    reduced_sides(sides.into_iter(), (Box::new(reduce), VecDeque::new()))
}

fn reduced_sides(
    sides: impl Iterator<Item = Result<(i32, Batches)>> + Send + 'static,
    (reduce, made): OpenReduce,
) -> Pieces {
    let sides = sides.map(|side| side.map(|(side, rows)| (0, side, rows)));
    let begin = || Err(foreign("there is one part"));
    Box::new(PartReduces { sides: Some(sides), begin, part: Some((0, reduce)), open: None, made })
}

/// What reduces make of pieces of one part after another, each of which `begin` begins.
pub(super) fn reduced_by_part(
    pieces: PlacedPieces,
    begin: impl Fn() -> Result<OpenReduce> + Send + 'static,
) -> Pieces {
    let sides = pieces.map(|piece| piece.map(|(part, piece)| (part, piece.side, once(piece.rows))));
    Box::new(PartReduces { sides: Some(sides), begin, part: None, open: None, made: VecDeque::new() })
}

/// The reduces of one part after another.
struct PartReduces<S, B> {
    /// `None` once all were taken.
    sides: Option<S>,
    begin: B,
    /// The part whose rows are being taken.
    part: Option<(i32, Box<dyn Reduce>)>,
    /// The side that they are of.
    open: Option<(i32, Batches)>,
    made: VecDeque<Pieces>,
}

impl<S: Iterator<Item = Result<PartSide>>, B: Fn() -> Result<OpenReduce>> PartReduces<S, B> {
    /// Takes the next rows, side or part. Returns false at the end.
    fn take(&mut self) -> Result<bool> {
        let Some(sides) = &mut self.sides else { return Ok(false) };
        if let (Some((_, reduce)), Some((side, rows))) = (&mut self.part, &mut self.open) {
            match if reduce.is_done(*side) { None } else { rows.next().transpose()? } {
                Some(rows) => self.made.push_back(reduce.push(*side, rows)?),
                None => self.open = None,
            }
            return Ok(true);
        }
        let next = sides.next().transpose()?;
        let part = next.as_ref().map(|(part, ..)| *part);
        if let Some((_, mut reduce)) = self.part.take_if(|(open, _)| Some(*open) != part) {
            self.made.push_back(reduce.finish()?);
        }
        let Some((part, side, rows)) = next else {
            self.sides = None;
            return Ok(true);
        };
        if self.part.is_none() {
            let (reduce, made) = (self.begin)()?;
            self.made.extend(made);
            self.part = Some((part, reduce));
        }
        self.open = Some((side, rows));
        Ok(true)
    }

    fn next_piece(&mut self) -> Result<Option<Piece>> {
        loop {
            while let Some(pieces) = self.made.front_mut() {
                if let Some(piece) = pieces.next() {
                    return piece.map(Some);
                }
                self.made.pop_front();
            }
            if !self.take()? {
                return Ok(None);
            }
        }
    }
}

impl<S, B> Iterator for PartReduces<S, B>
where
    S: Iterator<Item = Result<PartSide>> + Send,
    B: Fn() -> Result<OpenReduce> + Send,
{
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        let next = self.next_piece();
        if next.is_err() {
            self.sides = None;
            self.made.clear();
        }
        next.transpose()
    }
}
