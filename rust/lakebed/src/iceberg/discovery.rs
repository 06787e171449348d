//! Finds the current `metadata.json` of a table (Iceberg specification, "File System Tables";
//! `HadoopTableOperations.java`; PyIceberg's `StaticTable` for hints that are file names).

use std::sync::Arc;

use arrow_buffer::Buffer;
use lakebed_avro::Limits;

use super::metadata::{MetadataFile, TableMetadata, WantedElements};
use crate::credentials::without_credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::pipeline::read_each;
use crate::repair::WrongHint;
use crate::storage::{Storage, present, read_hint};
use crate::table::{HintAhead, hint_ahead};

/// The folder of a table's metadata files.
pub const FOLDER: &str = "metadata";
/// The file in it that names the current version.
pub(crate) const HINT: &str = "version-hint.text";

/// What may follow the version in the name of its file, in the order in which engines try them.
pub(crate) const ENDINGS: [&str; 3] = [".metadata.json", ".gz.metadata.json", ".metadata.json.gz"];

/// How many names a message lists.
const NAMES_SHOWN: usize = 3;

/// Begins to read the hint of the table at `location`, while so many other requests are made. A metadata file has
/// none.
pub(crate) fn hint(location: &str, storage: &Arc<dyn Storage>, others: usize) -> HintAhead {
    let folder = location.trim_end_matches('/');
    let path = (!is_metadata_file(location)).then(|| format!("{folder}/{FOLDER}/{HINT}"));
    hint_ahead(storage, others, path)
}

/// The current metadata file of the table at `location`: its folder, or a metadata file, which is then the
/// one.
///
/// In a folder it is the file that the hint names: either a version, of which later versions are looked for,
/// or a file name, with or without its ending. Where the hint is empty, missing or names nothing, it is the
/// file whose name has the highest version; of several with that version the one whose table was changed
/// last. Files of failed commits may be among them, which only the table's catalog knows.
///
/// A note is added where the names look like a catalog's, since only the catalog knows which version is
/// current.
///
/// Reads each file that is looked for by `open`, all of a version and the next at once; lists the folder where there
/// is no hint.
///
/// # Errors
/// `TableNotFound` where there is no such file, with what was looked for; `Missing` for a hint at a version
/// that does not exist; those of the storage.
pub fn current_metadata(
    location: &str,
    storage: &Arc<dyn Storage>,
    open: impl Fn(&str) -> Result<MetadataFile> + Send + Sync + 'static,
    notes: &Notes,
) -> Result<MetadataFile> {
    hinted_metadata(location, storage, hint(location, storage, 1), open, notes)
}

/// The same, by what is read ahead of the table's hint.
///
/// # Errors
/// As [`current_metadata`].
pub(super) fn hinted_metadata(
    location: &str,
    storage: &Arc<dyn Storage>,
    hint: HintAhead,
    open: impl Fn(&str) -> Result<MetadataFile> + Send + Sync + 'static,
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
    let open = Arc::new(open);
    match folder.hinted(hint.result(storage.as_ref())??, &open)? {
        Some(file) => Ok(file),
        None => match folder.candidates(storage.list(&folder.path)?)? {
            FolderListing::Files(paths, versions) => {
                let file = newest(paths, open.as_ref())?;
                if versions > 1 && !is_numbered_by_engine(file.path()) {
                    notes.add(guessed(file.path(), versions));
                }
                Ok(file)
            }
            FolderListing::Others(names) => Err(not_found(location, no_version(location, &names))),
        },
    }
}

/// The hint of the table at `location`, where it is there and leads to no metadata file. It must name the highest version
/// of engines without a catalog, unless it names a higher one: what that version had is lost.
///
/// # Errors
/// Those of the storage.
pub(super) fn wrong_hint(location: &str, storage: &Arc<dyn Storage>) -> Result<Option<WrongHint>> {
    let folder = Folder { path: format!("{location}/{FOLDER}"), storage };
    let Some(said) = read_hint(storage.as_ref(), &folder.file(HINT))? else { return Ok(None) };
    let problem = match folder.hinted(Some(said.clone()), &folder.is_there()) {
        Ok(Some(_)) => return Ok(None),
        Ok(None) => "it does not name an existing metadata file".to_owned(),
        Err(error) if error.kind() == ErrorKind::Missing => error.message().to_owned(),
        Err(error) => return Err(error),
    };
    let said = String::from_utf8_lossy(&said).trim().parse::<u64>();
    if said == Ok(0) {
        return Ok(None);
    }
    let text = match folder.candidates(storage.list(&folder.path)?)? {
        FolderListing::Files(paths, _) if paths.iter().all(|path| is_numbered_by_engine(path)) => {
            let highest = paths.iter().find_map(|path| version_of(path.rsplit('/').next()?));
            highest.filter(|highest| said.is_ok_and(|said| said > *highest)).is_none().then_some(highest)
        }
        _ => None,
    };
    Ok(Some(WrongHint {
        path: folder.file(HINT),
        problem,
        text: text.flatten().map(|highest| highest.to_string()),
    }))
}

/// Whether [`current_metadata`] finds a file in the folder `location`, or whether there should be one, and it is
/// not a view's. Lists the folder; reads the hint only where no file's name has a version, and the newest metadata
/// only where no manifests are beside it, as in tables without snapshots and in views.
///
/// # Errors
/// Those of the storage.
pub fn is_table(location: &str, storage: &Arc<dyn Storage>) -> Result<bool> {
    let folder = Folder { path: format!("{location}/{FOLDER}"), storage };
    let names = storage.list(&folder.path)?;
    let has_hint = names.iter().any(|name| name == HINT);
    let has_manifests = names.iter().any(|name| name.ends_with(".avro"));
    if let FolderListing::Files(paths, _) = folder.candidates(names)? {
        let open = |path: &String| MetadataFile::open(path, Arc::clone(storage), Limits::DEFAULT);
        return Ok(has_manifests || !paths.iter().any(|path| open(path).is_ok_and(|file| file.is_view())));
    }
    let hinted = || folder.hinted(read_hint(storage.as_ref(), &folder.file(HINT))?, &folder.is_there());
    match has_hint.then(hinted) {
        None => Ok(false),
        Some(Err(error)) if error.kind() == ErrorKind::Missing => Ok(true),
        Some(hinted) => Ok(hinted?.is_some()),
    }
}

/// Whether a location is that of a metadata file rather than of a table's folder, by its name.
pub fn is_metadata_file(location: &str) -> bool {
    location.ends_with(".json") || location.ends_with(".json.gz")
}

/// The folder of the table that is opened at a location: a folder, or a metadata file.
pub(crate) fn table_folder(location: &str) -> &str {
    if !is_metadata_file(location) {
        return location;
    }
    match location.rsplit_once("/metadata/") {
        Some((folder, _)) => folder,
        None => location.rsplit_once('/').map_or(".", |(folder, _)| folder),
    }
}

/// Whether a file of that name in the folder of metadata shows a table, even one that has to be opened by the file.
pub fn names_table(name: &str) -> bool {
    name == HINT || name.ends_with(ENDINGS[0]) || name.ends_with(ENDINGS[2])
}

/// Where the metadata folder has no metadata file itself, at most this many of its subfolders are listed.
const MAX_FOLDERS: usize = 16;

/// Opens the file at a path; `Missing` where there is none.
trait Open<T>: Fn(&str) -> Result<T> + Send + Sync + 'static {}

impl<T, F: Fn(&str) -> Result<T> + Send + Sync + 'static> Open<T> for F {}

/// The folder of a table's metadata.
struct Folder<'s> {
    path: String,
    storage: &'s Arc<dyn Storage>,
}

/// The result of listing a folder.
enum FolderListing {
    /// The files with the highest version, and how many files have a version.
    Files(Vec<String>, usize),
    /// No file with a version, but these metadata files without.
    Others(Vec<String>),
}

impl Folder<'_> {
    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// What reads one byte of a file.
    fn is_there(&self) -> Arc<impl Open<Buffer> + use<>> {
        let storage = Arc::clone(self.storage);
        Arc::new(move |path: &str| storage.read_range(path, 0, 1))
    }

    /// The first of the files that exists; all are opened at once.
    fn first<T: Send + 'static>(
        &self,
        names: impl Iterator<Item = String>,
        open: &Arc<impl Open<T>>,
    ) -> Result<Option<T>> {
        Ok(self.firsts(vec![names.collect()], open)?.pop().flatten())
    }

    /// For each row of files the first that exists; all are opened at once.
    fn firsts<T: Send + 'static>(
        &self,
        rows: Vec<Vec<String>>,
        open: &Arc<impl Open<T>>,
    ) -> Result<Vec<Option<T>>> {
        let paths: Vec<String> = rows.iter().flatten().map(|name| self.file(name)).collect();
        let open = Arc::clone(open);
        // Files after the first existing one do not matter, nor do their errors.
        let found = move |_: &dyn Storage, path: &String| Ok(present(open(path)));
        let mut found = read_each(self.storage, paths, 1, found)?.into_iter();
        let first = |row: Vec<String>| {
            let mut row = found.by_ref().take(row.len());
            let first = row.find_map(Result::transpose).transpose();
            row.for_each(drop);
            first
        };
        rows.into_iter().map(first).collect()
    }

    /// The file that the hint of these bytes leads to, by `open`; `None` without a hint, or with one that names
    /// nothing.
    fn hinted<T: Send + 'static>(&self, hint: Option<Buffer>, open: &Arc<impl Open<T>>) -> Result<Option<T>> {
        let Some(bytes) = hint else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes);
        let text = text.lines().next().unwrap_or_default().trim();
        if let Ok(version) = text.parse::<u64>() {
            return self.latest_from(version, open);
        }
        let is_name = |letter: char| !matches!(letter, '/' | '\\') && !letter.is_control();
        if text.is_empty() || !text.chars().all(is_name) {
            return Ok(None);
        }
        if is_metadata_file(text) {
            return self.first(std::iter::once(text.to_owned()), open);
        }
        self.first(ENDINGS.iter().map(|ending| format!("{text}{ending}")), open)
    }

    /// The latest version from `hinted` on: the hint is written after the version, and may be out of date.
    fn latest_from<T: Send + 'static>(&self, hinted: u64, open: &Arc<impl Open<T>>) -> Result<Option<T>> {
        let names =
            |version: u64| ENDINGS.iter().map(|ending| format!("v{version}{ending}")).collect::<Vec<_>>();
        let mut version = hinted;
        let both = [Some(version), version.checked_add(1)].into_iter().flatten().map(names);
        let mut found = self.firsts(both.collect(), open)?;
        let mut later = if found.len() > 1 { found.pop().flatten() } else { None };
        let Some(mut latest) = found.pop().flatten() else {
            let named = format!("v{hinted}{}", ENDINGS[0]);
            let message = format!(
                "{HINT} says {hinted}, but there is no {named}: open the table through its catalog \
                (--catalog NAME, or open_table(catalog.load_table(…))), or one of its metadata files"
            );
            // Engines write version 0 for a table without commits.
            return if hinted == 0 {
                Ok(None)
            } else {
                Err(Error::new(ErrorKind::Missing, message).in_file(&self.file(HINT)))
            };
        };
        while let Some(next) = later {
            (version, latest) = (version + 1, next);
            later = match version.checked_add(1) {
                Some(next) => self.first(names(next).into_iter(), open)?,
                None => None,
            };
        }
        Ok(Some(latest))
    }

    /// The metadata files in the folder with these `names`.
    fn candidates(&self, names: Vec<String>) -> Result<FolderListing> {
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
            return Ok(FolderListing::Others(others));
        };
        let count = versions.len();
        versions.retain(|(version, _)| *version == highest);
        Ok(FolderListing::Files(versions.into_iter().map(|(_, path)| path).collect(), count))
    }
}

/// Of several files the one whose table was changed last.
fn newest(paths: Vec<String>, open: impl Fn(&str) -> Result<MetadataFile>) -> Result<MetadataFile> {
    let files = paths.iter().map(|path| open(path)).collect::<Result<Vec<_>>>()?;
    let mut newest: Option<(i64, MetadataFile)> = None;
    let several = files.len() > 1;
    for file in files {
        let updated =
            if several { TableMetadata::read(&file, &WantedElements::CURRENT)?.last_updated_ms } else { 0 };
        if newest.as_ref().is_none_or(|(latest, _)| *latest <= updated) {
            newest = Some((updated, file));
        }
    }
    newest.map(|(_, file)| file).ok_or_else(|| Error::new(ErrorKind::TableNotFound, "no metadata file"))
}

/// The version in a file name: `v3.metadata.json`, `00003-….metadata.json`; `None` for other files, hidden
/// ones, and those that a commit has not renamed yet.
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

/// Whether a file is hidden, or its name is only a UUID, as in Java before the file is renamed.
fn is_temporary(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let is_uuid = stem.len() == 36
        && stem.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    name.starts_with('.') || is_uuid
}

/// Whether the name is one that engines without a catalog write: there each version is current as soon as it
/// exists.
fn is_numbered_by_engine(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with('v'))
}

#[cold]
fn guessed(path: &str, versions: usize) -> String {
    format!(
        "opened by its folder, with the newest metadata file: {path} has the highest of {versions} versions; \
        a catalog may know another as current: --catalog NAME, or open_table(catalog.load_table(…))"
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
