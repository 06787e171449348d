//! What the records of a part state, for the comparison of listed files with those that are reached.

use std::collections::HashSet;

use arrow_buffer::Buffer;
use hashbrown::HashTable;

use super::orphans::KnownAs;
use super::record::{Fact, Record, records};
use super::spelling::Spellings;
use crate::error::Result;

/// What the records of a part state, besides the listed files.
#[derive(Default)]
pub(super) struct PartRecords<'r> {
    /// The keys of reached files, each with all its prefixes.
    reached: HashTable<(u64, u16, &'r str)>,
    /// The paths of files that are too new.
    new: HashSet<&'r str>,
    pub(super) folders: HashSet<&'r str>,
    pub(super) tables: HashSet<&'r str>,
    /// Whether the listing is known to have the table, by a file in another part or by where it is from.
    pub(super) is_own: bool,
}

impl<'r> PartRecords<'r> {
    pub(super) fn of(pieces: &'r [Buffer], known: KnownAs<'_>) -> Result<PartRecords<'r>> {
        let mut part = PartRecords::default();
        for record in pieces.iter().flat_map(|piece| records(piece)) {
            let record = record?;
            _ = match record.fact {
                Fact::Reached => part.add(known(record)?),
                Fact::New => part.new.insert(record.path),
                Fact::Folder => part.folders.insert(record.key),
                Fact::Table => part.tables.insert(record.key),
                Fact::Own => std::mem::replace(&mut part.is_own, true),
                Fact::Listed | Fact::Deleted => false,
            };
        }
        Ok(part)
    }

    fn add(&mut self, Record { hash, prefix, key, .. }: Record<'r>) -> bool {
        let is_new = self.reached.find(hash, |known| *known == (hash, prefix, key)).is_none();
        if is_new {
            self.reached.insert_unique(hash, (hash, prefix, key), |(hash, ..)| *hash);
        }
        is_new
    }

    /// The reached files that are not listed.
    pub(super) fn unlisted(&self, pieces: &'r [Buffer]) -> Spellings<'r> {
        let listed = pieces.iter().flat_map(|piece| records(piece)).flatten();
        let listed = listed.filter(|record| matches!(record.fact, Fact::Listed | Fact::New));
        let listed: HashSet<&str> = listed.map(|record| record.key).collect();
        Spellings::of(self.reached.iter().map(|(.., key)| *key).filter(|key| !listed.contains(key)))
    }

    /// Whether the file is also listed as too new, as where a listing has older versions of files.
    pub(super) fn has_newer(&self, record: &Record<'_>) -> bool {
        self.new.contains(record.path)
    }

    /// The prefixes with which the key of a record is reached.
    pub(super) fn prefixes<'k>(&'k self, record: &'k Record<'_>) -> impl Iterator<Item = u16> + Clone + 'k {
        let of_hash = self.reached.iter_hash(record.hash);
        of_hash
            .filter(|(hash, _, key)| (*hash, *key) == (record.hash, record.key))
            .map(|(_, prefix, _)| *prefix)
    }
}
