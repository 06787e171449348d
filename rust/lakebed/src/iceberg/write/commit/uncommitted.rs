//! The files of a commit that has not succeeded yet.

use std::sync::Arc;

use lakebed_avro::{Codec, Limits, WriteOptions};

use super::base::Base;
use super::options::Identity;
use crate::error::{Result, fitting};
use crate::scan::threads;
use crate::write::commit::WrittenFiles;

/// The codec of manifest lists, whatever codec the table's manifests have.
pub(super) const LIST_CODEC: Codec = Codec::Deflate;

/// The files that an attempt has written so far, for one change after the other.
pub(super) struct UncommittedFiles {
    identity: Identity,
    /// The number of the change that is made, from 0.
    change: usize,
    encoding: ManifestEncoding,
    manifests: usize,
    written: WrittenFiles,
}

/// How a change encodes its manifests, where it does not leave that to the table.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ManifestEncoding {
    pub(super) codec: Option<Codec>,
    /// Bytes of entries, not compressed, at which a block ends.
    pub(super) block_bytes: Option<usize>,
}

impl UncommittedFiles {
    /// No files yet.
    pub(super) fn new(identity: Identity, base: &Base) -> UncommittedFiles {
        let written = WrittenFiles::on(Arc::clone(base.table.storage()));
        let encoding = ManifestEncoding::default();
        UncommittedFiles { identity, change: 0, encoding, manifests: 0, written }
    }

    /// The files that follow are those of the change with that number.
    pub(super) fn begin(&mut self, change: usize) {
        (self.change, self.encoding) = (change, ManifestEncoding::default());
    }

    /// The manifests that follow are encoded like this.
    pub(super) fn encode_as(&mut self, encoding: ManifestEncoding) {
        self.encoding = encoding;
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The id of the snapshot that the change makes.
    pub(super) fn snapshot_id(&self) -> i64 {
        self.identity.snapshot_id(self.change)
    }

    /// The name of the next manifest.
    pub(super) fn manifest_name(&mut self) -> Result<String> {
        let number = self.manifests;
        self.manifests = fitting(number.checked_add(1), "the number of manifests")?;
        Ok(format!("{}-m{number}.avro", self.identity.text()))
    }

    /// The options for manifests of this commit, in a table with this codec and level for manifests.
    pub(super) fn manifest_options(&self, of_table: (Codec, Option<i32>), limits: Limits) -> WriteOptions {
        let (codec, level) = self.encoding.codec.map_or(of_table, |codec| (codec, None));
        let options = WriteOptions::new(self.identity.uuid());
        let block_bytes = self.encoding.block_bytes.unwrap_or(options.block_bytes);
        WriteOptions { codec, level, limits, block_bytes, threads: threads(0), ..options }
    }

    /// The options for its manifest list, which as in Java do not depend on the table's codec.
    pub(super) fn list_options(&self, limits: Limits) -> WriteOptions {
        WriteOptions { codec: LIST_CODEC, limits, ..WriteOptions::new(self.identity.uuid()) }
    }

    /// Writes a new file as a whole.
    pub(super) fn write(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        self.written.create(path, bytes)
    }

    /// The files.
    pub(super) fn written(self) -> WrittenFiles {
        self.written
    }
}
