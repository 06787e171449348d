//! What the writers of both formats share.

pub(crate) mod commit;
pub(crate) mod publish;
pub(crate) mod sorter;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use lakebed_avro::{Codec, WriteOptions};

use commit::{Publication, publish_next};
pub(crate) use publish::publish_bytes;
pub use publish::{ExistingFile, publish};

use crate::error::{Error, ErrorKind, Result};
use crate::local_path::local_path;
use crate::storage::{Storage, present};

/// The level of Zstandard that both formats' own writers use, which is not the default of Avro (Iceberg's
/// `Avro.java`; Paimon's option `file.compression.zstd-level`).
pub(crate) const ZSTANDARD_LEVEL: i32 = 1;

/// About the size of manifests that both formats' own writers and `rewrite_manifests` write \[bytes\].
pub(crate) const MANIFEST_TARGET_BYTES: u64 = 8 << 20;

/// The options, with the level of the formats' own writers where none is given.
pub(crate) fn with_level(options: WriteOptions) -> WriteOptions {
    let level = options.level.or((options.codec == Codec::Zstandard).then_some(ZSTANDARD_LEVEL));
    WriteOptions { level, ..options }
}

/// Writes a file that must not exist yet; its folder need not exist. Where two writers create the same bytes
/// at once, both succeed. Where the storage fails on the way, a part of it is removed again; an empty file stays, since
/// another writer may have just begun it.
///
/// # Errors
/// `Io`, also where the file exists; `Unsupported` for a storage that commits are not made on.
pub(crate) fn publish_new(storage: &dyn Storage, path: &str, bytes: &[u8]) -> Result<()> {
    make_folder(storage, path)?;
    // A store that ignores `Refuse` would overwrite it.
    let taken = present(storage.read_range(path, 0, 1))?.is_some();
    match if taken { Publication::Lost(None) } else { publish_next(storage, path, bytes)? } {
        Publication::Output => Ok(()),
        // The storage has failed on the way: nothing was there before.
        Publication::Lost(Some(error)) if is_torn(storage, path, bytes) => {
            let _ = storage.remove(path);
            Err(error)
        }
        Publication::Lost(Some(error)) | Publication::Unknown(error) => Err(error),
        Publication::Lost(None) => {
            let exists = io::Error::from(io::ErrorKind::AlreadyExists);
            Err(Error::new(ErrorKind::Io, "the file exists already").in_file(path).caused_by(exists))
        }
    }
}

/// Whether a file holds the beginning of these bytes, and no more.
fn is_torn(storage: &dyn Storage, path: &str, bytes: &[u8]) -> bool {
    let there = storage.read_range(path, 0, bytes.len() as u64);
    there.is_ok_and(|there| !there.is_empty() && there.len() < bytes.len() && bytes.starts_with(&there))
}

/// The folders that were made for a new file, the outermost first. They are removed again unless they are kept.
pub(crate) struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Makes the folders of a file that are missing, where the storage has folders.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn of(storage: &dyn Storage, file: &str) -> Result<NewFolders> {
        let mut new = NewFolders(Vec::new());
        if !storage.is_local() {
            return Ok(new);
        }
        let folders = Path::new(local_path(file)?).ancestors().skip(1);
        let missing: Vec<&Path> =
            folders.take_while(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()).collect();
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                Ok(()) => new.0.push(folder.to_owned()),
                // Another writer was first.
                Err(_) if folder.is_dir() => {}
                Err(error) => return Err(Error::from(error).in_file(file)),
            }
        }
        Ok(new)
    }

    /// Keeps them.
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // One that others have put something into stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Creates the folder of a file, where the storage has folders.
///
/// # Errors
/// `Io`.
pub(crate) fn make_folder(storage: &dyn Storage, file: &str) -> Result<()> {
    if !storage.is_local() {
        return Ok(());
    }
    let folder = Path::new(local_path(file)?).parent();
    folder.map_or(Ok(()), std::fs::create_dir_all).map_err(|error| Error::from(error).in_file(file))
}

/// Removes empty folders, the innermost first, where the storage has folders.
pub(crate) fn remove_folders(storage: &dyn Storage, folders: &[String]) {
    if storage.is_local() {
        for folder in folders.iter().filter_map(|folder| local_path(folder).ok()) {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// The current time of the machine in milliseconds since 1970 UTC.
pub(crate) fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default()
}
