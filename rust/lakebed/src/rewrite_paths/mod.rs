//! A copy of a table's metadata with other paths, and the list of files to copy for it (Iceberg's
//! `RewriteTablePathUtil.java`).
//!
//! ```text
//! one walk: what the table reaches ─▶ delete files ─▶ manifests ─▶ lists ─▶ metadata        each phase written anew,
//!                                        │  lengths  ─┴──▶ lengths ─┴──▶                    through the one pipeline
//! another: every file once ─▶ source, target                                                 when the rows are read
//! ```
//!
//! A file that records the length of another is written after that file. Everything but paths is kept; files
//! without any path are copied byte by byte.

pub(crate) mod avro;
mod copier;
mod moves;
mod prefixes;

use std::sync::Arc;

use arrow_buffer::Buffer;

pub(crate) use copier::{Copier, CopyJob, Lengths};
pub(crate) use moves::{Moves, RootFilter, schema};
pub(crate) use prefixes::Prefixes;

use crate::error::Result;
use crate::storage::Storage;

/// What is copied, and to which paths.
pub struct RewritePaths {
    /// Old prefixes of paths, and the new ones.
    pub prefixes: Vec<(String, String)>,
    /// The folder that the metadata is written to; it has the structure of the table's folder.
    pub to: String,
    /// The storage of that folder.
    pub target: Arc<dyn Storage>,
    /// What was copied before.
    pub since: Option<Since>,
    /// Threads; 0 for one per processor.
    pub threads: usize,
    /// Rewrites delete files in formats that the core does not write.
    pub position_deletes: Arc<dyn PositionDeletes>,
}

/// A state of the table that was copied before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// The state at a snapshot.
    Snapshot(i64),
    /// The state of one of its metadata files, by path or name.
    Metadata(String),
}

/// Rewrites the paths in position delete files, for formats that the core can only read.
pub trait PositionDeletes: Send + Sync {
    /// The Parquet file with its paths rewritten; `moved` maps old paths to new ones, in the same order.
    ///
    /// # Errors
    /// Those of the format's library.
    fn parquet(&self, bytes: Buffer, moved: MovedTexts) -> Result<Buffer>;
}

/// Maps paths to new ones: a column of texts without nulls at a time.
pub type MovedTexts =
    Arc<dyn Fn(&arrow_array::StringArray) -> Result<arrow_array::StringArray> + Send + Sync>;
