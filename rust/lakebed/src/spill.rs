//! Data that does not fit into memory, in a private file of the temporary folder.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// How many bytes are held in memory before they are written to disk.
pub(crate) const HELD_BYTES: usize = 256 << 20;

/// A file, without a name where the system supports that. It is deleted with this value.
pub(crate) struct Spill {
    file: Mutex<File>,
    path: PathBuf,
    end: u64,
}

/// The position of some bytes in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpilledRange {
    start: u64,
    length: usize,
}

impl Spill {
    /// An empty file in the system's temporary folder.
    ///
    /// # Errors
    /// `Io` where the folder is missing, full, read-only or not the user's.
    pub(crate) fn create() -> Result<Spill> {
        Spill::create_in(&std::env::temp_dir())
    }

    fn create_in(folder: &Path) -> Result<Spill> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("lakebed-{}-{}.tmp", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = folder.join(name);
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        // Paths may be confidential.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| failed(&path, error))?;
        let spill = Spill { file: Mutex::new(file), path, end: 0 };
        // Where open files may be without a name, a killed process leaves no file.
        #[cfg(unix)]
        spill.unlink();
        Ok(spill)
    }

    /// Appends bytes to the file.
    ///
    /// # Errors
    /// `Io` where the disk fails or is full.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<SpilledRange> {
        // Nothing panics while the lock is held.
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut write = || {
            // A read may have moved the position.
            file.seek(SeekFrom::Start(self.end))?;
            file.write_all(bytes)
        };
        write().map_err(|error| failed(&self.path, error))?;
        let place = SpilledRange { start: self.end, length: bytes.len() };
        self.end += bytes.len() as u64;
        Ok(place)
    }

    /// Appends the bytes at `place` to `bytes`.
    ///
    /// # Errors
    /// `Io` where the disk fails; `Internal` for a file that has become shorter.
    pub(crate) fn read(&self, place: SpilledRange, bytes: &mut Vec<u8>) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut read = || {
            file.seek(SeekFrom::Start(place.start))?;
            (&mut *file).take(place.length as u64).read_to_end(bytes)
        };
        if read().map_err(|error| failed(&self.path, error))? < place.length {
            return Err(changed());
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

/// The error of a file that is not as it was written.
#[cold]
pub(crate) fn changed() -> Error {
    Error::new(ErrorKind::Internal, "a temporary file is not as it was written")
}

/// The environment variable that names the folder.
const VARIABLE: &str = if cfg!(windows) { "TMP" } else { "TMPDIR" };

/// The error of the system, with the folder instead of the file, whose name tells nobody anything.
#[cold]
fn failed(path: &Path, error: std::io::Error) -> Error {
    let message = format!("the folder for temporary files (environment variable {VARIABLE}): {error}");
    let folder = path.parent().unwrap_or(path).to_string_lossy();
    Error::new(ErrorKind::Io, message).in_file(&folder).caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_takes_no_file_is_an_error_with_what_the_system_says() {
        let own = std::env::temp_dir().join(format!("lakebed-spill-{}", std::process::id()));
        std::fs::write(&own, b"a file").expect("a temporary file");
        for folder in [own.join("missing").join("folder"), own.clone()] {
            let system = std::fs::write(folder.join("x"), b"").expect_err("no folder").to_string();
            let error = Spill::create_in(&folder).err().expect("no folder");
            assert_eq!(error.kind(), ErrorKind::Io);
            assert_eq!(error.location().path.as_deref(), Some(&*folder.to_string_lossy()));
            assert!(error.message().ends_with(&system) && error.message().contains(VARIABLE), "{error}");
        }
        std::fs::remove_file(&own).expect("the file");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_that_says_so() {
        let file = File::options().write(true).open("/dev/full").expect("the device");
        let mut spill = Spill { file: Mutex::new(file), path: PathBuf::from("/dev/full"), end: 0 };
        let error = spill.write(b"bytes").expect_err("no space");
        assert!(error.message().contains("No space left on device"), "{error}");
        assert_eq!(error.location().path.as_deref(), Some("/dev"));
    }
}
