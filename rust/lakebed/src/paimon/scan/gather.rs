//! The rows of files, some of which are decided on together.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;

use super::explain::TOGETHER;
use super::program::EntryProgram;
use super::stream::EntrySource;
use crate::error::Result;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::prune::EntryPruner;
use crate::paimon::table::Table;
use crate::scan::{Batches, ManifestStream};

/// The rows that `program` makes of the entries of `manifests`, in the order of the manifest lists.
pub(super) fn file_rows(
    program: Arc<EntryProgram>,
    table: &Table,
    manifests: Vec<ManifestFile>,
    threads: usize,
) -> Batches {
    let gathers = program.gathers();
    let source = EntrySource::new(Arc::clone(&program), table.clone());
    let rows = Box::new(ManifestStream::new(source, manifests, threads));
    let pruner = program.pruner.clone().filter(|_| gathers);
    match pruner {
        Some(pruner) => Box::new(Gathered { program, pruner, entries: Some(rows), files: VecDeque::new() }),
        None => rows,
    }
}

/// Files that are decided on when all of them are there.
struct Gathered {
    program: Arc<EntryProgram>,
    pruner: Arc<EntryPruner>,
    /// The files as their entries have them; none once they were read.
    entries: Option<Batches>,
    /// Those read, and which of them are kept.
    files: VecDeque<(RecordBatch, BooleanArray)>,
}

impl Gathered {
    fn read(&mut self, entries: Batches) -> Result<()> {
        let tested = entries.map(|files| {
            let files = files?;
            let may_match = self.pruner.may_match(&files)?;
            Ok((self.program.without_statistics(&files)?, may_match))
        });
        let tested: Vec<(RecordBatch, BooleanBuffer)> = tested.collect::<Result<_>>()?;
        let kept = self.pruner.decide(&tested)?;
        self.files.extend(tested.into_iter().map(|(files, _)| files).zip(kept));
        Ok(())
    }
}

impl Iterator for Gathered {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if let Some(entries) = self.entries.take()
            && let Err(error) = self.read(entries)
        {
            return Some(Err(error));
        }
        let (files, keep) = self.files.pop_front()?;
        let kept = self.program.kept(&TOGETHER, &files, &keep);
        Some(kept.and_then(|files| self.program.finish(&files)))
    }
}
