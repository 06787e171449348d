//! Looks at a table after it was walked: whatever happens to the table while its files are listed and its
//! manifests are read can take rows out, and never adds one.
//!
//! # Advice for whoever changes this
//! People delete files by the rows of orphans and of expiries. The order makes these safe: first the listing,
//! then the walk, then looks, then the first row. A look may miss what moves while it is made: a tag that becomes a
//! branch after the branches were listed and before the tags are. So looks follow until [`Reach::QUIET_LOOKS`] in
//! succession find nothing new; what moves once is seen by the last of them. What is new is decided by content, not
//! by name: after a fast-forward another snapshot has the same number.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;
use serde::{Deserialize, Serialize};

use super::kind::Kinds;
use super::partitioner::{Keys, Partitioner, name};
use super::prefixes::{LastPath, Prefixes};
use super::record::{Fact, Record, records};
use super::walk::{Walk, WalkOptions};
use super::{NewestReach, Reach, Retention, rows};
use crate::distributed::{Piece, Pieces, Reduce, batches, nothing, one, reduced_here};
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::record::{column, typed};
use crate::scan::{Batches, ScanOptions, threads};
use crate::storage::Storage;
use crate::view::select;

/// How many looks may each find something new. Each reads only what is new, so that a table which is written
/// to all the time needs two or three.
const MOST_LOOKS: usize = 100;

/// What walks and looks have read: a later look reads only what is new.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct VisitedSet {
    /// What kept roots name, in words of the format's own.
    contents: HashSet<String>,
    /// Manifests of whose files none can become a row.
    manifests: HashSet<String>,
}

impl VisitedSet {
    /// Adds what a kept root names. Returns whether it is new.
    pub(crate) fn add(&mut self, content: String) -> bool {
        self.contents.insert(content)
    }

    pub(crate) fn has(&self, content: &str) -> bool {
        self.contents.contains(content)
    }

    /// Adds a manifest of whose files none can become a row. Returns whether it is new.
    pub(crate) fn add_manifest(&mut self, path: &str) -> bool {
        !self.manifests.contains(path) && self.manifests.insert(path.to_owned())
    }
}

/// How the files of rows are compared with those that looks find.
#[derive(Clone)]
pub(super) enum Comparison {
    /// By their paths, as metadata has both.
    Paths,
    /// By what a listing has, and metadata.
    Places { prefixes: Arc<Prefixes>, by_name: bool, storage: Arc<dyn Storage> },
}

/// How a table is looked at.
#[derive(Clone)]
pub(super) struct Looks<R> {
    pub(super) newest: NewestReach<R>,
    /// The rules by which roots are removed, if these remove some.
    pub(super) retention: Option<Retention>,
    /// Whether the rows have the paths where files of a moved table are now.
    pub(super) are_placed: bool,
    pub(super) kinds: Kinds,
    pub(super) threads: usize,
    pub(super) comparison: Comparison,
}

/// The files and roots that looks have found to be kept.
struct KeptFiles {
    /// The keys of files, each with the numbers of its prefixes.
    files: HashMap<String, Vec<u16>>,
    /// The names of roots.
    roots: HashSet<String>,
    comparison: Comparison,
}

impl<R: Reach> Looks<R> {
    /// For the files of removed roots, as far as options ask for them.
    ///
    /// # Errors
    /// `FilterColumn`, `Predicate`.
    pub(super) fn at_paths(
        newest: NewestReach<R>,
        retention: Option<Retention>,
        options: &ScanOptions,
    ) -> Result<Looks<R>> {
        let kinds = Kinds::matching(options.filter.as_deref(), rows::plan_schema()?.as_ref())?;
        let (threads, comparison) = (threads(options.threads), Comparison::Paths);
        Ok(Looks { newest, retention, are_placed: true, kinds, threads, comparison })
    }

    /// For listed files.
    pub(super) fn at_places(
        newest: NewestReach<R>,
        prefixes: Arc<Prefixes>,
        storage: Arc<dyn Storage>,
        options: &ScanOptions,
    ) -> Looks<R> {
        let (kinds, threads) = (Kinds::ALL, threads(options.threads));
        let comparison = Comparison::Places { prefixes, by_name: R::BY_NAME, storage };
        Looks { newest, retention: None, are_placed: true, kinds, threads, comparison }
    }

    /// Looks until nothing is new any more.
    ///
    /// # Errors
    /// Those of reading the table; `Conflict` where it changes faster than it is read.
    fn look(&self, seen: &mut VisitedSet, notes: &Notes) -> Result<KeptFiles> {
        let comparison = self.comparison.clone();
        let mut kept = KeptFiles { files: HashMap::new(), roots: HashSet::new(), comparison };
        until_nothing_is_new(R::QUIET_LOOKS, || {
            let newest = (self.newest)()?;
            let (retention, partitioner) = (self.retention.as_ref(), Arc::new(self.partitioner(&newest)));
            let options = WalkOptions { retention, kinds: self.kinds, partitioner, threads: self.threads };
            let later = newest.walk_later(&options, seen)?;
            let Some(walk) = later else { return Ok(false) };
            kept.take(walk, &options.partitioner)?;
            newest.notes().take().into_iter().for_each(|note| notes.add(note));
            Ok(true)
        })?;
        Ok(kept)
    }

    /// Makes the keys of files as the rows have them: those of a moved table by where they are now.
    fn partitioner(&self, newest: &R) -> Partitioner {
        let partitioner = Partitioner::seeded(0, 1);
        match self.comparison.clone() {
            Comparison::Paths if self.are_placed => partitioner.of_moved(newest.moved()),
            Comparison::Paths => partitioner,
            Comparison::Places { prefixes, by_name, storage } => {
                let keys = Keys::Places { prefixes, storage, by_name, whole: false };
                partitioner.by(keys).of_moved(newest.moved().filter(|_| !by_name))
            }
        }
    }

    /// Rows without those of files and roots that are kept.
    pub(super) fn checked(
        self,
        rows: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
        seen: VisitedSet,
        notes: Notes,
    ) -> Batches {
        let rows: Batches = Box::new(rows);
        batches(reduced_here([Ok((0, rows))], LookAgain::new(self, seen, notes, None)))
    }
}

/// Takes rows of kept files out. A look is made once there is a row, when all else has been read.
pub(super) struct LookAgain<R> {
    looks: Looks<R>,
    seen: VisitedSet,
    notes: Notes,
    columns: Option<Vec<String>>,
    /// Set at the first row.
    kept: Option<KeptFiles>,
}

impl<R: Reach> LookAgain<R> {
    pub(super) fn new(
        looks: Looks<R>,
        seen: VisitedSet,
        notes: Notes,
        columns: Option<Vec<String>>,
    ) -> LookAgain<R> {
        LookAgain { looks, seen, notes, columns, kept: None }
    }
}

impl<R: Reach> Reduce for LookAgain<R> {
    fn push(&mut self, _side: i32, rows: RecordBatch) -> Result<Pieces> {
        if rows.num_rows() == 0 {
            return nothing();
        }
        let kept = match &self.kept {
            Some(kept) => kept,
            None => self.kept.insert(self.looks.look(&mut self.seen, &self.notes)?),
        };
        one(Piece::rows(select(&kept.without(&rows)?, self.columns.as_deref(), None)?))
    }
}

/// Looks until so many looks in succession find nothing new, which each says.
///
/// # Errors
/// Those of the looks; `Conflict` where there is always something new.
pub(super) fn until_nothing_is_new(quiet_looks: usize, mut look: impl FnMut() -> Result<bool>) -> Result<()> {
    let mut quiet = 0;
    for _ in 0..MOST_LOOKS {
        quiet = if look()? { 0 } else { quiet + 1 };
        if quiet == quiet_looks {
            return Ok(());
        }
    }
    let message = format!("the table kept changing during {MOST_LOOKS} looks at it");
    Err(Error::new(ErrorKind::Conflict, message).retryable(true))
}

impl KeptFiles {
    fn take(&mut self, walk: Walk, partitioner: &Arc<Partitioner>) -> Result<()> {
        let mut named = partitioner.new_records();
        let reached = walk.files.reached().iter().map(|file| file.path.as_str());
        // Engines do not take for orphans what is only named.
        let only_named = match self.comparison {
            Comparison::Paths => &[],
            Comparison::Places { .. } => walk.files.named(),
        };
        named.push_reached(reached.chain(only_named.iter().map(String::as_str)))?;
        for rows in std::iter::once(named.finish()).chain(walk.entries) {
            records(&rows?)?.try_for_each(|record| self.take_record(record?))?;
        }
        self.roots.extend(walk.roots.into_iter().map(|root| root.name));
        Ok(())
    }

    fn take_record(&mut self, record: Record<'_>) -> Result<()> {
        if record.fact != Fact::Reached {
            return Ok(());
        }
        match self.files.get_mut(record.key) {
            Some(prefixes) if prefixes.contains(&record.prefix) => {}
            Some(prefixes) => prefixes.push(record.prefix),
            None => drop(self.files.insert(record.key.to_owned(), vec![record.prefix])),
        }
        Ok(())
    }

    /// The rows whose file is not kept and, where they have none, whose root is not.
    ///
    /// # Errors
    /// `Location` for a listed file that is kept with another prefix.
    fn without(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let names = rows.column_by_name("first_reached_by");
        let names = names.map(|names| typed::<StringArray>(names, "first_reached_by")).transpose()?;
        let mut last = LastPath::default();
        let left =
            column::<StringArray>(rows, "file_path")?.iter().enumerate().map(|(row, path)| match path {
                Some(path) => Ok(Some(!self.keeps(path, &mut last)?)),
                None => Ok(Some(!names.is_some_and(|names| self.roots.contains(names.value(row))))),
            });
        Ok(filter_record_batch(rows, &left.collect::<Result<BooleanArray>>()?)?)
    }

    fn keeps(&self, path: &str, last: &mut LastPath) -> Result<bool> {
        let Comparison::Places { prefixes, by_name, .. } = &self.comparison else {
            return Ok(self.files.contains_key(path));
        };
        let (prefix, key) = prefixes.listed(path, last)?;
        let key = if *by_name { name(&key) } else { &key };
        let Some(kept) = self.files.get(key) else { return Ok(false) };
        prefixes.check(kept.iter().copied(), prefix, path, key)?;
        Ok(true)
    }
}
