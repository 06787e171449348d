//! A stripe: its footer, and the streams of the requested columns.
//!
//! Source: ORC specification, "Stripes".

use std::collections::HashMap;
use std::sync::Arc;

use arrow_buffer::Buffer;
use lakebed_avro::{Error, ErrorKind, Result};

use super::chunks::Chunks;
use super::integers::{Integers, Version};
use super::message::{Message, Value};
use super::tail::{Stripe, slice, wrong};
use super::timestamp::Clock;
use super::types::Node;
use crate::budget::Budget;
use crate::input::Input;

/// The kinds of streams that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum StreamKind {
    Present,
    Data,
    Length,
    DictionaryData,
    Secondary,
}

impl StreamKind {
    fn of(number: u64) -> Option<StreamKind> {
        Some(match number {
            0 => StreamKind::Present,
            1 => StreamKind::Data,
            2 => StreamKind::Length,
            3 => StreamKind::DictionaryData,
            5 => StreamKind::Secondary,
            _ => return None,
        })
    }
}

/// The inflated streams of a stripe, and how its columns are encoded.
pub(super) struct Streams {
    streams: HashMap<(u32, StreamKind), Input>,
    encodings: HashMap<u32, Encoding>,
    zone: String,
    clock: Option<Arc<Clock>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Encoding {
    kind: u64,
    dictionary: usize,
}

impl Streams {
    /// Reads a stripe's footer, and inflates the streams of the requested columns.
    ///
    /// # Errors
    /// `Truncated`, `Length`, `Codec`, `Unsupported`; `Limit` for more memory than allowed at once.
    pub(super) fn read(
        file: &Buffer,
        stripe: &Stripe,
        wanted: &Node,
        chunks: &mut Chunks,
        budget: &mut Budget,
    ) -> Result<Streams> {
        let reaches = || wrong("a stripe reaches beyond the file");
        let of = |at: Option<u64>| at.and_then(|at| usize::try_from(at).ok()).ok_or_else(reaches);
        let footer_at = of(stripe.footer())?;
        let end = of(stripe.footer().and_then(|footer| footer.checked_add(stripe.footer_length)))?;
        let most = usize::try_from(budget.limits.max_header_bytes).unwrap_or(usize::MAX);
        let footer = chunks.all(slice(file, footer_at, end)?, most, "max_header_bytes")?;
        let ids = ids(wanted);
        let mut read =
            Streams { streams: HashMap::new(), encodings: HashMap::new(), zone: String::new(), clock: None };
        let (mut message, mut column) = (Message::new(footer), 0_u32);
        let mut body = slice(file, of(Some(stripe.offset))?, footer_at)?;
        while let Some((number, value)) = message.field()? {
            match number {
                1 => read.stream(value, &ids, &mut body, chunks, budget)?,
                2 => {
                    let encoding = encoding(value.message()?)?;
                    if ids.binary_search(&column).is_ok() {
                        read.encodings.insert(column, encoding);
                    }
                    column = column.checked_add(1).ok_or_else(|| wrong("too many encodings"))?;
                }
                3 => read.zone = value.text()?,
                _ => {}
            }
        }
        Ok(read)
    }

    /// Takes the bytes of the footer's next stream.
    fn stream(
        &mut self,
        value: Value,
        ids: &[u32],
        body: &mut Input,
        chunks: &mut Chunks,
        budget: &mut Budget,
    ) -> Result<()> {
        let (mut kind, mut column, mut length) = (0, 0, 0);
        let mut message = value.message()?;
        while let Some((number, value)) = message.field()? {
            match number {
                1 => kind = value.number()?,
                2 => column = value.number()?,
                3 => length = value.number()?,
                _ => {}
            }
        }
        let beyond = || wrong("a stream reaches beyond its stripe");
        let length = usize::try_from(length).map_err(|_| beyond())?;
        let bytes = body.split(length).map_err(|_| beyond())?;
        let wanted = u32::try_from(column).ok().filter(|column| ids.binary_search(column).is_ok());
        let (Some(column), Some(kind)) = (wanted, StreamKind::of(kind)) else { return Ok(()) };
        let most = usize::try_from(budget.left()).unwrap_or(usize::MAX);
        let stream = chunks.all(bytes, most, "max_block_bytes")?;
        budget.hold(stream.rest().len(), 1)?;
        budget.spend(stream.rest().len())?;
        if self.streams.insert((column, kind), stream).is_some() {
            return Err(Error::new(ErrorKind::Duplicate, "a column has two streams of one kind"));
        }
        Ok(())
    }

    /// Whether there is such a stream.
    pub(super) fn has(&self, column: u32, kind: StreamKind) -> bool {
        self.streams.contains_key(&(column, kind))
    }

    /// A stream; empty where the stripe has none, as for columns of nulls.
    pub(super) fn take(&mut self, column: u32, kind: StreamKind) -> Input {
        self.streams.remove(&(column, kind)).unwrap_or_else(|| Input::new(Buffer::from(&[])))
    }

    /// A stream of integers, in the version of its column's encoding.
    pub(super) fn integers(&mut self, column: u32, kind: StreamKind, signed: bool) -> Result<Integers> {
        let version = match self.encodings.get(&column).map(|encoding| encoding.kind) {
            Some(0 | 1) => Version::One,
            Some(2 | 3) => Version::Two,
            Some(kind) => {
                return Err(Error::new(ErrorKind::Codec, format!("{kind} is not an encoding of ORC")));
            }
            None => {
                return Err(Error::new(ErrorKind::Codec, "the stripe does not say how a column is encoded"));
            }
        };
        Ok(Integers::new(self.take(column, kind), version, signed))
    }

    /// The number of entries of a column's dictionary; `None` without a dictionary.
    pub(super) fn dictionary(&self, column: u32) -> Option<usize> {
        let encoding = self.encodings.get(&column).filter(|encoding| matches!(encoding.kind, 1 | 3))?;
        Some(encoding.dictionary)
    }

    /// The clock of the stripe's writer, for timestamps.
    pub(super) fn clock(&mut self) -> Result<Arc<Clock>> {
        if let Some(clock) = &self.clock {
            return Ok(Arc::clone(clock));
        }
        let clock = Arc::new(Clock::of(&self.zone)?);
        self.clock = Some(Arc::clone(&clock));
        Ok(clock)
    }
}

fn encoding(mut message: Message) -> Result<Encoding> {
    let mut encoding = Encoding::default();
    while let Some((number, value)) = message.field()? {
        match number {
            1 => encoding.kind = value.number()?,
            2 => {
                let entries = usize::try_from(value.number()?);
                encoding.dictionary = entries.map_err(|_| wrong("a dictionary of too many entries"))?;
            }
            _ => {}
        }
    }
    Ok(encoding)
}

/// The numbers of a column and of those below it, in order.
fn ids(node: &Node) -> Vec<u32> {
    let mut found = vec![node.id];
    found.extend(node.children.iter().flat_map(ids));
    found
}
