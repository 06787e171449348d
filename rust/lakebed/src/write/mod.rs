//! What writing has in common, whatever the format.

pub(crate) mod commit;
pub(crate) mod publish;
pub(crate) mod sorter;

use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use lakebed_avro::{Codec, WriteOptions};

use commit::{Published, publish_next};
pub(crate) use publish::publish_bytes;
pub use publish::{Existing, publish};

use crate::error::{Error, ErrorKind, Result};
use crate::local_path::local_path;
use crate::storage::{Storage, present};

/// Zstandard's level in both formats' own writers, which is not Avro's (Iceberg's `Avro.java`; Paimon's option
/// `file.compression.zstd-level`).
const ZSTANDARD_LEVEL: i32 = 1;

/// The options, with the level of the formats' own writers where none is said.
pub(crate) fn with_level(options: WriteOptions) -> WriteOptions {
    let level = options.level.or((options.codec == Codec::Zstandard).then_some(ZSTANDARD_LEVEL));
    WriteOptions { level, ..options }
}

/// Writes a file where none is yet, in a folder that need not be there. Where two write the same bytes at once, both
/// have.
///
/// # Errors
/// `Io`, also where there is a file; `Unsupported` for a storage that commits are not made on.
pub(crate) fn publish_new(storage: &dyn Storage, path: &str, bytes: &[u8]) -> Result<()> {
    make_folder(storage, path)?;
    // A store that passes over what `Refuse` asks for would replace it.
    let taken = present(storage.read_range(path, 0, 1))?.is_some();
    match if taken { Published::Lost } else { publish_next(storage, path, bytes)? } {
        Published::Made => Ok(()),
        Published::Lost => {
            let exists = io::Error::from(io::ErrorKind::AlreadyExists);
            Err(Error::new(ErrorKind::Io, "a file is there already").in_file(path).caused_by(exists))
        }
        Published::Unknown(error) => Err(error),
    }
}

/// Makes the folder of a file, where storages have folders.
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

/// Removes folders from the innermost on, where storages have folders and nothing is in them.
pub(crate) fn remove_folders(storage: &dyn Storage, folders: &[String]) {
    if storage.is_local() {
        for folder in folders.iter().filter_map(|folder| local_path(folder).ok()) {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Milliseconds since 1970 UTC, by the machine's clock.
pub(crate) fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default()
}
