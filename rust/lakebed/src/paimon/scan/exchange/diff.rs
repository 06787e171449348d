//! Differences: the files of manifests that only one of two snapshots has, matched by identity.

use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::columnar::Decoding;
use crate::diff::{Change, ChangeColumns, DiffGather, diff_pieces};
use crate::distributed::{Exchange, Gather, ManifestPartitioner, NamedWork, Pieces, match_manifest_path};
use crate::error::Result;
use crate::paimon::scan::task::PaimonTask;
use crate::scan::ScanOptions;

/// The work of a diff on manifests, without the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::paimon::scan) struct DiffExchange {
    /// The requested columns.
    pub(in crate::paimon::scan) columns: Option<Vec<String>>,
    /// The task that reads files without their change: it gives their columns.
    pub(in crate::paimon::scan) files: PaimonTask,
    /// For entries of one kind, the change of their files and the task that reads them with their identity.
    pub(in crate::paimon::scan) inputs: Vec<(Change, PaimonTask)>,
}

impl NamedWork for DiffExchange {
    const NAME: &'static str = "paimon.diff";
}

impl Exchange for DiffExchange {
    fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::clone(self.shown()?.schema()))
    }

    /// In one manifest, entries that add files and entries that delete files belong to different inputs.
    fn partitioner(&self, decoding: Decoding, parts: u32) -> Result<ManifestPartitioner> {
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
