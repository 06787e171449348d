//! The folder of a cache: files that appear whole, for one user alone.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use twox_hash::XxHash64;

use super::KeptRecords;
use super::file::Damaged;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::open_regular;

const SUFFIX: &str = ".lakebed";
const UNFINISHED: &str = ".unfinished";
/// After which time a file that is not finished has no writer.
const ABANDONED: Duration = Duration::from_secs(3600);
/// How exact the times of last uses are.
const USED_WITHIN: Duration = Duration::from_secs(60);
/// The part of the bound that a process writes before it looks again at what others have written.
const UNSEEN: u64 = 16;

/// Tells files apart that one process writes.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

pub(super) struct Folder {
    path: PathBuf,
    most: u64,
    /// Bytes that this process may write before it looks at the folder.
    unseen: AtomicU64,
    /// What the names of files begin with.
    names: OnceLock<HashSet<String>>,
}

impl Folder {
    /// Makes the folder where it is not there.
    ///
    /// # Errors
    /// As [`Cache::new`](super::Cache::new).
    pub(super) fn open(path: PathBuf, most: u64) -> Result<Folder> {
        let shown = path.to_string_lossy().into_owned();
        let failed = |error: std::io::Error| {
            let message = format!("the folder of the cache: {error}");
            Error::new(ErrorKind::Io, message).in_file(&shown).caused_by(error)
        };
        let path = std::path::absolute(&path).map_err(failed)?;
        match private_folder(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => made.map_err(failed)?,
        }
        let about = std::fs::symlink_metadata(&path).map_err(failed)?;
        let refused = |why: &str| {
            let message = format!("the folder of a cache is its user's alone, and {why}");
            Err(Error::new(ErrorKind::Location, message).in_file(&shown))
        };
        if !about.is_dir() {
            return refused("this is no folder, or a link to one");
        }
        let folder = Folder { path, most, unseen: AtomicU64::new(0), names: OnceLock::new() };
        // Whoever is its owner made this file too.
        let probe = folder.unfinished();
        let made = File::options().write(true).create_new(true).open(&probe);
        let own = made.and_then(|made| made.metadata()).map_err(failed);
        let removed = std::fs::remove_file(&probe);
        let own = own?;
        removed.map_err(failed)?;
        if let Some(why) = why_refused(&about, &own) {
            return refused(why);
        }
        Ok(folder)
    }

    fn file_of(&self, file: &str, key: &str) -> PathBuf {
        self.path.join(format!("{}-{}{SUFFIX}", hashed(file), hashed(key)))
    }

    /// Whether there were columns of a file when this was first asked.
    pub(super) fn may_have(&self, file: &str) -> bool {
        let names = self.names.get_or_init(|| {
            let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
            let names = entries
                .filter_map(|entry| Some(entry.file_name().to_string_lossy().split_once('-')?.0.to_owned()));
            names.collect()
        });
        names.contains(&hashed(file))
    }

    fn unfinished(&self) -> PathBuf {
        let (process, number) = (std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        self.path.join(format!("{process}-{number}-{time:x}{UNFINISHED}"))
    }

    /// What is kept for a key; `None` where there is no file.
    ///
    /// # Errors
    /// A file that is not what was written for this key.
    pub(super) fn read(&self, file: &str, key: &str, most: u64) -> Result<Option<KeptRecords>, Damaged> {
        let path = self.file_of(file, key);
        let opened = match open_regular(&path.to_string_lossy()) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::Missing => return Ok(None),
            Err(_) => return Err(Damaged),
        };
        let (mut opened, size) = opened;
        if size > self.most {
            return Err(Damaged);
        }
        let mut bytes = Vec::new();
        let room = usize::try_from(size).map_err(|_| Damaged)?;
        lakebed_avro::reserve(&mut bytes, room, "a file").map_err(|_| Damaged)?;
        let read = (&mut opened).take(size).read_to_end(&mut bytes);
        read.map_err(|_| Damaged)?;
        let kept = super::file::read(&bytes, key, most)?;
        let is_older = |about: Metadata| about.modified().ok()?.elapsed().ok().map(|age| age > USED_WITHIN);
        if opened.metadata().ok().and_then(is_older) == Some(true) {
            // Where that fails it counts as used less recently.
            let _ = opened.set_modified(SystemTime::now());
        }
        Ok(Some(kept))
    }

    /// Writes a file under another name, then renames it.
    ///
    /// # Errors
    /// Those of the file system, after which no half of a file is there under the name of one.
    pub(super) fn write(&self, file: &str, key: &str, kept: &KeptRecords) -> std::io::Result<()> {
        let Some(bytes) = super::file::write(key, kept) else { return Ok(()) };
        let length = bytes.len() as u64;
        if length > self.most {
            return Ok(());
        }
        self.make_room(length)?;
        let unfinished = self.unfinished();
        let write = || {
            private_file(&unfinished)?.write_all(&bytes)?;
            std::fs::rename(&unfinished, self.file_of(file, key))
        };
        write().inspect_err(|_| {
            // It may not be there.
            let _ = std::fs::remove_file(&unfinished);
        })
    }

    /// Removes the files that were used least recently, until there is room for `length` more bytes.
    ///
    /// A process looks at the folder again after it has written a sixteenth of the bound.
    fn make_room(&self, length: u64) -> std::io::Result<()> {
        let spend = |unseen: u64| unseen.checked_sub(length);
        if self.unseen.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok() {
            return Ok(());
        }
        let mut files = self.files()?;
        let mut there: u64 =
            files.iter().map(|(_, _, bytes)| bytes).fold(length, |sum, bytes| sum.saturating_add(*bytes));
        files.sort_unstable_by_key(|(_, used, _)| *used);
        let allowance = self.most / UNSEEN;
        for (path, _, bytes) in files {
            if there <= self.most.saturating_sub(allowance).max(length) {
                break;
            }
            remove(&path)?;
            there = there.saturating_sub(bytes);
        }
        self.unseen.store(allowance, Ordering::Relaxed);
        Ok(())
    }

    /// The files, when each was last used, and its bytes; those without a writer are removed.
    fn files(&self) -> std::io::Result<Vec<(PathBuf, SystemTime, u64)>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let unfinished = name.ends_with(UNFINISHED);
            if !unfinished && !name.ends_with(SUFFIX) {
                continue;
            }
            // Another process may have removed it.
            let Ok(about) = entry.metadata() else { continue };
            let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if !unfinished {
                files.push((entry.path(), used, about.len()));
            } else if used.elapsed().is_ok_and(|age| age > ABANDONED) {
                remove(&entry.path())?;
            }
        }
        Ok(files)
    }

    /// The bytes of the files of all processes.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn bytes(&self) -> Result<u64> {
        let files = self.files().map_err(|error| self.failed(error))?;
        Ok(files.into_iter().fold(0, |sum, (_, _, bytes)| sum.saturating_add(bytes)))
    }

    /// Removes the files of all processes.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn clear(&self) -> Result<()> {
        let removed = self.files().and_then(|files| files.iter().try_for_each(|(path, ..)| remove(path)));
        removed.map_err(|error| self.failed(error))
    }

    #[cold]
    fn failed(&self, error: std::io::Error) -> Error {
        Error::new(ErrorKind::Io, format!("the folder of the cache: {error}"))
            .in_file(&self.path.to_string_lossy())
            .caused_by(error)
    }
}

fn hashed(text: &str) -> String {
    let [low, high] = [0, 1].map(|seed| XxHash64::oneshot(seed, text.as_bytes()));
    format!("{high:016x}{low:016x}")
}

/// Removes a file, unless another process did.
fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Why a folder is not this user's alone, by a file that this process has just made in it.
#[cfg(unix)]
fn why_refused(folder: &Metadata, own: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    if folder.uid() != own.uid() {
        return Some("this one belongs to another");
    }
    (folder.mode() & 0o077 != 0).then_some("others may read or write this one: its mode is to be 0700")
}

#[cfg(not(unix))]
fn why_refused(_: &Metadata, _: &Metadata) -> Option<&'static str> {
    None
}

#[cfg(unix)]
fn private_folder(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn private_folder(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir(path)
}

#[cfg(unix)]
fn private_file(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}
