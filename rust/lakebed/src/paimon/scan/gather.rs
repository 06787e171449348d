//! The rows of files, with groups of files that are decided on together.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;

use super::program::EntryProgram;
use super::stages::{AMOUNT, TOGETHER};
use crate::error::Result;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::prune::Rule;
use crate::paimon::table::Table;
use crate::scan::{Batches, EntrySource, ManifestStream};

/// The rows that `program` makes of the entries of `manifests`, in the order of the manifest lists.
pub(super) fn file_rows(
    program: Arc<EntryProgram>,
    table: &Table,
    manifests: Vec<ManifestFile>,
    threads: usize,
) -> Batches {
    let source = EntrySource::new(Arc::clone(&program), table.clone());
    let rows = Box::new(ManifestStream::new(source, manifests, threads));
    if !program.gathers() {
        return rows;
    }
    let of_program = Arc::clone(&program);
    decided(program, Box::new(rows.map(move |files| of_program.candidates(&files?))))
}

/// Files, each with whether it may hold matching rows.
pub(super) type Candidates = Box<dyn Iterator<Item = Result<(RecordBatch, BooleanBuffer)>> + Send>;

/// The rows of all these files, which `program` decides on together.
pub(super) fn decided(program: Arc<EntryProgram>, candidates: Candidates) -> Batches {
    Box::new(GatheredFiles { program, candidates: Some(candidates), files: VecDeque::new() })
}

impl EntryProgram {
    /// Tests each file on its own before all are decided on together: whether it may hold matching rows.
    /// Statistics that nothing else needs are dropped.
    pub(super) fn candidates(&self, files: &RecordBatch) -> Result<(RecordBatch, BooleanBuffer)> {
        let pruner = self.pruner.as_ref().filter(|_| self.gathers());
        let may_match = match pruner {
            Some(pruner) => pruner.may_match(files)?,
            None => BooleanBuffer::new_set(files.num_rows()),
        };
        let evolves = pruner.is_some_and(|pruner| pruner.rule() == Some(Rule::Evolution));
        let is_needed = |name: &String| {
            let is_statistics = ["key_stats", "value_stats", "embedded_file_index"].contains(&name.as_str());
            evolves || !is_statistics || self.view.raw().contains(name)
        };
        let schema = files.schema();
        let columns = schema.fields().iter().enumerate();
        let columns: Vec<usize> =
            columns.filter(|(_, field)| is_needed(field.name())).map(|(number, _)| number).collect();
        Ok((files.project(&columns)?, may_match))
    }

    /// Which files are kept, given all of them and the answers for each.
    pub(super) fn decide(&self, candidates: &[(RecordBatch, BooleanBuffer)]) -> Result<Vec<BooleanArray>> {
        match self.pruner.as_ref().filter(|_| self.gathers()) {
            Some(pruner) => pruner.decide(candidates),
            None => Ok(candidates.iter().map(|(_, may_match)| may_match.clone().into()).collect()),
        }
    }
}

/// Files that are decided on once all of them are there.
struct GatheredFiles {
    program: Arc<EntryProgram>,
    /// The files as their entries have them; `None` once they are read.
    candidates: Option<Candidates>,
    /// The files that were read, and which of them are kept.
    files: VecDeque<(RecordBatch, BooleanArray)>,
}

impl GatheredFiles {
    fn read(&mut self, candidates: Candidates) -> Result<()> {
        let candidates: Vec<(RecordBatch, BooleanBuffer)> = candidates.collect::<Result<_>>()?;
        let kept = self.program.decide(&candidates)?;
        self.files.extend(candidates.into_iter().map(|(files, _)| files).zip(kept));
        Ok(())
    }
}

impl Iterator for GatheredFiles {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if let Some(candidates) = self.candidates.take()
            && let Err(error) = self.read(candidates)
        {
            return Some(Err(error));
        }
        let (files, keep) = self.files.pop_front()?;
        let kept = self.program.funnel.keep(&TOGETHER, files, &keep, AMOUNT);
        Some(kept.and_then(|files| self.program.finish(&files)))
    }
}
