//! Which files a table reaches, from which roots, and which files no root reaches: one walk over the
//! metadata, shared by the formats.
//!
//! A root keeps files: a snapshot, a tag, a changelog, or the table itself. A format provides the roots and
//! the files that each names. Every manifest is read once, with the set of the roots that have it.

mod entries;
mod found;
mod job;
mod kind;
mod links;
mod listed;
mod listing;
mod looks;
mod moved;
mod orphan_rows;
mod orphans;
mod orphans_job;
mod other_tables;
mod partitioner;
mod partitions;
mod plan_columns;
mod prefixes;
mod record;
mod rows;
mod sets;
mod spelling;
mod unreached;
mod walk;
mod walk_roots;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use entries::entries;
pub(crate) use found::{Reachable, count, found_files};
pub(crate) use job::ReachJob;
pub(crate) use kind::{Kind, Kinds};
pub use listed::{Listing, OrphanOptions};
pub(crate) use listing::{ListedFolder, tables_within};
pub(crate) use looks::VisitedSet;
use looks::{Comparison, Looks};
pub(crate) use moved::MovedTable;
pub(crate) use orphans::Orphans;
pub(crate) use orphans_job::OrphansJob;
pub(crate) use other_tables::OtherReach;
pub(crate) use partitioner::{EntryFile, Partitioner};
pub(crate) use plan_columns::PlanColumns;
pub(crate) use prefixes::Prefixes;
pub(crate) use record::{Fact, records};
pub(crate) use sets::{RootSets, Roots, SetId};
pub(crate) use unreached::UnreachedFiles;
pub(crate) use walk::{NamedFiles, RemovedItem, Root, Walk, WalkOptions, manifests_step};
pub use walk::{Retention, ReviewedRemovals};

use crate::columnar::Decoding;
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Format, threads};
use crate::storage::Storage;
use crate::table::{LakeTable, Newest, newest_of, own};

/// Access to the files of a table, implemented by each format.
pub(crate) trait Reach: Send + Sync + Sized + 'static {
    /// The tables of the format.
    type Table: Format<Reach = Self>;

    /// Whether listed files are compared by their names alone, because the engine gives each file a unique name.
    const BY_NAME: bool;

    /// How many looks in succession must find nothing new: two for a format whose state is several files, which a look
    /// reads one after the other while a root may move from one of them to another.
    const QUIET_LOOKS: usize;

    /// The table.
    fn table(&self) -> &Self::Table;

    /// Where the table's files are, as its metadata has it.
    fn location(&self) -> &str;

    /// The storage of the table's files.
    fn storage(&self) -> &Arc<dyn Storage> {
        self.table().core().storage()
    }

    /// What is unusual, but not an error, in the files that were read.
    fn notes(&self) -> Notes;

    /// Reads the files that name manifests. Returns the roots and the files that are named without a manifest, as a walk
    /// without entries, and the manifests. With rules of retention, the roots that these remove are marked. Adds what
    /// the other roots name to `seen`.
    ///
    /// # Errors
    /// Those of reading snapshots and lists; `Unsupported` with rules of retention where the table forbids that files
    /// are deleted.
    fn begun(&self, wanted: &WalkOptions<'_>, seen: &mut VisitedSet) -> Result<(Walk, Vec<Self::Manifest>)>;

    /// The walk with the records of all entries.
    ///
    /// # Errors
    /// As [`Reach::begun`].
    fn walk(&self, wanted: &WalkOptions<'_>, seen: &mut VisitedSet) -> Result<Walk> {
        let (walk, manifests) = self.begun(wanted, seen)?;
        Ok(Walk { entries: entries(self, manifests, wanted)?, ..walk })
    }

    /// The same at a later time, for what is not in `seen`: the roots that are kept, the files that they name
    /// and, for those that name something new, the manifests. Every file that a manifest adds counts as
    /// reached. `None` where nothing is new.
    ///
    /// # Errors
    /// As [`Reach::walk`].
    fn walk_later(&self, wanted: &WalkOptions<'_>, seen: &mut VisitedSet) -> Result<Option<Walk>>;

    /// A manifest, and the roots that reach it.
    type Manifest: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What decoding entries needs of the table, as it is sent.
    type Types: Serialize + DeserializeOwned + Send + Sync + 'static;
    /// How entries become records of the files that they name.
    type Program: Send + Sync + 'static;

    /// The manifest as its list records it.
    fn recorded(one: &Self::Manifest) -> &<Self::Table as Format>::Manifest;

    /// Whether no root needs its entries, so that the manifest may be missing.
    fn may_be_gone(_one: &Self::Manifest) -> bool {
        false
    }

    /// How entries become records in this process.
    ///
    /// # Errors
    /// None that input could cause.
    fn program(&self, partitioner: &Arc<Partitioner>) -> Result<Self::Program>;

    /// What [`Reach::sent_program`] needs of the table.
    ///
    /// # Errors
    /// Those of reading the schema.
    fn types(&self) -> Result<Self::Types>;

    /// How entries become records in another process.
    ///
    /// # Errors
    /// Those of parsing the schema, for a job that was changed in transit.
    fn sent_program(
        types: &Self::Types,
        partitioner: &Arc<Partitioner>,
        decoding: Decoding,
    ) -> Result<Self::Program>;

    /// The records of the files that the entries of a manifest name; `path` is its own, for errors.
    ///
    /// # Errors
    /// Those of decoding it.
    fn records(
        program: &Self::Program,
        one: &Self::Manifest,
        path: String,
        bytes: Buffer,
        threads: usize,
    ) -> Result<Batches>;

    /// What reads the newest version of a table of the format: a catalog or, without one, the table itself.
    ///
    /// # Errors
    /// `Internal` for a table of another format.
    fn newest(table: &dyn LakeTable, catalog: Option<Newest>) -> Result<NewestReach<Self>> {
        own::<Self::Table>(table)?.newest_reach(catalog)
    }

    /// The folders in which orphans of the table may be; `spellings` tells which paths are the same.
    ///
    /// # Errors
    /// `Unsupported` where the table forbids that files are deleted; `Location` for a table whose metadata has another
    /// location than where it was opened.
    fn places(&self, spellings: &Prefixes) -> Result<Vec<ListedFolder>>;

    /// Checks that files of this version may be deleted, and that its location is its own.
    ///
    /// # Errors
    /// As [`Reach::places`].
    fn check_deletable(&self, spellings: &Prefixes) -> Result<()>;

    /// Other folders than its location in which the table keeps files, by its properties.
    fn other_folders(&self) -> Vec<String>;

    /// Where its files may be, for a table that was opened with the old prefixes of moved files.
    fn moved(&self) -> Option<MovedTable> {
        MovedTable::of(self.storage().as_ref(), self.other_folders())
    }
}

/// Reads the newest version of a table, which may be that of a catalog.
pub(crate) type NewestReach<R> = Arc<dyn Fn() -> Result<R> + Send + Sync>;

/// What reads the newest version of a table: a catalog or, without one, the table itself.
pub(crate) fn newest_reach<T: Clone + 'static, R>(
    catalog: Option<Newest>,
    of_catalog: impl Fn(T) -> R + Send + Sync + 'static,
    of_table: impl Fn() -> Result<R> + Send + Sync + 'static,
) -> NewestReach<R> {
    Arc::new(move || catalog.as_ref().map_or_else(&of_table, |newest| newest_of(newest).map(&of_catalog)))
}

/// The files that only removed roots reach, for a table whose [`Reach`] marks removed roots itself: the rows of
/// [`Reachable`], all at once, and what the walk has seen. No files without a `reach`.
///
/// # Errors
/// Those of reading all that names files.
pub(crate) fn freed<R: Reach>(reach: Option<&R>) -> Result<FreedRows> {
    let (threads, mut seen) = (threads(0), VisitedSet::default());
    let begun = reach.map(|reach| -> Result<Batches> {
        let (kinds, partitioner) = (Kinds::ALL, Arc::new(Partitioner::new()));
        let walk = reach.walk(&WalkOptions { retention: None, kinds, partitioner, threads }, &mut seen)?;
        Ok(found_files(walk, true, reach.storage(), threads).found)
    });
    let rows = begun.transpose()?.into_iter().flatten().collect::<Result<_>>()?;
    Ok(FreedRows { rows, seen })
}

/// The files that only removed roots reached when the table was walked.
pub(crate) struct FreedRows {
    rows: Vec<RecordBatch>,
    seen: VisitedSet,
}

impl FreedRows {
    /// The rows, in at least one batch, without the files that the newest version keeps: in the meantime a root
    /// may have been made of a removed one.
    ///
    /// # Errors
    /// Those of reading all that names files.
    pub(crate) fn checked<R: Reach>(self, newest: NewestReach<R>) -> Result<Vec<RecordBatch>> {
        let (kinds, threads, comparison) = (Kinds::ALL, threads(0), Comparison::Paths);
        let looks = Looks { newest, retention: None, are_placed: false, kinds, threads, comparison };
        let rows = looks.checked(self.rows.into_iter().map(Ok), self.seen, Notes::default());
        std::iter::once(rows::nothing()).chain(rows).collect()
    }
}
