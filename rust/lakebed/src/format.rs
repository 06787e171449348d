//! The table formats, and how a table's format is detected.

use std::sync::Arc;

use crate::columnar::Decoding;
use crate::distributed::ReadJob;
use crate::error::{Error, ErrorKind, Result};
use crate::reach::OtherReach;
use crate::scan::{Format as _, read_job};
use crate::storage::Storage;
use crate::table::{HintAhead, LakeTable};
use crate::{iceberg, paimon};
#[cfg(any(test, feature = "toy"))]
use crate::{table::hint_ahead, toy};

/// Opens the table at a location, from the bytes of its hint; `TableNotFound` where there is none of the format.
type Open = fn(&str, Arc<dyn Storage>, Decoding, HintAhead) -> Result<Box<dyn LakeTable>>;
/// What the table at a location names; the errors of [`Formats::open`].
type Reach = fn(&str, Arc<dyn Storage>, Decoding) -> Result<Box<dyn OtherReach>>;

/// A table format.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Begins to read the hint of the table at a location, while so many other requests are made.
    pub(crate) hint: fn(&str, &Arc<dyn Storage>, usize) -> HintAhead,
    /// How its tables are opened.
    pub(crate) open: Open,
    /// A folder that all its tables have.
    pub folder: &'static str,
    /// Whether a location with this folder is a table for `open`, even a damaged one. Lists the folder; reads
    /// a file only where its bytes decide.
    pub is_table: fn(&str, &Arc<dyn Storage>) -> Result<bool>,
    /// Whether a file of that name in this folder, or in a folder of it, shows a table.
    pub names_table: fn(&str) -> bool,
    /// Whether the name of a location is that of a file with which tables are opened, rather than of a
    /// folder.
    pub is_file: fn(&str) -> bool,
    /// What the table at a location names, in its newest version.
    pub(crate) reach: Reach,
    /// How a job of its scans is read.
    pub job: ReadJob,
}

/// Formats, in the order in which they are tried.
pub struct Formats(pub &'static [Format]);

/// All formats. A Paimon table may also have Iceberg metadata, for other readers.
pub const FORMATS: Formats = Formats(&[
    Format {
        name: "paimon",
        hint: paimon::Table::hint,
        open: |location, storage, decoding, hint| {
            Ok(Box::new(paimon::Table::open_hinted(location, storage, decoding, hint)?))
        },
        folder: paimon::paths::SCHEMA_FOLDER,
        is_table: paimon::Table::is_at,
        names_table: |name| !paimon::paths::schema_ids(&[name]).is_empty(),
        is_file: |_| false,
        reach: |location, storage, decoding| {
            Ok(Box::new(paimon::Table::open(location, storage, decoding)?.reach(false)?))
        },
        job: read_job::<paimon::Table>,
    },
    Format {
        name: "iceberg",
        hint: iceberg::discovery::hint,
        open: |location, storage, decoding, hint| {
            Ok(Box::new(iceberg::Table::open_hinted(location, storage, decoding, hint)?))
        },
        folder: iceberg::discovery::FOLDER,
        is_table: iceberg::discovery::is_table,
        names_table: iceberg::discovery::names_table,
        is_file: iceberg::discovery::is_metadata_file,
        reach: |location, storage, decoding| {
            Ok(Box::new(iceberg::Table::open(location, storage, decoding)?.reach(false)?))
        },
        job: read_job::<iceberg::Table>,
    },
    #[cfg(any(test, feature = "toy"))]
    Format {
        name: "toy",
        hint: |_, storage, others| hint_ahead(storage, others, None),
        open: |location, storage, decoding, _| {
            Ok(Box::new(toy::ToyTable::open(location, storage, decoding)?))
        },
        folder: toy::FOLDER,
        is_table: toy::ToyTable::is_at,
        names_table: |name| name == toy::FILE,
        is_file: |_| false,
        reach: |location, storage, decoding| {
            Ok(Box::new(toy::ToyTable::open(location, storage, decoding)?.reach(false)?))
        },
        job: read_job::<toy::ToyTable>,
    },
]);

impl Formats {
    /// Opens the table at `location`, in the named format or else the one that is detected. Where reads wait for a
    /// network, the hints of all formats are read at once.
    ///
    /// # Errors
    /// `TableNotFound`, with what was looked for; `Location` for a pipe or a device; `Argument` for an
    /// unknown format; those of opening.
    pub fn open(
        &self,
        location: &str,
        format: Option<&str>,
        storage: Arc<dyn Storage>,
        decoding: Decoding,
    ) -> Result<Box<dyn LakeTable>> {
        let mut wanted: Vec<&Format> =
            self.0.iter().filter(|known| format.is_none_or(|name| known.name == name)).collect();
        // A file is not searched for a table's folders.
        wanted.sort_by_key(|known| !(known.is_file)(location));
        // One request is made beside those for the hints, and for a file no hint is read before it is asked for.
        let is_file = wanted.iter().any(|known| (known.is_file)(location));
        let others = |at: usize| if is_file { usize::MAX } else { at + 1 };
        let hints = wanted.iter().enumerate().map(|(at, known)| (known.hint)(location, &storage, others(at)));
        let hints: Vec<HintAhead> = hints.collect();
        let mut not_found = Vec::new();
        let mut tried = wanted.into_iter().zip(hints);
        for (format, hint) in tried.by_ref() {
            match (format.open)(location, Arc::clone(&storage), decoding.clone(), hint) {
                Err(error) if error.kind() == ErrorKind::TableNotFound => not_found.push(error),
                Err(error) => return Err(error),
                Ok(table) => {
                    // No request is left behind, but after an error, which may be the interruption of one that hangs.
                    tried.try_for_each(|(_, hint)| hint.end(storage.as_ref()))?;
                    return Ok(table);
                }
            }
        }
        if !not_found.is_empty()
            && let Err(error) = storage.read_range(location, 0, 1)
            && error.kind() == ErrorKind::Location
        {
            // There is something that is neither a folder nor a file.
            return Err(error);
        }
        match <[Error; 1]>::try_from(not_found) {
            Ok([error]) => Err(error),
            Err(errors) if errors.is_empty() => {
                let known: Vec<&str> = self.0.iter().map(|known| known.name).collect();
                let message =
                    format!("format is one of {}, not {:?}", known.join(", "), format.unwrap_or(""));
                Err(Error::new(ErrorKind::Argument, message))
            }
            Err(errors) => {
                let looked: Vec<&str> = errors.iter().map(Error::message).collect();
                Err(Error::new(ErrorKind::TableNotFound, looked.join("; ")).in_file(location))
            }
        }
    }

    /// The format of the table that [`Formats::open`] would find at a location with these folders.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn at(
        &self,
        location: &str,
        folders: &[String],
        storage: &Arc<dyn Storage>,
    ) -> Result<Option<&'static str>> {
        for format in self.0 {
            if folders.iter().any(|name| name == format.folder) && (format.is_table)(location, storage)? {
                return Ok(Some(format.name));
            }
        }
        Ok(None)
    }

    /// The format of the table that a folder with these folders has, even where it would not be opened, and the
    /// formats that are looked for.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn any_at(
        &self,
        location: &str,
        folders: &[String],
        storage: &Arc<dyn Storage>,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<&'static str>> {
        for format in self.0.iter().filter(|format| wanted(format.name)) {
            if !folders.iter().any(|name| name == format.folder) {
                continue;
            }
            let names = storage.list(&format!("{location}/{}", format.folder))?;
            if names.iter().any(|name| (format.names_table)(name)) || (format.is_table)(location, storage)? {
                return Ok(Some(format.name));
            }
        }
        Ok(None)
    }

    /// Whether a file of that name is one with which a table can be opened, wherever it is.
    pub(crate) fn is_metadata(&self, name: &str) -> bool {
        self.0.iter().any(|format| (format.is_file)(name) && (format.names_table)(name))
    }

    /// The format of the table that the path of a file shows, and the table's folder, empty for one in which the
    /// path begins.
    pub(crate) fn shown_by<'p>(&self, path: &'p str) -> Option<(&'static str, &'p str)> {
        let (folder, name) = path.rsplit_once('/')?;
        let table = |folder: &'p str, wanted: &str| match folder.rsplit_once('/') {
            None if folder == wanted => Some(""),
            Some((table, last)) if last == wanted => Some(table),
            _ => None,
        };
        self.0.iter().filter(|format| (format.names_table)(name)).find_map(|format| {
            let above = || table(folder.rsplit_once('/')?.0, format.folder);
            Some((format.name, table(folder, format.folder).or_else(above)?))
        })
    }
}
