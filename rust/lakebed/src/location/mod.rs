//! Paths in metadata: whether the files that they lead to may be opened.
//!
//! A path is parsed strictly to [`PathParts`], and then compared with prefixes segment by segment. Whoever
//! can write a table's metadata can write any path into it: out of the table with `..`, the address of a
//! cloud's metadata service, a file of the reading machine.

mod guarded;
mod parts;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray};
use serde::{Deserialize, Serialize};

pub use crate::credentials::{
    family, location_of, without_credentials, without_credentials_in, without_secrets,
};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;

pub use guarded::GuardedStorage;
use parts::{Fault, PathParts};
pub(crate) use parts::{is_scheme, is_scheme_or_drive, scheme};

/// Where paths may lead.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum AllowedPlaces {
    /// Anywhere on the table's own storage, but to no file of the reading machine unless the table is there,
    /// no web server, and no link-local address.
    Storage {
        /// Whether the table is on the local file system.
        local: bool,
    },
    /// Only below one of these.
    Below(Vec<String>),
}

impl AllowedPlaces {
    /// # Errors
    /// `Argument` for a prefix that is not a plain path itself: relative, with `..`, or with credentials.
    pub fn below(prefixes: impl IntoIterator<Item = String>) -> Result<AllowedPlaces> {
        let prefixes: Vec<String> = prefixes.into_iter().collect();
        for prefix in &prefixes {
            if let Err(fault) = PathParts::of(prefix) {
                let message = format!(
                    "{:?} is not a valid path prefix: {}",
                    without_credentials(prefix),
                    fault.words()
                );
                return Err(Error::new(ErrorKind::Argument, message));
            }
        }
        Ok(AllowedPlaces::Below(prefixes))
    }

    /// # Errors
    /// `Location` with the reason, for a path that leads elsewhere. A plain name leads to the table's own
    /// folders.
    pub fn check(&self, path: &str) -> Result<()> {
        self.checker()(path)
    }

    /// [`AllowedPlaces::check`] for many paths: prefixes are parsed once.
    fn checker(&self) -> impl Fn(&str) -> Result<()> {
        let prefixes: Vec<PathParts<'_>> = match self {
            AllowedPlaces::Storage { .. } => Vec::new(),
            AllowedPlaces::Below(prefixes) => {
                prefixes.iter().filter_map(|prefix| PathParts::of(prefix).ok()).collect()
            }
        };
        move |path| {
            let checked = PathParts::of(path).and_then(|place| match self {
                _ if place.is_name() => Ok(()),
                AllowedPlaces::Storage { local } => place.on_storage(*local),
                AllowedPlaces::Below(_) => place.below_any(&prefixes),
            });
            checked.map_err(|fault| refused(fault, path))
        }
    }
}

/// Checks the path of a file before it is written into a table's metadata, so that no commit names a file which
/// readers of the table refuse to open.
///
/// # Errors
/// `Location` with the reason.
pub(crate) fn check_file(storage: &dyn Storage, path: &str) -> Result<()> {
    if path.ends_with('/') {
        return Err(refused(Fault::Folder, path));
    }
    storage.place(path).map(drop)
}

/// Checks the location of a new table, with which all paths in its metadata will start.
///
/// # Errors
/// `Location` for one that is empty, or has control characters, backslashes, or `.` or `..` for a folder.
pub(crate) fn check_new_table(location: &str) -> Result<()> {
    match PathParts::of(location) {
        Err(fault @ (Fault::Empty | Fault::Control | Fault::Backslash | Fault::Climbs)) => {
            Err(refused(fault, location))
        }
        _ => Ok(()),
    }
}

fn refused(fault: Fault, path: &str) -> Error {
    Error::new(ErrorKind::Location, format!("a path that may not be opened: {}", fault.words())).in_file(path)
}

/// What a check does with a path that is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// It is an error.
    Error,
    /// It is false.
    Mark,
    /// It is true, as all are.
    Ignore,
}

impl Policy {
    /// The policy with that name.
    ///
    /// # Errors
    /// `Argument` for names other than `error`, `mark` and `ignore`.
    pub fn parse(name: &str) -> Result<Policy> {
        match name {
            "error" => Ok(Policy::Error),
            "mark" => Ok(Policy::Mark),
            "ignore" => Ok(Policy::Ignore),
            _ => {
                let message = format!("policy is \"error\", \"mark\" or \"ignore\", not {name:?}");
                Err(Error::new(ErrorKind::Argument, message))
            }
        }
    }
}

/// For each path of a column whether it leads to an allowed place; null stays null.
///
/// # Errors
/// `Location` at the first path that does not, if the policy is to fail; `Argument` for a column that is not
/// text. Cost: one pass over the paths, times the prefixes.
pub fn check_locations(column: &dyn Array, allowed: &AllowedPlaces, policy: Policy) -> Result<BooleanArray> {
    let checked = allowed.checker();
    let check = |(row, path): (usize, Option<&str>)| match path {
        None => Ok(None),
        Some(_) if policy == Policy::Ignore => Ok(Some(true)),
        Some(path) => match checked(path) {
            Err(error) if policy == Policy::Error => Err(error.in_row(row)),
            answer => Ok(Some(answer.is_ok())),
        },
    };
    paths(column)?.enumerate().map(check).collect()
}

/// The paths of a caller's column.
///
/// # Errors
/// `Argument` for a column that is not text.
pub(crate) fn paths(column: &dyn Array) -> Result<Box<dyn Iterator<Item = Option<&str>> + '_>> {
    if let Some(paths) = column.as_string_opt::<i32>() {
        return Ok(Box::new(paths.iter()));
    }
    match column.as_string_opt::<i64>() {
        Some(paths) => Ok(Box::new(paths.iter())),
        None => {
            let message = format!("paths are text, not {}", column.data_type());
            Err(Error::new(ErrorKind::Argument, message))
        }
    }
}

#[cfg(test)]
mod tests;
