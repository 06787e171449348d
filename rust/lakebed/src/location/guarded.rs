//! A storage that checks every path before it opens it.

use std::sync::Arc;

use arrow_buffer::Buffer;

use super::parts::{Fault, PathParts};
use super::{AllowedPlaces, refused};
use crate::credentials::without_credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::local_path::local_path;
use crate::relocate::below;
use crate::storage::{Contents, FileDetails, Folders, PlacingRules, Storage};
use crate::write::ExistingFile;

/// What separates an Iceberg table's location from its metadata files.
const METADATA: &str = "/metadata/";

/// A storage that refuses paths to places where they may not lead.
///
/// The caller's own paths are trusted: the location with which the table was opened, and the new prefixes of
/// moved files. Only the rest of a path below them is checked, since that is what metadata controls.
pub struct GuardedStorage {
    storage: Arc<dyn Storage>,
    trusted: Vec<String>,
    allowed: AllowedPlaces,
}

impl GuardedStorage {
    /// The storage of the table at `location`, with some files `moved` below other prefixes. Other files may
    /// be opened below `prefixes`; without prefixes, anywhere on the table's own storage.
    ///
    /// # Errors
    /// `Argument` for a prefix that is not a plain path.
    pub fn of_table(
        storage: Arc<dyn Storage>,
        location: &str,
        moved: impl IntoIterator<Item = String>,
        prefixes: Option<Vec<String>>,
    ) -> Result<GuardedStorage> {
        let allowed = match prefixes {
            Some(prefixes) => AllowedPlaces::below(prefixes)?,
            // Where a path with `..` leads is the responsibility of the caller, who wrote it.
            None => {
                AllowedPlaces::Storage { local: PathParts::of(location).is_ok_and(|place| place.is_local()) }
            }
        };
        // A table may be opened with one of its metadata files.
        let folder = location.rsplit_once(METADATA).filter(|(_, file)| file.contains(".metadata.json"));
        let folder = folder.map_or(location, |(folder, _)| folder);
        let trusted = moved.into_iter().chain([folder.to_owned(), location.to_owned()]).collect();
        Ok(GuardedStorage { storage, trusted, allowed })
    }

    /// A storage that trusts these places, and may open what is allowed besides.
    pub(crate) fn trusting(
        storage: Arc<dyn Storage>,
        trusted: Vec<String>,
        allowed: AllowedPlaces,
    ) -> GuardedStorage {
        GuardedStorage { storage, trusted, allowed }
    }

    /// The end of the caller's own path.
    fn rest<'p>(&self, path: &'p str) -> Option<&'p str> {
        self.trusted.iter().find_map(|prefix| {
            // A local path may be written with a scheme or without one.
            let local = || below(local_path(path).ok()?, local_path(prefix).ok()?);
            below(path, prefix).or_else(local)
        })
    }

    /// The original place of a copied or moved table may be gone: the message says how to tell the new place.
    fn missing(&self, error: Error, path: &str) -> Error {
        if error.kind() != ErrorKind::Missing || self.rest(path).is_some() {
            return error;
        }
        let old = path.rsplit_once(METADATA).map_or("OLD", |(folder, _)| folder);
        let opened = self.trusted.last().map_or("NEW", String::as_str);
        let new = opened.rsplit_once(METADATA).map_or(opened, |(folder, _)| folder);
        let (old, new) = (without_credentials(old), without_credentials(new));
        error.adding(&format!(
            "; if the table was copied or moved, say where its files are now: --relocate {old}={new}, or \
            relocate={{{old:?}: {new:?}}}"
        ))
    }

    fn check(&self, path: &str) -> Result<()> {
        match self.rest(path).map(PathParts::of) {
            None => self.allowed.check(path),
            Some(Ok(_) | Err(Fault::Empty)) => Ok(()),
            Some(Err(fault)) => Err(refused(fault, path)),
        }
    }
}

impl Storage for GuardedStorage {
    fn read(&self, path: &str) -> Result<Buffer> {
        self.check(path)?;
        self.storage.read(path).map_err(|error| self.missing(error, path))
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        self.check(path)?;
        self.storage.read_range(path, start, length).map_err(|error| self.missing(error, path))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.check(folder)?;
        self.storage.list(folder)
    }

    fn folders(&self, folder: &str) -> Result<Option<Folders>> {
        self.check(folder)?;
        self.storage.folders(folder)
    }

    fn contents(&self, folder: &str) -> Result<Option<Contents>> {
        self.check(folder)?;
        self.storage.contents(folder)
    }

    fn details(&self, path: &str) -> Result<Option<FileDetails>> {
        self.check(path)?;
        self.storage.details(path)
    }

    fn inner(&self) -> Option<&dyn Storage> {
        Some(self.storage.as_ref())
    }

    fn placing(&self) -> PlacingRules {
        let guard = Some((self.trusted.clone(), self.allowed.clone()));
        PlacingRules { guard, ..self.storage.placing() }
    }

    fn place(&self, path: &str) -> Result<String> {
        self.check(path)?;
        self.storage.place(path)
    }

    fn modified(&self, path: &str) -> Result<Option<i64>> {
        self.check(path)?;
        self.storage.modified(path)
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.check(path)?;
        self.storage.create(path, bytes)
    }

    fn create_one(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.check(path)?;
        self.storage.create_one(path, bytes)
    }

    fn settle(&self, path: &str) -> Result<()> {
        self.check(path)?;
        self.storage.settle(path)
    }

    fn publish(&self, path: &str, existing: ExistingFile, bytes: &[u8]) -> Result<bool> {
        self.check(path)?;
        self.storage.publish(path, existing, bytes)
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.check(path)?;
        self.storage.remove(path)
    }
}
