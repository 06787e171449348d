//! The listed files that are in the table's locations, and may be orphans.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch};

use super::kind::Kind;
use super::listing::{Details, FolderFiles, ListedFolder, list};
use super::moved::MovedTable;
use super::orphans::RecordSink;
use super::other_tables::{OtherTable, TableEvidence, passed_over, shown};
use super::partitioner::{Keys, PartitionedRecords, Partitioner, name};
use super::prefixes::{LastPath, Prefixes, is_absolute};
use super::record::{Fact, NOT_ASKED, Record};
use super::sets::SetId;
use crate::error::{Error, ErrorKind, Result};
use crate::location::paths;
use crate::notes::Notes;
use crate::percent::decoded;
use crate::record::find;
use crate::scan::Batches;
use crate::storage::{FileDetails, Storage};

/// Starts reading a listing, anew with each call: `path` text, `size` int64 bytes, `modified` int64
/// milliseconds since 1970 UTC.
pub type Listing = Arc<dyn Fn() -> Result<Batches> + Send + Sync>;

/// Which files may be orphans.
#[derive(Clone, Default)]
pub struct OrphanOptions {
    /// Only files modified before this, in milliseconds since 1970 UTC. Newer files may belong to a commit
    /// that is in progress.
    pub before_ms: Option<i64>,
    /// When they are looked for, in milliseconds since 1970 UTC: what rows say of their plan.
    pub now_ms: i64,
    /// Schemes, each with the one that it is equal to.
    pub equal_schemes: Vec<(String, String)>,
    /// Authorities (buckets, hosts), each with the one that it is equal to.
    pub equal_authorities: Vec<(String, String)>,
    /// The listing, where the caller has one; otherwise the table's folders are listed.
    pub listing: Option<Listing>,
}

/// Bytes of paths that are distributed together.
const TOGETHER: usize = 4 << 20;

/// A place in which files of a listing may be.
struct KnownFolder {
    place: ListedFolder,
    /// The number of its prefix, and the beginning of the keys of its files.
    prefix: u16,
    folder: String,
    is_absolute: bool,
}

/// A piece of what is listed.
pub(super) enum ListedPiece {
    Folder(FolderFiles),
    /// Rows of a listing.
    Rows(RecordBatch),
}

/// The endings of objects that stand for folders: an empty object of that name, and Hadoop's.
const FOLDERS: [&str; 2] = ["/", "_$folder$"];

/// Files of a listing.
pub(super) struct ListedRecords {
    /// Records that are complete, until they are returned.
    chunks: Vec<RecordBatch>,
    pub(super) prefixes: Arc<Prefixes>,
    /// The number of files in the listing, and how many of them are old enough.
    pub(super) listed: u64,
    pub(super) old: u64,
    before_ms: Option<i64>,
    /// Whether they are compared by their names alone.
    by_name: bool,
    partitioner: Arc<Partitioner>,
    pending: PartitionedRecords,
    /// Whether what is listed is known to be the table's folder, and whether a listed file shows it.
    has_table: bool,
    pub(super) shows_table: bool,
    /// The places of a listing's files.
    known: Vec<KnownFolder>,
    /// The folders of listed files, by the hashes of their keys.
    folders: HashSet<u64>,
    /// Other tables in the places.
    tables: BTreeSet<OtherTable>,
    /// The folder of the last file.
    folder: String,
    storage: Arc<dyn Storage>,
    notes: Notes,
    last: LastPath,
}

impl ListedRecords {
    /// No files yet; `partitioner` distributes them, and they are compared by their names alone or by their paths.
    pub(super) fn new(
        which: &OrphanOptions,
        prefixes: Prefixes,
        by_name: bool,
        partitioner: Partitioner,
        storage: &Arc<dyn Storage>,
        notes: &Notes,
    ) -> ListedRecords {
        let partitioner = Arc::new(partitioner.by(Keys::Listed));
        ListedRecords {
            chunks: Vec::new(),
            prefixes: Arc::new(prefixes),
            listed: 0,
            old: 0,
            before_ms: which.before_ms,
            by_name,
            pending: partitioner.new_records(),
            has_table: false,
            shows_table: false,
            partitioner,
            known: Vec::new(),
            folders: HashSet::new(),
            tables: BTreeSet::new(),
            folder: String::new(),
            storage: Arc::clone(storage),
            notes: notes.clone(),
            last: LastPath::default(),
        }
    }

    /// A partitioner for the files that a table names, which distributes them to the same parts as these. Records
    /// for other processes have the `whole` path.
    pub(super) fn partitioner(&self, moved: Option<MovedTable>, whole: bool) -> Partitioner {
        let (prefixes, storage) = (Arc::clone(&self.prefixes), Arc::clone(&self.storage));
        let keys = Keys::Places { prefixes, storage, by_name: self.by_name, whole };
        self.partitioner.by(keys).of_moved(moved.filter(|_| !self.by_name))
    }

    /// Distributes the records that are still collected.
    fn flush(&mut self) -> Result<()> {
        let records = std::mem::replace(&mut self.pending, self.partitioner.new_records());
        self.chunks.push(records.finish()?);
        Ok(())
    }

    /// States that what is listed is the table's folder.
    ///
    /// # Errors
    /// None that input could cause.
    pub(super) fn is_own(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.has_table, true) {
            return Ok(());
        }
        self.pending.add_to_all(&named(Fact::Own, ""))
    }

    /// What is in the table's places: in the caller's listing, if there is one.
    ///
    /// # Errors
    /// `Location` for a place that the storage would not open; those of the listing.
    pub(super) fn pieces(
        &mut self,
        places: Vec<ListedFolder>,
        listing: Option<&Listing>,
        details: Details,
    ) -> Result<Box<dyn Iterator<Item = Result<ListedPiece>> + Send>> {
        let Some(listing) = listing else {
            let folders = folders(places, details, &self.storage, &self.notes);
            return Ok(Box::new(folders.map(|folder| folder.map(ListedPiece::Folder))));
        };
        for place in places {
            let location = self.storage.place(&place.location)?;
            let (prefix, folder) = self.prefixes.folder(&location)?;
            self.known.push(KnownFolder { place, prefix, folder, is_absolute: is_absolute(&location) });
        }
        Ok(Box::new(listing()?.map(|rows| rows.map(ListedPiece::Rows))))
    }

    /// Adds the files of a piece. Returns records that are complete by now.
    pub(super) fn take(&mut self, piece: ListedPiece) -> Result<Vec<RecordBatch>> {
        match piece {
            ListedPiece::Folder(FolderFiles { files, tables }) => {
                tables.into_iter().for_each(|table| self.take_table(table));
                files.iter().try_for_each(|(path, file)| {
                    let path = self.storage.place(path)?;
                    self.take_listed(&path, file.details)
                })?;
            }
            ListedPiece::Rows(rows) => {
                let known = std::mem::take(&mut self.known);
                let taken = self.take_batch(&rows, &known);
                self.known = known;
                taken?;
            }
        }
        Ok(std::mem::take(&mut self.chunks))
    }

    /// Adds the files of a listing that are in the table's places.
    fn take_batch(&mut self, batch: &RecordBatch, known: &[KnownFolder]) -> Result<()> {
        let given = find(batch, "path")?;
        let (sizes, times) = (find(batch, "size")?, find(batch, "modified")?);
        let (sizes, times) = (longs(&sizes, "size")?, longs(&times, "modified")?);
        for (row, path) in paths(&given)?.enumerate() {
            let path = path.ok_or_else(|| Error::new(ErrorKind::Argument, "a path is null"))?;
            let details = FileDetails {
                size: sizes.get(row).copied().flatten().and_then(|size| u64::try_from(size).ok()),
                modified: times.get(row).copied().flatten(),
            };
            self.take_given(path, details, known)?;
        }
        Ok(())
    }

    fn take_given(&mut self, path: &str, details: FileDetails, places: &[KnownFolder]) -> Result<()> {
        if FOLDERS.iter().any(|ending| path.ends_with(ending)) {
            return Ok(());
        }
        let (prefix, key) = self.prefixes.split(path, &mut self.last)?;
        for KnownFolder { place, prefix: own, folder, .. } in places {
            let Some(rest) = key.strip_prefix(folder.as_str()) else { continue };
            if !self.prefixes.agree(*own, prefix) {
                return Err(self.prefixes.conflict(*own, prefix, path));
            }
            match shown(place, rest)? {
                TableEvidence::Own => {
                    self.shows_table = true;
                    self.is_own()?;
                }
                TableEvidence::Other(table) => {
                    let location = format!("{}/{table}", place.location);
                    self.take_table(OtherTable { location, has_folder: true });
                }
                TableEvidence::Beside => {
                    self.take_table(OtherTable { location: place.location.clone(), has_folder: false });
                }
                TableEvidence::Nothing => {}
            }
            if (place.rule)(rest, false) {
                if !self.by_name {
                    self.take_folders(&key, folder.len())?;
                }
                return self.take_listed(path, Some(details));
            }
            if let Cow::Owned(rest) = decoded(rest.as_bytes())
                && String::from_utf8(rest).is_ok_and(|rest| (place.rule)(&rest, false))
            {
                return Err(misspelled(path, "a file of the table"));
            }
        }
        if !is_absolute(path) && places.iter().all(|place| place.is_absolute) {
            let message = "a path of the listing is not absolute: it must start with a scheme and bucket, or with \
                           a slash";
            return Err(Error::new(ErrorKind::Argument, message).in_file(path));
        }
        Ok(())
    }

    /// Notes another table, which is read once all is listed.
    fn take_table(&mut self, table: OtherTable) {
        if !self.tables.contains(&table) {
            if table.has_folder {
                self.notes.add(passed_over(&table.location));
            }
            self.tables.insert(table);
        }
    }

    /// Gives all records that were not given yet, when all is listed, and those of what other tables name: the
    /// files that others may name are listed before.
    ///
    /// # Errors
    /// As [`OtherTable::walk`].
    pub(super) fn finish(&mut self, threads: usize, whole: bool, take: &mut RecordSink<'_>) -> Result<()> {
        for table in std::mem::take(&mut self.tables) {
            let partitioner = |moved| self.partitioner(moved, whole);
            for folder in table.walk(&self.storage, threads, &partitioner, take)? {
                // One that may not be opened is where it is said to be.
                let place = self.storage.place(&folder).unwrap_or_else(|_| folder.clone());
                for key in self.prefixes.folders(&place)? {
                    self.pending.add_to_all(&named(Fact::Table, &key))?;
                }
            }
        }
        self.flush()?;
        std::mem::take(&mut self.chunks).into_iter().try_for_each(take)
    }

    /// Adds the folders of a file, which some listings have as files, down to those of `least` bytes.
    fn take_folders(&mut self, key: &str, least: usize) -> Result<()> {
        let mut folder = key.rsplit_once('/').map_or("", |(folder, _)| folder);
        if folder == self.folder {
            return Ok(());
        }
        folder.clone_into(&mut self.folder);
        while folder.len() >= least && self.folders.insert(self.partitioner.hash(folder.as_bytes())) {
            self.pending.add(&named(Fact::Folder, folder))?;
            folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        }
        Ok(())
    }

    /// Adds a listed file. Where its details were not asked for, its age is checked once it is known to be an
    /// orphan.
    fn take_listed(&mut self, path: &str, details: Option<FileDetails>) -> Result<()> {
        self.listed += 1;
        let mut fact = Fact::Listed;
        if let (Some(before), Some(details)) = (self.before_ms, details) {
            let modified = details.modified.ok_or_else(|| {
                let message =
                    "its time of modification is unknown: give a listing that has it, or older_than=None";
                Error::new(ErrorKind::Argument, message).in_file(path)
            })?;
            if modified >= before {
                fact = Fact::New;
            }
        }
        self.old += u64::from(fact == Fact::Listed);
        let (prefix, key) = self.prefixes.listed(path, &mut self.last)?;
        self.pending.add(&Record {
            fact,
            kind: Kind::Extra,
            prefix,
            set: SetId::NONE,
            size: details.map_or(NOT_ASKED, FileDetails::recorded_size),
            value: details.and_then(|details| details.modified).unwrap_or(i64::MIN),
            path,
            key: if self.by_name { name(&key) } else { &key },
        })?;
        if self.pending.size() > TOGETHER { self.flush() } else { Ok(()) }
    }
}

impl OrphanOptions {
    /// What tells spellings of one path, for a table whose files are at `location`.
    pub(super) fn prefixes(&self, location: &str) -> Prefixes {
        Prefixes::new(location, &self.equal_schemes, &self.equal_authorities)
    }
}

/// A record of something that is not a file.
fn named(fact: Fact, key: &str) -> Record<'_> {
    let (kind, set) = (Kind::Extra, SetId::NONE);
    Record { fact, kind, prefix: 0, set, size: -1, value: 0, path: key, key }
}

/// The error for a listed path that is not spelled as files of the table are.
#[cold]
pub(super) fn misspelled(path: &str, reached: &str) -> Error {
    let message = format!(
        "the listing spells the path of {reached} in another way: inventories of buckets have URL-encoded paths, other \
         lists other cases, Unicode normalizations or slashes. Sink a listing with the paths of the storage, decoded \
         (urllib.parse.unquote_plus)"
    );
    Error::new(ErrorKind::Location, message).in_file(path)
}

/// The files of each folder of the places.
fn folders(
    places: Vec<ListedFolder>,
    details: Details,
    storage: &Arc<dyn Storage>,
    notes: &Notes,
) -> impl Iterator<Item = Result<FolderFiles>> + Send + use<> {
    let (storage, notes) = (Arc::clone(storage), notes.clone());
    places.into_iter().flat_map(move |place| list(&place, details, &storage, &notes))
}

fn longs(column: &ArrayRef, name: &str) -> Result<Vec<Option<i64>>> {
    let numbers = column.as_primitive_opt::<Int64Type>();
    let numbers = numbers.ok_or_else(|| Error::new(ErrorKind::Argument, format!("{name} is not int64")))?;
    Ok(numbers.iter().collect())
}
