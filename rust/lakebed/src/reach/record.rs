//! A record of what metadata or a listing states about a file, in bytes: for memory, for the disk, and for other
//! processes.

use arrow_array::{LargeBinaryArray, RecordBatch};

use super::kind::Kind;
use super::sets::SetId;
use crate::error::{Error, ErrorKind, Result};
use crate::record::column;

/// Bytes of a record before its text: lengths of the record and the path, start of the key, fact, hash and so
/// on.
const HEAD: usize = 44;

/// The size of a listed file whose details were not asked for.
pub(super) const NOT_ASKED: i64 = i64::MIN;

/// A statement about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The roots reach it, unless they also list it as deleted.
    Reached,
    /// The roots list it as deleted.
    Deleted,
    /// A listing has it.
    Listed,
    /// A listing has it, and it is too new to be an orphan.
    New,
    /// A folder of listed files.
    Folder,
    /// The folder of another table.
    Table,
    /// The listing has the table; there may be no path.
    Own,
}

const FACTS: [Fact; 7] =
    [Fact::Reached, Fact::Deleted, Fact::Listed, Fact::New, Fact::Folder, Fact::Table, Fact::Own];

/// A statement about a file, with its details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'r> {
    pub(crate) fact: Fact,
    pub(crate) kind: Kind,
    /// The number of the prefix before the key, where locations are compared.
    pub(crate) prefix: u16,
    pub(crate) set: SetId,
    /// The hash of the key, by which records are distributed and looked up.
    pub(crate) hash: u64,
    /// The file's size \[bytes\]; negative where it is not known.
    pub(crate) size: i64,
    /// For reached files the identity among several files at one path; for listed files the time of
    /// modification.
    pub(crate) value: i64,
    /// The path as it is written.
    pub(crate) path: &'r str,
    /// The key, the same in all records of a file.
    pub(crate) key: &'r str,
}

impl Record<'_> {
    /// Adds the record to `bytes`.
    ///
    /// # Errors
    /// `Argument` for a path of more than 4 GiB.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) -> Result<()> {
        let is_end = self.path.ends_with(self.key);
        let more = if is_end { "" } else { self.key };
        let length = |bytes: usize| {
            u32::try_from(bytes).map_err(|_| Error::new(ErrorKind::Argument, "a path of more than 4 GiB"))
        };
        let (path, total) = (self.path.len(), HEAD + self.path.len() + more.len());
        let key = if is_end { path - self.key.len() } else { path };
        bytes.reserve(total);
        for number in [length(total)?, length(path)?, length(key)?] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&[self.fact as u8, self.kind as u8]);
        bytes.extend_from_slice(&self.prefix.to_le_bytes());
        bytes.extend_from_slice(&self.set.0.to_le_bytes());
        bytes.extend_from_slice(&self.hash.to_le_bytes());
        bytes.extend_from_slice(&self.size.to_le_bytes());
        bytes.extend_from_slice(&self.value.to_le_bytes());
        bytes.extend_from_slice(self.path.as_bytes());
        bytes.extend_from_slice(more.as_bytes());
        Ok(())
    }
}

/// The records in `bytes`, in the order in which they were written.
pub(super) fn records(mut bytes: &[u8]) -> impl Iterator<Item = Result<Record<'_>>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let Some((record, rest)) = record(bytes) else {
            bytes = &[];
            return Some(Err(foreign()));
        };
        bytes = rest;
        Some(Ok(record))
    })
}

fn record(bytes: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let head: &[u8; HEAD] = bytes.first_chunk()?;
    let number = |at: usize| Some(u32::from_le_bytes(*head.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_le_bytes(*head.get(at..)?.first_chunk()?));
    let (record, rest) = bytes.split_at_checked(number(0)? as usize)?;
    let text = std::str::from_utf8(record.get(HEAD..)?).ok()?;
    let found = Record {
        fact: *FACTS.get(usize::from(*head.get(12)?))?,
        kind: Kind::numbered(*head.get(13)?)?,
        prefix: u16::from_le_bytes(*head.get(14..)?.first_chunk()?),
        set: SetId(number(16)?),
        hash: long(20)?,
        size: long(28)?.cast_signed(),
        value: long(36)?.cast_signed(),
        path: text.get(..number(4)? as usize)?,
        key: text.get(number(8)? as usize..)?,
    };
    Some((found, rest))
}

/// Calls `take` with each record of a batch that
/// [`PartitionedRecords::finish`](super::partitioner::PartitionedRecords::finish) returned.
///
/// # Errors
/// Those of `take`.
pub(crate) fn each_record(batch: &RecordBatch, mut take: impl FnMut(Record<'_>) -> Result<()>) -> Result<()> {
    let chunk = column::<LargeBinaryArray>(batch, "records")?;
    chunk.iter().flatten().flat_map(records).try_for_each(|record| take(record?))
}

#[cold]
pub(super) fn foreign() -> Error {
    Error::new(ErrorKind::Internal, "records of files are not as they were written")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ArrayRef;

    use super::*;
    use crate::record::mistyped;

    #[test]
    fn changed_bytes_are_an_error() {
        let (fact, kind, set) = (Fact::Listed, Kind::Extra, SetId(9));
        let one =
            Record { fact, kind, prefix: 7, set, hash: u64::MAX, size: -1, value: 5, path: "/a", key: "/a" };
        let other = Record { key: "/b", ..one };
        let mut bytes = Vec::new();
        one.write(&mut bytes).expect("short");
        other.write(&mut bytes).expect("short");
        assert_eq!(records(&bytes).collect::<Result<Vec<_>>>().expect("two"), [one, other]);
        for cut in (1..bytes.len()).filter(|cut| *cut != HEAD + 2) {
            assert!(records(&bytes[..cut]).any(|record| record.is_err()), "{cut}");
        }
        assert!(records(&[0; HEAD]).any(|record| record.is_err()));
    }

    #[test]
    fn records_of_another_type_are_an_error() {
        let chunk: ArrayRef = Arc::new(LargeBinaryArray::from_vec(vec![b""]));
        let batch = RecordBatch::try_from_iter([("records", chunk)]).expect("records");
        assert!(each_record(&batch, |_| Ok(())).is_ok());
        for (name, batch) in mistyped(&batch) {
            let error = each_record(&batch, |_| Ok(())).expect_err(&name);
            assert_eq!(
                (error.kind(), error.location().field.as_deref()),
                (ErrorKind::Mismatch, Some(&*name))
            );
        }
    }
}
