//! Which files a table still reaches, from what, and which nothing reaches: one walk over all that names files, whatever
//! the format.
//!
//! A root is what keeps files: a snapshot, a tag, a changelog, or the table itself. A format says which roots there are
//! and which files each names; every manifest is read once, with the set of the roots that have it.

mod deal;
mod exchange;
mod expire;
mod found;
mod kind;
mod listed;
mod listing;
mod merged;
mod orphans;
mod orphans_exchange;
mod partitions;
mod prefixes;
mod record;
mod rows;
mod sets;
mod told;
mod walk;

use std::sync::Arc;

use arrow_array::RecordBatch;
pub(crate) use deal::{Dealer, Named};
pub(crate) use exchange::{Apart, ByPlace, Naming, Placed, ReachExchange, Records};
pub(crate) use expire::ExpirePlan;
pub use expire::Retention;
pub(crate) use found::{Found, Reachable, count};
pub(crate) use kind::{Kind, Kinds};
pub(crate) use listing::Place;
pub(crate) use orphans::Orphans;
pub use orphans::{Listing, OrphanOptions};
pub(crate) use orphans_exchange::OrphansExchange;
pub(crate) use record::{Fact, each_record};
pub(crate) use sets::{RootSets, Roots, SetId};
pub(crate) use walk::{Files, Removed, Root, Walk, Wanted};

use crate::error::Result;
use crate::notes::Notes;
use crate::scan::threads;
use crate::storage::Storage;

/// What a format knows of the files of one of its tables.
pub(crate) trait Reach: Send + Sync + Sized + 'static {
    /// What the table's files are read from.
    fn storage(&self) -> &Arc<dyn Storage>;

    /// What is odd about the files that were read, and no error.
    fn notes(&self) -> Notes;

    /// Reads what names manifests: the roots, the files that are named without a manifest, and the manifests as a stream
    /// of what they name. With rules of retention the roots say which of them these let go.
    ///
    /// # Errors
    /// Those of reading snapshots and lists; `Unsupported` with rules of retention where the table forbids that files are
    /// deleted.
    fn walk(&self, wanted: &Wanted<'_>) -> Result<Walk>;

    /// What reads its manifests elsewhere.
    type Naming: Naming;

    /// The same walk but for the manifests, which are to be read elsewhere. Left out are those that may be gone, unless
    /// `all` are asked for: what they alone name is reached by nothing.
    ///
    /// # Errors
    /// As [`Reach::walk`].
    fn apart(&self, wanted: &Wanted<'_>, all: bool) -> Result<Apart<Self::Naming>>;

    /// The same table at what is newest now.
    ///
    /// # Errors
    /// Those of opening it.
    fn newest(&self) -> Result<Self>;

    /// Where files of the table may lie that nothing reaches.
    ///
    /// # Errors
    /// `Unsupported` where the table forbids that files are deleted; `Location`.
    fn places(&self) -> Result<Vec<Place>>;
}

/// The files that no root reaches that stays, of a table that says itself which go, if any: the rows of [`Reachable`],
/// all at once, in one batch at least.
///
/// # Errors
/// Those of reading all that names files.
pub(crate) fn freed<R: Reach>(reach: Option<&R>) -> Result<Vec<RecordBatch>> {
    let threads = threads(0);
    let begun = reach.map(|reach| -> Result<Found> {
        let (kinds, dealer) = (Kinds::ALL, Arc::new(Dealer::new()));
        let walk = reach.walk(&Wanted { retention: None, kinds, dealer, threads })?;
        Ok(Found::of(walk, true, reach.storage(), threads).found)
    });
    std::iter::once(found::nothing()).chain(begun.transpose()?.into_iter().flatten()).collect()
}
