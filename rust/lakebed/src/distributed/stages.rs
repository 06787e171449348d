//! The stages of a job in one process, each an iterator that pulls what comes before it.

use std::collections::VecDeque;

use super::job::{Job, Piece, Pieces, Reduce, Shuffle};
use super::shuffle::PlacedPieces;
use crate::error::Result;

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
        if step >= self.0.len() {
            return self.last() + 1;
        }
        self.0.iter().take(step + 1).filter(|shuffle| **shuffle != Shuffle::Here).count()
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

/// The next piece that was made.
fn next_made(made: &mut VecDeque<Pieces>) -> Option<Result<Piece>> {
    while let Some(pieces) = made.front_mut() {
        if let Some(piece) = pieces.next() {
            return Some(piece);
        }
        made.pop_front();
    }
    None
}

/// A reduce of all pieces.
struct LocalReduce {
    /// `None` once all were taken.
    pieces: Option<Pieces>,
    reduce: Box<dyn Reduce>,
    made: VecDeque<Pieces>,
}

/// What a reduce makes of pieces of this process.
pub(super) fn reduced(pieces: Pieces, (reduce, made): OpenReduce) -> Pieces {
    Box::new(LocalReduce { pieces: Some(pieces), reduce, made })
}

impl Iterator for LocalReduce {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        loop {
            if let Some(piece) = next_made(&mut self.made) {
                return Some(piece);
            }
            let made = match self.pieces.as_mut()?.next() {
                Some(piece) => piece.and_then(|piece| self.reduce.push(piece.side, piece.rows)),
                None => {
                    self.pieces = None;
                    self.reduce.finish()
                }
            };
            match made {
                Ok(made) => self.made.push_back(made),
                Err(error) => {
                    self.pieces = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// What reduces make of pieces of one part after another, each of which `begin` begins.
pub(super) fn reduced_by_part(
    pieces: PlacedPieces,
    begin: impl Fn() -> Result<OpenReduce> + Send + 'static,
) -> Pieces {
    Box::new(PartReduces { pieces: Some(pieces), begin, open: None, made: VecDeque::new() })
}

/// The reduces of one part after another.
struct PartReduces<B> {
    /// `None` once all were taken.
    pieces: Option<PlacedPieces>,
    begin: B,
    /// The part whose pieces are being taken.
    open: Option<(i32, Box<dyn Reduce>)>,
    made: VecDeque<Pieces>,
}

impl<B: Fn() -> Result<OpenReduce>> PartReduces<B> {
    fn take(&mut self, next: Option<Result<(i32, Piece)>>) -> Result<()> {
        let next = next.transpose()?;
        let part = next.as_ref().map(|(part, _)| *part);
        if part.is_none() {
            self.pieces = None;
        }
        if let Some((_, mut reduce)) = self.open.take_if(|(open, _)| Some(*open) != part) {
            self.made.push_back(reduce.finish()?);
        }
        let Some((part, piece)) = next else { return Ok(()) };
        let mut open = match self.open.take() {
            Some(open) => open,
            None => {
                let (reduce, made) = (self.begin)()?;
                self.made.extend(made);
                (part, reduce)
            }
        };
        self.made.push_back(open.1.push(piece.side, piece.rows)?);
        self.open = Some(open);
        Ok(())
    }
}

impl<B: Fn() -> Result<OpenReduce> + Send> Iterator for PartReduces<B> {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        loop {
            if let Some(piece) = next_made(&mut self.made) {
                return Some(piece);
            }
            let next = self.pieces.as_mut()?.next();
            if let Err(error) = self.take(next) {
                self.pieces = None;
                return Some(Err(error));
            }
        }
    }
}
