//! Which files a table reaches, from which roots, and which files no root reaches: one walk over the
//! metadata, shared by the formats.
//!
//! A root keeps files: a snapshot, a tag, a changelog, or the table itself. A format provides the roots and
//! the files that each names. Every manifest is read once, with the set of the roots that have it.

mod found;
mod job;
mod kind;
mod links;
mod listed;
mod listing;
mod looks;
mod merged;
mod moved;
mod orphans;
mod orphans_job;
mod other_tables;
mod part;
mod partitioner;
mod partitions;
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
pub(crate) use found::{Found, Reachable, count};
pub(crate) use job::{DistributedWalk, ManifestsByLocation, ReachJob, Records, SentManifests};
pub(crate) use kind::{Kind, Kinds};
pub use listed::{Listing, OrphanOptions};
pub(crate) use listing::ListedFolder;
pub(crate) use looks::Seen;
use looks::{Comparison, Looks};
pub(crate) use moved::Moved;
pub(crate) use orphans::Orphans;
pub(crate) use orphans_job::OrphansJob;
pub(crate) use other_tables::OtherReach;
pub(crate) use partitioner::{Named, Partitioner};
pub(crate) use prefixes::Prefixes;
pub(crate) use record::{Fact, each_record};
pub(crate) use sets::{RootSets, Roots, SetId};
pub(crate) use unreached::Unreached;
pub use walk::Retention;
pub(crate) use walk::{Files, Removed, Root, Walk, WalkOptions, manifests_step};

use crate::distributed::FormatJob;
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::threads;
use crate::storage::Storage;
use crate::table::{Newest, Table, newest_of};

/// Access to the files of a table, implemented by each format.
pub(crate) trait Reach: Send + Sync + Sized + 'static {
    /// Whether listed files are compared by their names alone, because the engine gives each file a unique name.
    const BY_NAME: bool;

    /// How many looks in succession must find nothing new: two for a format whose state is several files, which a look
    /// reads one after the other while a root may move from one of them to another.
    const QUIET_LOOKS: usize;

    /// Where the table's files are, as its metadata has it.
    fn location(&self) -> &str;

    /// The storage of the table's files.
    fn storage(&self) -> &Arc<dyn Storage>;

    /// What is unusual, but not an error, in the files that were read.
    fn notes(&self) -> Notes;

    /// Reads the files that name manifests. Returns the roots, the files that are named without a manifest,
    /// and the manifests as a stream of their records. With rules of retention, the roots that these remove
    /// are marked. Adds what the other roots name to `seen`.
    ///
    /// # Errors
    /// Those of reading snapshots and lists; `Unsupported` with rules of retention where the table forbids that files
    /// are deleted.
    fn walk(&self, wanted: &WalkOptions<'_>, seen: &mut Seen) -> Result<Walk>;

    /// The same at a later time, for what is not in `seen`: the roots that are kept, the files that they name
    /// and, for those that name something new, the manifests. Every file that a manifest adds counts as
    /// reached. `None` where nothing is new.
    ///
    /// # Errors
    /// As [`Reach::walk`].
    fn walk_later(&self, wanted: &WalkOptions<'_>, seen: &mut Seen) -> Result<Option<Walk>>;

    /// The manifests of a walk as the format sends them to other processes.
    type SentManifests: SentManifests;

    /// The same walk without the manifests, which other processes read. Manifests that may no longer exist
    /// are left out, unless `all` are requested: no root reaches the files that only they name.
    ///
    /// # Errors
    /// As [`Reach::walk`].
    fn distributed_walk(
        &self,
        wanted: &WalkOptions<'_>,
        all: bool,
        seen: &mut Seen,
    ) -> Result<DistributedWalk<Self::SentManifests>>;

    /// The job among those of the format.
    fn reach_job(job: ReachJob<Self>) -> impl FormatJob;

    /// The same of finding orphans.
    fn orphans_job(job: OrphansJob<Self>) -> impl FormatJob;

    /// What reads the newest version of a table of the format: a catalog or, without one, the table itself.
    ///
    /// # Errors
    /// `Internal` for a table of another format.
    fn newest(table: &dyn Table, catalog: Option<Newest>) -> Result<NewestReach<Self>>;

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
    fn moved(&self) -> Option<Moved> {
        Moved::of(self.storage().as_ref(), self.other_folders())
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
    let (threads, mut seen) = (threads(0), Seen::default());
    let begun = reach.map(|reach| -> Result<Found> {
        let (kinds, partitioner) = (Kinds::ALL, Arc::new(Partitioner::new()));
        let walk = reach.walk(&WalkOptions { retention: None, kinds, partitioner, threads }, &mut seen)?;
        Ok(Found::of(walk, true, reach.storage(), threads).found)
    });
    let rows = begun.transpose()?.into_iter().flatten().collect::<Result<_>>()?;
    Ok(FreedRows { rows, seen })
}

/// The files that only removed roots reached when the table was walked.
pub(crate) struct FreedRows {
    rows: Vec<RecordBatch>,
    seen: Seen,
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
