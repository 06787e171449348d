//! Records of what manifests and listings state about files, distributed to parts by a key: each part can be
//! processed without the others.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

use arrow_array::RecordBatch;
use foldhash::fast::FixedState;

use super::kind::Kind;
use super::moved::MovedTable;
use super::prefixes::{LastPath, Prefixes};
use super::record::{Fact, Record, RecordRows, foreign};
use super::sets::SetId;
use super::spelling::folded;
use crate::distributed::hash;
use crate::error::Result;
use crate::storage::Storage;

/// The number of parts in one process. Only some parts are in memory at a time.
pub(super) const PARTS: u32 = 64;

/// What one entry states about a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryFile<'p> {
    pub(crate) path: &'p str,
    pub(crate) kind: Kind,
    pub(crate) fact: Fact,
    /// The roots under which the entry was found.
    pub(crate) set: SetId,
    /// The file's size \[bytes\]; negative where it is not known.
    pub(crate) size: i64,
    /// Distinguishes several files at one path, of which some may be deleted.
    pub(crate) identity: i64,
}

/// Distributes records to parts by the hash of a key.
pub(crate) struct Partitioner {
    /// With another seed for each walk, so that an attacker cannot prepare many paths with one hash.
    hasher: FixedState,
    keys: Keys,
    /// Where the files of a moved table may be.
    moved: Option<MovedTable>,
    parts: u32,
}

/// Which key all records of a file have in common.
pub(super) enum Keys {
    /// The path as it is written.
    Paths,
    /// Keys that are given, of listed files: parts have all spellings of a path.
    Listed,
    /// The location that the path means, for comparison with a listing.
    Places {
        prefixes: Arc<Prefixes>,
        storage: Arc<dyn Storage>,
        by_name: bool,
        /// Whether records also keep the path, for processes that number prefixes themselves.
        whole: bool,
    },
}

impl Partitioner {
    /// A partitioner by paths as they are written.
    pub(crate) fn new() -> Partitioner {
        Partitioner::seeded(seed(), PARTS)
    }

    /// A partitioner for one of several processes, whose parts are keys: with the same seed all of them distribute alike.
    pub(super) fn keyed(seed: u64) -> Partitioner {
        Partitioner::seeded(seed, u32::MAX)
    }

    /// A partitioner with this seed and number of parts.
    pub(super) fn seeded(seed: u64, parts: u32) -> Partitioner {
        Partitioner { hasher: FixedState::with_seed(seed), keys: Keys::Paths, moved: None, parts }
    }

    /// The same for the files of a moved table: by where they are now. Those that may be elsewhere are refused.
    pub(super) fn of_moved(self, moved: Option<MovedTable>) -> Partitioner {
        Partitioner { moved, ..self }
    }

    /// A partitioner with the same hashes, by other keys.
    pub(super) fn by(&self, keys: Keys) -> Partitioner {
        Partitioner { hasher: self.hasher.clone(), keys, moved: None, parts: self.parts }
    }

    /// A hash that is the same in all processes of this walk.
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        self.hasher.hash_one(bytes)
    }

    /// Starts collecting the records of one source, such as a manifest.
    pub(crate) fn new_records(self: &Arc<Partitioner>) -> PartitionedRecords {
        let (partitioner, rows, last) = (Arc::clone(self), RecordRows::default(), LastPath::default());
        PartitionedRecords { partitioner, rows, last }
    }
}

/// Records of one source, with their parts.
pub(crate) struct PartitionedRecords {
    partitioner: Arc<Partitioner>,
    rows: RecordRows,
    last: LastPath,
}

impl PartitionedRecords {
    /// Adds files that are reached, of which no more than their paths is needed.
    ///
    /// # Errors
    /// As [`PartitionedRecords::push`].
    pub(super) fn push_reached<'p>(&mut self, mut paths: impl Iterator<Item = &'p str>) -> Result<()> {
        let (kind, fact, set) = (Kind::Extra, Fact::Reached, SetId::NONE);
        paths.try_for_each(|path| self.push(EntryFile { path, kind, fact, set, size: -1, identity: 0 }))
    }

    /// Adds what an entry states about a file.
    ///
    /// # Errors
    /// `Location` for a path that the storage would not open, where places are compared, and for a file of a moved
    /// table that may be elsewhere; `Argument` for paths of more than 2 GiB in all.
    pub(crate) fn push(&mut self, named: EntryFile<'_>) -> Result<()> {
        let EntryFile { path, kind, fact, set, size, identity: value } = named;
        let partitioner = Arc::clone(&self.partitioner);
        let moved = partitioner.moved.as_ref().map(|moved| moved.place(path)).transpose()?;
        match &partitioner.keys {
            Keys::Paths => {
                let path = moved.as_deref().unwrap_or(path);
                self.add(&Record { fact, kind, prefix: 0, set, size, value, path, key: path })
            }
            Keys::Places { prefixes, storage, by_name, whole } => {
                let place = match (by_name, prefixes.has_links()) {
                    (true, false) => Cow::Borrowed(path),
                    // A file that may not be opened has a name all the same.
                    (true, true) => storage.place(path).map_or(Cow::Borrowed(path), Cow::Owned),
                    (false, _) => Cow::Owned(storage.place(path)?),
                };
                let mut last = std::mem::take(&mut self.last);
                prefixes.reached(&place, &mut last, |prefix, key| {
                    let key = if *by_name { name(key) } else { key };
                    let path: &str = if *whole { &place } else { key };
                    let (fact, set, size, value) = (Fact::Reached, SetId::NONE, -1, 0);
                    self.add(&Record { fact, kind, prefix, set, size, value, path, key })
                })?;
                self.last = last;
                Ok(())
            }
            Keys::Listed => Err(foreign()),
        }
    }

    /// Adds a record to the part of its key.
    ///
    /// # Errors
    /// As [`RecordRows::push`].
    pub(super) fn add(&mut self, record: &Record<'_>) -> Result<()> {
        let key = match self.partitioner.keys {
            Keys::Paths => Cow::Borrowed(record.key),
            Keys::Listed | Keys::Places { .. } => folded(record.key),
        };
        self.rows.push(record, Some(hash(key.as_bytes())))
    }

    /// Adds a record to every part.
    ///
    /// # Errors
    /// As [`RecordRows::push`].
    pub(super) fn add_to_all(&mut self, record: &Record<'_>) -> Result<()> {
        self.rows.push(record, None)
    }

    /// Bytes of the collected paths.
    pub(super) fn size(&self) -> usize {
        self.rows.text_bytes()
    }

    /// As [`RecordRows::finish`].
    pub(crate) fn finish(self) -> Result<RecordBatch> {
        self.rows.finish(self.partitioner.parts)
    }
}

/// A random seed.
pub(super) fn seed() -> u64 {
    RandomState::new().hash_one(PARTS)
}

/// The file name of a path.
pub(super) fn name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or_default()
}
