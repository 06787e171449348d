//! Lists a folder of the local file system.

use std::fs::{DirEntry, FileType, Metadata};
use std::time::{Duration, UNIX_EPOCH};

use super::{Contents, FileDetails, ListedFile, failed};
use crate::error::{ErrorKind, Result};
use crate::local_path::local_path;

/// The folders in a folder and, if requested, the files, without their details; `None` where there is no such
/// folder. Links to folders are not followed, since they may form cycles.
pub(super) fn local_contents(folder: &str, with_files: bool) -> Result<Option<Contents>> {
    let entries = match std::fs::read_dir(local_path(folder)?).map_err(|error| failed(error, folder)) {
        Err(error) if error.kind() == ErrorKind::Missing => return Ok(None),
        entries => entries?,
    };
    let mut found = Contents::default();
    for entry in entries {
        let added = entry.and_then(|entry| add(&mut found, &entry, with_files));
        match added.map_err(|error| failed(error, folder)) {
            // It was removed after it was listed.
            Err(error) if error.kind() == ErrorKind::Missing => {}
            added => added?,
        }
    }
    Ok(Some(found))
}

fn add(found: &mut Contents, entry: &DirEntry, with_files: bool) -> std::io::Result<()> {
    let kind = entry.file_type()?;
    let shown = || entry.file_name().to_string_lossy().into_owned();
    match entry.file_name().into_string() {
        Ok(name) if kind.is_dir() => found.folders.names.push(name),
        Err(_) if kind.is_dir() => found.folders.closed.push((shown(), "its name is not UTF-8")),
        _ if kind.is_symlink() && entry.path().is_dir() => {
            found.folders.closed.push((shown(), "it is a link"));
        }
        // Metadata cannot name a file whose name is not UTF-8.
        Ok(name) if with_files && (kind.is_file() || is_link_to_file(kind, entry)?) => {
            found.files.push(ListedFile { name, details: None });
        }
        _ => {}
    }
    Ok(())
}

fn is_link_to_file(kind: FileType, entry: &DirEntry) -> std::io::Result<bool> {
    Ok(kind.is_symlink() && std::fs::metadata(entry.path())?.is_file())
}

/// The details of a file; `None` where there is none, or it is no longer a file.
pub(super) fn local_details(path: &str) -> Result<Option<FileDetails>> {
    let about = match std::fs::metadata(local_path(path)?).map_err(|error| failed(error, path)) {
        Err(error) if error.kind() == ErrorKind::Missing => return Ok(None),
        about => about?,
    };
    let modified = modified(&about).map_err(|error| failed(error, path))?;
    Ok(about.is_file().then_some(FileDetails { size: Some(about.len()), modified }))
}

/// Modification time of a file or folder, in milliseconds since 1970 UTC.
pub(super) fn modified(about: &Metadata) -> std::io::Result<Option<i64>> {
    let millis = |span: Duration| i64::try_from(span.as_millis()).ok();
    Ok(match about.modified()?.duration_since(UNIX_EPOCH) {
        Ok(since) => millis(since),
        Err(before) => millis(before.duration()).map(|millis| -millis),
    })
}
