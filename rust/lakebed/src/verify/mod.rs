//! The view `verify`: what is wrong with a table, one row per finding.
//!
//! Every snapshot, list and manifest of the table is read once; an error in one does not prevent reading the
//! others. Errors of reading become findings, and so do contradictions, and unusual values that are not errors.

mod data_files;
mod entries;
mod finding;
mod inventory;
mod job;
mod links;
mod live;
mod live_files;
mod manifests;
mod reduce;
mod scan;
mod totals;

pub(crate) use entries::ENTRY_SIGN;
pub(crate) use finding::{Finding, Severity};
pub(crate) use inventory::{Inventory, NamedFile, caught};
pub(crate) use job::VerifyJob;
pub(crate) use links::{Links, SequenceAndPartition};
pub(crate) use scan::VerifyScan;
pub(crate) use totals::{Claim, ContentTotals, Number};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use lakebed_avro::Limits;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::columnar::Decoding;
use crate::error::{Error, Result};
use crate::notes::Notes;
use crate::scan::Format;
use crate::view::IDENTITY_COLUMN;

/// What a format provides about the files that must exist.
pub(crate) trait VerifiedFormat: Format {
    /// Reads everything except manifests, and lists the files that are named.
    ///
    /// # Errors
    /// Those after which nothing can be listed; an interruption.
    fn inventory(&self, threads: usize) -> Result<Inventory<Self::Manifest>>;

    /// The sums that the table's snapshot records, which its live files must have.
    fn claims(&self) -> Vec<Claim>;

    /// Files with rows or deletes of the table's snapshot that no manifest names. Errors of reading are not reported:
    /// [`VerifiedFormat::inventory`] did so.
    ///
    /// # Errors
    /// An interruption.
    fn data_files(&self) -> Result<Vec<NamedFile>> {
        Ok(Vec::new())
    }

    /// Deletes of the table's snapshot that no manifest names, and that apply to one data file each, as rows of
    /// [`links::Links`]; `None` where there are none. Errors of reading are not reported, as above.
    ///
    /// # Errors
    /// An interruption.
    fn unlisted_deletes(&self) -> Result<Option<RecordBatch>> {
        Ok(None)
    }

    /// How entries are read, with the statistics of all columns that have some.
    ///
    /// # Errors
    /// Those of reading the schemas.
    fn whole_entries(&self) -> Result<EntriesOf<Self>>;

    /// The same for other processes.
    ///
    /// # Errors
    /// As [`VerifiedFormat::whole_entries`].
    fn stored_entries(&self) -> Result<Self::StoredEntries>;

    /// A file without which the table would not have been opened.
    fn anchor(&self) -> String;
}

/// How all columns of the entries of a table are read.
pub(crate) type EntriesOf<V> = <<V as Format>::StoredEntries as StoredEntries>::Entries;

/// How the entries of manifests are read with all columns, independent of a table.
pub(crate) trait WholeEntries: Send + Sync + 'static {
    /// A manifest as a list records it.
    type Manifest: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// The limits for each file.
    fn limits(&self) -> Limits;

    /// The path of a manifest, and its recorded size \[bytes\].
    fn place_of(&self, manifest: &Self::Manifest) -> (String, Option<u64>);

    /// Whether a manifest may name deletes that apply to one data file each; not where another file alone names them.
    fn may_have_deletes(&self, _manifest: &Self::Manifest) -> bool {
        false
    }

    /// All entries of a manifest with all columns; `linked` is whether [`CheckedEntries::links`] is needed.
    ///
    /// # Errors
    /// Those of decoding them, with the manifest.
    fn entries_of(
        &self,
        manifest: &Self::Manifest,
        bytes: Buffer,
        linked: bool,
        notes: &Notes,
    ) -> Result<EntryBatches>;
}

/// Some entries of a manifest.
pub(crate) struct CheckedEntries {
    /// The columns `content`, `file_path`, `record_count`, `file_size_in_bytes` and `stats` as in the view `files`,
    /// [`ENTRY_SIGN`] and [`IDENTITY_COLUMN`].
    pub(crate) rows: RecordBatch,
    /// What the format finds wrong with single entries, each with its row.
    pub(crate) wrong: Vec<(usize, Error)>,
    /// The data files among them, and the deletes that apply to one data file each; empty if not needed.
    pub(crate) links: Links,
}

/// The entries of a manifest, some at a time.
pub(crate) type EntryBatches = Box<dyn Iterator<Item = Result<CheckedEntries>> + Send>;

/// [`WholeEntries`] as they are sent to other processes.
pub(crate) trait StoredEntries: Serialize + DeserializeOwned + Send + Sync + 'static {
    type Entries: WholeEntries;

    /// # Errors
    /// Those of resolving schemas, for work that was changed in transit.
    fn entries(&self, decoding: Decoding) -> Result<Self::Entries>;
}
