//! The files of a commit, until it has happened.

use lakebed_avro::{Codec, Limits, WriteOptions};

use super::attempt::CommitOptions;
use crate::error::Result;
use crate::iceberg::value::uuid::write_uuid;
use crate::scan::threads;
use crate::write::commit::Written;
use crate::write::{Existing, publish_bytes};

/// What tells a commit from every other: bytes that were drawn at random.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    uuid: [u8; 16],
    snapshot_id: i64,
}

impl Identity {
    /// The identity that random bytes make.
    pub fn new(random: [u8; 24]) -> Identity {
        let [uuid @ .., a, b, c, d, e, f, g, h] = random;
        // Ids are not negative.
        let snapshot_id = i64::from_be_bytes([a, b, c, d, e, f, g, h]) & i64::MAX;
        Identity { uuid: uuid_of(uuid), snapshot_id }
    }

    /// The id of the snapshot that is made.
    pub(super) fn snapshot_id(&self) -> i64 {
        self.snapshot_id
    }

    /// The text that files are called by.
    pub(super) fn text(&self) -> String {
        uuid_text(&self.uuid)
    }
}

/// Random bytes as a UUID of version 4.
fn uuid_of(mut random: [u8; 16]) -> [u8; 16] {
    random[6] = random[6] & 0x0f | 0x40;
    random[8] = random[8] & 0x3f | 0x80;
    random
}

/// The text of a UUID made of random bytes.
pub(super) fn uuid_text(random: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    // Writing to a string does not fail.
    let _ = write_uuid(&mut text, &uuid_of(*random));
    text
}

/// The files that an attempt has written so far.
pub(super) struct Scratch {
    identity: Identity,
    codec: Option<Codec>,
    block_bytes: usize,
    manifests: usize,
    written: Written,
}

impl Scratch {
    pub(super) fn new(options: &CommitOptions) -> Scratch {
        let CommitOptions { identity, codec, block_bytes, .. } = *options;
        Scratch { identity, codec, block_bytes, manifests: 0, written: Written::default() }
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

    /// How manifests of this commit are written, in a table with manifests of that codec and level.
    pub(super) fn manifest_options(&self, of_table: (Codec, Option<i32>), limits: Limits) -> WriteOptions {
        let (codec, level) = self.codec.map_or(of_table, |codec| (codec, None));
        let options = WriteOptions::new(self.identity.uuid);
        WriteOptions { codec, level, limits, block_bytes: self.block_bytes, threads: threads(0), ..options }
    }

    /// How its manifest list is written: whatever the table says of manifests, as Java has it.
    pub(super) fn list_options(&self, limits: Limits) -> WriteOptions {
        WriteOptions { codec: Codec::Deflate, limits, ..WriteOptions::new(self.identity.uuid) }
    }

    /// Writes a file whole, which must not be there.
    pub(super) fn write(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        publish_bytes(path, Existing::Refuse, bytes)?;
        self.written.push(path.to_owned());
        Ok(())
    }

    /// The files.
    pub(super) fn written(self) -> Written {
        self.written
    }
}
