//! A cache of what is decoded: the columns of files that never change, in memory and in a folder.
//!
//! What is kept is what a file's records are as stored, before anything that depends on a list, a filter or a table. So
//! whoever wants the same columns of the same file gets them without a request and without decoding. Manifests alone are
//! kept: their names are unique and they are never written again.
//!
//! ```text
//! key: storage × path × recorded size × columns × limits × version of lakebed
//!   ├ memory: record batches, least recently used first out
//!   └ folder: a file for each key, compressed, with its key, length and checksum
//! ```
//!
//! Nothing is kept of encrypted files, of parts of files, or of reads that did not reach the end without an error.

mod file;
mod folder;
mod kept;
mod memory;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lakebed_avro::Limits;

use self::folder::Folder;
pub(crate) use self::kept::{KeptRecords, batch_bytes};
use self::memory::Memory;
use crate::error::{Error, ErrorKind, Result};
use crate::local_path::local_path;
use crate::storage::Storage;

/// The decoded bytes of one file that are kept where the memory of the cache is smaller: folders have them all the same.
const LEAST_FILE_BYTES: u64 = 64 << 20;

/// What a cache may hold, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSettings {
    /// The most bytes of decoded columns in memory; 0 for none.
    pub memory_bytes: u64,
    /// A folder of the local file system, which processes share; `None` for memory alone.
    pub folder: Option<PathBuf>,
    /// The most bytes of files in the folder.
    pub disk_bytes: u64,
}

/// What a cache was asked for and what it holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Files that were found in memory.
    pub memory_hits: u64,
    /// Files that were found in the folder.
    pub disk_hits: u64,
    /// Files that were found nowhere, and read.
    pub misses: u64,
    /// Files in the folder that were damaged or of another key, and count among the misses.
    pub damaged: u64,
    /// Files that could not be written to the folder.
    pub failed_writes: u64,
    /// The bytes of columns in memory now.
    pub memory_bytes: u64,
    /// The bytes of files in the folder now, of all processes.
    pub disk_bytes: u64,
}

/// Keeps decoded columns of files that never change; shared by tables and threads.
pub struct Cache {
    settings: CacheSettings,
    memory: Memory,
    folder: Option<Folder>,
    memory_hits: AtomicU64,
    disk_hits: AtomicU64,
    misses: AtomicU64,
    damaged: AtomicU64,
    failed_writes: AtomicU64,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}

impl Cache {
    /// A cache, which is empty but for what its folder has already. The folder is made where it is not there, for this user
    /// alone; its parent must be there.
    ///
    /// # Errors
    /// `Location` for a folder that is a link or no folder, that others may write to or read, or that belongs to another user;
    /// `Io` where it cannot be made or written to.
    pub fn new(settings: CacheSettings) -> Result<Cache> {
        let folder =
            settings.folder.clone().map(|path| Folder::open(path, settings.disk_bytes)).transpose()?;
        Ok(Cache {
            memory: Memory::new(settings.memory_bytes),
            folder,
            settings,
            memory_hits: AtomicU64::new(0),
            disk_hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
            failed_writes: AtomicU64::new(0),
        })
    }

    /// What it was made with.
    pub fn settings(&self) -> &CacheSettings {
        &self.settings
    }

    /// Counts since it was made, and what it holds now.
    ///
    /// # Errors
    /// `Io` where the folder cannot be listed.
    pub fn stats(&self) -> Result<CacheStats> {
        Ok(CacheStats {
            memory_hits: self.memory_hits.load(Ordering::Relaxed),
            disk_hits: self.disk_hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            damaged: self.damaged.load(Ordering::Relaxed),
            failed_writes: self.failed_writes.load(Ordering::Relaxed),
            memory_bytes: self.memory.bytes(),
            disk_bytes: self.folder.as_ref().map_or(Ok(0), Folder::bytes)?,
        })
    }

    /// Empties it, and its folder of all files that caches of any version wrote there.
    ///
    /// # Errors
    /// `Io` where a file cannot be removed.
    pub fn clear(&self) -> Result<()> {
        self.memory.clear();
        self.folder.as_ref().map_or(Ok(()), Folder::clear)
    }

    /// The decoded bytes of one file that are kept at most, which is also what collecting them takes.
    pub(crate) fn most_file_bytes(&self) -> u64 {
        let half = self.settings.memory_bytes / 2;
        if self.folder.is_some() { half.max(LEAST_FILE_BYTES) } else { half }
    }

    /// Whether the folder may have some columns of a file, by the names of its files when it was first asked: columns that are
    /// written later are found all the same by [`Cache::find`].
    ///
    /// # Errors
    /// As [`Cache::find`].
    pub(crate) fn may_have(&self, storage: &dyn Storage, path: &str, size: Option<u64>) -> Result<bool> {
        let whole = whole_file(storage, path, size)?;
        Ok(self
            .folder
            .as_ref()
            .zip(whole)
            .is_some_and(|(folder, (file, is_shared))| is_shared && folder.may_have(&file)))
    }

    /// What is kept of a file, or where it is to be kept; `None` for a storage that nothing tells from others.
    ///
    /// # Errors
    /// `Location` for a path that the storage may not open.
    pub(crate) fn find(
        self: &Arc<Cache>,
        storage: &dyn Storage,
        file: &CachedFile<'_>,
    ) -> Result<Option<Found>> {
        let Some((whole, is_shared)) = whole_file(storage, file.path, file.size)? else { return Ok(None) };
        let key = Key { text: file.key(&whole).into(), file: whole, is_shared };
        if let Some(kept) = self.memory.get(&key.text) {
            self.memory_hits.fetch_add(1, Ordering::Relaxed);
            return Ok(Some(Found::Kept(kept)));
        }
        if let Some(folder) = self.folder.as_ref().filter(|_| key.is_shared) {
            match folder.read(&key.file, &key.text, self.most_file_bytes()) {
                Ok(Some(kept)) => {
                    let kept = Arc::new(kept);
                    self.disk_hits.fetch_add(1, Ordering::Relaxed);
                    self.memory.put(&key.text, &kept);
                    return Ok(Some(Found::Kept(kept)));
                }
                Ok(None) => {}
                // What is read now takes its place.
                Err(_) => {
                    self.damaged.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        Ok(Some(Found::Missed(Slot { cache: Arc::clone(self), key })))
    }
}

/// What tells a file from others, as far as its columns do not, and whether that is so in other processes too; `None` for a
/// storage that nothing tells from others.
fn whole_file(storage: &dyn Storage, path: &str, size: Option<u64>) -> Result<Option<(String, bool)>> {
    let Some(StorageIdentity { name, is_shared }) = storage.identity() else { return Ok(None) };
    let place = storage.place(path)?;
    let place = if storage.is_local() { absolute(&place)? } else { place };
    let (version, layout) = (env!("CARGO_PKG_VERSION"), file::LAYOUT);
    Ok(Some((format!("lakebed {version} {layout}\n{name:?}\n{place:?}\n{size:?}"), is_shared)))
}

/// The path of a local file from the root on.
fn absolute(path: &str) -> Result<String> {
    let absolute = std::path::absolute(local_path(path)?);
    let absolute = absolute.map_err(|error| {
        Error::new(ErrorKind::Location, "a path that cannot be made absolute").in_file(path).caused_by(error)
    })?;
    Ok(absolute.to_string_lossy().into_owned())
}

/// What decides on the decoded columns of a file, beside the storage.
pub(crate) struct CachedFile<'f> {
    /// Its path, as metadata has it.
    pub(crate) path: &'f str,
    /// Its size \[bytes\], where that is recorded.
    pub(crate) size: Option<u64>,
    /// The name of the table format, whose names the columns have.
    pub(crate) format: &'static str,
    /// The columns, as [`RecordResolver::signature`](crate::record::RecordResolver::signature) names them.
    pub(crate) columns: &'f str,
    /// A file beyond them is an error, whether it is kept or not.
    pub(crate) limits: &'f Limits,
}

impl CachedFile<'_> {
    fn key(&self, whole: &str) -> String {
        let CachedFile { format, columns, limits, .. } = self;
        format!("{whole}\n{format}\n{columns}\n{limits:?}")
    }
}

/// What tells a storage from others, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageIdentity {
    /// Of two storages with the same name a path is the same file.
    pub name: String,
    /// Whether that is so for storages of other processes too: only then a folder has what is read of it.
    pub is_shared: bool,
}

/// What a cache says of a file.
pub(crate) enum Found {
    /// Its columns.
    Kept(Arc<KeptRecords>),
    /// Where they are to be kept.
    Missed(Slot),
}

struct Key {
    text: Arc<str>,
    /// The part of it that all columns of the file have.
    file: String,
    is_shared: bool,
}

/// The place for the columns of a file that the cache lacks.
pub(crate) struct Slot {
    cache: Arc<Cache>,
    key: Key,
}

impl Slot {
    /// The decoded bytes that are kept at most.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.cache.most_file_bytes()
    }

    /// Keeps the columns, all of which were found to be right.
    pub(crate) fn keep(&self, kept: &Arc<KeptRecords>) {
        let Slot { cache, key } = self;
        cache.memory.put(&key.text, kept);
        if let Some(folder) = cache.folder.as_ref().filter(|_| key.is_shared)
            && folder.write(&key.file, &key.text, kept).is_err()
        {
            // A full disk takes nothing from the rows, which are read already.
            cache.failed_writes.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
