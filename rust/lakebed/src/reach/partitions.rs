//! What is known of files, dealt out by their keys: what is said of one file comes together a part at a time, so that
//! memory is bounded however many files there are.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use super::kind::Kind;
use super::sets::SetId;
use crate::error::{Error, ErrorKind, Result};

/// Parts that files are dealt out to; what is made of one part is held at a time.
pub(super) const PARTS: usize = 64;

/// Bytes of all parts that are held in memory; more goes to a file on disk.
const HELD_BYTES: usize = 256 << 20;

/// Bytes of a record before its text: its length, that of its path, where its key begins, what it says.
const HEAD: usize = 36;

/// What is said of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The roots reach it, unless they say too that it is deleted.
    Reached,
    /// The roots say that it is deleted: it was named, no more.
    Deleted,
    /// It is where the table's files are.
    Listed,
}

const FACTS: [Fact; 3] = [Fact::Reached, Fact::Deleted, Fact::Listed];

/// Something that is said of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'r> {
    pub(crate) fact: Fact,
    pub(crate) kind: Kind,
    /// Number of what stands before the key where places are compared.
    pub(crate) prefix: u16,
    pub(crate) set: SetId,
    /// Bytes of the file, below 0 where nobody knows.
    pub(crate) size: i64,
    /// Of what is reached, which of several files at one path is meant; of what is listed, when it was modified.
    pub(crate) value: i64,
    /// The path as it is written.
    pub(crate) path: &'r str,
    /// What is the same of all that is said of a file.
    pub(crate) key: &'r str,
}

/// The records of all files.
pub(super) struct Partitions {
    parts: Vec<Vec<u8>>,
    held: usize,
    bound: usize,
    disk: Option<Disk>,
}

/// What memory had no room for, in one file that nobody else sees.
struct Disk {
    file: File,
    path: PathBuf,
    end: u64,
    /// Where each part's records are.
    chunks: Vec<Vec<(u64, usize)>>,
}

impl Partitions {
    pub(super) fn new() -> Partitions {
        Partitions::bounded(HELD_BYTES)
    }

    fn bounded(bound: usize) -> Partitions {
        Partitions { parts: vec![Vec::new(); PARTS], held: 0, bound, disk: None }
    }

    /// Keeps what is said of a file.
    ///
    /// # Errors
    /// `Io` where it is too much for memory and the disk fails.
    pub(super) fn push(&mut self, record: &Record<'_>) -> Result<()> {
        let is_end = record.path.ends_with(record.key);
        let more = if is_end { "" } else { record.key };
        let length = |bytes: usize| {
            u32::try_from(bytes).map_err(|_| Error::new(ErrorKind::Argument, "a path of more than 4 GiB"))
        };
        let (path, total) = (record.path.len(), HEAD + record.path.len() + more.len());
        let key = if is_end { path - record.key.len() } else { path };
        let head = [length(total)?, length(path)?, length(key)?];
        let part = self.parts.get_mut(part_of(record.key)).ok_or_else(foreign)?;
        head.iter().for_each(|number| part.extend_from_slice(&number.to_le_bytes()));
        part.extend_from_slice(&[record.fact as u8, record.kind as u8]);
        part.extend_from_slice(&record.prefix.to_le_bytes());
        part.extend_from_slice(&record.set.0.to_le_bytes());
        part.extend_from_slice(&record.size.to_le_bytes());
        part.extend_from_slice(&record.value.to_le_bytes());
        part.extend_from_slice(record.path.as_bytes());
        part.extend_from_slice(more.as_bytes());
        self.held += total;
        if self.held > self.bound { self.spill() } else { Ok(()) }
    }

    /// Takes all records of a part, for [`records`].
    ///
    /// # Errors
    /// `Io` where the disk fails.
    pub(super) fn take(&mut self, part: usize) -> Result<Vec<u8>> {
        let held = self.parts.get_mut(part).map(std::mem::take).unwrap_or_default();
        let Some(disk) = &mut self.disk else { return Ok(held) };
        let mut all = Vec::new();
        for (start, length) in disk.chunks.get_mut(part).map(std::mem::take).unwrap_or_default() {
            let read = || {
                disk.file.seek(SeekFrom::Start(start))?;
                (&mut disk.file).take(length as u64).read_to_end(&mut all)
            };
            if { read }().map_err(|error| failed(&disk.path, error))? < length {
                return Err(foreign());
            }
        }
        all.extend_from_slice(&held);
        Ok(all)
    }

    /// Writes what is held to disk.
    fn spill(&mut self) -> Result<()> {
        let mut disk = self.disk.take().map_or_else(Disk::create, Ok)?;
        for (part, chunks) in self.parts.iter_mut().zip(&mut disk.chunks) {
            disk.file.write_all(part).map_err(|error| failed(&disk.path, error))?;
            chunks.push((disk.end, part.len()));
            disk.end += part.len() as u64;
            part.clear();
        }
        self.held = 0;
        self.disk = Some(disk);
        Ok(())
    }
}

impl Disk {
    fn create() -> Result<Disk> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("lakebed-{}-{}.tmp", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        // Paths may tell what is nobody else's business.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| failed(&path, error))?;
        let disk = Disk { file, path, end: 0, chunks: vec![Vec::new(); PARTS] };
        // Where open files may be without a name, none is left behind by a killed process.
        #[cfg(unix)]
        disk.unlink();
        Ok(disk)
    }

    fn unlink(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        #[cfg(not(unix))]
        self.unlink();
    }
}

/// The part that all records of a key are in.
fn part_of(key: &str) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    usize::try_from(hasher.finish() % PARTS as u64).unwrap_or(0)
}

/// The records of a part, in the order in which they were pushed; ends where its bytes are none.
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
    let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(i64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let (record, rest) = bytes.split_at_checked(number(0)? as usize)?;
    let text = std::str::from_utf8(record.get(HEAD..)?).ok()?;
    let found = Record {
        fact: *FACTS.get(usize::from(*bytes.get(12)?))?,
        kind: Kind::numbered(*bytes.get(13)?)?,
        prefix: u16::from_le_bytes(*bytes.get(14..)?.first_chunk()?),
        set: SetId(number(16)?),
        size: long(20)?,
        value: long(28)?,
        path: text.get(..number(4)? as usize)?,
        key: text.get(number(8)? as usize..)?,
    };
    Some((found, rest))
}

#[cold]
fn failed(path: &std::path::Path, error: std::io::Error) -> Error {
    let message = format!("the folder for temporary files has no room: {error}");
    Error::new(ErrorKind::Io, message).in_file(&path.to_string_lossy()).caused_by(error)
}

#[cold]
fn foreign() -> Error {
    Error::new(ErrorKind::Internal, "records of files are not as they were written")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<'r>(path: &'r str, key: &'r str, size: i64) -> Record<'r> {
        let (fact, kind) = (Fact::Listed, Kind::Extra);
        Record { fact, kind, prefix: 7, set: SetId(9), size, value: -size, path, key }
    }

    fn read_back(bound: usize) -> (Vec<(usize, String, String, i64)>, bool) {
        let mut partitions = Partitions::bounded(bound);
        for number in 0..1000i64 {
            let path = format!("s3://b//t/{}", number % 100);
            let key = format!("/t/{}", number % 100);
            partitions.push(&said(&path, &key, number)).expect("room");
            partitions.push(&said(&key, &key, number)).expect("room");
        }
        let mut found = Vec::new();
        for part in 0..PARTS {
            let bytes = partitions.take(part).expect("bytes");
            for record in records(&bytes) {
                let record = record.expect("a record");
                assert_eq!(record, said(record.path, record.key, record.size));
                found.push((part, record.path.to_owned(), record.key.to_owned(), record.size));
            }
        }
        (found, partitions.disk.is_some())
    }

    #[test]
    fn records_come_back_by_key_whether_they_were_on_disk_or_not() {
        let (held, on_disk) = read_back(usize::MAX);
        assert!(!on_disk && held.len() == 2000);
        let (spilled, on_disk) = read_back(1000);
        assert!(on_disk);
        assert_eq!(spilled, held);
        for (part, path, key, _) in &held {
            assert_eq!(*part, part_of(key));
            assert!(path.ends_with(key.as_str()));
        }
    }

    #[test]
    fn what_was_changed_on_disk_is_an_error() {
        let mut partitions = Partitions::bounded(usize::MAX);
        partitions.push(&said("/a", "/a", 1)).expect("room");
        let bytes = partitions.take(part_of("/a")).expect("bytes");
        for cut in 1..bytes.len() {
            assert!(records(&bytes[..cut]).any(|record| record.is_err()), "{cut}");
        }
        assert!(records(&[0; 40]).any(|record| record.is_err()));
    }
}
