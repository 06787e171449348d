//! The manifest list of a branch's head, of which a commit reads only what it needs.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;

use super::base::Base;
use crate::columnar::Decoding;
use crate::error::{Error, Result};
use crate::iceberg::manifest_list::{ManifestFile, brief, read_carrying, read_manifest_list};

/// The list of the head.
pub(super) enum HeadList {
    /// A file, and its path.
    File { path: String, bytes: Buffer, decoding: Decoding },
    /// Rows, for a snapshot that names its manifests directly; no rows without a snapshot.
    Rows(RecordBatch),
}

impl HeadList {
    /// # Errors
    /// Those of reading the file.
    pub(super) fn read(base: &Base) -> Result<HeadList> {
        Ok(match base.table.list_file()? {
            Some((path, bytes)) => {
                HeadList::File { path: path.to_owned(), bytes, decoding: base.table.decoding().clone() }
            }
            None => HeadList::Rows(base.table.manifest_list()?),
        })
    }

    /// All records, with unknown fields of other writers.
    ///
    /// # Errors
    /// Those of decoding.
    pub(super) fn rows(&self) -> Result<RecordBatch> {
        self.by(read_carrying)
    }

    /// The manifests, without partition summaries.
    ///
    /// # Errors
    /// Those of decoding.
    pub(super) fn manifests(&self) -> Result<Vec<ManifestFile>> {
        let columns = brief();
        ManifestFile::all(&self.by(|bytes, decoding| read_manifest_list(bytes, Some(&columns), decoding))?)
    }

    fn by(&self, read: impl FnOnce(Buffer, &Decoding) -> Result<RecordBatch>) -> Result<RecordBatch> {
        match self {
            HeadList::File { path, bytes, decoding } => {
                read(bytes.clone(), decoding).map_err(|error: Error| error.in_file(path))
            }
            HeadList::Rows(rows) => Ok(rows.clone()),
        }
    }
}

/// The manifests of a new snapshot.
pub(super) enum ListContent {
    /// All of them, as rows of its list.
    Rows(RecordBatch),
    /// New ones, followed by the whole list before.
    InFront(RecordBatch, Buffer),
}
