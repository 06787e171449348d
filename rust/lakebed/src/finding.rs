//! Finds the tables below a folder, by their folders alone.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::credentials::without_credentials;
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::format::Formats;
use crate::notes::Notes;
use crate::pipeline::{FolderListing, Levels};
use crate::relocate::below;
use crate::scan::{Batches, Scan, ScanOptions, limited, selected};
use crate::storage::{Folders, Storage};
use crate::view::{Rows, select, whole};

/// The suffix of database folders in Hive and in Paimon's catalogs (`Catalog.DB_SUFFIX`).
const DATABASE: &str = ".db";

/// The tables of all formats in a folder and below it: `location`, `format` and `name` of each, level by
/// level, and by location within a level. The folders of a table are not looked into.
///
/// Each read lists again; the folders of a level are listed in parallel, as many as the storage serves at
/// once.
pub struct TablesBelow {
    root: String,
    formats: &'static Formats,
    storage: Arc<dyn Storage>,
    options: ScanOptions,
    schema: SchemaRef,
    notes: Notes,
}

impl TablesBelow {
    /// The tables at `root` and below it; checks columns and filter, lists nothing.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub fn new(
        root: &str,
        formats: &'static Formats,
        storage: Arc<dyn Storage>,
        options: ScanOptions,
    ) -> Result<TablesBelow> {
        let none = select(&rows(&[])?, options.columns.as_deref(), options.filter.as_deref())?;
        let (root, schema) = (root.to_owned(), none.schema());
        Ok(TablesBelow { root, formats, storage, options, schema, notes: Notes::default() })
    }
}

impl Scan for TablesBelow {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        let options = self.options.clone();
        limited(options.limit, || {
            let looks = FolderFinder {
                root: self.root.clone(),
                formats: self.formats,
                storage: Arc::clone(&self.storage),
                notes: self.notes.clone(),
            };
            let (storage, to_the_end) = (Arc::clone(&self.storage), options.limit.is_none());
            let walk = Levels::new(looks, storage, vec![self.root.clone()], to_the_end);
            Ok(selected(walk, &options))
        })
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}

impl Distributed for TablesBelow {}

/// Looks at folders, from several threads.
struct FolderFinder {
    root: String,
    formats: &'static Formats,
    storage: Arc<dyn Storage>,
    notes: Notes,
}

impl FolderListing for FolderFinder {
    /// The row of the table that is at the folder.
    type Output = RecordBatch;

    fn look(&self, location: &str) -> Result<(Option<RecordBatch>, Vec<String>)> {
        let Some(Folders { mut names, closed }) = self.storage.folders(location)? else {
            // A file, or a folder that was removed after it was listed.
            return if location == self.root { Err(not_found(location)) } else { Ok((None, Vec::new())) };
        };
        if let Some(format) = self.formats.at(location, &names, &self.storage)? {
            let table = rows(&[[location, format, &self.name(location)]])?;
            return Ok((Some(table), Vec::new()));
        }
        for (name, why) in closed {
            self.passed_over(location, &name, why);
        }
        // An object may have the same name as a folder.
        names.sort_unstable();
        names.dedup();
        names.retain(|name| {
            let is_name = !matches!(name.as_str(), "" | "." | "..") && !name.contains('/');
            if !is_name {
                self.passed_over(location, name, "that is not a file name");
            }
            is_name
        });
        let folder = location.trim_end_matches('/');
        Ok((None, names.iter().map(|name| format!("{folder}/{name}")).collect()))
    }
}

impl FolderFinder {
    fn passed_over(&self, location: &str, name: &str, why: &str) {
        let location = without_credentials(location);
        self.notes.add(format!("the folder {name:?} in {location:?} is not looked into: {why}"));
    }

    /// The name of a table: its folders below the root, joined by dots.
    fn name<'l>(&self, location: &'l str) -> String {
        let last = |path: &'l str| path.rsplit('/').next().unwrap_or_default();
        let folders = match below(location, &self.root) {
            None | Some("") => last(location),
            Some(folders) => folders,
        };
        let Some((databases, table)) = folders.rsplit_once('/') else { return folders.to_owned() };
        let databases = databases.strip_suffix(DATABASE).unwrap_or(databases).replace('/', ".");
        format!("{databases}.{table}")
    }
}

/// Rows of location, format and name.
fn rows(found: &[[&str; 3]]) -> Result<RecordBatch> {
    let columns = ["location", "format", "name"].into_iter().enumerate();
    whole(columns.map(|(at, name)| (name, Rows(found.iter()).texts(|row| row[at]))).collect(), found.len())
}

#[cold]
fn not_found(root: &str) -> Error {
    let message = format!("no folder at {:?}, so no tables below it", without_credentials(root));
    Error::new(ErrorKind::TableNotFound, message).in_file(root)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use arrow_array::cast::AsArray;
    use arrow_buffer::Buffer;

    use super::*;
    use crate::format::FORMATS;

    /// Paths of files, and the folders that were listed.
    struct Paths(Vec<&'static str>, Mutex<Vec<String>>);

    impl Paths {
        fn of(paths: &[&'static str]) -> Arc<Paths> {
            Arc::new(Paths(paths.to_vec(), Mutex::default()))
        }
    }

    impl Storage for Paths {
        fn read(&self, path: &str) -> Result<Buffer> {
            match self.0.contains(&path) {
                true => Ok(Buffer::from(b"named")),
                false => Err(Error::new(ErrorKind::Missing, "no such file").in_file(path)),
            }
        }

        fn list(&self, folder: &str) -> Result<Vec<String>> {
            self.1.lock().expect("no reader panics").push(folder.to_owned());
            if folder.ends_with("/closed") {
                return Err(Error::new(ErrorKind::Io, "permission denied"));
            }
            let below = self.0.iter().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
            let names: BTreeSet<&str> = below.filter_map(|rest| rest.split('/').next()).collect();
            Ok(names.into_iter().map(str::to_owned).collect())
        }

        fn concurrent_reads(&self) -> Option<usize> {
            Some(3)
        }
    }

    fn found(storage: &Arc<Paths>, root: &str, options: ScanOptions) -> Result<Vec<String>> {
        let scan = TablesBelow::new(root, &FORMATS, Arc::clone(storage) as Arc<dyn Storage>, options)?;
        let mut found = Vec::new();
        for batch in scan.stream()? {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let text = |column: &arrow_array::ArrayRef| column.as_string::<i32>().value(row).to_owned();
                found.push(batch.columns().iter().map(text).collect::<Vec<_>>().join(" "));
            }
        }
        Ok(found)
    }

    #[test]
    fn tables_are_found_level_by_level_and_none_within_them() {
        let storage = Paths::of(&[
            "wh/shop.db/orders/schema/schema-0",
            "wh/shop.db/orders/branch/branch-b/schema/schema-0",
            "wh/shop.db/orders/metadata/v1.metadata.json",
            "wh/a/b/events/metadata/00001-x.metadata.json",
            "wh/single/metadata/v1.gz.metadata.json",
            "wh/schema/metadata/data/x/own/00001-y.metadata.json",
            "wh/hinted/t/metadata/version-hint.text",
            "wh/hinted/t/metadata/named.metadata.json",
            "wh/broken/metadata/version-hint.text",
            "wh/unnamed/metadata/some.metadata.json",
            "wh/logs/schema/readme",
            "wh/logs/metadata/part-0",
        ]);
        let all = [
            "wh/single iceberg single",
            "wh/hinted/t iceberg hinted.t",
            "wh/shop.db/orders paimon shop.orders",
            "wh/a/b/events iceberg a.b.events",
        ];
        assert_eq!(found(&storage, "wh", ScanOptions::default()).expect("tables"), all);
        let listed = std::mem::take(&mut *storage.1.lock().expect("no reader panics"));
        let within = |folder: &&String| folder.starts_with("wh/shop.db/orders/");
        assert_eq!(listed.iter().filter(within).collect::<Vec<_>>(), ["wh/shop.db/orders/schema"]);
        let first = found(&storage, "wh", ScanOptions { limit: Some(1), ..ScanOptions::default() });
        assert_eq!(first.expect("a table"), all[..1]);
        assert!(storage.1.lock().expect("no reader panics").len() < listed.len() / 2);
        let filter = Some("format = 'paimon'".to_owned());
        let columns = Some(vec!["name".to_owned()]);
        let some = found(&storage, "wh", ScanOptions { filter, columns, ..ScanOptions::default() });
        assert_eq!(some.expect("a table"), ["shop.orders"]);
    }

    #[test]
    fn the_prefix_may_be_a_table() {
        let storage = Paths::of(&["s3://b/shop.db/orders/schema/schema-0", "s3://b/shop.db/x"]);
        for (root, name) in
            [("s3://b/shop.db/orders", "orders"), ("s3://b/shop.db", "orders"), ("s3://b", "shop.orders")]
        {
            let row = format!("s3://b/shop.db/orders paimon {name}");
            assert_eq!(found(&storage, root, ScanOptions::default()).expect("a table"), [row]);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_listed_is_an_error_with_its_path() {
        let storage = Paths::of(&["wh/a/t/schema/schema-0", "wh/b/closed/t", "wh/c"]);
        let error = found(&storage, "wh", ScanOptions::default()).expect_err("closed");
        assert_eq!(error.to_string(), "permission denied (wh/b/closed)");
    }

    #[test]
    fn columns_and_filter_are_checked_before_anything_is_listed() {
        let storage = Paths::of(&[]);
        let of =
            |columns: Option<Vec<String>>, filter| ScanOptions { columns, filter, ..ScanOptions::default() };
        for (options, kind) in [
            (of(Some(vec!["size".to_owned()]), None), ErrorKind::UnknownColumn),
            (of(None, Some("format =".to_owned())), ErrorKind::Predicate),
        ] {
            assert_eq!(found(&storage, "wh", options).expect_err("refused").kind(), kind);
        }
        assert!(storage.1.lock().expect("no reader panics").is_empty());
    }
}
