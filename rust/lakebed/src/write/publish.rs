//! Files that become visible complete or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::local_path::local_path;

/// What happens to a file that exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingFile {
    /// It stays, and nothing is written.
    Refuse,
    /// It is replaced, in one step.
    Replace,
}

/// The suffix of files that are being written, by which one that was left over can be recognized.
const SUFFIX: &str = ".lakebed-tmp";

/// Whether a file of that name was left by a process that was killed while it wrote another one.
pub(crate) fn is_left_over(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(SUFFIX));
    let mut parts = inner.unwrap_or_default().rsplitn(3, '.');
    let mut is_number = || parts.next().is_some_and(|part| part.parse::<u64>().is_ok());
    is_number() && is_number() && parts.next().is_some_and(|name| !name.is_empty())
}

/// Writes a local file: under a temporary name in the same folder, newly created and synced, then renamed or
/// linked to `path` in one step, and the folder synced (not on Windows). Readers see no file, or all of it. A
/// process that is killed may leave a file `.<name>.<process>.<number>.lakebed-tmp`.
///
/// # Errors
/// Those of `write`; `Io`, with the cause, also where `path` exists and is to stay. The temporary file is
/// then removed.
pub fn publish(path: &str, existing: ExistingFile, write: impl FnOnce(&File) -> Result<()>) -> Result<()> {
    appear(path, existing, true, write)?;
    sync_folder_of(path)
}

/// The same without syncing the folder; the file is only synced with `synced`.
fn appear(
    path: &str,
    existing: ExistingFile,
    synced: bool,
    write: impl FnOnce(&File) -> Result<()>,
) -> Result<()> {
    let target = Path::new(path);
    let io = |error: io::Error| Error::from(error).in_file(path);
    let (temporary, file) = created_beside(target).map_err(io)?;
    let written = || -> Result<()> {
        write(&file).map_err(|error| error.in_file(path))?;
        if synced {
            file.sync_all().map_err(io)?;
        }
        match existing {
            ExistingFile::Replace => fs::rename(&temporary, target).map_err(io),
            ExistingFile::Refuse => link(&temporary, target).map_err(io),
        }
    };
    let outcome = written();
    // After a rename the temporary name no longer exists.
    let _ = fs::remove_file(&temporary);
    outcome
}

/// Makes sure that the names in the folder of a local file survive a crash of the machine.
///
/// # Errors
/// `Io`.
pub(crate) fn sync_folder_of(path: &str) -> Result<()> {
    let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty());
    sync_folder(folder.unwrap_or(Path::new("."))).map_err(|error| Error::from(error).in_file(path))
}

/// Makes the name of a new file survive a crash of the machine.
#[cfg(not(windows))]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Windows does not open a folder as a file, and has no call that syncs one: NTFS keeps a journal of names.
#[cfg(windows)]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Writes a new file. Its bytes survive a crash of the machine; its name does only after [`sync_folder_of`].
///
/// # Errors
/// As [`publish_bytes`].
pub(crate) fn create_bytes(path: &str, bytes: &[u8]) -> Result<()> {
    appear(local_path(path)?, ExistingFile::Refuse, true, |mut file| Ok(file.write_all(bytes)?))
}

/// Replaces a file that nothing depends on, so it is not synced.
///
/// # Errors
/// As [`publish_bytes`].
pub(crate) fn replace_hint(path: &str, text: &str) -> Result<()> {
    appear(local_path(path)?, ExistingFile::Replace, false, |mut file| Ok(file.write_all(text.as_bytes())?))
}

/// Publishes bytes at a path as metadata spells it.
///
/// # Errors
/// `Unsupported` for a path that is not local; those of [`publish`].
pub(crate) fn publish_bytes(path: &str, existing: ExistingFile, bytes: &[u8]) -> Result<()> {
    publish(local_path(path)?, existing, |mut file| Ok(file.write_all(bytes)?))
}

/// Whether a file was not published because its name exists already.
pub(crate) fn is_taken(failed: &Error) -> bool {
    let source = std::error::Error::source(failed);
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| source.kind() == io::ErrorKind::AlreadyExists)
}

/// Links a file to the name `target`, which must not exist: a rename would replace it.
///
/// A network file system may create the link, lose the answer, and refuse the repeated request.
fn link(file: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(file, target) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_same(file, target) => Ok(()),
        linked => linked,
    }
}

#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    place(one).is_some_and(|one| place(other) == Some(one))
}

#[cfg(not(unix))]
fn is_same(_: &Path, _: &Path) -> bool {
    false
}

/// Creates a file in the folder of `target`. Names are tried until one is free: where process ids are few, as
/// in containers, a killed process may have left a file under the first.
fn created_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let path = beside(target);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (path, file)),
        }
    }
}

/// A temporary name in the folder of `target`, different from those of other writers in this process.
fn beside(target: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.{number}{SUFFIX}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_that_was_left_is_known_by_its_name() {
        let left = beside(Path::new("/t/metadata/v3.metadata.json"));
        assert!(is_left_over(left.file_name().unwrap().to_str().unwrap()));
        for name in ["v3.metadata.json", ".v3.lakebed-tmp", ".x.1.lakebed-tmp", "x.1.2.lakebed-tmp", ".x.1.2"]
        {
            assert!(!is_left_over(name), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_whose_answer_was_lost_is_made() {
        let folder = std::env::temp_dir().join(format!("lakebed-link-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [one, two, target] = ["one", "two", "target"].map(|name| folder.join(name));
        fs::write(&one, "1").unwrap();
        fs::write(&two, "1").unwrap();
        link(&one, &target).unwrap();
        link(&one, &target).unwrap();
        assert_eq!(link(&two, &target).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("lakebed-publish-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("f").to_string_lossy().into_owned();
        let write = |text: &'static str| {
            move |mut file: &File| {
                file.write_all(text.as_bytes()).map_err(|error| Error::new(ErrorKind::Io, error.to_string()))
            }
        };
        publish(&path, ExistingFile::Refuse, write("one")).unwrap();
        let refused = publish(&path, ExistingFile::Refuse, write("two")).unwrap_err();
        assert_eq!(
            (refused.kind(), refused.location().path.as_deref()),
            (ErrorKind::Io, Some(path.as_str()))
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        publish(&path, ExistingFile::Replace, write("three")).unwrap();
        let failed = publish(&path, ExistingFile::Replace, |mut file| {
            file.write_all(b"half").unwrap();
            Err(Error::new(ErrorKind::Argument, "a row does not fit"))
        });
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Argument);
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(names(&folder), ["f"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
