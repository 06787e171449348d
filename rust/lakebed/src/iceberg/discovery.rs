//! Which `metadata.json` of a table is its current one (Iceberg specification, "File System Tables";
//! `HadoopTableOperations.java`; PyIceberg's `StaticTable` for hints that are names).

use std::sync::Arc;

use super::metadata::{MetadataFile, TableMetadata, Wanted};
use crate::credentials::without_credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::pipeline::read_each;
use crate::storage::{Storage, present};

/// The folder of a table's metadata files.
pub const FOLDER: &str = "metadata";
/// The file in it that says which version is current.
pub(super) const HINT: &str = "version-hint.text";

/// What a version's file may be called behind its number, in the order in which engines look for it.
const ENDINGS: [&str; 3] = [".metadata.json", ".gz.metadata.json", ".metadata.json.gz"];

/// The longest name that a file can have on most file systems, and a line's end.
const MAX_HINT_BYTES: u64 = 256;

/// How many names a message lists.
const NAMES_SHOWN: usize = 3;

/// The current metadata file of the table at `location`: a folder, or a metadata file that is meant itself.
///
/// In a folder it is what the hint names: a version, from which on those that follow it are looked for, or a
/// file, whole or without its ending. Where the hint is empty, not there or names nothing, it is the file
/// whose name has the highest version, and of several of one version the one changed last: files of commits
/// that failed may be among them, which only the table's catalog knows.
///
/// Where the folder is a catalog's, which alone knows which of several versions is current, that is noted.
///
/// Reads the hint and a byte of each file that is looked for; lists the folder where there is no hint.
/// `open` reads the file, and of several of one version each.
///
/// # Errors
/// `TableNotFound` where there is no such file, saying what was looked for; `Missing` for a hint at a version
/// that is not there; what storage gives.
pub fn current_metadata(
    location: &str,
    storage: &Arc<dyn Storage>,
    open: impl Fn(&str) -> Result<MetadataFile>,
    notes: &Notes,
) -> Result<MetadataFile> {
    if is_metadata_file(location) {
        return match present(open(location))? {
            Some(file) => Ok(file),
            None => Err(not_found(
                location,
                format!("no Iceberg metadata file {:?}", without_credentials(location)),
            )),
        };
    }
    let folder = Folder { path: format!("{location}/{FOLDER}"), storage };
    match folder.hinted()? {
        Some(path) => open(&path),
        None => match folder.candidates(storage.list(&folder.path)?)? {
            Found::Files(paths, versions) => {
                let file = newest(paths, open)?;
                if versions > 1 && !is_numbered_by_engine(file.path()) {
                    notes.add(guessed(file.path(), versions));
                }
                Ok(file)
            }
            Found::Others(names) => Err(not_found(location, no_version(location, &names))),
        },
    }
}

/// The path of the hint of the table at `location` and what is wrong with it; none where it leads to a metadata file, or
/// is not there.
///
/// # Errors
/// What storage gives.
pub(super) fn wrong_hint(location: &str, storage: &Arc<dyn Storage>) -> Result<Option<(String, String)>> {
    let folder = Folder { path: format!("{location}/{FOLDER}"), storage };
    let hint = folder.file(HINT);
    match folder.hinted() {
        Ok(Some(_)) => Ok(None),
        Ok(None) => {
            let is_there =
                present(storage.read_range(&hint, 0, 1))?.is_some_and(|text| text.as_slice() != b"0");
            Ok(is_there.then(|| (hint, "it does not name an existing metadata file".to_owned())))
        }
        Err(error) if error.kind() == ErrorKind::Missing => Ok(Some((hint, error.message().to_owned()))),
        Err(error) => Err(error),
    }
}

/// Whether [`current_metadata`] finds a file in the folder `location`, or that one should be there. Lists the folder;
/// the hint is read only where no file's name has a version.
///
/// # Errors
/// What storage gives.
pub fn is_table(location: &str, storage: &Arc<dyn Storage>) -> Result<bool> {
    let folder = Folder { path: format!("{location}/{FOLDER}"), storage };
    let names = storage.list(&folder.path)?;
    let has_hint = names.iter().any(|name| name == HINT);
    if matches!(folder.candidates(names)?, Found::Files(..)) {
        return Ok(true);
    }
    match has_hint.then(|| folder.hinted()) {
        None => Ok(false),
        Some(Err(error)) if error.kind() == ErrorKind::Missing => Ok(true),
        Some(hinted) => Ok(hinted?.is_some()),
    }
}

/// Whether a location is a file rather than a table's folder, by its name.
pub fn is_metadata_file(location: &str) -> bool {
    location.ends_with(".json") || location.ends_with(".json.gz")
}

/// Folders below that of the metadata that are looked into where it holds none itself.
const MAX_FOLDERS: usize = 16;

/// The folder of a table's metadata.
struct Folder<'s> {
    path: String,
    storage: &'s Arc<dyn Storage>,
}

/// What listing a folder finds.
enum Found {
    /// The files of the highest version, and how many files have a version.
    Files(Vec<String>, usize),
    /// None, but metadata files whose names have no version.
    Others(Vec<String>),
}

impl Folder<'_> {
    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// The first of the files that is there; all are asked for at once.
    fn first(&self, names: impl Iterator<Item = String>) -> Result<Option<String>> {
        Ok(self.firsts(vec![names.collect()])?.pop().flatten())
    }

    /// Of each row of files the first that is there; all are asked for at once.
    fn firsts(&self, rows: Vec<Vec<String>>) -> Result<Vec<Option<String>>> {
        let paths: Vec<String> = rows.iter().flatten().map(|name| self.file(name)).collect();
        // What stands behind a file that is there does not matter, nor do its errors.
        let exists = |storage: &dyn Storage, path: &String| Ok(present(storage.read_range(path, 0, 1)));
        let mut found = paths.clone().into_iter().zip(read_each(self.storage, paths, 1, exists)?);
        let first = |row: Vec<String>| {
            let mut first = Ok(None);
            for (path, exists) in found.by_ref().take(row.len()) {
                if matches!(first, Ok(None)) {
                    first = exists.map(|bytes| bytes.map(|_| path));
                }
            }
            first
        };
        rows.into_iter().map(first).collect()
    }

    /// The file that the hint leads to; none without a hint, or with one that names nothing.
    fn hinted(&self) -> Result<Option<String>> {
        let hint = self.file(HINT);
        let Some(bytes) = present(self.storage.read_range(&hint, 0, MAX_HINT_BYTES))? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes);
        let text = text.lines().next().unwrap_or_default().trim();
        if let Ok(version) = text.parse::<u64>() {
            return self.latest_from(version).map_err(|error| error.in_file(&hint));
        }
        if text.is_empty() || text.contains(['/', '\\']) {
            return Ok(None);
        }
        if is_metadata_file(text) {
            return self.first(std::iter::once(text.to_owned()));
        }
        self.first(ENDINGS.iter().map(|ending| format!("{text}{ending}")))
    }

    /// The latest version from `hinted` on: the hint is written after the version, and may be behind.
    fn latest_from(&self, hinted: u64) -> Result<Option<String>> {
        let names =
            |version: u64| ENDINGS.iter().map(|ending| format!("v{version}{ending}")).collect::<Vec<_>>();
        let mut version = hinted;
        let mut found =
            self.firsts([Some(version), version.checked_add(1)].into_iter().flatten().map(names).collect())?;
        let mut later = if found.len() > 1 { found.pop().flatten() } else { None };
        let Some(mut path) = found.pop().flatten() else {
            let named = format!("v{hinted}{}", ENDINGS[0]);
            let message = format!(
                "{HINT} says {hinted}, but there is no {named}: open the table through its catalog \
                (--catalog NAME, or open_table(catalog.load_table(…))), or one of its metadata files"
            );
            // Version 0 is what engines say of a table that was never committed to.
            return if hinted == 0 { Ok(None) } else { Err(Error::new(ErrorKind::Missing, message)) };
        };
        while let Some(next) = later {
            (version, path) = (version.saturating_add(1), next);
            later = match version.checked_add(1) {
                Some(next) => self.first(names(next).into_iter())?,
                None => None,
            };
        }
        Ok(Some(path))
    }

    /// What the folder holds, whose `names` are these.
    fn candidates(&self, names: Vec<String>) -> Result<Found> {
        let mut versions: Vec<(u64, String)> =
            names.iter().filter_map(|name| Some((version_of(name)?, self.file(name)))).collect();
        let mut others: Vec<String> =
            names.iter().filter(|name| is_metadata_file(name) && !is_temporary(name)).cloned().collect();
        if others.is_empty() {
            // Tables may keep their metadata in a separate folder: `write.metadata.path`.
            for name in names.iter().filter(|name| !name.contains('.')).take(MAX_FOLDERS) {
                let folder = Folder { path: self.file(name), storage: self.storage };
                let names = self.storage.list(&folder.path)?;
                versions.extend(names.iter().filter_map(|name| Some((version_of(name)?, folder.file(name)))));
            }
        }
        let Some(highest) = versions.iter().map(|(version, _)| *version).max() else {
            others.sort();
            return Ok(Found::Others(others));
        };
        let count = versions.len();
        versions.retain(|(version, _)| *version == highest);
        Ok(Found::Files(versions.into_iter().map(|(_, path)| path).collect(), count))
    }
}

/// The one of several files whose table was changed last.
fn newest(paths: Vec<String>, open: impl Fn(&str) -> Result<MetadataFile>) -> Result<MetadataFile> {
    let files = paths.iter().map(|path| open(path)).collect::<Result<Vec<_>>>()?;
    let mut newest: Option<(i64, MetadataFile)> = None;
    let several = files.len() > 1;
    for file in files {
        let updated = if several { TableMetadata::read(&file, &Wanted::CURRENT)?.last_updated_ms } else { 0 };
        if newest.as_ref().is_none_or(|(latest, _)| *latest <= updated) {
            newest = Some((updated, file));
        }
    }
    newest.map(|(_, file)| file).ok_or_else(|| Error::new(ErrorKind::TableNotFound, "no metadata file"))
}

/// The version in a file's name: `v3.metadata.json`, `00003-….metadata.json`; none for files of other kinds,
/// hidden ones, and those that a commit has not renamed yet.
fn version_of(name: &str) -> Option<u64> {
    if !is_metadata_file(name) || is_temporary(name) {
        return None;
    }
    let number = match name.strip_prefix('v') {
        Some(rest) => rest.split('.').next()?,
        None => name.split_once('-')?.0,
    };
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
}

/// Whether a file is hidden, or called by nothing but a UUID, as Java's are before they are renamed.
fn is_temporary(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let is_uuid = stem.len() == 36
        && stem.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    name.starts_with('.') || is_uuid
}

/// Whether a file is called as engines do that have no catalog: a version is current as soon as it is there.
fn is_numbered_by_engine(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with('v'))
}

#[cold]
fn guessed(path: &str, versions: usize) -> String {
    format!(
        "no {HINT}: {path} has the highest of {versions} versions, but the table's catalog may know another \
        as current: open the table through it (--catalog NAME, or open_table(catalog.load_table(…)))"
    )
}

fn no_version(location: &str, others: &[String]) -> String {
    let location = without_credentials(location);
    if others.is_empty() {
        return format!(
            "no Iceberg table at {location:?}: there is no {FOLDER}/{HINT} and no {FOLDER}/*.metadata.json \
            below it"
        );
    }
    let names: Vec<String> = others.iter().take(NAMES_SHOWN).map(|name| format!("{name:?}")).collect();
    let more = others.len().saturating_sub(NAMES_SHOWN);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!(
        "no current metadata at {location:?}: {} in {FOLDER}/ without a version{more}; open the file itself",
        names.join(", ")
    )
}

#[cold]
fn not_found(location: &str, message: String) -> Error {
    Error::new(ErrorKind::TableNotFound, message).in_file(location)
}
