//! The rows of files, some of which are decided on together.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;

use super::program::EntryProgram;
use super::stages::TOGETHER;
use super::stream::EntrySource;
use crate::error::Result;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::prune::Rule;
use crate::paimon::table::Table;
use crate::scan::{Batches, ManifestStream};

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
    decided(program, Box::new(rows.map(move |files| of_program.asked(&files?))))
}

/// Files with whether each may hold rows that match.
pub(super) type Asked = Box<dyn Iterator<Item = Result<(RecordBatch, BooleanBuffer)>> + Send>;

/// The rows of files, all of them, which `program` decides on together.
pub(super) fn decided(program: Arc<EntryProgram>, asked: Asked) -> Batches {
    Box::new(Decided { program, asked: Some(asked), files: VecDeque::new() })
}

impl EntryProgram {
    /// What files are asked before they are decided on together, each on its own: whether it may hold rows
    /// that match. They lose the statistics that nothing else is made of.
    pub(super) fn asked(&self, files: &RecordBatch) -> Result<(RecordBatch, BooleanBuffer)> {
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

    /// Which files are kept of those that are decided on together, all of them, as they were asked.
    pub(super) fn decide(&self, asked: &[(RecordBatch, BooleanBuffer)]) -> Result<Vec<BooleanArray>> {
        match self.pruner.as_ref().filter(|_| self.gathers()) {
            Some(pruner) => pruner.decide(asked),
            None => Ok(asked.iter().map(|(_, may_match)| may_match.clone().into()).collect()),
        }
    }
}

/// Files that are decided on when all of them are there.
struct Decided {
    program: Arc<EntryProgram>,
    /// The files as their entries have them; none once they were read.
    asked: Option<Asked>,
    /// Those read, and which of them are kept.
    files: VecDeque<(RecordBatch, BooleanArray)>,
}

impl Decided {
    fn read(&mut self, asked: Asked) -> Result<()> {
        let asked: Vec<(RecordBatch, BooleanBuffer)> = asked.collect::<Result<_>>()?;
        let kept = self.program.decide(&asked)?;
        self.files.extend(asked.into_iter().map(|(files, _)| files).zip(kept));
        Ok(())
    }
}

impl Iterator for Decided {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if let Some(asked) = self.asked.take()
            && let Err(error) = self.read(asked)
        {
            return Some(Err(error));
        }
        let (files, keep) = self.files.pop_front()?;
        let kept = self.program.kept(&TOGETHER, &files, &keep);
        Some(kept.and_then(|files| self.program.finish(&files)))
    }
}
