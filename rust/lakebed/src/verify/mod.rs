//! The view `verify`: what is wrong with a table, one row per finding.
//!
//! Every snapshot, list and manifest of the table is read once, and an error in one does not keep others from
//! being read. Errors of reading become findings, and so do unusual things that are not errors, and
//! contradictions.

mod data_files;
mod entries;
mod finding;
mod inventory;
mod live;
mod manifests;
mod scan;
mod totals;

pub(crate) use entries::{ENTRY_SIGN, ENTRY_WRONG};
pub(crate) use finding::{Finding, Severity};
pub(crate) use inventory::{Inventory, NamedFile, caught};
pub(crate) use scan::VerifyScan;
pub(crate) use totals::{Claim, Number};

use arrow_buffer::Buffer;
use lakebed_avro::Limits;

use crate::error::Result;
use crate::history::History;
use crate::notes::Notes;
use crate::scan::Batches;

/// The column of entries with the identity of the file.
pub(crate) const IDENTITY: &str = "_identity";

/// What a format provides about the files that must exist.
pub(crate) trait Verified: History {
    /// How entries of a manifest are read completely.
    type Program: Send + Sync + 'static;

    /// Reads everything except manifests, and lists the files that are named.
    ///
    /// # Errors
    /// Those after which nothing can be listed; an interruption.
    fn inventory(&self, threads: usize) -> Result<Inventory<Self::Manifest>>;

    /// The sums that the table's snapshot records, which its live files must have.
    fn claims(&self) -> Vec<Claim>;

    /// How entries are read, with the statistics of all columns that have them.
    ///
    /// # Errors
    /// Those of reading the schemas.
    fn whole_entries(&self) -> Result<Self::Program>;

    /// The limits for each file.
    fn limits(&self) -> Limits;

    /// The path of a manifest, and its recorded size \[bytes\].
    fn place_of(&self, manifest: &Self::Manifest) -> (String, Option<u64>);

    /// All entries of a manifest with all columns: `content`, `file_path`, `record_count`,
    /// `file_size_in_bytes` and `stats` as in the view `files`, [`ENTRY_SIGN`] and [`IDENTITY`], and
    /// [`ENTRY_WRONG`] if the format finds anything wrong with them.
    ///
    /// # Errors
    /// Those of decoding them, with the manifest.
    fn entries_of(
        &self,
        program: &Self::Program,
        manifest: &Self::Manifest,
        bytes: Buffer,
        notes: &Notes,
    ) -> Result<Batches>;
}
