//! The manifest list of a branch's head, of which a commit reads only what it needs.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;

use super::base::Base;
use crate::columnar::Decoding;
use crate::error::{Error, Result};
use crate::iceberg::manifest_list::{
    ManifestFile, brief, inline_manifests, read_carrying, read_manifest_list,
};
use crate::iceberg::metadata::Snapshot;

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
        HeadList::of(base, base.table.snapshot()?)
    }

    /// The list of any snapshot of the table, or that of none.
    ///
    /// # Errors
    /// Those of reading the file.
    pub(super) fn of(base: &Base, snapshot: Option<&Snapshot>) -> Result<HeadList> {
        let Some(snapshot) = snapshot else { return inline_manifests(&[], 0).map(HeadList::Rows) };
        let Some(path) = &snapshot.manifest_list else {
            return base.table.list_of(snapshot).map(HeadList::Rows);
        };
        let (bytes, decoding) = (base.table.read_recorded(path, None)?, base.table.decoding().clone());
        Ok(HeadList::File { path: path.clone(), bytes, decoding })
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
