//! How a commit is made, and what identifies it.

use std::hash::{DefaultHasher, Hash, Hasher};

use lakebed_avro::Limits;

use crate::iceberg::value::text::write_uuid;

/// How a commit is made.
#[derive(Debug, Clone)]
pub struct CommitOptions {
    /// What identifies the commit.
    pub identity: Identity,
    /// The branch that is committed to.
    pub branch: String,
    /// The limits of reading the table.
    pub limits: Limits,
}

/// What identifies a commit: random bytes.
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

    /// The id of the snapshot that the change with that number makes, from 0.
    pub(super) fn snapshot_id(&self, change: usize) -> i64 {
        if change == 0 {
            return self.snapshot_id;
        }
        // As random as the bytes that it is made of.
        let mut hasher = DefaultHasher::new();
        (self.uuid, self.snapshot_id, change).hash(&mut hasher);
        hasher.finish().cast_signed() & i64::MAX
    }

    /// The bytes that mark its files.
    pub(super) fn uuid(&self) -> [u8; 16] {
        self.uuid
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_change_has_a_snapshot_id_of_its_own() {
        let identities = [Identity::new([7; 24]), Identity::new([9; 24])];
        let ids = identities.iter().flat_map(|one| (0..100).map(|change| one.snapshot_id(change)));
        let ids: HashSet<i64> = ids.inspect(|id| assert!(*id >= 0)).collect();
        assert_eq!(ids.len(), 200);
        // A lost attempt makes the same ones again.
        assert_eq!(Identity::new([7; 24]).snapshot_id(3), identities[0].snapshot_id(3));
    }
}
