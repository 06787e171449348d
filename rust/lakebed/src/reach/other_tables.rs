//! Other tables in a table's folder: their folders, and the files that they name in others, are never its orphans.

use std::collections::HashSet;
use std::sync::Arc;

use super::Reach;
use super::kind::Kinds;
use super::listing::ListedFolder;
use super::looks::{VisitedSet, until_nothing_is_new};
use super::moved::MovedTable;
use super::orphans::{RecordSink, take_walk};
use super::partitioner::Partitioner;
use super::walk::{Walk, WalkOptions};
use crate::columnar::Decoding;
use crate::credentials::without_credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::format::FORMATS;
use crate::relocate::below;
use crate::storage::Storage;

/// What a file below a table's folder shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TableEvidence<'p> {
    /// The folder is a table of that format, as which it was opened.
    Own,
    /// Another table is in this folder below it.
    Other(&'p str),
    /// The folder is a table of another format too.
    Beside,
    Nothing,
}

/// What a listed file shows, by its path below the folder.
///
/// # Errors
/// `Location` for a folder that is a table of another format too.
pub(super) fn shown<'p>(place: &ListedFolder, rest: &'p str) -> Result<TableEvidence<'p>> {
    Ok(match FORMATS.shown_by(rest) {
        Some((format, "")) if format == place.format => TableEvidence::Own,
        Some((format, "")) => {
            check_alone(place, format)?;
            TableEvidence::Beside
        }
        Some((_, folder)) if !(place.is_own)(folder) => TableEvidence::Other(folder),
        Some(_) => TableEvidence::Nothing,
        None => match rest.rsplit_once('/') {
            Some((folder, name)) if FORMATS.is_metadata(name) && !(place.is_own)(folder) => {
                TableEvidence::Other(folder)
            }
            _ => TableEvidence::Nothing,
        },
    })
}

/// How many looks at a table in succession must find nothing new, whatever its format.
const QUIET_LOOKS: usize = 2;

/// Another table, by its location.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OtherTable {
    pub(super) location: String,
    /// Whether the location is its alone, so that it is not looked into.
    pub(super) has_folder: bool,
}

/// The other table that is in a folder of a table's own, with these files and folders.
///
/// # Errors
/// As [`shown`]; those of the storage.
pub(super) fn other_in<'n>(
    place: &ListedFolder,
    folder: &str,
    files: impl Iterator<Item = &'n str>,
    folders: &[String],
    storage: &Arc<dyn Storage>,
) -> Result<Option<OtherTable>> {
    let rest = below(folder, &place.location).unwrap_or_default();
    let table = |has_folder| OtherTable { location: folder.to_owned(), has_folder };
    if rest.is_empty() {
        let format = FORMATS.any_at(folder, folders, storage, |format| format != place.format)?;
        format.map_or(Ok(()), |format| check_alone(place, format))?;
        return Ok(format.map(|_| table(false)));
    }
    if (place.is_own)(rest) {
        return Ok(None);
    }
    // Metadata of a table elsewhere, whose property `write.metadata.path` is this folder.
    for name in files.filter(|name| FORMATS.is_metadata(name)) {
        if matches!(shown(place, &format!("{rest}/{name}"))?, TableEvidence::Other(_)) {
            return Ok(Some(table(true)));
        }
    }
    Ok(FORMATS.any_at(folder, folders, storage, |_| true)?.map(|_| table(true)))
}

/// The table behind a link, which may be the one that has the link in its folder, or one above it.
///
/// # Errors
/// Those of the storage.
pub(super) fn linked(path: &str, storage: &Arc<dyn Storage>) -> Result<Option<OtherTable>> {
    let Some(folders) = storage.folders(path)? else { return Ok(None) };
    let format = FORMATS.any_at(path, &folders.names, storage, |_| true)?;
    Ok(format.map(|_| OtherTable { location: path.to_owned(), has_folder: false }))
}

/// What the newest version of another table names.
pub(crate) trait OtherReach {
    /// As [`Reach::walk_later`].
    fn walk_other(&self, wanted: &WalkOptions<'_>, seen: &mut VisitedSet) -> Result<Option<Walk>>;

    /// The folders that its properties name, and where its files are if they were moved.
    fn places_of_other(&self) -> (Vec<String>, Option<MovedTable>);
}

impl<R: Reach> OtherReach for R {
    fn walk_other(&self, wanted: &WalkOptions<'_>, seen: &mut VisitedSet) -> Result<Option<Walk>> {
        self.walk_later(wanted, seen)
    }

    fn places_of_other(&self) -> (Vec<String>, Option<MovedTable>) {
        (self.other_folders(), self.moved())
    }
}

impl OtherTable {
    /// Gives the records of the files that it names, in all formats that it has, until a look finds none that are
    /// new. `partitioner` makes the one that distributes them. Returns the folders in which its files are: its own,
    /// unless that is not its alone, and those that its properties name.
    ///
    /// # Errors
    /// `Location` where it cannot be read: what it names is unknown then. Those of the storage, and of `take`.
    pub(super) fn walk(
        &self,
        storage: &Arc<dyn Storage>,
        threads: usize,
        partitioner: &dyn Fn(Option<MovedTable>) -> Partitioner,
        take: &mut RecordSink<'_>,
    ) -> Result<HashSet<String>> {
        let own = self.has_folder.then(|| self.location.clone());
        let mut folders: HashSet<String> = own.into_iter().collect();
        for format in FORMATS.0 {
            let mut seen = VisitedSet::default();
            let mut look = || {
                let decoding = Decoding::from(lakebed_avro::Limits::DEFAULT);
                let reach = match (format.reach)(&self.location, Arc::clone(storage), decoding) {
                    // Metadata of a table that is elsewhere: where its data is, that table knows.
                    Err(error) if error.kind() == ErrorKind::TableNotFound => return Ok(false),
                    reach => reach?,
                };
                let (named, moved) = reach.places_of_other();
                folders.extend(named);
                let partitioner = Arc::new(partitioner(moved));
                let options = WalkOptions { retention: None, kinds: Kinds::ALL, partitioner, threads };
                let Some(walk) = reach.walk_other(&options, &mut seen)? else { return Ok(false) };
                take_walk(walk, &options.partitioner, take)?;
                Ok(true)
            };
            until_nothing_is_new(QUIET_LOOKS, &mut look).map_err(|error| self.unreadable(error))?;
        }
        Ok(folders)
    }

    #[cold]
    fn unreadable(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::Io {
            return error;
        }
        let shown = without_credentials(&self.location);
        let message = format!(
            "another table is in the table's folder, at {shown:?}, and cannot be read, so it is unknown which files \
             are its own: {error}"
        );
        Error::new(ErrorKind::Location, message).in_file(&self.location)
    }
}

/// Where only some folders are looked into, the other table's are not: engines write metadata of Iceberg beside
/// Paimon's.
fn check_alone(place: &ListedFolder, format: &str) -> Result<()> {
    if !place.is_whole {
        return Ok(());
    }
    let message = format!(
        "the table's folder is a {format} table too, whose files look like orphans here: look for orphans of that \
         table (format={format:?})"
    );
    Err(Error::new(ErrorKind::Location, message).in_file(&place.location))
}

/// The note on the folder of another table.
pub(super) fn passed_over(folder: &str) -> String {
    let folder = without_credentials(folder);
    format!("another table is in the table's folder, at {folder:?}: its files are not looked at")
}

/// Whether a path is below one of the folders, which end without a slash.
pub(super) fn is_below_any(path: &str, folders: &HashSet<&str>) -> bool {
    !folders.is_empty() && path.match_indices('/').any(|(at, _)| folders.contains(&path[..at]))
}
