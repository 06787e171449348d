//! The manifests of a job, and how an engine's spelling of a path is matched with them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::location::GuardedStorage;
use crate::relocate::RelocatedStorage;
use crate::scan::Format;
use crate::storage::{PlacingRules, Storage};

/// A manifest that a job maps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PlannedManifest {
    /// Where it is read from. For a table that was moved this is not the path that rows show.
    pub path: String,
    /// Its size \[bytes\], as recorded.
    pub size: u64,
    /// Entries that add a file, as recorded.
    pub added: u64,
    /// Entries that delete a file of another manifest, as recorded.
    pub deleted: u64,
    /// Its entries of all kinds, as recorded; `None` where that is not.
    pub entries: Option<u64>,
    /// Whether tasks may read ranges of it.
    pub divisible: bool,
    /// The columns that a range needs of all entries in front of it, by their dotted paths. Only Parquet has columns for
    /// themselves: where there are any, ranges of Avro are not read.
    pub counted: &'static [&'static str],
}

/// The manifests of a job, by the locations from which engines read them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LocatedManifests<M> {
    located: Vec<(String, M)>,
    /// The place of each location among them.
    #[serde(skip)]
    places: OnceLock<HashMap<String, usize>>,
}

impl<M> LocatedManifests<M> {
    /// Manifests of a table, of which `recorded` is what a list has, and the same in the form that engines get.
    ///
    /// # Errors
    /// `Location` for one that the storage may not open.
    pub(crate) fn planned<F: Format>(
        table: &F,
        manifests: Vec<M>,
        recorded: impl Fn(&M) -> &F::Manifest,
    ) -> Result<(LocatedManifests<M>, Vec<PlannedManifest>)> {
        let planned = manifests.iter().map(|one| table.planned(recorded(one))).collect::<Result<Vec<_>>>()?;
        let located = planned.iter().map(|one| one.path.clone()).zip(manifests).collect();
        Ok((LocatedManifests { located, places: OnceLock::new() }, planned))
    }

    /// No manifests, for what is needed of a job without its inputs.
    pub(crate) fn none() -> LocatedManifests<M> {
        LocatedManifests { located: Vec::new(), places: OnceLock::new() }
    }

    /// The manifest that an engine knows by this path, with its place among all.
    ///
    /// # Errors
    /// `Missing` for a path of no manifest of the job.
    pub(crate) fn at(&self, path: &str) -> Result<(usize, &M)> {
        // An exact match is found without a search through all manifests.
        let places = self.places.get_or_init(|| {
            self.located.iter().enumerate().map(|(place, (location, _))| (location.clone(), place)).collect()
        });
        let place = match places.get(path) {
            Some(place) => *place,
            None => match_manifest_path(&self.located, path)?,
        };
        self.located.get(place).map(|(_, manifest)| (place, manifest)).ok_or_else(|| absent(path))
    }
}

/// A storage that opens the files of another one, and places paths as the process that made `placing` does.
pub(crate) fn placed(placing: &PlacingRules, mut storage: Arc<dyn Storage>) -> Arc<dyn Storage> {
    if let Some((trusted, allowed)) = placing.guard.clone() {
        storage = Arc::new(GuardedStorage::trusting(storage, trusted, allowed));
    }
    if let Some((location, moved)) = placing.moved.clone() {
        storage = Arc::new(RelocatedStorage::new(storage, &location, moved));
    }
    storage
}

/// The place of the manifest whose location shares the most names with the end of `path`; among several with as many,
/// that of the one whose location has no further names.
///
/// Engines spell paths in their own way: with a scheme or host that was not written, with characters escaped
/// as in URIs, or absolute where the location is relative.
///
/// # Errors
/// `Missing` where no location ends in the same file name.
fn match_manifest_path<M>(located: &[(String, M)], path: &str) -> Result<usize> {
    let spellings = [Cow::Borrowed(path), unescaped(path)];
    let file_names = spellings.each_ref().map(|path| names(path).next().unwrap_or_default());
    let likeness = |location: &str| {
        let place: Vec<&str> = names(location).collect();
        let like = |path: &Cow<'_, str>| {
            let same = names(path).zip(&place).take_while(|(left, right)| left == *right).count();
            (same, same == place.len())
        };
        spellings.iter().map(like).max().unwrap_or_default()
    };
    let mut best = None;
    for (place, (location, _)) in located.iter().enumerate() {
        // With thousands of manifests, comparing the file names rules out nearly all.
        if file_names.iter().any(|name| ends_in(location, name)) {
            let found = likeness(location);
            if found.0 > 0 && best.is_none_or(|(likeness, _)| found > likeness) {
                best = Some((found, place));
            }
        }
    }
    best.map(|(_, place)| place).ok_or_else(|| absent(path))
}

/// The error for a manifest that a job does not have.
#[cold]
pub(crate) fn absent(path: &str) -> Error {
    Error::new(ErrorKind::Missing, "this manifest is not one of the scan's").in_file(path)
}

/// Whether a path ends with `name`; trailing slashes do not count.
fn ends_in(path: &str, name: &str) -> bool {
    path.ends_with(name) || (path.ends_with('/') && path.trim_end_matches('/').ends_with(name))
}

/// The names in a path, the last one first.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit('/').filter(|name| !name.is_empty())
}

/// The path with escapes such as `%20` decoded where it is a URI; otherwise the path itself.
fn unescaped(path: &str) -> Cow<'_, str> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, others @ ..] = rest {
        let escaped = (*first == b'%').then(|| others.get(..2)).flatten();
        let hex = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = hex
            .filter(|digits| !digits.starts_with('+'))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = others.get(if byte.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(path), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::match_manifest_path;

    fn found<'p>(places: &[&'p str], path: &str) -> Option<&'p str> {
        let located: Vec<_> = places.iter().map(|place| ((*place).to_owned(), ())).collect();
        match_manifest_path(&located, path).ok().and_then(|place| places.get(place)).copied()
    }

    #[test]
    fn schemes_hosts_and_escapes_do_not_matter() {
        for (place, path) in [
            ("/w/sub dir/m.avro", "file:/w/sub%20dir/m.avro"),
            ("/w/a%20b/m.avro", "file:/w/a%20b/m.avro"),
            ("/w/50%/é/m.avro", "file:///w/50%25/%C3%A9/m.avro"),
            ("s3://b/t//m.avro", "s3a://b/t/m.avro"),
            ("t/m.avro", "file:/home/t/m.avro"),
            ("m.avro", "hdfs://host:8020/t/manifest/m.avro"),
        ] {
            assert_eq!(found(&[place], path), Some(place));
        }
        assert_eq!(found(&["/w/m.avro"], "/w/n.avro"), None);
        assert_eq!(found(&["/w/m.avro", ""], "/w/xm.avro"), None);
    }

    #[test]
    fn one_name_in_several_folders() {
        let places = ["/w/a/m.avro", "/w/b/m.avro", "/v/a/m.avro"];
        for place in places {
            assert_eq!(found(&places, &format!("file:{place}")), Some(place));
        }
        let nested = ["b/a/m.avro", "a/m.avro"];
        assert_eq!(found(&nested, "file:/w/a/m.avro"), Some("a/m.avro"));
        assert_eq!(found(&nested, "file:/w/b/a/m.avro"), Some("b/a/m.avro"));
    }
}
