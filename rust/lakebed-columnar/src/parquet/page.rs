//! The pages of a column: headers, checksums and decompression.
//!
//! Source: Parquet specification, "Data Pages" and `parquet.thrift`.

use arrow_buffer::Buffer;
use lakebed_avro::{Error, ErrorKind, Limits, Result};

use super::decryption::ColumnDecryption;
use super::footer::{Chunk, unsigned};
use super::thrift::{Compact, Kind};
use crate::budget::Budget;
use crate::codec::{Codec, Inflater};
use crate::input::Input;

/// The old encoding of levels.
const PACKED: i64 = 4;

/// The most bytes that a page usually has: it is inflated in one attempt then, however well it is compressed.
const USUAL_BYTES: usize = 1 << 20;

/// The pages of one column of a row group.
pub(super) struct Pages {
    input: Input,
    codec: Option<Codec>,
    decryption: Option<ColumnDecryption>,
}

/// A page, inflated.
pub(super) enum Page {
    Dictionary { encoding: i64, values: usize, bytes: Input },
    Data { encoding: i64, values: usize, levels: Levels, bytes: Input },
}

/// Where a page has its levels.
pub(super) enum Levels {
    /// Before the values, each with its length before it.
    Prefixed {
        /// Which of them are bit-packed, as only old writers did: repetition levels, definition levels.
        packed: [bool; 2],
    },
    /// Separately: repetition levels, and definition levels.
    Separate(Input, Input),
}

#[derive(Default)]
struct Header {
    kind: i64,
    inflated: i64,
    compressed: i64,
    checksum: Option<i64>,
    values: i64,
    encoding: i64,
    definition_encoding: i64,
    repetition_encoding: i64,
    definition_bytes: i64,
    repetition_bytes: i64,
    is_stored: bool,
}

impl Pages {
    pub(super) fn new(file: &Buffer, chunk: &Chunk, decryption: Option<ColumnDecryption>) -> Result<Pages> {
        let beyond = |_| Error::new(ErrorKind::Length, "a column reaches beyond the file");
        let mut input = Input::new(file.clone());
        input.take(usize::try_from(chunk.start).map_err(beyond)?)?;
        let input = input.split(usize::try_from(chunk.length).map_err(beyond)?)?;
        Ok(Pages { input, codec: chunk.codec, decryption })
    }

    /// How far the pages were read, in bytes from the start of the column.
    pub(super) fn position(&self) -> u64 {
        self.input.position() as u64
    }

    /// The next page of a supported kind; `None` after the last.
    pub(super) fn next(&mut self, inflater: &mut Inflater, budget: &mut Budget) -> Result<Option<Page>> {
        while !self.input.is_empty() {
            let header = self.header()?;
            let beyond = || Error::new(ErrorKind::Length, "a page reaches beyond its column");
            let length = usize::try_from(header.compressed).map_err(|_| beyond())?;
            let bytes = self.input.split(length).map_err(|_| beyond())?;
            header.check(&bytes)?;
            let bytes = match &mut self.decryption {
                Some(decryption) => decryption.page(bytes, header.kind)?,
                None => bytes,
            };
            let values = usize::try_from(unsigned(header.values)?).map_err(|_| beyond())?;
            let encoding = header.encoding;
            return Ok(Some(match header.kind {
                0 => {
                    let packed = [header.repetition_encoding == PACKED, header.definition_encoding == PACKED];
                    let bytes = self.inflate(bytes, header.inflated, true, inflater, budget)?;
                    Page::Data { encoding, values, levels: Levels::Prefixed { packed }, bytes }
                }
                3 => {
                    let mut bytes = bytes;
                    let mut levels = |length: i64| -> Result<Input> {
                        bytes.split(usize::try_from(length).map_err(|_| beyond())?).map_err(|_| beyond())
                    };
                    let levels = [levels(header.repetition_bytes)?, levels(header.definition_bytes)?];
                    let apart = header.repetition_bytes.checked_add(header.definition_bytes);
                    let inflated =
                        apart.and_then(|apart| header.inflated.checked_sub(apart)).ok_or_else(beyond)?;
                    let bytes = self.inflate(bytes, inflated, !header.is_stored, inflater, budget)?;
                    let [repetition, definition] = levels;
                    Page::Data { encoding, values, levels: Levels::Separate(repetition, definition), bytes }
                }
                2 => {
                    let bytes = self.inflate(bytes, header.inflated, true, inflater, budget)?;
                    Page::Dictionary { encoding, values, bytes }
                }
                _ => continue,
            }));
        }
        Ok(None)
    }

    fn header(&mut self) -> Result<Header> {
        if let Some(decryption) = &self.decryption {
            return header(&mut Compact::new(decryption.header(&mut self.input)?));
        }
        let mut thrift = Compact::new(self.input.clone());
        let header = header(&mut thrift)?;
        self.input = thrift.into_rest();
        Ok(header)
    }

    /// The uncompressed bytes of a page, as many as its header declares.
    fn inflate(
        &self,
        bytes: Input,
        inflated: i64,
        is_compressed: bool,
        inflater: &mut Inflater,
        budget: &mut Budget,
    ) -> Result<Input> {
        let most = usize::try_from(unsigned(inflated)?).unwrap_or(usize::MAX);
        let bytes = match self.codec.filter(|_| is_compressed && most > 0) {
            None => bytes,
            Some(codec) => {
                if most as u64 > budget.left() {
                    let needed = budget.held().saturating_add(most as u64);
                    return Err(Limits::exceeded("max_block_bytes", budget.limits.max_block_bytes, needed));
                }
                let mut output = Vec::new();
                inflater.inflate(codec, bytes.rest(), most, most.min(USUAL_BYTES), &mut output)?;
                budget.hold(output.len(), 1)?;
                Input::new(Buffer::from_vec(output))
            }
        };
        let length = bytes.rest().len();
        budget.spend(length)?;
        // A page without values may be left out instead of being compressed.
        if length != most && most > 0 {
            let message = format!("a page of {length} bytes, where its header records {inflated}");
            return Err(Error::new(ErrorKind::Length, message));
        }
        Ok(bytes)
    }
}

impl Header {
    /// Compares the checksum, if there is one, with that of the page's bytes.
    fn check(&self, bytes: &Input) -> Result<()> {
        let Some(checksum) = self.checksum else { return Ok(()) };
        if i64::from(crc32fast::hash(bytes.rest()).cast_signed()) != checksum {
            return Err(Error::new(ErrorKind::Checksum, "a page's checksum differs from its bytes"));
        }
        Ok(())
    }
}

fn header(thrift: &mut Compact) -> Result<Header> {
    let mut header = Header::default();
    thrift.message(|thrift, number, kind| {
        match number {
            1 => header.kind = thrift.number(kind)?,
            2 => header.inflated = thrift.number(kind)?,
            3 => header.compressed = thrift.number(kind)?,
            4 => header.checksum = Some(thrift.number(kind)?),
            5 | 7 => data_header(thrift, kind, &mut header)?,
            8 => second_header(thrift, kind, &mut header)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(header)
}

fn data_header(thrift: &mut Compact, kind: Kind, header: &mut Header) -> Result<()> {
    thrift.fields(kind, |thrift, number, kind| {
        match number {
            1 => header.values = thrift.number(kind)?,
            2 => header.encoding = thrift.number(kind)?,
            // In the header of a dictionary page this field tells whether it is sorted.
            3 if header.kind == 0 => header.definition_encoding = thrift.number(kind)?,
            4 => header.repetition_encoding = thrift.number(kind)?,
            _ => return Ok(false),
        }
        Ok(true)
    })
}

fn second_header(thrift: &mut Compact, kind: Kind, header: &mut Header) -> Result<()> {
    thrift.fields(kind, |thrift, number, kind| {
        match number {
            1 => header.values = thrift.number(kind)?,
            4 => header.encoding = thrift.number(kind)?,
            5 => header.definition_bytes = thrift.number(kind)?,
            6 => header.repetition_bytes = thrift.number(kind)?,
            7 => header.is_stored = !thrift.boolean(kind)?,
            _ => return Ok(false),
        }
        Ok(true)
    })
}
