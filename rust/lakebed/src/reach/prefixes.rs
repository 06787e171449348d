//! Different spellings of one file's path: the scheme and authority before the path within a storage, and
//! which of them are equal (Iceberg's `DeleteOrphanFilesSparkAction.java`, `FileURI.java`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::links::{LastFolder, Links};
use crate::credentials::family;
use crate::error::{Error, ErrorKind, Result};
use crate::location::scheme;

/// A scheme and an authority, each empty where the path has none.
type Prefix = (String, String);

/// Prefixes by number. Those that the caller declares equal have one number.
pub(crate) struct Prefixes {
    equal_schemes: HashMap<String, String>,
    equal_authorities: HashMap<String, String>,
    /// Resolves links in local paths, whichever library reads them, for a table whose path looks local. On a storage
    /// whose paths only look so, files may have keys that lead nowhere: those that are reached have all their keys.
    links: Option<Links>,
    known: Mutex<PrefixNumbers>,
}

/// The prefixes seen so far.
#[derive(Default)]
struct PrefixNumbers {
    numbers: HashMap<Prefix, u16>,
    prefixes: Vec<Prefix>,
}

/// What was found for the last path: mostly the next one has the same prefix and folder.
#[derive(Default)]
pub(super) struct LastPath {
    /// The prefix as it was written, its number, and whether it is the local file system's.
    prefix: Option<(String, u16, bool)>,
    folder: LastFolder,
    /// The folder as it is, of which the links are known.
    without_links: LastFolder,
}

impl Prefixes {
    /// For a table whose files are at `location`. Both maps lead from a spelling to what it is equal to.
    pub(crate) fn new(
        location: &str,
        schemes: &[(String, String)],
        authorities: &[(String, String)],
    ) -> Prefixes {
        let schemes = schemes.iter().map(|(one, other)| (one.to_ascii_lowercase(), canonical(other)));
        let prefixes = Prefixes {
            equal_schemes: schemes.collect(),
            equal_authorities: authorities.iter().cloned().collect(),
            links: None,
            known: Mutex::default(),
        };
        let is_local = scheme(location).is_none_or(|(scheme, _)| prefixes.scheme(scheme).is_empty());
        Prefixes { links: (cfg!(unix) && is_local).then(Links::default), ..prefixes }
    }

    /// Whether files may have other keys than that of their path.
    pub(super) fn has_links(&self) -> bool {
        self.links.is_some()
    }

    /// The number of a path's prefix, and its key, which is the same for each spelling of a file.
    ///
    /// # Errors
    /// `Argument` for more than 65,536 prefixes.
    pub(super) fn split<'p>(&self, path: &'p str, last: &mut LastPath) -> Result<(u16, Cow<'p, str>)> {
        let (number, is_local, key) = self.written(path, last)?;
        match &self.links {
            Some(links) if is_local => Ok((number, links.resolved(key, &mut last.folder))),
            _ => Ok((number, key)),
        }
    }

    /// The same for a listed file, which may be a link: the key of the file that it leads to.
    ///
    /// # Errors
    /// As [`Prefixes::split`].
    pub(super) fn listed<'p>(&self, path: &'p str, last: &mut LastPath) -> Result<(u16, Cow<'p, str>)> {
        let (number, key) = self.split(path, last)?;
        let is_local = last.prefix.as_ref().is_some_and(|(.., is_local)| *is_local);
        let end = match &self.links {
            Some(links) if is_local => links.targets(&key, &mut last.without_links).pop(),
            _ => None,
        };
        Ok((number, end.map_or(key, Cow::Owned)))
    }

    /// The number of a path's prefix.
    ///
    /// # Errors
    /// As [`Prefixes::split`].
    pub(super) fn prefix(&self, path: &str, last: &mut LastPath) -> Result<u16> {
        Ok(self.written(path, last)?.0)
    }

    /// Calls `take` with the number of the prefix of a path that metadata names, and with each key that a listing
    /// may have its file by: those with and without links to folders, and for a file that is a link also those of
    /// the files that it leads to.
    ///
    /// # Errors
    /// As [`Prefixes::split`]; those of `take`.
    pub(super) fn reached(
        &self,
        path: &str,
        last: &mut LastPath,
        mut take: impl FnMut(u16, &str) -> Result<()>,
    ) -> Result<()> {
        let (number, _, written) = self.written(path, last)?;
        let Some(links) = &self.links else { return take(number, &written) };
        // A path with another prefix may mean the same file.
        let key = links.resolved(Cow::Borrowed(&*written), &mut last.folder);
        take(number, &key)?;
        if key != written {
            take(number, &written)?;
        }
        let targets = links.targets(&key, &mut last.without_links);
        targets.iter().try_for_each(|target| take(number, target))
    }

    /// The number of a path's prefix, whether it is the local file system's, and the key as it is written.
    fn written<'p>(&self, path: &'p str, last: &mut LastPath) -> Result<(u16, bool, Cow<'p, str>)> {
        let (before, key) = path.split_at(key_start(path));
        let (number, is_local) = match &last.prefix {
            Some((last, number, is_local)) if last == before => (*number, *is_local),
            _ => {
                let (number, is_local) = self.number(before)?;
                last.prefix = Some((before.to_owned(), number, is_local));
                (number, is_local)
            }
        };
        Ok((number, is_local, collapsed(key)))
    }

    /// The keys of a folder that metadata names, without a slash at the end.
    ///
    /// # Errors
    /// As [`Prefixes::split`].
    pub(super) fn folders(&self, path: &str) -> Result<Vec<String>> {
        let (within, mut last) = (format!("{}/x", path.trim_end_matches('/')), LastPath::default());
        let (_, _, written) = self.written(&within, &mut last)?;
        let resolved = self.links.as_ref().map(|links| links.resolved(written.clone(), &mut last.folder));
        let mut keys: Vec<String> = resolved.into_iter().chain([written]).map(Cow::into_owned).collect();
        keys.dedup();
        Ok(keys.iter().map(|key| key.strip_suffix("/x").unwrap_or(key).to_owned()).collect())
    }

    /// The number of a folder's prefix, and the folder with which the keys of its files begin, with a slash at
    /// the end.
    ///
    /// # Errors
    /// As [`Prefixes::split`].
    pub(super) fn folder(&self, path: &str) -> Result<(u16, String)> {
        let within = format!("{}/x", path.trim_end_matches('/'));
        let (number, key) = self.split(&within, &mut LastPath::default())?;
        Ok((number, key.strip_suffix('x').unwrap_or(&key).to_owned()))
    }

    /// Whether two folders may be the same: equal keys, and prefixes that agree or are omitted in one of them.
    ///
    /// # Errors
    /// As [`Prefixes::split`].
    pub(crate) fn is_same(&self, one: &str, other: &str) -> Result<bool> {
        let ((one, key), (other, other_key)) = (self.folder(one)?, self.folder(other)?);
        Ok(key == other_key && (self.agree(one, other) || self.agree(other, one)))
    }

    /// The path of a folder below another one, with a slash at the end; empty for the same folder.
    ///
    /// # Errors
    /// As [`Prefixes::split`].
    pub(crate) fn below(&self, path: &str, folder: &str) -> Result<Option<String>> {
        let ((one, key), (other, folder)) = (self.folder(path)?, self.folder(folder)?);
        let agree = self.agree(one, other) || self.agree(other, one);
        Ok(key.strip_prefix(folder.as_str()).filter(|_| agree).map(str::to_owned))
    }

    /// Whether a folder is the root of its storage.
    ///
    /// # Errors
    /// As [`Prefixes::split`].
    pub(crate) fn is_root(&self, path: &str) -> Result<bool> {
        Ok(self.folder(path)?.1.trim_matches('/').is_empty())
    }

    fn known(&self) -> MutexGuard<'_, PrefixNumbers> {
        // Nothing panics while the lock is held.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a prefix, and whether it is the local file system's.
    fn number(&self, before: &str) -> Result<(u16, bool)> {
        let (scheme, authority) = match scheme(&format!("{before}/")) {
            Some((scheme, _)) => (scheme.to_owned(), before.split_once("://").map_or("", |(_, rest)| rest)),
            None => (String::new(), ""),
        };
        let scheme = self.scheme(&scheme);
        let authority = if scheme.is_empty() { "" } else { authority };
        let authority = self.equal_authorities.get(authority).map_or(authority, String::as_str);
        let is_local = scheme.is_empty();
        let prefix = (scheme, authority.to_owned());
        let mut known = self.known();
        if let Some(number) = known.numbers.get(&prefix) {
            return Ok((*number, is_local));
        }
        let number = u16::try_from(known.prefixes.len())
            .map_err(|_| Error::new(ErrorKind::Argument, "paths of more than 65,536 buckets or hosts"))?;
        known.prefixes.push(prefix.clone());
        known.numbers.insert(prefix, number);
        Ok((number, is_local))
    }

    /// The common name of a scheme and those that it is equal to; empty for local files.
    fn scheme(&self, written: &str) -> String {
        let written = written.to_ascii_lowercase();
        self.equal_schemes.get(&written).cloned().unwrap_or_else(|| canonical(&written))
    }

    /// Whether a prefix in metadata and one in a listing may be the same location: a part that metadata
    /// omits matches any.
    pub(super) fn agree(&self, metadata: u16, listing: u16) -> bool {
        let agrees = |recorded: &String, found: &String| recorded.is_empty() || recorded == found;
        let known = self.known();
        match (known.prefixes.get(usize::from(metadata)), known.prefixes.get(usize::from(listing))) {
            (Some(recorded), Some(found)) => agrees(&recorded.0, &found.0) && agrees(&recorded.1, &found.1),
            _ => false,
        }
    }

    /// Checks that one of the prefixes under which metadata has the key agrees with the listing's. Keys that are
    /// names alone are the same anywhere.
    ///
    /// # Errors
    /// `Location` where none agrees.
    pub(super) fn check(
        &self,
        mut metadata: impl Iterator<Item = u16> + Clone,
        listing: u16,
        path: &str,
        key: &str,
    ) -> Result<()> {
        let first = metadata.clone().next();
        match first {
            Some(first) if key.contains('/') && !metadata.any(|prefix| self.agree(prefix, listing)) => {
                Err(self.conflict(first, listing, path))
            }
            _ => Ok(()),
        }
    }

    /// The error for a file that metadata and the listing have at the same path with different prefixes.
    #[cold]
    pub(super) fn conflict(&self, metadata: u16, listing: u16, path: &str) -> Error {
        let known = self.known();
        let shown = |number: u16| match known.prefixes.get(usize::from(number)) {
            Some((scheme, authority)) if !scheme.is_empty() => format!("{scheme}://{authority}"),
            _ => "no scheme".to_owned(),
        };
        let message = format!(
            "the metadata has {} where the listing has {}: say with equal_schemes= and equal_authorities= whether \
             they are the same place",
            shown(metadata),
            shown(listing)
        );
        Error::new(ErrorKind::Location, message).in_file(path)
    }
}

/// Whether a path begins at the root of its storage.
pub(super) fn is_absolute(path: &str) -> bool {
    let key = path.get(key_start(path)..).unwrap_or_default();
    key.is_empty() || key.starts_with('/')
}

/// The common name for schemes of one kind of storage; empty for local files.
fn canonical(scheme: &str) -> String {
    let family = family(scheme);
    if family == "file" { String::new() } else { family }
}

/// The offset at which the path within a storage begins.
fn key_start(path: &str) -> usize {
    let Some((_, rest)) = scheme(path) else { return 0 };
    match rest.strip_prefix("//") {
        Some(behind) => path.len() - behind.len() + behind.find('/').unwrap_or(behind.len()),
        None => path.len() - rest.len(),
    }
}

/// The path without empty components, in the form of Hadoop's paths.
fn collapsed(key: &str) -> Cow<'_, str> {
    let key = if key.len() > 1 { key.trim_end_matches('/') } else { key };
    if !key.contains("//") {
        return Cow::Borrowed(key);
    }
    let mut names = String::with_capacity(key.len());
    for name in key.split('/').filter(|name| !name.is_empty()) {
        names.push('/');
        names.push_str(name);
    }
    Cow::Owned(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
    }

    #[test]
    fn one_file_has_one_key_however_it_is_spelled() {
        let prefixes = Prefixes::new("/t", &[], &[]);
        for (path, key) in [
            ("s3://b/t/x", "/t/x"),
            ("s3a://b//t///x", "/t/x"),
            ("hdfs:///t/x/", "/t/x"),
            ("file:/t/x", "/t/x"),
            ("/t/x", "/t/x"),
            ("s3://b", ""),
            ("/", "/"),
        ] {
            assert_eq!(prefixes.split(path, &mut LastPath::default()).expect("few").1, key, "{path}");
        }
        // Below the current folder, where links are known.
        let (_, key) = prefixes.split("t/x", &mut LastPath::default()).expect("few");
        assert!(
            if cfg!(unix) { key.starts_with('/') && key.ends_with("/t/x") } else { key == "t/x" },
            "{key}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_count_where_the_table_is_local() {
        let root = std::env::temp_dir().join(format!("lakebed-prefixes-{}", std::process::id()));
        std::fs::create_dir_all(root.join("real")).unwrap();
        let root = std::fs::canonicalize(root).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        let (written, real) = (format!("{}/link/f", root.display()), format!("{}/real/f", root.display()));
        for (location, hosts, keys) in [
            ("/t", "", vec![&real, &written]),
            ("file:///t", "hdfs://one", vec![&real, &written]),
            ("t", "file:", vec![&real, &written]),
            ("hdfs://one/t", "", vec![&written]),
            ("hdfs://one/t", "hdfs://one", vec![&written]),
        ] {
            let prefixes = Prefixes::new(location, &[], &[]);
            let (mut found, path) = (Vec::new(), format!("{hosts}{written}"));
            let take = |_, key: &str| {
                found.push(key.to_owned());
                Ok(())
            };
            prefixes.reached(&path, &mut LastPath::default(), take).unwrap();
            assert_eq!(found.iter().collect::<Vec<_>>(), keys, "{location} {path}");
            let listed = prefixes.split(&path, &mut LastPath::default()).unwrap().1;
            assert!(keys.contains(&&listed.into_owned()), "{location} {path}");
        }
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn places_agree_where_metadata_omits_a_part_or_the_caller_declares_them_equal() {
        let agree = |metadata: &str, listing: &str, schemes: &[(&str, &str)], hosts: &[(&str, &str)]| {
            let prefixes = Prefixes::new("s3://b/t", &pairs(schemes), &pairs(hosts));
            let recorded = prefixes.split(metadata, &mut LastPath::default()).expect("few").0;
            let found = prefixes.split(listing, &mut LastPath::default()).expect("few").0;
            prefixes.agree(recorded, found)
        };
        assert!(agree("s3a://b/x", "S3://b/x", &[], &[]));
        assert!(agree("file:///x", "/x", &[], &[]));
        assert!(agree("file://localhost/x", "/x", &[], &[]));
        assert!(agree("/x", "hdfs://nn/x", &[], &[]));
        assert!(!agree("hdfs://nn/x", "/x", &[], &[]));
        assert!(!agree("hdfs://nn/x", "hdfs:///x", &[], &[]));
        assert!(!agree("s3://a/x", "s3://b/x", &[], &[]));
        assert!(agree("s3://a/x", "s3://b/x", &[], &[("a", "b")]));
        assert!(!agree("oss://a/x", "s3://a/x", &[], &[]));
        assert!(agree("oss://a/x", "s3a://a/x", &[("OSS", "s3")], &[]));
    }
}
