//! Orphans that are given once the listing is known to have files of the table.

use std::collections::VecDeque;
use std::iter::Fuse;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;

use crate::error::{Error, ErrorKind, Result};

/// After this many orphans without one file that is reached, no more are looked at.
const MOST: usize = 1_000_000;

/// Rows that are held until one of the listed files is reached.
pub(super) struct Checked<I> {
    rows: Fuse<I>,
    has_reached: Arc<AtomicBool>,
    held: VecDeque<RecordBatch>,
}

impl<I: Iterator<Item = Result<RecordBatch>>> Checked<I> {
    /// `has_reached` becomes true while `rows` are made.
    pub(super) fn new(rows: I, has_reached: Arc<AtomicBool>) -> Checked<I> {
        Checked { rows: rows.fuse(), has_reached, held: VecDeque::new() }
    }

    /// Whether rows may be given, and no more need to be held.
    fn has_reached(&self) -> bool {
        self.has_reached.load(Ordering::Relaxed)
    }

    /// Holds rows until one of the listed files is reached.
    fn hold(&mut self) -> Result<()> {
        let mut count = 0;
        while !self.has_reached() && count <= MOST {
            let Some(rows) = self.rows.next().transpose()? else { break };
            count += rows.num_rows();
            self.held.push_back(rows);
        }
        if self.has_reached() { Ok(()) } else { Err(of_no_table()) }
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for Checked<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if !self.has_reached()
            && let Err(error) = self.hold()
        {
            self.held.clear();
            return Some(Err(error));
        }
        self.held.pop_front().map(Ok).or_else(|| self.rows.next())
    }
}

/// The error for a listing without any file of the table.
#[cold]
pub(super) fn of_no_table() -> Error {
    let message = "the listing has none of the files that the table reaches: it may be of another bucket or folder, \
                   older than the table, or URL-encoded. Give one of all of the table's folder, with its metadata, and \
                   with decoded paths (urllib.parse.unquote_plus)";
    Error::new(ErrorKind::Location, message)
}
