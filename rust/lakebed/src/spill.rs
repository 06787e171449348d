//! What memory has no room for, in one file of the folder for temporary files that nobody else sees.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// How much is held in memory before it goes to disk \[bytes\].
pub(crate) const HELD_BYTES: usize = 256 << 20;

/// A file without a name, where the system has such; it goes with this.
pub(crate) struct Spill {
    file: Mutex<File>,
    path: PathBuf,
    end: u64,
}

/// Where something lies in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    start: u64,
    length: usize,
}

impl Spill {
    /// An empty one.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn create() -> Result<Spill> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("lakebed-{}-{}.tmp", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        // Paths may tell what is nobody else's business.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| failed(&path, error))?;
        let spill = Spill { file: Mutex::new(file), path, end: 0 };
        // Where open files may be without a name, none is left behind by a killed process.
        #[cfg(unix)]
        spill.unlink();
        Ok(spill)
    }

    /// Writes bytes behind all that is there.
    ///
    /// # Errors
    /// `Io` where the disk fails or is full.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<Place> {
        // Nothing that panics runs while it is held.
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut write = || {
            // Whoever read before has moved.
            file.seek(SeekFrom::Start(self.end))?;
            file.write_all(bytes)
        };
        write().map_err(|error| failed(&self.path, error))?;
        let place = Place { start: self.end, length: bytes.len() };
        self.end += bytes.len() as u64;
        Ok(place)
    }

    /// Adds what lies there to `bytes`.
    ///
    /// # Errors
    /// `Io` where the disk fails; `Internal` for a file that has become shorter.
    pub(crate) fn read(&self, place: Place, bytes: &mut Vec<u8>) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut read = || {
            file.seek(SeekFrom::Start(place.start))?;
            (&mut *file).take(place.length as u64).read_to_end(bytes)
        };
        if read().map_err(|error| failed(&self.path, error))? < place.length {
            return Err(Error::new(ErrorKind::Internal, "a temporary file is not as it was written"));
        }
        Ok(())
    }

    fn unlink(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        #[cfg(not(unix))]
        self.unlink();
    }
}

#[cold]
fn failed(path: &Path, error: std::io::Error) -> Error {
    let message = format!("the folder for temporary files has no room: {error}");
    Error::new(ErrorKind::Io, message).in_file(&path.to_string_lossy()).caused_by(error)
}
