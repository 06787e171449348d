//! A copy of a table's metadata in which paths lead elsewhere, and the files that are to be copied for it (Iceberg's
//! `RewriteTablePathUtil.java`).
//!
//! ```text
//! one walk: what the table reaches ─▶ delete files ─▶ manifests ─▶ lists ─▶ metadata        each phase written anew,
//!                                        │  lengths  ─┴──▶ lengths ─┴──▶                    through the one pipeline
//! another: every file once ─▶ source, target                                                 when the rows are read
//! ```
//!
//! Whatever names a file by its length is written after that file. What is no path stays as it is, byte by
//! byte where a file holds no path at all.

pub(crate) mod avro;
mod copier;
mod moves;
mod prefixes;

use std::sync::Arc;

use arrow_buffer::Buffer;

pub(crate) use copier::{Copier, Job, Lengths};
pub(crate) use moves::{IsOld, Moves, schema};
pub(crate) use prefixes::Prefixes;

use crate::error::Result;
use crate::storage::Storage;

/// What is to be copied, and where it will be.
pub struct RewritePaths {
    /// What paths begin with, and what they will begin with.
    pub prefixes: Vec<(String, String)>,
    /// The folder that the metadata is written to, as the table's own folder will be.
    pub to: String,
    /// What writes there.
    pub target: Arc<dyn Storage>,
    /// What was copied before.
    pub since: Option<Since>,
    /// Threads; 0 for one per processor.
    pub threads: usize,
    /// What writes delete files that the core does not write.
    pub position_deletes: Arc<dyn PositionDeletes>,
}

/// A state of the table that was copied before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// As it was at a snapshot.
    Snapshot(i64),
    /// As one of its metadata files has it, by its path or name.
    Metadata(String),
}

/// Writes position delete files whose paths are to lead elsewhere, in formats that the core only reads.
pub trait PositionDeletes: Send + Sync {
    /// The Parquet file with its paths exchanged; `moved` gives the new ones, in the order of the old.
    ///
    /// # Errors
    /// Those of the format's library.
    fn parquet(&self, bytes: Buffer, moved: MovedTexts) -> Result<Buffer>;
}

/// Exchanges paths, a column of texts without nulls at a time.
pub type MovedTexts =
    Arc<dyn Fn(&arrow_array::StringArray) -> Result<arrow_array::StringArray> + Send + Sync>;
