//! Folders of other tables below a table's own: their files are never its orphans.

use std::collections::HashSet;
use std::sync::Arc;

use super::listing::ListedFolder;
use crate::columnar::Decoding;
use crate::credentials::without_credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::format::FORMATS;
use crate::relocate::below;
use crate::storage::Storage;

/// What a file below a table's folder shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown<'p> {
    /// The folder is a table of that format, as which it was opened.
    Own,
    /// Another table is in this folder below it.
    Other(&'p str),
    Nothing,
}

/// What a listed file shows, by its path below the folder.
///
/// # Errors
/// `Location` for a folder that is a table of another format too.
pub(super) fn shown<'p>(place: &ListedFolder, rest: &'p str) -> Result<Shown<'p>> {
    Ok(match FORMATS.shown_by(rest) {
        Some((format, "")) if format == place.format => Shown::Own,
        Some((format, "")) => {
            check_alone(place, format)?;
            Shown::Nothing
        }
        Some((_, folder)) if !(place.is_own)(folder) => Shown::Other(folder),
        Some(_) => Shown::Nothing,
        None => match rest.rsplit_once('/') {
            Some((folder, name)) if FORMATS.is_metadata(name) && !(place.is_own)(folder) => {
                Shown::Other(folder)
            }
            _ => Shown::Nothing,
        },
    })
}

/// Whether a folder in a table's own, with these files and folders, is of another table.
///
/// # Errors
/// As [`shown`]; those of the storage.
pub(super) fn is_other<'n>(
    place: &ListedFolder,
    folder: &str,
    mut files: impl Iterator<Item = &'n str>,
    folders: &[String],
    storage: &Arc<dyn Storage>,
) -> Result<bool> {
    let rest = below(folder, &place.location).unwrap_or_default();
    if rest.is_empty() {
        let format = FORMATS.any_at(folder, folders, storage, |format| format != place.format)?;
        format.map_or(Ok(()), |format| check_alone(place, format))?;
        return Ok(false);
    }
    if (place.is_own)(rest) {
        return Ok(false);
    }
    // Metadata of a table elsewhere, whose property `write.metadata.path` is this folder.
    let has_metadata = files.any(|name| FORMATS.is_metadata(name));
    Ok(has_metadata || FORMATS.any_at(folder, folders, storage, |_| true)?.is_some())
}

/// Properties that name a folder of data or metadata, or several.
const FOLDERS: [&str; 5] = [
    "write.data.path",
    "write.object-storage.path",
    "write.folder-storage.path",
    "write.metadata.path",
    "data-file.external-paths",
];

/// The folder of another table, and the folders that its properties name: these may be in the table's own too.
///
/// # Errors
/// `Location` for a table that cannot be read.
pub(super) fn folders_of(folder: &str, storage: &Arc<dyn Storage>) -> Result<Vec<String>> {
    let other =
        FORMATS.open(folder, None, Arc::clone(storage), Decoding::from(lakebed_avro::Limits::DEFAULT));
    let properties = match other {
        Ok(table) => table.properties(),
        // Metadata of a table that is elsewhere: where its data is, that table knows.
        Err(error) if error.kind() == ErrorKind::TableNotFound => return Ok(vec![folder.to_owned()]),
        Err(error) => {
            let shown = without_credentials(folder);
            let message = format!(
                "another table is in the table's folder, at {shown:?}, and cannot be read, so it is unknown which files \
                 are its own: {error}"
            );
            return Err(Error::new(ErrorKind::Location, message).in_file(folder));
        }
    };
    let named = FOLDERS.iter().filter_map(|key| properties.get(*key)).flat_map(|paths| paths.split(','));
    let named =
        named.map(|path| path.trim().trim_end_matches('/').to_owned()).filter(|path| !path.is_empty());
    Ok(std::iter::once(folder.to_owned()).chain(named).collect())
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
