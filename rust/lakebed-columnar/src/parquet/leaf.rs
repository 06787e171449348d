//! Reads one column of a row group, some rows at a time: levels and values.
//!
//! Source: Parquet specification, "Nested Encoding".

use arrow_buffer::Buffer;
use lakebed_avro::{Error, ErrorKind, Result};

use super::decryption::ColumnDecryption;
use super::footer::Chunk;
use super::hybrid::LevelStream;
use super::items::Items;
use super::levels::count;
use super::page::{Levels, Page, Pages};
use super::schema::Leaf;
use super::values::{Decoder, Values};
use crate::budget::Budget;
use crate::codec::Inflater;
use crate::input::{Input, ends};

/// How many entries are read before their values are.
const ENTRIES: usize = 4096;

/// Reads a column.
pub(super) struct LeafReader {
    leaf: Leaf,
    pages: Pages,
    /// Entries left in the column, including those of the page.
    left: u64,
    dictionary: Option<Values>,
    page: Option<OpenPage>,
    /// Bytes held beyond a batch: the dictionary and the page.
    dictionary_bytes: u64,
    page_bytes: u64,
}

struct OpenPage {
    left: usize,
    repetition: Option<LevelStream>,
    definition: Option<LevelStream>,
    values: Decoder,
}

/// How much is read.
#[derive(Clone, Copy)]
pub(super) enum Amount<'i> {
    Rows(usize),
    /// The entries of a map's values, and which of them stay.
    Entries(usize, Option<&'i Items>),
}

/// Some rows of a column. Levels are left out where all are 0, and of a map's values.
pub(super) struct Rows {
    pub(super) entries: usize,
    pub(super) definition: Vec<u8>,
    pub(super) repetition: Vec<u8>,
    pub(super) values: Values,
}

impl LeafReader {
    pub(super) fn open(
        leaf: Leaf,
        file: &Buffer,
        chunk: &Chunk,
        decryption: Option<ColumnDecryption>,
    ) -> Result<LeafReader> {
        let pages = Pages::new(file, chunk, decryption)?;
        Ok(LeafReader {
            leaf,
            pages,
            left: chunk.values,
            dictionary: None,
            page: None,
            dictionary_bytes: 0,
            page_bytes: 0,
        })
    }

    /// Bytes that it holds beyond a batch.
    pub(super) fn held(&self) -> u64 {
        self.dictionary_bytes.saturating_add(self.page_bytes)
    }

    /// How far its pages were read, in bytes from the start of the column.
    pub(super) fn position(&self) -> u64 {
        self.pages.position()
    }

    /// Whether all entries that the column declares were read.
    pub(super) fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Reads the next rows or entries.
    ///
    /// # Errors
    /// `Count` for a column with fewer; those of its pages.
    pub(super) fn read(
        &mut self,
        amount: Amount<'_>,
        inflater: &mut Inflater,
        budget: &mut Budget,
    ) -> Result<Rows> {
        let physical = self.leaf.physical;
        let mut read = Rows {
            entries: 0,
            definition: Vec::new(),
            repetition: Vec::new(),
            values: Values::new(physical),
        };
        let (wanted, items) = match amount {
            Amount::Rows(rows) => (rows, None),
            Amount::Entries(entries, items) => (entries, items),
        };
        let is_flat = self.leaf.repeated == 0 || matches!(amount, Amount::Entries(..));
        let mut started = 0;
        while self.left > 0 && !(is_flat && started == wanted) {
            if self.page.as_ref().is_none_or(|page| page.left == 0) {
                self.open_page(inflater, budget)?;
            }
            let Some(page) = &mut self.page else { break };
            let (entries, there) = match is_flat {
                true => page.flat(self.leaf, wanted.saturating_sub(started), &mut read, budget)?,
                false => page.nested(self.leaf, wanted, &mut started, &mut read, budget)?,
            };
            let (dictionary, values) = (self.dictionary.as_ref(), &mut read.values);
            match items {
                None => page.values.read(there, physical, dictionary, values, budget)?,
                Some(items) => {
                    let levels = read.definition.get(read.entries..).unwrap_or_default();
                    let wanted = items.of_values(read.entries, levels, there, self.leaf);
                    page.values.read_some(there, &wanted, physical, dictionary, values, budget)?;
                }
            }
            page.left = page.left.checked_sub(entries).ok_or_else(ends)?;
            self.left = self.left.checked_sub(entries as u64).ok_or_else(ends)?;
            read.entries = read.entries.checked_add(entries).ok_or_else(ends)?;
            if is_flat {
                started = read.entries;
            } else if entries == 0 {
                break;
            }
        }
        if started != wanted {
            return Err(Error::new(ErrorKind::Count, "a column has fewer rows than its row group"));
        }
        if let Some(items) = items {
            items.keep(&mut read)?;
        }
        Ok(read)
    }

    /// Opens the next page with entries; reads the dictionary if it is first.
    fn open_page(&mut self, inflater: &mut Inflater, budget: &mut Budget) -> Result<()> {
        loop {
            self.page = None;
            budget.release(usize::try_from(self.page_bytes).unwrap_or(usize::MAX));
            self.page_bytes = 0;
            let before = budget.held();
            let none = || Error::new(ErrorKind::Count, "a column has fewer values than its metadata records");
            match self.pages.next(inflater, budget)?.ok_or_else(none)? {
                Page::Dictionary { encoding, values, bytes } => {
                    if self.dictionary.is_some() || !matches!(encoding, 0 | 2) {
                        return Err(Error::new(
                            ErrorKind::Codec,
                            "a second dictionary, or one that is not plain",
                        ));
                    }
                    let physical = self.leaf.physical;
                    let mut entries = Values::new(physical);
                    // The number of values is known before room is made for them.
                    let values = values.min(bytes.rest().len().saturating_mul(8));
                    let mut plain = Decoder::new(0, physical, bytes, values, budget)?;
                    plain.read(values, physical, None, &mut entries, budget)?;
                    self.dictionary = Some(entries);
                    self.dictionary_bytes = budget.held().saturating_sub(before);
                }
                Page::Data { encoding, values, levels, bytes } => {
                    if values as u64 > self.left {
                        return Err(Error::new(ErrorKind::Count, "a page has more values than its column"));
                    }
                    if values == 0 {
                        budget.release_to(before);
                        continue;
                    }
                    let page = OpenPage::open(self.leaf, encoding, values, levels, bytes, budget);
                    self.page_bytes = budget.held().saturating_sub(before);
                    self.page = Some(page?);
                    return Ok(());
                }
            }
        }
    }
}

#[allow(clippy::arithmetic_side_effects, reason = "counts of a page are at most the number of its entries")]
impl OpenPage {
    fn open(
        leaf: Leaf,
        encoding: i64,
        count: usize,
        levels: Levels,
        mut bytes: Input,
        budget: &mut Budget,
    ) -> Result<OpenPage> {
        let stream = |most: u8, input: Input| LevelStream::new(input, most).map(Some);
        let (mut repetition, mut definition) = (None, None);
        match levels {
            Levels::Separate(of_repetition, of_definition) => {
                if leaf.repeated > 0 {
                    repetition = stream(leaf.repeated, of_repetition)?;
                }
                if leaf.defined > 0 {
                    definition = stream(leaf.defined, of_definition)?;
                }
            }
            Levels::Prefixed { packed: [repetition_packed, definition_packed] } => {
                if leaf.repeated > 0 {
                    repetition = stream(leaf.repeated, prefixed(&mut bytes, repetition_packed)?)?;
                }
                if leaf.defined > 0 {
                    definition = stream(leaf.defined, prefixed(&mut bytes, definition_packed)?)?;
                }
            }
        }
        let values = Decoder::new(encoding, leaf.physical, bytes, count, budget)?;
        Ok(OpenPage { left: count, repetition, definition, values })
    }

    /// Reads definition levels of so many entries. Returns how many the page has of them, and how many of these have a
    /// value.
    fn flat(
        &mut self,
        leaf: Leaf,
        entries: usize,
        read: &mut Rows,
        budget: &mut Budget,
    ) -> Result<(usize, usize)> {
        let entries = entries.min(self.left);
        let Some(definition) = &mut self.definition else { return Ok((entries, entries)) };
        room(&mut read.definition, entries, budget)?;
        Ok((entries, define(definition, entries, leaf.defined, &mut read.definition)?))
    }

    /// Reads levels until row `rows`, the end of the page, or a number of entries.
    fn nested(
        &mut self,
        leaf: Leaf,
        rows: usize,
        started: &mut usize,
        read: &mut Rows,
        budget: &mut Budget,
    ) -> Result<(usize, usize)> {
        let (Some(repetition), Some(definition)) = (&mut self.repetition, &mut self.definition) else {
            return Err(ends());
        };
        let most = self.left.min(ENTRIES);
        room(&mut read.definition, most, budget)?;
        room(&mut read.repetition, most, budget)?;
        let levels = repetition.ahead(most)?;
        if *started == 0 && levels.first() != Some(&0) {
            return Err(Error::new(ErrorKind::Count, "a column goes on with a row that did not begin"));
        }
        // A row begins with each 0, and those after the last one belong to the next batch.
        let (begun, free) = (count(levels, 0), rows - *started);
        let entries = if begun > free { before(levels, free) } else { most };
        *started += begun.min(free);
        read.repetition.extend_from_slice(levels.get(..entries).unwrap_or_default());
        repetition.pass(entries);
        budget.items(entries)?;
        Ok((entries, define(definition, entries, leaf.defined, &mut read.definition)?))
    }
}

/// How many levels are before the 0 with that number, counted from 0.
fn before(levels: &[u8], number: usize) -> usize {
    let mut zeros = levels.iter().enumerate().filter(|(_, level)| **level == 0);
    zeros.nth(number).map_or(levels.len(), |(at, _)| at)
}

/// Reads definition levels. Returns how many are `most`.
fn define(definition: &mut LevelStream, entries: usize, most: u8, read: &mut Vec<u8>) -> Result<usize> {
    let levels = definition.ahead(entries)?;
    let there = count(levels, most);
    read.extend_from_slice(levels);
    definition.pass(entries);
    Ok(there)
}

/// Levels with their length before them.
fn prefixed(bytes: &mut Input, packed: bool) -> Result<Input> {
    if packed {
        return Err(Error::new(ErrorKind::Unsupported, "levels that are packed by bits are not read"));
    }
    let length = u32::from_le_bytes(bytes.array()?);
    bytes.split(length as usize)
}

fn room(levels: &mut Vec<u8>, count: usize, budget: &mut Budget) -> Result<()> {
    budget.hold(count, size_of::<u8>())?;
    let no_memory = |_| Error::new(ErrorKind::Limit, format!("no memory for {count} levels"));
    levels.try_reserve(count).map_err(no_memory)
}
