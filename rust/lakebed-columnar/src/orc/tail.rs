//! The end of a file: its postscript and its footer.
//!
//! Source: ORC specification, "File Tail".

use arrow_buffer::Buffer;
use lakebed_avro::{Error, ErrorKind, Limits, Location, Result};

use super::chunks::Chunks;
use super::message::Message;
use super::types::TypeMessage;
use crate::budget::Budget;
use crate::codec::Codec;
use crate::input::{Input, ends};

/// The magic at the start of a file, and at the end of its postscript.
const MAGIC: &[u8] = b"ORC";
/// The largest length that the three bytes before a chunk can hold.
const MOST_BLOCK_BYTES: u64 = 1 << 23;

/// The end of a file.
pub(super) struct Tail {
    pub(super) compression: Compression,
    pub(super) stripes: Vec<Stripe>,
    pub(super) types: Vec<TypeMessage>,
    /// The statistics of each type, in the same order; fewer, or none, where the writer has written none.
    pub(super) statistics: Vec<Message>,
    pub(super) rows: u64,
}

/// How streams are compressed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compression {
    /// `None` without compression.
    pub(super) codec: Option<Codec>,
    /// The most bytes of an inflated chunk.
    pub(super) block_bytes: usize,
}

/// The place of a stripe in the file, and its rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stripe {
    pub(super) offset: u64,
    pub(super) index_length: u64,
    pub(super) data_length: u64,
    pub(super) footer_length: u64,
    pub(super) rows: u64,
}

impl Stripe {
    /// The offset of its footer.
    pub(super) fn footer(&self) -> Option<u64> {
        self.offset.checked_add(self.index_length)?.checked_add(self.data_length)
    }

    fn end(&self) -> Option<u64> {
        self.footer()?.checked_add(self.footer_length)
    }
}

impl Tail {
    /// Reads the postscript and the footer from the end of a file, of which `skipped` bytes are before it.
    ///
    /// # Errors
    /// `Truncated`, `Length`, `Count`, `Codec`, `UnknownCodec`, `Unsupported`, `Limit`; placed at the
    /// malformed part.
    pub(super) fn read(file: &Buffer, skipped: u64, budget: &mut Budget) -> Result<Tail> {
        let Postscript { at, footer_at, compression } = Postscript::read(file, skipped)?;
        let placed = |error: Error| error.at(place(footer_at));
        let within =
            |at: u64| at.checked_sub(skipped).and_then(|at| usize::try_from(at).ok()).ok_or_else(ends);
        let footer = slice(file, within(footer_at)?, within(at)?)?;
        let most = usize::try_from(budget.limits.max_header_bytes).unwrap_or(usize::MAX);
        let footer = Chunks::new(compression).all(footer, most, "max_header_bytes").map_err(placed)?;
        let mut tail =
            Tail { compression, stripes: Vec::new(), types: Vec::new(), statistics: Vec::new(), rows: 0 };
        tail.footer(Message::new(footer), &budget.limits).map_err(placed)?;
        tail.check(footer_at).map_err(placed)?;
        Ok(tail)
    }

    fn footer(&mut self, mut footer: Message, limits: &Limits) -> Result<()> {
        while let Some((number, value)) = footer.field()? {
            match number {
                3 => {
                    let stripe = stripe(value.message()?)?;
                    // An encoded stripe takes at least a byte: more stripes than bytes are refused at once.
                    if stripe.footer_length == 0 {
                        return Err(wrong("a stripe without a footer"));
                    }
                    self.stripes.push(stripe);
                }
                4 if self.types.len() as u64 >= limits.max_schema_nodes => {
                    let more = limits.max_schema_nodes.saturating_add(1);
                    return Err(Limits::exceeded("max_schema_nodes", limits.max_schema_nodes, more));
                }
                4 => self.types.push(TypeMessage::read(value.message()?)?),
                6 => self.rows = value.number()?,
                // More of them than types are of no column.
                7 if (self.statistics.len() as u64) < limits.max_schema_nodes => {
                    self.statistics.push(value.message()?);
                }
                10 => return Err(unsupported("encrypted")),
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that stripes follow each other before the footer, and have as many rows as it records.
    fn check(&self, footer_at: u64) -> Result<()> {
        let (mut end, mut rows) = (0, 0_u64);
        for stripe in &self.stripes {
            let stripe_end = stripe.end().filter(|last| *last <= footer_at);
            let stripe_end = stripe_end.ok_or_else(|| wrong("a stripe reaches beyond the footer"))?;
            if stripe.offset < end || stripe.footer_length == 0 {
                return Err(wrong("stripes overlap"));
            }
            end = stripe_end;
            let sum = rows.checked_add(stripe.rows);
            rows = sum.ok_or_else(|| wrong("the rows of the stripes do not fit 64 bits"))?;
        }
        if rows != self.rows {
            let message = format!("the footer records {} rows, its stripes {rows}", self.rows);
            return Err(Error::new(ErrorKind::Count, message));
        }
        Ok(())
    }
}

/// Bytes of a file, which must exist.
pub(super) fn slice(file: &Buffer, start: usize, end: usize) -> Result<Input> {
    let length = end.checked_sub(start).filter(|_| end <= file.len()).ok_or_else(ends)?;
    Ok(Input::new(file.slice_with_length(start, length)))
}

/// A place in the file.
pub(super) fn place(offset: u64) -> Location {
    Location { offset: Some(offset), ..Location::default() }
}

/// The postscript's place, and what it says: offsets in the whole file.
struct Postscript {
    at: u64,
    footer_at: u64,
    compression: Compression,
}

impl Postscript {
    fn read(file: &Buffer, skipped: u64) -> Result<Postscript> {
        let bytes = file.as_slice();
        let (length, rest) = bytes.split_last().ok_or_else(ends)?;
        let start = rest.len().checked_sub(usize::from(*length));
        let start = start.ok_or_else(|| wrong("the postscript is longer than the file"))?;
        let at = skipped.saturating_add(start as u64);
        let placed = |error: Error| error.at(place(at));
        let (footer_length, compression) = postscript(slice(file, start, rest.len())?).map_err(placed)?;
        let footer_at = at.checked_sub(footer_length);
        let footer_at = footer_at.ok_or_else(|| placed(wrong("the footer is longer than the file")))?;
        Ok(Postscript { at, footer_at, compression })
    }
}

/// Where the footer starts in the file, by the end of it, before which `skipped` bytes are.
pub(super) fn footer_start(end: &Buffer, skipped: u64) -> Result<u64> {
    Postscript::read(end, skipped).map(|postscript| postscript.footer_at)
}

/// The footer's length, and the compression.
fn postscript(bytes: Input) -> Result<(u64, Compression)> {
    if !bytes.rest().ends_with(MAGIC) {
        return Err(Error::new(ErrorKind::Truncated, "the file does not end in a postscript"));
    }
    let (mut footer_length, mut kind, mut block_bytes) = (0, 0, 256 << 10);
    let mut message = Message::new(bytes);
    while let Some((number, value)) = message.field()? {
        match number {
            1 => footer_length = value.number()?,
            2 => kind = value.number()?,
            3 => block_bytes = value.number()?,
            _ => {}
        }
    }
    let codec = match kind {
        0 => None,
        1 => Some(Codec::Deflate),
        2 => Some(Codec::Snappy),
        3 => return Err(unsupported("compressed by LZO")),
        4 => Some(Codec::Lz4),
        5 => Some(Codec::Zstandard),
        6 => return Err(unsupported("compressed by Brotli")),
        _ => return Err(Error::new(ErrorKind::UnknownCodec, format!("{kind} is not a compression of ORC"))),
    };
    if codec.is_some() && !(1..=MOST_BLOCK_BYTES).contains(&block_bytes) {
        return Err(wrong("a compression block of an impossible size"));
    }
    let block_bytes = usize::try_from(block_bytes).unwrap_or(usize::MAX);
    Ok((footer_length, Compression { codec, block_bytes }))
}

fn stripe(mut message: Message) -> Result<Stripe> {
    let mut stripe = Stripe::default();
    while let Some((number, value)) = message.field()? {
        match number {
            1 => stripe.offset = value.number()?,
            2 => stripe.index_length = value.number()?,
            3 => stripe.data_length = value.number()?,
            4 => stripe.footer_length = value.number()?,
            5 => stripe.rows = value.number()?,
            _ => {}
        }
    }
    Ok(stripe)
}

#[cold]
pub(super) fn wrong(message: &str) -> Error {
    Error::new(ErrorKind::Length, message)
}

#[cold]
fn unsupported(how: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("ORC files {how} are not read"))
}
