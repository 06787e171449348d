//! Scans that bring entries of several manifests together, made fit to travel.

mod diff;
mod files;

use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

pub(super) use diff::DiffExchange;
use files::FilesExchange;

use crate::columnar::Decoding;
use crate::error::Result;
use crate::scan::{Gather, Pieces};

/// A scan's work on manifests whose entries are brought together, apart from the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exchange(Of);

/// What is made of the entries.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Of {
    Files(FilesExchange),
    Diff(DiffExchange),
}

impl From<FilesExchange> for Exchange {
    fn from(files: FilesExchange) -> Exchange {
        Exchange(Of::Files(files))
    }
}

impl From<DiffExchange> for Exchange {
    fn from(diff: DiffExchange) -> Exchange {
        Exchange(Of::Diff(diff))
    }
}

impl Exchange {
    pub(crate) fn schema(&self) -> Result<SchemaRef> {
        match &self.0 {
            Of::Files(files) => files.schema(),
            Of::Diff(diff) => diff.schema(),
        }
    }

    pub(crate) fn pieces(&self, path: &str, bytes: Buffer, decoding: Decoding, parts: u32) -> Result<Pieces> {
        match &self.0 {
            Of::Files(files) => files.pieces(path, &bytes, decoding, parts),
            Of::Diff(diff) => diff.pieces(path, &bytes, &decoding, parts),
        }
    }

    pub(crate) fn gather(&self) -> Result<Box<dyn Gather>> {
        match &self.0 {
            Of::Files(files) => files.gather(),
            Of::Diff(diff) => diff.gather(),
        }
    }
}
