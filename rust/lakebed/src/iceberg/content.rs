//! Whether manifests and entries are of data files or of delete files.

use arrow_array::{BooleanArray, Int32Array, RecordBatch};

use super::manifest_list::{DATA, DELETES, ManifestFile};
use crate::error::Result;
use crate::record::column;

/// Which kind of files is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Data files.
    Data,
    /// Delete files and deletion vectors.
    Deletes,
    /// Both.
    Both,
}

impl Content {
    /// Whether a manifest has files of this kind.
    pub(crate) fn has(self, manifest: &ManifestFile) -> bool {
        match self {
            Content::Data => manifest.content == DATA,
            Content::Deletes => manifest.content == DELETES,
            Content::Both => true,
        }
    }

    /// Which of `entries`, which have the column `content`, are of this kind; `None` where all kinds are
    /// read.
    pub(crate) fn of(self, entries: &RecordBatch) -> Result<Option<BooleanArray>> {
        if self == Content::Both {
            return Ok(None);
        }
        let content = column::<Int32Array>(entries, "content")?.iter();
        Ok(Some(content.map(|content| Some((content == Some(0)) == (self == Content::Data))).collect()))
    }
}
