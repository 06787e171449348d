//! Listing the folders that a table's files are in.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Reach;
use super::other_tables::{OtherTable, linked, other_in};
use super::prefixes::Prefixes;
use crate::credentials::without_credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::pipeline::{FolderListing, Levels};
use crate::relocate::below;
use crate::storage::{Contents, ListedFile, Storage};

/// Whether to look at a file or folder, given its path relative to the place and whether it is a folder.
pub(super) type Rule = Arc<dyn Fn(&str, bool) -> bool + Send + Sync>;

/// Whether a folder is the table's own although it has what shows a table, given its path relative to the place.
pub(super) type Own = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A folder that files of a table are in.
#[derive(Clone)]
pub(crate) struct ListedFolder {
    /// Its location as the metadata has it, without a slash at the end.
    pub(crate) location: String,
    pub(crate) rule: Rule,
    /// Whether the rule admits files in any folder, not only in folders that the format knows.
    pub(crate) is_whole: bool,
    /// The table's format.
    pub(crate) format: &'static str,
    pub(crate) is_own: Own,
    /// Whether the folder may be missing.
    pub(crate) is_optional: bool,
}

/// A file with its full path, in the form that metadata would have.
pub(super) type LocatedFile = (String, ListedFile);

/// What is in one folder.
pub(super) struct FolderFiles {
    pub(super) files: Vec<LocatedFile>,
    pub(super) tables: Vec<OtherTable>,
}

/// Whether the details of listed files are needed at once, or of few files and later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Details {
    Now,
    Later,
}

/// The files in a place that its rule admits, folder by folder, and other tables in any folder of it.
pub(super) fn list(
    place: &ListedFolder,
    details: Details,
    storage: &Arc<dyn Storage>,
    notes: &Notes,
) -> impl Iterator<Item = Result<FolderFiles>> + use<> {
    let folders = vec![place.location.clone()];
    let looks =
        FolderLister { place: place.clone(), details, storage: Arc::clone(storage), notes: notes.clone() };
    Levels::new(looks, Arc::clone(storage), folders, true)
}

/// Where other tables are in the folders of a table, in order.
///
/// # Errors
/// Those of [`Reach::places`] and of listing; `Location` for a folder that is a table of another format too.
pub(crate) fn tables_within<R: Reach>(reach: &R) -> Result<Vec<String>> {
    let spellings = Prefixes::new(&reach.storage().place(reach.location())?, &[], &[]);
    let mut found = BTreeSet::new();
    for place in reach.places(&spellings)? {
        for folder in list(&place, Details::Later, reach.storage(), &Notes::default()) {
            found.extend(folder?.tables.into_iter().map(|table| table.location));
        }
    }
    Ok(found.into_iter().collect())
}

/// How folders are listed, by several threads.
struct FolderLister {
    place: ListedFolder,
    details: Details,
    storage: Arc<dyn Storage>,
    notes: Notes,
}

impl FolderListing for FolderLister {
    type Output = FolderFiles;

    fn look(&self, folder: &str) -> Result<(Option<FolderFiles>, Vec<String>)> {
        let Some(Contents { files, folders }) = self.storage.contents(folder)? else {
            // A folder that was deleted after it was listed has no files either.
            return if folder == self.place.location && !self.place.is_optional {
                let message = format!("no folder at {:?}", without_credentials(folder));
                Err(Error::new(ErrorKind::Missing, message).in_file(folder))
            } else {
                Ok((None, Vec::new()))
            };
        };
        let names = files.iter().map(|file| file.name.as_str());
        let other = other_in(&self.place, folder, names, &folders.names, &self.storage)?;
        let mut tables: Vec<OtherTable> = other.into_iter().collect();
        if tables.iter().any(|table| table.has_folder) {
            return Ok((Some(FolderFiles { files: Vec::new(), tables }), Vec::new()));
        }
        let within = |path: &str, is_folder| {
            below(path, &self.place.location).is_some_and(|rest| (self.place.rule)(rest, is_folder))
        };
        for (name, why) in folders.closed {
            let path = format!("{folder}/{name}");
            tables.extend(linked(&path, &self.storage)?);
            if within(&path, true) {
                let folder = without_credentials(folder);
                self.notes.add(format!("the folder {name:?} in {folder:?} is not looked into: {why}"));
            }
        }
        let files = files.into_iter().map(|file| (format!("{folder}/{}", file.name), file));
        let files = files.filter(|(path, _)| within(path, false));
        let files: Vec<LocatedFile> = match self.details {
            Details::Now => {
                files.filter_map(|file| self.detailed(file).transpose()).collect::<Result<_>>()?
            }
            Details::Later => files.collect(),
        };
        let names = folders.names.iter().filter(|name| !matches!(name.as_str(), "" | "." | ".."));
        // Other tables may be where no file is looked at.
        let paths = names.map(|name| format!("{folder}/{name}")).collect();
        let is_empty = files.is_empty() && tables.is_empty();
        Ok(((!is_empty).then_some(FolderFiles { files, tables }), paths))
    }
}

impl FolderLister {
    /// The file with its details; `None` where it was removed since it was listed.
    fn detailed(&self, (path, mut file): LocatedFile) -> Result<Option<LocatedFile>> {
        if file.details.is_none() {
            file.details = self.storage.details(&path)?;
        }
        Ok(file.details.is_some().then_some((path, file)))
    }
}
