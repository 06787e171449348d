//! Which files of a moved table are known to be where they are read from.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::credentials::without_credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::relocate::{below_local, moved};
use crate::storage::Storage;

/// Where the files of a moved table may be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MovedTable {
    /// Where the table was opened.
    location: String,
    /// Old prefixes and new ones.
    prefixes: Vec<(String, String)>,
    /// Other folders that the table's properties name.
    folders: Vec<String>,
}

impl MovedTable {
    /// `None` for a table that was opened without old prefixes: its files may be anywhere.
    pub(super) fn of(storage: &dyn Storage, folders: Vec<String>) -> Option<MovedTable> {
        let (location, prefixes) = storage.placing().moved?;
        Some(MovedTable { location, prefixes, folders })
    }

    /// Where a file of the table is now. A path that no prefix covers is refused: the file may have been moved as well,
    /// and then lies in the table's folder under another path.
    ///
    /// # Errors
    /// `Location`.
    pub(super) fn place<'p>(&self, path: &'p str) -> Result<Cow<'p, str>> {
        if below_local(path, &self.location).is_some() {
            return Ok(Cow::Borrowed(path));
        }
        if let Some(place) = moved(path, &self.prefixes) {
            return Ok(place);
        }
        if self.folders.iter().any(|folder| below_local(path, folder).is_some()) {
            return Ok(Cow::Borrowed(path));
        }
        let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
        let folder = without_credentials(folder);
        let message = format!(
            "a moved table has a file that relocate= does not cover, so it is unknown where the file is now: add its \
             old folder, as relocate={{{folder:?}: NEW}}, or relocate={{{folder:?}: {folder:?}}} if it was not moved"
        );
        Err(Error::new(ErrorKind::Location, message).in_file(path))
    }
}
