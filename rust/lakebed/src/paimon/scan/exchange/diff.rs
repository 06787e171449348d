//! Differences: files of manifests that one of two snapshots alone has, by their identity.

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::columnar::Decoding;
use crate::diff::{Change, ChangeColumns, DiffGather, diff_pieces};
use crate::distributed::{Dealing, Exchange, Gather, Pieces, Travelling, match_manifest_path};
use crate::error::Result;
use crate::paimon::scan::task::PaimonTask;
use crate::scan::ScanOptions;

/// A difference's work on manifests, apart from the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::paimon::scan) struct DiffExchange {
    /// The columns that are asked for.
    pub(in crate::paimon::scan) columns: Option<Vec<String>>,
    /// The files without their change: their columns.
    pub(in crate::paimon::scan) files: PaimonTask,
    /// What became of the files that entries of one kind name, and how those are read with their identity.
    pub(in crate::paimon::scan) inputs: Vec<(Change, PaimonTask)>,
}

impl Travelling for DiffExchange {
    const NAME: &'static str = "paimon.diff";
}

impl Exchange for DiffExchange {
    fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::clone(self.shown()?.schema()))
    }

    /// Entries of a manifest that add files, and entries that delete some, are of different legs.
    fn dealing(&self, decoding: Decoding, parts: u32) -> Result<Dealing> {
        let (inputs, changes) = (self.inputs.clone(), self.changes());
        let programs = inputs.iter().map(|(_, input)| input.own_program(decoding.clone()));
        let programs = programs.collect::<Result<Vec<_>>>()?;
        Ok(Box::new(move |path, bytes| {
            let names: Vec<&str> = inputs.iter().flat_map(|(_, input)| input.file_names()).collect();
            let name = match_manifest_path(&names, |name| name, path)?;
            let mut pieces: Vec<Pieces> = Vec::new();
            for (number, ((_, input), program)) in inputs.iter().zip(&programs).enumerate() {
                if input.file_names().any(|one| one == *name) {
                    let rows = input.rows(Arc::clone(program), path, bytes.clone(), true)?;
                    pieces.push(diff_pieces(rows, number, &changes, parts));
                }
            }
            Ok(Box::new(pieces.into_iter().flatten()))
        }))
    }

    fn gather(&self) -> Result<Box<dyn Gather>> {
        Ok(Box::new(DiffGather::new(self.changes(), self.shown()?)))
    }
}

impl DiffExchange {
    fn changes(&self) -> Vec<Change> {
        self.inputs.iter().map(|(change, _)| *change).collect()
    }

    fn shown(&self) -> Result<ChangeColumns> {
        let options = ScanOptions { columns: self.columns.clone(), ..ScanOptions::default() };
        Ok(ChangeColumns::new(&options, self.files.schema()?.as_ref()))
    }
}
