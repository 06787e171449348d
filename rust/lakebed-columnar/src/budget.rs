//! The limits for reading one file, and what was spent so far.

use lakebed_avro::{Limits, Result};

/// The [`Limits`] of one file, with what was spent of them.
///
/// All memory that a file's numbers request is counted here before it is allocated: inflated streams and
/// pages, dictionaries and the columns of a batch.
pub(crate) struct Budget {
    pub(crate) limits: Limits,
    held: u64,
    bytes: u64,
    items: u64,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Budget {
        Budget { limits: limits.capped(), held: 0, bytes: 0, items: 0 }
    }

    /// Bytes held now.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// How many more bytes may be held.
    pub(crate) fn left(&self) -> u64 {
        self.limits.max_block_bytes.saturating_sub(self.held)
    }

    /// Counts this many values of a width in bytes before they are allocated; at most `max_block_bytes` are
    /// held at once.
    pub(crate) fn hold(&mut self, count: usize, width: usize) -> Result<()> {
        self.held = self.held.saturating_add((count as u64).saturating_mul(width as u64));
        within("max_block_bytes", self.limits.max_block_bytes, self.held)
    }

    /// Returns to what was held before.
    pub(crate) fn release_to(&mut self, held: u64) {
        self.held = self.held.min(held);
    }

    /// Releases this many bytes.
    pub(crate) fn release(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes as u64);
    }

    /// Counts inflated bytes, over the whole file.
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        within("max_file_bytes", self.limits.max_file_bytes, self.bytes)
    }

    /// Counts items of lists and maps, over the whole file.
    pub(crate) fn items(&mut self, count: usize) -> Result<()> {
        self.items = self.items.saturating_add(count as u64);
        within("max_items", self.limits.max_items, self.items)
    }

    /// Checks the length of one text or bytes value.
    pub(crate) fn value(&self, bytes: usize) -> Result<()> {
        within("max_value_bytes", self.limits.max_value_bytes, bytes as u64)
    }

    /// Checks the rows and columns that a footer declares.
    pub(crate) fn table(&self, rows: u64, leaves: usize) -> Result<()> {
        within("max_rows", self.limits.max_rows, rows)?;
        within("max_cells", self.limits.max_cells, rows.saturating_mul(leaves as u64))
    }
}

fn within(name: &str, bound: u64, needed: u64) -> Result<()> {
    if needed > bound { Err(Limits::exceeded(name, bound, needed)) } else { Ok(()) }
}
