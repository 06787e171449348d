//! The storage of table files.

mod at_once;
mod local_folder;

use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use arrow_buffer::Buffer;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

pub use at_once::{AtOnce, ReadPermits};
use local_folder::{local_contents, local_details, modified};

use crate::cache::StorageIdentity;
use crate::error::{Error, ErrorKind, Result};
use crate::local_path::local_path;
use crate::location::AllowedPlaces;
use crate::write::publish::{ExistingFile, create_bytes, is_taken, publish_bytes, sync_folder_of};

/// Which paths a storage may open, and the real paths of files, as
/// [`Storage::place`] needs them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PlacingRules {
    /// Where paths may lead, in addition to places that the caller trusts.
    pub(crate) guard: Option<(Vec<String>, AllowedPlaces)>,
    /// The table's own location, and the old prefixes of moved files with the new ones.
    pub(crate) moved: Option<(String, Vec<(String, String)>)>,
}

/// The most bytes of a file that names a table's current version: the longest name of a file on most file systems, and
/// a line break. A longer file is no such hint.
const MAX_HINT_BYTES: u64 = 256;

/// The sum of recorded sizes \[bytes\], for bounds and statistics: sizes may be forged, and the largest number
/// is what does not fit.
pub(crate) fn total_size(sizes: impl IntoIterator<Item = u64>) -> u64 {
    sizes.into_iter().fold(0, u64::saturating_add)
}

/// Reads files and lists folders; all I/O of this crate is that of a storage.
///
/// Paths are joined from the table's location and the format's own names. Implementations are called from
/// several threads at once. A missing file is [`ErrorKind::Missing`].
pub trait Storage: Send + Sync {
    /// The bytes of a file.
    fn read(&self, path: &str) -> Result<Buffer>;

    /// The bytes of a file from `start` on: `length` bytes, or fewer at the end of the file.
    ///
    /// Storages that can read part of a file do so.
    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        let bytes = self.read(path)?;
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(bytes.len());
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len() - start);
        Ok(bytes.slice_with_length(start, length))
    }

    /// The names (not paths) of files and folders directly in a folder, in any order; none where there is no
    /// such folder.
    fn list(&self, folder: &str) -> Result<Vec<String>>;

    /// The folders directly in a folder; `None` where there is no such folder. The default implementation
    /// includes files, for storages that cannot distinguish them.
    fn folders(&self, folder: &str) -> Result<Option<Folders>> {
        match self.inner() {
            Some(storage) => storage.folders(folder),
            None => Ok(Some(Folders { names: self.list(folder)?, closed: Vec::new() })),
        }
    }

    /// The files and folders directly in a folder; `None` where there is no such folder. Files have their
    /// details, unless these cost a call for each file: then [`Storage::details`] has them.
    ///
    /// # Errors
    /// `Unsupported` for a storage that lists only names, as in the default implementation.
    fn contents(&self, folder: &str) -> Result<Option<Contents>> {
        match self.inner() {
            Some(storage) => storage.contents(folder),
            None => Err(Error::new(
                ErrorKind::Unsupported,
                "the storage does not say how long files are and when they were modified: it has no \
                contents()",
            )
            .in_file(folder)),
        }
    }

    /// The details of a file that [`Storage::contents`] returned without them; `None` where it is gone.
    fn details(&self, path: &str) -> Result<Option<FileDetails>> {
        self.inner().map_or(Ok(None), |storage| storage.details(path))
    }

    /// The storage that this one wraps, which answers where this one does not; `None` for a storage that
    /// reads itself.
    fn inner(&self) -> Option<&dyn Storage> {
        None
    }

    /// What tells this storage from others, by which a cache has files of both; `None` where nothing does, and then nothing
    /// is kept of its files.
    fn identity(&self) -> Option<StorageIdentity> {
        self.inner()?.identity()
    }

    /// Whether paths are those of the local file system, so that files written there can be read here.
    fn is_local(&self) -> bool {
        self.inner().is_some_and(Storage::is_local)
    }

    /// How many reads this storage serves at once; `None` where reads are local and only take processor time.
    fn concurrent_reads(&self) -> Option<usize> {
        self.inner()?.concurrent_reads()
    }

    /// Checks whether the caller was interrupted, for storages that are written in an interpreter.
    ///
    /// # Errors
    /// The interruption. It is told once: whoever drops the error must not lose it, so its source sees to that.
    fn interrupted(&self) -> Result<()> {
        self.inner().map_or(Ok(()), Storage::interrupted)
    }

    /// The real path of a file, for an engine that reads it itself: the same path, unless this storage maps
    /// paths.
    ///
    /// # Errors
    /// `Location` for a path that this storage may not open.
    fn place(&self, path: &str) -> Result<String> {
        self.inner().map_or_else(|| Ok(path.to_owned()), |storage| storage.place(path))
    }

    /// How it maps and checks paths, without the storage itself.
    fn placing(&self) -> PlacingRules {
        self.inner().map_or_else(PlacingRules::default, Storage::placing)
    }

    /// Modification time of a file or folder, in milliseconds since 1970 UTC; `None` where the storage does
    /// not have it, as in the default implementation.
    fn modified(&self, path: &str) -> Result<Option<i64>> {
        self.inner().map_or(Ok(None), |storage| storage.modified(path))
    }

    /// Whether it can write: whether it implements [`Storage::create`] and [`Storage::remove`].
    fn is_writable(&self) -> bool {
        self.inner().is_some_and(Storage::is_writable)
    }

    /// Writes a complete file under a new, unique name.
    ///
    /// # Errors
    /// `Unsupported` for a read-only storage.
    fn create(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.inner().map_or_else(|| Err(read_only(path)), |storage| storage.create(path, bytes))
    }

    /// The same for one of several files of a folder; they are durable once [`Storage::settle`] is done.
    ///
    /// # Errors
    /// As [`Storage::create`].
    fn create_one(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.inner().map_or_else(|| self.create(path, bytes), |storage| storage.create_one(path, bytes))
    }

    /// Makes the files in the folder of that path durable.
    ///
    /// # Errors
    /// `Io`.
    fn settle(&self, path: &str) -> Result<()> {
        self.inner().map_or(Ok(()), |storage| storage.settle(path))
    }

    /// Whether it decides which of several writers gets a path: whether it implements [`Storage::publish`] as
    /// well as what [`Storage::is_writable`] requires.
    fn is_committable(&self) -> bool {
        self.inner().is_some_and(Storage::is_committable)
    }

    /// Writes a file in one step, so that it appears completely or not at all, even with concurrent writers.
    /// Returns whether it was written: not where an existing file must be kept.
    ///
    /// # Errors
    /// `Unsupported` for a storage that cannot; `Io`, after which the file may exist all the same unless the
    /// storage is local.
    fn publish(&self, path: &str, existing: ExistingFile, bytes: &[u8]) -> Result<bool> {
        self.inner().map_or_else(|| Err(read_only(path)), |storage| storage.publish(path, existing, bytes))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// As [`Storage::create`]; `Missing` where there is no file.
    fn remove(&self, path: &str) -> Result<()> {
        self.inner().map_or_else(|| Err(read_only(path)), |storage| storage.remove(path))
    }
}

/// The folders in a folder, in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// Their names (not paths).
    pub names: Vec<String>,
    /// Folders that are not looked into: the name for messages, and the reason.
    pub closed: Vec<(String, &'static str)>,
}

/// The files and folders in a folder, in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Its files.
    pub files: Vec<ListedFile>,
    /// Its folders.
    pub folders: Folders,
}

/// A file in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Its name (not path).
    pub name: String,
    /// Its details; `None` where [`Storage::details`] has to be asked for them.
    pub details: Option<FileDetails>,
}

/// What a listing has of a file beside its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileDetails {
    /// Its size \[bytes\], if the listing has it.
    pub size: Option<u64>,
    /// Its modification time, in milliseconds since 1970 UTC, if the listing has it.
    pub modified: Option<i64>,
}

impl FileDetails {
    /// Its size \[bytes\]; -1 where it is not known.
    pub(crate) fn recorded_size(self) -> i64 {
        self.size.and_then(|size| i64::try_from(size).ok()).unwrap_or(-1)
    }
}

/// The local file system. Files are read, never mapped: truncating a mapped file raises SIGBUS.
#[derive(Debug, Clone, Copy, Default)]
pub struct Local;

impl Storage for Local {
    fn identity(&self) -> Option<StorageIdentity> {
        Some(StorageIdentity { name: "local".to_owned(), is_shared: true })
    }

    fn is_local(&self) -> bool {
        true
    }

    fn read(&self, path: &str) -> Result<Buffer> {
        self.read_range(path, 0, u64::MAX)
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        let failed = |error| failed(error, path);
        let (mut file, size) = open_regular(path)?;
        if start > 0 {
            file.seek(SeekFrom::Start(start)).map_err(failed)?;
        }
        let mut bytes = Vec::new();
        // At most the size when it was opened: if the file grows, the rest belongs to another state of the
        // table.
        let there = size.saturating_sub(start).min(length);
        let room = usize::try_from(there).unwrap_or(usize::MAX);
        lakebed_avro::reserve(&mut bytes, room, "a file")
            .map_err(|error| Error::from(error).in_file(path))?;
        file.take(there).read_to_end(&mut bytes).map_err(failed)?;
        Ok(Buffer::from_vec(bytes))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let local = local_path(folder)?;
        if !Path::new(local).is_dir() {
            return Ok(Vec::new());
        }
        let entries = std::fs::read_dir(local).map_err(|error| failed(error, folder))?;
        let names = entries.map(|entry| match entry {
            Ok(entry) => Ok(entry.file_name().to_string_lossy().into_owned()),
            Err(error) => Err(failed(error, folder)),
        });
        names.collect()
    }

    fn folders(&self, folder: &str) -> Result<Option<Folders>> {
        local_contents(folder, false).map(|found| found.map(|contents| contents.folders))
    }

    fn contents(&self, folder: &str) -> Result<Option<Contents>> {
        local_contents(folder, true)
    }

    fn details(&self, path: &str) -> Result<Option<FileDetails>> {
        local_details(path)
    }

    fn modified(&self, path: &str) -> Result<Option<i64>> {
        let about = std::fs::metadata(local_path(path)?).map_err(|error| failed(error, path))?;
        modified(&about).map_err(|error| failed(error, path))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<()> {
        publish_bytes(path, ExistingFile::Refuse, bytes)
    }

    fn create_one(&self, path: &str, bytes: &[u8]) -> Result<()> {
        create_bytes(path, bytes)
    }

    fn settle(&self, path: &str) -> Result<()> {
        sync_folder_of(local_path(path)?)
    }

    fn is_committable(&self) -> bool {
        true
    }

    fn publish(&self, path: &str, existing: ExistingFile, bytes: &[u8]) -> Result<bool> {
        match publish_bytes(path, existing, bytes) {
            Err(error) if is_taken(&error) => Ok(false),
            published => published.map(|()| true),
        }
    }

    fn remove(&self, path: &str) -> Result<()> {
        std::fs::remove_file(local_path(path)?).map_err(|error| failed(error, path))
    }
}

/// Opens a local file for reading; all of lakebed opens files with it. Returns the file and its size in
/// bytes.
///
/// # Errors
/// `Location` for a path that is neither a file nor a folder: a device may never end, and a pipe without a
/// writer may never begin. The path is checked before it is opened, since opening a device may have effects,
/// and again afterwards. If it has become a pipe in between, opening does not wait.
pub fn open_regular(path: &str) -> Result<(File, u64)> {
    let local = local_path(path)?;
    let regular = |about: std::io::Result<Metadata>| {
        let about = about.map_err(|error| failed(error, path))?;
        if about.is_file() || about.is_dir() {
            return Ok(about.len());
        }
        Err(Error::new(ErrorKind::Location, "not a regular file: pipes and devices are not read")
            .in_file(path))
    };
    regular(std::fs::metadata(local))?;
    let file = open_at_once(local).map_err(|error| failed(error, path))?;
    let size = regular(file.metadata())?;
    Ok((file, size))
}

/// Opens a file without waiting for the other end of a pipe; regular files are not affected.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn open_at_once(local: &str) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // The system's `O_NONBLOCK`.
    const NONBLOCK: i32 = if cfg!(target_os = "linux") { 0o4000 } else { 0x4 };
    File::options().read(true).custom_flags(NONBLOCK).open(local)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn open_at_once(local: &str) -> std::io::Result<File> {
    File::open(local)
}

/// The bytes of a file with the recorded size `recorded`: one request, of at most one byte more. A longer
/// file is read again, since records may be wrong and the caller decides what that means. Such a file, and
/// one without a recorded size, must be within `limits`.
///
/// # Errors
/// Those of the storage; `Limit` for more than `max_file_bytes`.
pub(crate) fn read_recorded(
    storage: &dyn Storage,
    path: &str,
    recorded: Option<u64>,
    limits: &Limits,
) -> Result<Buffer> {
    let most = limits.max_file_bytes;
    if let Some(recorded) = recorded.filter(|recorded| *recorded <= most) {
        let bytes = storage.read_range(path, 0, recorded.saturating_add(1))?;
        if bytes.len() as u64 <= recorded {
            return Ok(bytes);
        }
    }
    let bytes = storage.read_range(path, 0, most.saturating_add(1))?;
    let found = bytes.len() as u64;
    if found <= most {
        return Ok(bytes);
    }
    Err(Error::from(Limits::exceeded("max_file_bytes", most, found)).in_file(path))
}

/// The first bytes of a file that says which version is the newest; `None` without the file.
///
/// # Errors
/// Those of the storage.
pub(crate) fn read_hint(storage: &dyn Storage, path: &str) -> Result<Option<Buffer>> {
    present(storage.read_range(path, 0, MAX_HINT_BYTES))
}

/// `None` for a missing file or folder.
///
/// # Errors
/// All others.
pub fn present<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::Missing => Ok(None),
        Err(error) => Err(error),
    }
}

#[cold]
fn read_only(path: &str) -> Error {
    Error::new(ErrorKind::Unsupported, "the storage is read-only").in_file(path)
}

#[cold]
fn failed(error: std::io::Error, path: &str) -> Error {
    use std::io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound, OutOfMemory};
    // There is no file at an invalid path.
    let kind = match error.kind() {
        NotFound | NotADirectory | InvalidInput | InvalidFilename => ErrorKind::Missing,
        OutOfMemory => ErrorKind::Avro(lakebed_avro::ErrorKind::Limit),
        _ => ErrorKind::Io,
    };
    // The system's message, without the error number that Rust appends.
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or_default();
    let message = if kind == ErrorKind::Missing { "no such file" } else { words };
    Error::new(kind, message.to_owned()).in_file(path).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of 100 bytes, and how many of them were read.
    struct ReadCounter(std::sync::Mutex<Vec<u64>>);

    impl Storage for ReadCounter {
        fn read(&self, _: &str) -> Result<Buffer> {
            panic!("a whole file is asked for");
        }

        fn read_range(&self, _: &str, start: u64, length: u64) -> Result<Buffer> {
            let there = length.min(100 - start);
            self.0.lock().expect("one thread").push(there);
            Ok(Buffer::from(vec![0u8; usize::try_from(there).expect("few")]))
        }

        fn list(&self, _: &str) -> Result<Vec<String>> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn no_more_than_the_recorded_size_is_read() {
        let limits = |most| Limits { max_file_bytes: most, ..Limits::DEFAULT };
        let taken = |recorded, most| {
            let storage = ReadCounter(std::sync::Mutex::default());
            let read = read_recorded(&storage, "m.avro", recorded, &limits(most)).map(|bytes| bytes.len());
            (read.map_err(|error| error.to_string()), storage.0.into_inner().expect("one thread"))
        };
        assert_eq!(taken(Some(100), 1000), (Ok(100), vec![100]));
        assert_eq!(taken(Some(200), 1000), (Ok(100), vec![100]));
        assert_eq!(taken(None, 1000), (Ok(100), vec![100]));
        assert_eq!(taken(Some(10), 1000), (Ok(100), vec![11, 100]));
        let over = || Err("max_file_bytes is 50, the input asks for 51 (m.avro)".to_owned());
        assert_eq!(taken(Some(10), 50), (over(), vec![11, 51]));
        assert_eq!(taken(Some(u64::MAX), 50), (over(), vec![51]));
        assert_eq!(taken(None, 50), (over(), vec![51]));
    }

    #[cfg(unix)]
    #[test]
    fn opening_a_file_that_became_a_pipe_does_not_wait() {
        let pipe = std::env::temp_dir().join(format!("lakebed-pipe-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
        assert!(made.success());
        let pipe_path = pipe.to_str().expect("UTF-8");
        let file = open_at_once(pipe_path).expect("opened");
        assert!(!file.metadata().expect("open").is_file());
        assert_eq!(open_regular(pipe_path).expect_err("a pipe").kind(), ErrorKind::Location);
        std::fs::remove_file(pipe).expect("there");
    }
}
