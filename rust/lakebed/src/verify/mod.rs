//! The view `verify`: what is wrong with a table, a row a finding.
//!
//! Every snapshot, list and manifest that the table has is read, each once, and what is wrong with one keeps nobody from
//! reading the next. Errors of reading become findings; so does what is odd and no error; so does what can be read
//! and contradicts itself.

mod data_files;
mod entries;
mod exchange;
mod finding;
mod gather;
mod inventory;
mod live;
mod live_files;
mod manifests;
mod scan;
mod totals;

pub(crate) use entries::{ENTRY_SIGN, ENTRY_WRONG};
pub(crate) use exchange::VerifyExchange;
pub(crate) use finding::{Finding, Severity};
pub(crate) use inventory::{Inventory, NamedFile, caught};
pub(crate) use scan::VerifyScan;
pub(crate) use totals::{Claim, Number};

use arrow_buffer::Buffer;
use lakebed_avro::Limits;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::columnar::Decoding;
use crate::error::Result;
use crate::history::History;
use crate::notes::Notes;
use crate::scan::Batches;

/// The column of entries that holds what tells a file from others.
pub(crate) const IDENTITY: &str = "_identity";

/// What a format knows of what there should be.
pub(crate) trait Verified: History {
    /// How the entries of a manifest are read whole.
    type Entries: WholeEntries<Manifest = Self::Manifest>;
    /// The same as it is sent to other processes.
    type Stored: StoredEntries<Entries = Self::Entries>;

    /// Reads everything but manifests, and says what else is named.
    ///
    /// # Errors
    /// Those without which nothing can be named; an interruption.
    fn inventory(&self, threads: usize) -> Result<Inventory<Self::Manifest>>;

    /// What the table's snapshot says of itself, and its live files have to come to.
    fn claims(&self) -> Vec<Claim>;

    /// Files beside those of manifests that hold rows, or deletes, of the table's snapshot. What cannot be read was
    /// found by [`Verified::inventory`].
    ///
    /// # Errors
    /// An interruption.
    fn data_files(&self) -> Result<Vec<NamedFile>>;

    /// How entries are read, with the statistics of all columns that have some.
    ///
    /// # Errors
    /// Those of reading the schemas.
    fn whole_entries(&self) -> Result<Self::Entries>;

    /// The same for other processes.
    ///
    /// # Errors
    /// As [`Verified::whole_entries`].
    fn stored_entries(&self) -> Result<Self::Stored>;

    /// A file without which the table would not have been opened.
    fn anchor(&self) -> String;
}

/// How the entries of manifests are read whole, apart from a table.
pub(crate) trait WholeEntries: Send + Sync + 'static {
    /// A manifest as a list records it.
    type Manifest: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// What each file may cost.
    fn limits(&self) -> Limits;

    /// Where a manifest is, and how many bytes are recorded of it.
    fn place_of(&self, manifest: &Self::Manifest) -> (String, Option<u64>);

    /// The entries of a manifest, all of them and all of their columns: `content`, `file_path`, `record_count`,
    /// `file_size_in_bytes` and `stats` as the view `files` has them, [`ENTRY_SIGN`] and [`IDENTITY`]; where something is
    /// wrong with them [`ENTRY_WRONG`].
    ///
    /// # Errors
    /// Those of decoding them, with the manifest.
    fn entries_of(&self, manifest: &Self::Manifest, bytes: Buffer, notes: &Notes) -> Result<Batches>;
}

/// [`WholeEntries`] as they are sent to other processes.
pub(crate) trait StoredEntries: Serialize + DeserializeOwned + Send + Sync + 'static {
    type Entries: WholeEntries;

    /// The name of the work in serialized form.
    const NAME: &'static str;

    /// # Errors
    /// Those of resolving schemas, for work that was changed on its way.
    fn entries(&self, decoding: Decoding) -> Result<Self::Entries>;
}
