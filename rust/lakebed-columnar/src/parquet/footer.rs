//! The footer of a file: its schema, and the places of its columns.
//!
//! Source: Parquet specification, "File Format" and `parquet.thrift`.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use lakebed_avro::{Error, ErrorKind, Limits, Location, Result};

use super::decryption::Decryption;
use super::thrift::{Compact, Kind};
use crate::codec::Codec;
use crate::input::{Input, ends};
use crate::{ENCRYPTED, FileKey};

/// The magic at both ends of a file.
const MAGIC: &[u8; 4] = b"PAR1";
/// The bytes behind a footer: its length and the magic.
pub(super) const TRAILER: u64 = 8;

/// The content of a footer.
pub(super) struct Footer {
    pub(super) elements: Vec<Element>,
    pub(super) groups: Vec<RowGroup>,
    pub(super) rows: u64,
    /// Keys and values of the writer's own.
    pub(super) metadata: HashMap<String, String>,
}

/// A field of the schema as in the footer: the fields of a group follow it.
#[derive(Debug, Clone, Default)]
pub(super) struct Element {
    pub(super) name: String,
    /// `type`; `None` for groups.
    pub(super) physical: Option<i64>,
    pub(super) type_length: i64,
    pub(super) repetition: i64,
    pub(super) children: i64,
    pub(super) converted: Option<i64>,
    pub(super) logical: Option<Logical>,
    pub(super) field_id: Option<i64>,
    pub(super) scale: i64,
    pub(super) precision: i64,
}

/// `LogicalType`, where it adds to the physical type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logical {
    Text,
    Map,
    List,
    Decimal {
        precision: i64,
        scale: i64,
    },
    Date,
    /// The unit: 1 for milli-, 2 for micro-, 3 for nanoseconds.
    Time {
        unit: i64,
    },
    Timestamp {
        unit: i64,
        utc: bool,
    },
    Integer {
        bits: i64,
        signed: bool,
    },
    /// Of a column of nothing but nulls, whatever its physical type.
    Null,
    Bson,
    Uuid,
    Float16,
    Other,
}

/// A group of rows.
pub(super) struct RowGroup {
    pub(super) chunks: Vec<Chunk>,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// The place of a column's pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) values: u64,
    /// Whether its first page is a dictionary.
    pub(super) has_dictionary: bool,
    /// `None` where pages are not compressed.
    pub(super) codec: Option<Codec>,
}

impl RowGroup {
    /// The bytes of the pages of these columns, all in one range.
    pub(super) fn bytes_of<'c>(chunks: impl Iterator<Item = &'c Chunk> + Clone) -> Range<u64> {
        let start = chunks.clone().map(|chunk| chunk.start).min().unwrap_or(0);
        start..chunks.map(|chunk| chunk.start.saturating_add(chunk.length)).max().unwrap_or(start)
    }

    /// Whether its first byte is in a range of the file.
    pub(super) fn begins_in(&self, range: &Range<u64>) -> bool {
        range.contains(&RowGroup::bytes_of(self.chunks.iter()).start)
    }
}

impl Footer {
    /// Reads the footer of a file, given from byte `from` on; of an encrypted one also what its pages are decrypted by.
    ///
    /// # Errors
    /// `Truncated`, `Length`, `Count`, `Codec`, `Unsupported`, `Limit`, `Encryption`; placed at the footer.
    pub(super) fn read(
        file: &Buffer,
        from: u64,
        limits: &Limits,
        key: Option<&Arc<FileKey>>,
    ) -> Result<(Footer, Option<Decryption>)> {
        let place = place_of(file, from.saturating_add(file.len() as u64), limits)?;
        let begins = place.offset;
        let footer = place.within(file).ok_or_else(|| wrong("the footer is longer than the file"))?;
        let is_encrypted = file.ends_with(ENCRYPTED);
        let place = || Location { offset: Some(begins), ..Location::default() };
        let (plain, decryption) = if is_encrypted {
            let (plain, decryption) =
                Decryption::of_footer(footer, key).map_err(|error| error.at(place()))?;
            (plain, Some(decryption))
        } else {
            (footer, None)
        };
        let read = footer_of(plain, limits).and_then(|footer| footer.checked(begins));
        Ok((read.map_err(|error| error.at(place()))?, decryption))
    }

    /// Checks that chunks are before the footer, and that row groups have as many rows as it records.
    fn checked(self, at: u64) -> Result<Footer> {
        let chunks = self.groups.iter().flat_map(|group| &group.chunks);
        let mut end = chunks.map(|chunk| chunk.start.checked_add(chunk.length));
        if !end.all(|end| end.is_some_and(|end| end <= at)) {
            return Err(wrong("a column reaches beyond the footer"));
        }
        let rows = self.groups.iter().try_fold(0_u64, |rows, group| rows.checked_add(group.rows));
        let rows = rows.ok_or_else(|| wrong("the rows of the row groups do not fit 64 bits"))?;
        if rows != self.rows {
            let message = format!("the footer records {} rows, its row groups {rows}", self.rows);
            return Err(Error::new(ErrorKind::Count, message));
        }
        Ok(self)
    }
}

/// The place of a footer in its file.
pub(super) struct Place {
    pub(super) offset: u64,
    length: u64,
    file_bytes: u64,
}

/// The place of the footer of a file of `file_bytes` bytes, by the last eight of them.
///
/// # Errors
/// `Truncated` without its magic, `Length`, `Limit`.
pub(super) fn place_of(end: &Buffer, file_bytes: u64, limits: &Limits) -> Result<Place> {
    let (rest, magic) = end.as_slice().split_last_chunk::<4>().ok_or_else(ends)?;
    let (_, length) = rest.split_last_chunk::<4>().ok_or_else(ends)?;
    if magic != MAGIC && magic != ENCRYPTED {
        return Err(Error::new(ErrorKind::Truncated, "the file does not end in its magic"));
    }
    let length = u64::from(u32::from_le_bytes(*length));
    if length > limits.max_header_bytes {
        return Err(Limits::exceeded("max_header_bytes", limits.max_header_bytes, length));
    }
    let offset = file_bytes.checked_sub(TRAILER).and_then(|at| at.checked_sub(length));
    let offset = offset.ok_or_else(|| wrong("the footer is longer than the file"))?;
    Ok(Place { offset, length, file_bytes })
}

impl Place {
    /// The footer, by the last bytes of the file; `None` where it begins before them.
    pub(super) fn within(&self, end: &Buffer) -> Option<Input> {
        let start = (end.len() as u64).checked_sub(self.needed())?;
        let (start, length) = (usize::try_from(start).ok()?, usize::try_from(self.length).ok()?);
        Some(Input::new(end.slice_with_length(start, length)))
    }

    /// How many of the file's last bytes have all of it.
    pub(super) fn needed(&self) -> u64 {
        self.file_bytes.saturating_sub(self.offset)
    }
}

fn footer_of(input: Input, limits: &Limits) -> Result<Footer> {
    let mut footer = Footer { elements: Vec::new(), groups: Vec::new(), rows: 0, metadata: HashMap::new() };
    Compact::new(input).message(|thrift, number, kind| {
        match number {
            2 => thrift.list(kind, |thrift, kind| {
                if footer.elements.len() as u64 > limits.max_schema_nodes {
                    let nodes = footer.elements.len() as u64;
                    return Err(Limits::exceeded("max_schema_nodes", limits.max_schema_nodes, nodes));
                }
                footer.elements.push(element(thrift, kind)?);
                Ok(())
            })?,
            3 => footer.rows = unsigned(thrift.number(kind)?)?,
            4 => thrift.list(kind, |thrift, kind| {
                footer.groups.push(row_group(thrift, kind)?);
                Ok(())
            })?,
            5 => thrift.list(kind, |thrift, kind| {
                let [key, value] = key_value(thrift, kind)?;
                footer.metadata.insert(key, value);
                Ok(())
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(footer)
}

/// A key and its value, of which some writers' are no text.
fn key_value(thrift: &mut Compact, kind: Kind) -> Result<[String; 2]> {
    let [mut key, mut value] = [String::new(), String::new()];
    thrift.fields(kind, |thrift, number, kind| {
        let text = match number {
            1 => &mut key,
            2 => &mut value,
            _ => return Ok(false),
        };
        *text = String::from_utf8_lossy(thrift.bytes(kind)?).into_owned();
        Ok(true)
    })?;
    Ok([key, value])
}

pub(super) fn element(thrift: &mut Compact, kind: Kind) -> Result<Element> {
    let mut element = Element::default();
    thrift.fields(kind, |thrift, number, kind| {
        match number {
            1 => element.physical = Some(thrift.number(kind)?),
            2 => element.type_length = thrift.number(kind)?,
            3 => element.repetition = thrift.number(kind)?,
            4 => element.name = thrift.text(kind)?,
            5 => element.children = thrift.number(kind)?,
            6 => element.converted = Some(thrift.number(kind)?),
            7 => element.scale = thrift.number(kind)?,
            8 => element.precision = thrift.number(kind)?,
            9 => element.field_id = Some(thrift.number(kind)?),
            10 => element.logical = logical(thrift, kind)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(element)
}

/// The logical type: a union with a single field.
fn logical(thrift: &mut Compact, kind: Kind) -> Result<Option<Logical>> {
    let mut logical = None;
    thrift.fields(kind, |thrift, number, kind| {
        logical = Some(match number {
            1 | 4 | 12 => Logical::Text,
            11 => Logical::Null,
            13 => Logical::Bson,
            14 => Logical::Uuid,
            15 => Logical::Float16,
            2 => Logical::Map,
            3 => Logical::List,
            6 => Logical::Date,
            5 | 7 | 8 | 10 => {
                logical = Some(with_parameters(thrift, number, kind)?);
                return Ok(true);
            }
            _ => Logical::Other,
        });
        Ok(false)
    })?;
    Ok(logical)
}

fn with_parameters(thrift: &mut Compact, which: i64, kind: Kind) -> Result<Logical> {
    let (mut first, mut second, mut flag, mut unit) = (0, 0, false, 0);
    thrift.fields(kind, |thrift, number, kind| {
        match (which, number) {
            (5 | 10, 1) => first = thrift.number(kind)?,
            (5, 2) => second = thrift.number(kind)?,
            (7 | 8, 1) | (10, 2) => flag = thrift.boolean(kind)?,
            (7 | 8, 2) => thrift.fields(kind, |_, number, _| {
                unit = number;
                Ok(false)
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(match which {
        5 => Logical::Decimal { scale: first, precision: second },
        7 => Logical::Time { unit },
        8 => Logical::Timestamp { unit, utc: flag },
        _ => Logical::Integer { bits: first, signed: flag },
    })
}

fn row_group(thrift: &mut Compact, kind: Kind) -> Result<RowGroup> {
    let mut group = RowGroup { chunks: Vec::new(), rows: 0, bytes: 0 };
    thrift.fields(kind, |thrift, number, kind| {
        match number {
            1 => thrift.list(kind, |thrift, kind| {
                group.chunks.push(chunk(thrift, kind)?);
                Ok(())
            })?,
            2 => group.bytes = unsigned(thrift.number(kind)?)?,
            3 => group.rows = unsigned(thrift.number(kind)?)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(group)
}

fn chunk(thrift: &mut Compact, kind: Kind) -> Result<Chunk> {
    let mut chunk = None;
    thrift.fields(kind, |thrift, number, kind| {
        match number {
            1 => return Err(Error::new(ErrorKind::Unsupported, "columns in another file are not read")),
            3 => chunk = Some(column_metadata(thrift, kind)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    chunk.ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "a column without metadata, as where it is encrypted")
    })
}

fn column_metadata(thrift: &mut Compact, kind: Kind) -> Result<Chunk> {
    let (mut codec, mut values, mut length, mut data, mut dictionary) = (None, None, None, None, None);
    thrift.fields(kind, |thrift, number, kind| {
        let to = match number {
            4 => &mut codec,
            5 => &mut values,
            7 => &mut length,
            9 => &mut data,
            11 => &mut dictionary,
            _ => return Ok(false),
        };
        *to = Some(thrift.number(kind)?);
        Ok(true)
    })?;
    let (Some(codec), Some(values), Some(length), Some(data)) = (codec, values, length, data) else {
        return Err(Error::new(ErrorKind::Schema, "the metadata of a column lacks a required field"));
    };
    // Some writers write 0 where there is no dictionary.
    let dictionary = dictionary.filter(|dictionary| *dictionary > 0 && *dictionary < data);
    let (start, has_dictionary) = (dictionary.unwrap_or(data), dictionary.is_some());
    let (start, length, values) = (unsigned(start)?, unsigned(length)?, unsigned(values)?);
    Ok(Chunk { start, length, values, has_dictionary, codec: codec_of(codec)? })
}

fn codec_of(number: i64) -> Result<Option<Codec>> {
    let name = match number {
        0 => return Ok(None),
        1 => return Ok(Some(Codec::Snappy)),
        2 => return Ok(Some(Codec::Gzip)),
        6 => return Ok(Some(Codec::Zstandard)),
        7 => return Ok(Some(Codec::Lz4)),
        3 => "LZO",
        4 => "Brotli",
        5 => "LZ4 in Hadoop's frames",
        _ => return Err(Error::new(ErrorKind::UnknownCodec, format!("{number} is not a codec of Parquet"))),
    };
    Err(Error::new(ErrorKind::Unsupported, format!("Parquet files compressed by {name} are not read")))
}

/// A number used as a count.
pub(super) fn unsigned(number: i64) -> Result<u64> {
    u64::try_from(number)
        .map_err(|_| Error::new(ErrorKind::Length, format!("{number} where a count or a length is expected")))
}

#[cold]
fn wrong(message: &str) -> Error {
    Error::new(ErrorKind::Length, message)
}
