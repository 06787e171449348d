//! The files of a commit that has not succeeded yet.

use std::sync::Arc;

use lakebed_avro::{Codec, Limits, WriteOptions};

use super::base::Base;
use super::options::{CommitOptions, Identity};
use crate::error::Result;
use crate::scan::threads;
use crate::write::commit::Written;

/// The codec of manifest lists, whatever codec the table's manifests have.
pub(super) const LIST_CODEC: Codec = Codec::Deflate;

/// The files that an attempt has written so far.
pub(super) struct Scratch {
    identity: Identity,
    codec: Option<Codec>,
    block_bytes: usize,
    manifests: usize,
    written: Written,
}

impl Scratch {
    pub(super) fn new(options: &CommitOptions, base: &Base) -> Scratch {
        let CommitOptions { identity, codec, block_bytes, .. } = *options;
        let written = Written::on(Arc::clone(base.table.storage()));
        Scratch { identity, codec, block_bytes, manifests: 0, written }
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The name of the next manifest.
    pub(super) fn manifest_name(&mut self) -> String {
        let number = self.manifests;
        self.manifests += 1;
        format!("{}-m{number}.avro", self.identity.text())
    }

    /// The options for manifests of this commit, in a table with this codec and level for manifests.
    pub(super) fn manifest_options(&self, of_table: (Codec, Option<i32>), limits: Limits) -> WriteOptions {
        let (codec, level) = self.codec.map_or(of_table, |codec| (codec, None));
        let options = WriteOptions::new(self.identity.uuid());
        WriteOptions { codec, level, limits, block_bytes: self.block_bytes, threads: threads(0), ..options }
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
    pub(super) fn written(self) -> Written {
        self.written
    }
}
