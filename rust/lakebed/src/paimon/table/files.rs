//! The files of a table and of its branch, by kind.

use std::sync::Arc;

use arrow_buffer::Buffer;
use lakebed_avro::Limits;

use crate::error::{Error, ErrorKind, Result};
use crate::paimon::paths::{
    self, LATEST_SNAPSHOT, SCHEMA_FOLDER, branch_root, schema_file, snapshot_file, tag_file,
};
use crate::paimon::schema::TableSchema;
use crate::paimon::snapshot::{Snapshot, Tag};
use crate::pipeline::{both, each, read_each};
use crate::storage::{Storage, present, read_hint, read_recorded};
use crate::table::{HintAhead, hint_ahead};

/// How often the snapshots are listed, if the latest one is removed before it is read.
const LISTINGS: usize = 3;

/// What a hint file says: a number, if it has one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hint(pub(crate) Option<i64>);

impl Hint {
    /// The hint in these bytes of its file; without a number also where there is no file.
    pub(super) fn of(bytes: Option<Buffer>) -> Hint {
        let number = |bytes: Buffer| std::str::from_utf8(&bytes).ok()?.trim().parse::<i64>().ok();
        Hint(bytes.and_then(number).filter(|number| (1..i64::MAX).contains(number)))
    }
}

/// The files of one branch.
pub(crate) struct BranchFiles<'t> {
    /// Where the table is.
    pub(crate) location: &'t str,
    /// The branch, `main` for the table itself.
    pub(crate) branch: &'t str,
    /// What reads them.
    pub(crate) storage: &'t Arc<dyn Storage>,
}

/// [`BranchFiles`] that need not outlive a borrow.
pub(super) struct OwnedFiles {
    location: String,
    branch: String,
    storage: Arc<dyn Storage>,
}

impl OwnedFiles {
    pub(super) fn borrowed(&self) -> BranchFiles<'_> {
        BranchFiles { location: &self.location, branch: &self.branch, storage: &self.storage }
    }
}

impl<'t> BranchFiles<'t> {
    /// The files of another branch of the same table.
    pub(crate) fn of_branch<'b>(&self, branch: &'b str) -> BranchFiles<'b>
    where
        't: 'b,
    {
        BranchFiles { location: self.location, branch, storage: self.storage }
    }

    /// The same files, for another thread.
    pub(super) fn owned(&self) -> OwnedFiles {
        let (location, branch) = (self.location.to_owned(), self.branch.to_owned());
        OwnedFiles { location, branch, storage: Arc::clone(self.storage) }
    }

    /// The full path of a file that all branches share: manifests, statistics, index and data files.
    pub(crate) fn shared(&self, relative: &str) -> String {
        format!("{}/{relative}", self.location)
    }

    /// The full path of a file that each branch has for itself: snapshots, schemas, tags, changelogs,
    /// consumers.
    pub(crate) fn own(&self, relative: &str) -> String {
        format!("{}/{}{relative}", self.location, branch_root(self.branch))
    }

    /// One snapshot.
    pub(crate) fn snapshot(&self, id: i64) -> Result<Snapshot> {
        self.parsed(&self.own(&snapshot_file(id)), Snapshot::from_json)
    }

    /// One tag.
    pub(crate) fn tag(&self, name: &str) -> Result<Tag> {
        self.parsed(&self.own(&tag_file(name)), Tag::from_json)
    }

    /// One version of the schema.
    pub(crate) fn schema(&self, id: i64) -> Result<TableSchema> {
        self.parsed(&self.own(&schema_file(id)), TableSchema::from_json)
    }

    /// The file at a full path, parsed by `parse`.
    pub(crate) fn parsed<T>(&self, path: &str, parse: fn(&[u8]) -> Result<T>) -> Result<T> {
        parsed(self.storage.as_ref(), path, parse)
    }

    /// The ids of the existing snapshots, ascending.
    pub(crate) fn snapshot_ids(&self) -> Result<Vec<i64>> {
        Ok(paths::snapshot_ids(&self.storage.list(&self.own("snapshot"))?))
    }

    /// The ids of the existing long-lived changelogs, ascending.
    pub(crate) fn changelog_ids(&self) -> Result<Vec<i64>> {
        Ok(paths::changelog_ids(&self.storage.list(&self.own("changelog"))?))
    }

    /// The ids of the existing schemas, ascending.
    pub(crate) fn schema_ids(&self) -> Result<Vec<i64>> {
        Ok(paths::schema_ids(&self.storage.list(&self.own(SCHEMA_FOLDER))?))
    }

    /// The names of the branch's tags, sorted.
    pub(crate) fn tag_names(&self) -> Result<Vec<String>> {
        Ok(paths::tag_names(&self.storage.list(&self.own("tag"))?))
    }

    /// The names of the branch's consumers, sorted.
    pub(crate) fn consumer_ids(&self) -> Result<Vec<String>> {
        Ok(paths::consumer_ids(&self.storage.list(&self.own("consumer"))?))
    }

    /// The names of the table's branches except `main`, sorted.
    pub(crate) fn branch_names(&self) -> Result<Vec<String>> {
        Ok(paths::branch_names(&self.storage.list(&self.shared("branch"))?))
    }

    /// The branch's latest snapshot, if it has one.
    ///
    /// It is the one of the hint if that file exists and the next one does not (Paimon's
    /// `HintFileUtils.java`, which does not check the former), else the largest one listed. `EARLIEST` is not
    /// used: whoever needs the earliest snapshot also needs to know which exist, and lists them.
    pub(crate) fn latest_snapshot(&self) -> Result<Option<Snapshot>> {
        self.snapshot_from(Hint::of(self.latest_hint(1).result(self.storage.as_ref())??))
    }

    /// Branches with the latest snapshot of each, read in parallel.
    pub(super) fn branches(&self, names: Vec<String>) -> Result<Vec<(String, Option<Snapshot>)>> {
        let files = self.owned();
        let latest =
            move |_: &dyn Storage, branch: &String| files.borrowed().of_branch(branch).latest_snapshot();
        let latest = read_each(self.storage, names.clone(), 1, latest)?;
        Ok(names.into_iter().zip(latest).collect())
    }

    /// As [`BranchFiles::latest_snapshot`], with a known hint.
    pub(super) fn snapshot_from(&self, hint: Hint) -> Result<Option<Snapshot>> {
        if let Some(hinted) = self.hinted_snapshot(hint)? {
            return Ok(Some(hinted));
        }
        let mut again = 1..LISTINGS;
        loop {
            let Some(latest) = self.snapshot_ids()?.pop() else { return Ok(None) };
            match self.snapshot(latest) {
                // Removed by a rollback since it was listed.
                Err(error) if error.kind() == ErrorKind::Missing && again.next().is_some() => {}
                read => return read.map(Some),
            }
        }
    }

    fn hinted_snapshot(&self, Hint(hint): Hint) -> Result<Option<Snapshot>> {
        let Some(hint) = hint else { return Ok(None) };
        // A forged hint may be the last number there is.
        let Some(after) = hint.checked_add(1) else { return Ok(None) };
        let next = || present(self.storage.read_range(&self.own(&snapshot_file(after)), 0, 1));
        let files = self.owned();
        let hinted = move || present(files.borrowed().snapshot(hint));
        let (next, hinted) = both(self.storage.as_ref(), next, hinted)?;
        if next.is_some() { Ok(None) } else { hinted }
    }

    /// The hint at the latest snapshot, whose bytes are read from here on, while so many other requests are made.
    pub(super) fn latest_hint(&self, others: usize) -> HintAhead {
        hint_ahead(self.storage, others, Some(self.own(LATEST_SNAPSHOT)))
    }

    /// The existing hints of these names in the folder of snapshots or of changelogs, each with its path below
    /// the branch. They are read in parallel.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn hints(&self, folder: &str, names: &[&str]) -> Result<Vec<(String, Hint)>> {
        let names: Vec<String> = names.iter().map(|name| format!("{folder}/{name}")).collect();
        let paths = names.iter().map(|name| self.own(name)).collect();
        let found = read_each(self.storage, paths, 1, |storage, path: &String| read_hint(storage, path))?;
        let hints = names.into_iter().zip(found);
        Ok(hints.filter_map(|(name, bytes)| Some((name, Hint::of(Some(bytes?))))).collect())
    }

    /// The snapshots from the earliest on; `None` for one that was removed after it was listed.
    pub(super) fn snapshots_from_earliest(&self) -> Result<impl Iterator<Item = Result<Option<Snapshot>>>> {
        let ids = self.snapshot_ids()?.into_iter();
        let paths = ids.map(|id| self.own(&snapshot_file(id))).collect();
        let read = |storage: &dyn Storage, path: &String| present(parsed(storage, path, Snapshot::from_json));
        Ok(each(self.storage, paths, 1, read))
    }

    /// The files of `names`, each at `path` of its name below the branch, parsed by `parse`. Files that were
    /// removed after they were listed are left out. They are read in parallel.
    pub(crate) fn each<K, T: Send + 'static>(
        &self,
        names: Vec<K>,
        path: impl Fn(&K) -> String,
        parse: fn(&[u8]) -> Result<T>,
    ) -> Result<Vec<(K, T)>> {
        let paths = names.iter().map(|name| self.own(&path(name))).collect();
        let read = move |storage: &dyn Storage, path: &String| present(parsed(storage, path, parse));
        let found = read_each(self.storage, paths, 1, read)?;
        Ok(names.into_iter().zip(found).filter_map(|(name, found)| Some((name, found?))).collect())
    }
}

fn parsed<T>(storage: &dyn Storage, path: &str, parse: fn(&[u8]) -> Result<T>) -> Result<T> {
    let read = || parse(read_recorded(storage, path, None, &Limits::DEFAULT)?.as_slice());
    read().map_err(|error| error.in_file(path))
}

/// The name of the table or branch in messages.
pub(super) fn subject(branch: &str) -> String {
    if branch == paths::MAIN { "the table".to_owned() } else { format!("branch {branch:?}") }
}

/// The error for a snapshot, tag or branch that does not exist.
#[cold]
pub(super) fn not_found(files: &BranchFiles<'_>, message: String) -> Error {
    Error::new(ErrorKind::SnapshotNotFound, message).in_file(files.location)
}
