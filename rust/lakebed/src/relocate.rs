//! Copied and moved tables: the paths in their metadata lead to the original place.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::error::Result;
use crate::iceberg::discovery::table_folder;
use crate::local_path::without_file_scheme;
use crate::storage::{Contents, FileDetails, Folders, PlacingRules, Storage};

/// A storage that reads files below one prefix from another prefix.
///
/// Only reads are redirected: rows show paths as stored. A prefix matches whole names, so `s3://b/t` does not
/// match `s3://b/t10/x`; the longest match counts. Paths below the table's own location are not redirected:
/// the table was opened there.
pub struct RelocatedStorage {
    storage: Arc<dyn Storage>,
    location: String,
    /// Old prefixes and new ones, the longest old one first.
    prefixes: Vec<(String, String)>,
}

impl RelocatedStorage {
    /// `storage` for the table at `location`, a folder or a metadata file in it, with old prefixes and new ones; either
    /// may have a trailing slash.
    pub fn new(
        storage: Arc<dyn Storage>,
        location: &str,
        prefixes: impl IntoIterator<Item = (String, String)>,
    ) -> RelocatedStorage {
        let prefixes = longest_first(prefixes.into_iter().collect());
        RelocatedStorage { storage, location: table_folder(location).to_owned(), prefixes }
    }

    /// The current path of the file `path`.
    fn now<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if below(path, &self.location).is_some() {
            return Cow::Borrowed(path);
        }
        moved(path, &self.prefixes).unwrap_or(Cow::Borrowed(path))
    }
}

/// Prefixes in the order in which [`moved`] tries them.
pub(crate) fn longest_first(mut prefixes: Vec<(String, String)>) -> Vec<(String, String)> {
    prefixes.sort_by_key(|(old, _)| std::cmp::Reverse(old.trim_end_matches('/').len()));
    prefixes
}

/// A path with the first matching old prefix replaced by the new one.
pub(crate) fn moved<'p>(path: &'p str, prefixes: &[(String, String)]) -> Option<Cow<'p, str>> {
    prefixes.iter().find_map(|(old, new)| {
        let rest = below_local(path, old)?;
        let folder = new.trim_end_matches('/');
        Some(match (new.is_empty(), rest.is_empty()) {
            (true, _) => Cow::Borrowed(rest),
            (_, true) => Cow::Owned(folder.to_owned()),
            _ => Cow::Owned(format!("{folder}/{rest}")),
        })
    })
}

/// The rest of a path below a prefix; local ones may have a scheme or not.
pub(crate) fn below_local<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    below(path, prefix).or_else(|| below(local(path)?, local(prefix)?))
}

/// A path of the local disk without its scheme.
fn local(path: &str) -> Option<&str> {
    Some(without_file_scheme(path)).filter(|path| path.starts_with('/'))
}

/// The rest of a path below a prefix, without the slash between them.
pub(crate) fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    // A scheme alone, `s3://`, is a prefix that ends at a name.
    let name = prefix.trim_end_matches('/');
    if name.ends_with(':') && prefix.len() > name.len() {
        return path.strip_prefix(prefix);
    }
    let rest = path.strip_prefix(name)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

impl Storage for RelocatedStorage {
    fn read(&self, path: &str) -> Result<Buffer> {
        self.storage.read(&self.now(path))
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        self.storage.read_range(&self.now(path), start, length)
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.storage.list(&self.now(folder))
    }

    fn folders(&self, folder: &str) -> Result<Option<Folders>> {
        self.storage.folders(&self.now(folder))
    }

    fn contents(&self, folder: &str) -> Result<Option<Contents>> {
        self.storage.contents(&self.now(folder))
    }

    fn details(&self, path: &str) -> Result<Option<FileDetails>> {
        self.storage.details(&self.now(path))
    }

    fn inner(&self) -> Option<&dyn Storage> {
        Some(self.storage.as_ref())
    }

    /// Files are not where their paths say, so files written there would not be read here.
    fn is_local(&self) -> bool {
        false
    }

    fn is_writable(&self) -> bool {
        false
    }

    fn is_committable(&self) -> bool {
        false
    }

    fn placing(&self) -> PlacingRules {
        let moved = Some((self.location.clone(), self.prefixes.clone()));
        PlacingRules { moved, ..self.storage.placing() }
    }

    fn place(&self, path: &str) -> Result<String> {
        self.storage.place(&self.now(path))
    }

    fn modified(&self, path: &str) -> Result<Option<i64>> {
        self.storage.modified(&self.now(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Local;

    fn relocated(prefixes: &[(&str, &str)]) -> RelocatedStorage {
        let owned = prefixes.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned()));
        RelocatedStorage::new(Arc::new(Local), "/mnt/copy/t", owned)
    }

    #[test]
    fn the_longest_prefix_of_whole_names_counts() {
        let all = relocated(&[("s3://b/", "/mnt"), ("s3://b/t", "/mnt/other/"), ("file:///old/", "/new/")]);
        for (path, now) in [
            ("s3://b/x.avro", "/mnt/x.avro"),
            ("s3://b/t/x.avro", "/mnt/other/x.avro"),
            ("s3://b/t", "/mnt/other"),
            ("s3://b/t10/x.avro", "/mnt/t10/x.avro"),
            ("s3://b2/t/x.avro", "s3://b2/t/x.avro"),
            ("s3a://b/t/x.avro", "s3a://b/t/x.avro"),
            ("file:///old/a//b%20c", "/new/a//b%20c"),
            ("/old/a", "/new/a"),
            ("file:/old/a", "/new/a"),
            ("FILE:/old/a", "/new/a"),
            ("/older/a", "/older/a"),
        ] {
            assert_eq!(all.now(path), now);
        }
    }

    #[test]
    fn schemes_and_roots_are_prefixes_too() {
        assert_eq!(relocated(&[("/old", "/new")]).now("file:///old/t"), "/new/t");
        assert_eq!(relocated(&[("s3://", "/buckets")]).now("s3://b/t/x"), "/buckets/b/t/x");
        assert_eq!(relocated(&[("/", "/jail/")]).now("/warehouse/t"), "/jail/warehouse/t");
        assert_eq!(relocated(&[("/jail", "/")]).now("/jail/warehouse/t"), "/warehouse/t");
        assert_eq!(relocated(&[("s3://b/", "")]).now("s3://b/t/x"), "t/x", "a path of its own root");
        assert_eq!(relocated(&[("data", "/mnt/data")]).now("data/t"), "/mnt/data/t");
    }

    #[test]
    fn the_place_a_table_was_opened_at_stays() {
        let nested = relocated(&[("/mnt", "/mnt/copy")]);
        assert_eq!(nested.now("/mnt/t/metadata/x.avro"), "/mnt/copy/t/metadata/x.avro");
        assert_eq!(nested.now("/mnt/copy/t/metadata/x.avro"), "/mnt/copy/t/metadata/x.avro");
        assert_eq!(nested.now("/mnt/copy/t"), "/mnt/copy/t");
        let prefixes = [("/mnt".to_owned(), "/mnt/copy".to_owned())];
        let of_file =
            RelocatedStorage::new(Arc::new(Local), "/mnt/copy/t/metadata/v1.metadata.json", prefixes);
        assert_eq!(of_file.now("/mnt/copy/t/metadata/x.avro"), "/mnt/copy/t/metadata/x.avro");
    }
}
