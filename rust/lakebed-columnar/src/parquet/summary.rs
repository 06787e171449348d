//! What the footer of a file says of its rows, without the rows.
//!
//! Source: Parquet specification, `parquet.thrift`; parquet-java's `ParquetMetadataConverter` and `CorruptStatistics`.

use arrow_buffer::Buffer;
use lakebed_avro::{Error, ErrorKind, Limits, Location, Result};

use super::footer::{Element, Logical, TRAILER, element, place_of, unsigned};
use super::schema::{Column, annotation};
use super::thrift::{Compact, Kind};
use crate::ENCRYPTED;
use crate::summary::{Bound, Statistics};

/// What a Parquet file's footer says.
#[derive(Debug, Clone, PartialEq)]
pub struct ParquetSummary {
    /// The number of rows.
    pub rows: u64,
    /// The offset of each row group that has rows, in ascending order.
    pub row_groups: Vec<u64>,
    /// The elements of the schema, in pre-order; the first is that of a row.
    pub elements: Vec<ParquetElement>,
    /// Of each element that has no fields, in their order, what all row groups together have of it.
    pub statistics: Vec<Statistics>,
}

/// An element of a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ParquetElement {
    /// Its name.
    pub name: String,
    /// The type of its values, such as `int32`, `decimal(9,2)` or `timestamp(us,utc)`; of a group its annotation,
    /// `list`, `map`, or nothing.
    pub values: String,
    /// Whether there is always one (0), may be none (1), or are several (2).
    pub repetition: i64,
    /// The number of its children; 0 of one that has values.
    pub children: i64,
    /// Its field id, where the writer gave one.
    pub field_id: Option<i64>,
}

/// Reads the footer of a Parquet file of `file_bytes` bytes from its last ones.
///
/// # Errors
/// Those of [`File::open`](crate::File::open); `Encryption` where columns are encrypted. `Err` of `Ok` is the
/// number of last bytes that are needed, where there are too few.
pub fn parquet_summary(
    end: &Buffer,
    file_bytes: u64,
    limits: Limits,
) -> Result<std::result::Result<ParquetSummary, u64>> {
    let limits = limits.capped();
    let trailer = Location { offset: Some(file_bytes.saturating_sub(TRAILER)), ..Location::default() };
    let place = place_of(end, file_bytes, &limits).map_err(|error| error.at(trailer))?;
    if end.ends_with(ENCRYPTED) {
        return Err(Error::new(ErrorKind::Encryption, "the footer is encrypted"));
    }
    let Some(footer) = place.within(end) else { return Ok(Err(place.needed())) };
    let at = |error: Error| error.at(Location { offset: Some(place.offset), ..Location::default() });
    let read = Reading::default().read(Compact::new(footer), &limits).map_err(at)?;
    read.summary(place.offset, &limits).map_err(at).map(Ok)
}

/// The parts of a footer.
#[derive(Default)]
struct Reading {
    elements: Vec<Element>,
    groups: Vec<Group>,
    rows: u64,
    created_by: Vec<u8>,
    /// Of each leaf whether its bounds are of the order of its type.
    ordered: Vec<bool>,
}

#[derive(Default)]
struct Group {
    chunks: Vec<Chunk>,
    rows: u64,
}

/// A column of a row group.
#[derive(Default)]
struct Chunk {
    values: u64,
    bytes: u64,
    data: u64,
    dictionary: Option<u64>,
    nulls: Option<u64>,
    bounds: Bounds,
}

/// Bounds as they are stored, the least one first: those of the type's order, and those of old writers.
#[derive(Default)]
struct Bounds {
    new: [Option<Vec<u8>>; 2],
    old: [Option<Vec<u8>>; 2],
}

impl Reading {
    fn read(mut self, mut thrift: Compact, limits: &Limits) -> Result<Reading> {
        thrift.message(|thrift, number, kind| {
            match number {
                2 => thrift.list(kind, |thrift, kind| {
                    if self.elements.len() as u64 > limits.max_schema_nodes {
                        let nodes = self.elements.len() as u64;
                        return Err(Limits::exceeded("max_schema_nodes", limits.max_schema_nodes, nodes));
                    }
                    self.elements.push(element(thrift, kind)?);
                    Ok(())
                })?,
                3 => self.rows = unsigned(thrift.number(kind)?)?,
                4 => thrift.list(kind, |thrift, kind| {
                    self.groups.push(group(thrift, kind)?);
                    Ok(())
                })?,
                6 => self.created_by = thrift.bytes(kind)?.to_vec(),
                7 => thrift.list(kind, |thrift, kind| {
                    let mut ordered = false;
                    thrift.fields(kind, |_, number, _| {
                        ordered = number == 1;
                        Ok(false)
                    })?;
                    self.ordered.push(ordered);
                    Ok(())
                })?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(self)
    }

    fn summary(self, footer: u64, limits: &Limits) -> Result<ParquetSummary> {
        let (_, leaves) = Column::all(&self.elements, limits)?;
        let rows = self.groups.iter().try_fold(0_u64, |rows, group| rows.checked_add(group.rows));
        if rows != Some(self.rows) {
            let rows = rows.unwrap_or(u64::MAX);
            let message = format!("the footer records {} rows, its row groups {rows}", self.rows);
            return Err(Error::new(ErrorKind::Count, message));
        }
        let mut row_groups = Vec::new();
        for group in &self.groups {
            row_groups.extend(group.checked(leaves, footer)?.filter(|_| group.rows > 0));
        }
        row_groups.sort_unstable();
        let kinds = self.elements.iter().skip(1).filter(|of| of.physical.is_some() && of.children == 0);
        let statistics = kinds.enumerate().map(|(leaf, of)| self.statistics(leaf, of)).collect::<Result<_>>();
        let elements = self.elements.iter().map(|of| ParquetElement {
            name: of.name.clone(),
            values: values_of(of),
            repetition: of.repetition,
            children: of.children,
            field_id: of.field_id,
        });
        Ok(ParquetSummary {
            rows: self.rows,
            row_groups,
            elements: elements.collect(),
            statistics: statistics?,
        })
    }

    /// What all row groups say of a leaf. Bounds are known where those of each group with values are.
    fn statistics(&self, leaf: usize, of: &Element) -> Result<Statistics> {
        let mut sum = Statistics { values: Some(0), nulls: Some(0), bytes: Some(0), ..Statistics::default() };
        let mut known = true;
        for chunk in self.groups.iter().filter_map(|group| group.chunks.get(leaf)) {
            let add = |sum: Option<u64>, more: Option<u64>| match sum.zip(more) {
                Some((sum, more)) => {
                    sum.checked_add(more).map(Some).ok_or_else(|| wrong("counts of 64 bits"))
                }
                None => Ok(None),
            };
            if chunk.nulls.is_some_and(|nulls| nulls > chunk.values) {
                return Err(Error::new(ErrorKind::Count, "a column with more nulls than values"));
            }
            sum.values = add(sum.values, Some(chunk.values))?;
            sum.bytes = add(sum.bytes, Some(chunk.bytes))?;
            sum.nulls = add(sum.nulls, chunk.nulls)?;
            if chunk.nulls == Some(chunk.values) {
                continue;
            }
            let ordered = self.ordered.get(leaf).copied().unwrap_or(false);
            match chunk.bounds.typed(of, ordered, &self.created_by).filter(|_| known) {
                Some([lower, upper]) => {
                    sum.lower = Bound::extreme(sum.lower.take(), lower, std::cmp::Ordering::Less);
                    sum.upper = Bound::extreme(sum.upper.take(), upper, std::cmp::Ordering::Greater);
                    known = sum.lower.is_some() && sum.upper.is_some();
                }
                None => known = false,
            }
        }
        if !known {
            (sum.lower, sum.upper) = (None, None);
        }
        Ok(sum)
    }
}

impl Group {
    /// Where it begins, if it has columns.
    fn checked(&self, leaves: usize, footer: u64) -> Result<Option<u64>> {
        if self.chunks.len() != leaves {
            let message = format!("a row group has {} columns, and the schema {leaves}", self.chunks.len());
            return Err(Error::new(ErrorKind::Count, message));
        }
        let ends = self.chunks.iter().map(|chunk| chunk.start().checked_add(chunk.bytes));
        if !ends.into_iter().all(|end| end.is_some_and(|end| end <= footer)) {
            return Err(wrong("a column reaches beyond the footer"));
        }
        Ok(self.chunks.first().map(Chunk::start))
    }
}

impl Chunk {
    /// Its first page: a dictionary, or values (parquet-java's `ColumnChunkMetaData.getStartingPos`).
    fn start(&self) -> u64 {
        self.dictionary.filter(|at| *at > 0 && *at < self.data).unwrap_or(self.data)
    }
}

impl Bounds {
    /// Both bounds as values; `None` where they are not there, or of an order that may not be the type's.
    fn typed(&self, of: &Element, ordered: bool, created_by: &[u8]) -> Option<[Bound; 2]> {
        let is_new = self.new.iter().all(Option::is_some);
        let [least, most] = if is_new { &self.new } else { &self.old };
        let (least, most) = (least.as_deref()?, most.as_deref()?);
        let trusted = (is_new && ordered) || is_signed(of) || (least == most && !has_mixed_up(created_by));
        let bound = |bytes| bound(of, bytes).filter(|bound| !bound.is_nan());
        trusted.then(|| Some([bound(least)?, bound(most)?]))?
    }
}

/// Whether numbers were always compared as this type's: of others old writers compared signed bytes.
fn is_signed(of: &Element) -> bool {
    let unsigned = matches!(annotation(of), Some(Logical::Integer { signed: false, .. }));
    matches!(of.physical, Some(0 | 1 | 2 | 4 | 5)) && !unsigned
}

/// Whether a writer may have written bounds of other rows, as parquet-mr before 1.8 (PARQUET-251).
fn has_mixed_up(created_by: &[u8]) -> bool {
    let text = String::from_utf8_lossy(created_by);
    let Some(version) = text.strip_prefix("parquet-mr") else { return false };
    let version = version.trim_start().trim_start_matches("version").trim_start();
    let mut numbers = version.split('.').map(|part| part.parse::<u64>().ok());
    !matches!((numbers.next().flatten(), numbers.next().flatten()), (Some(2..), _) | (Some(1), Some(8..)))
}

/// A stored bound as a value; `None` for what is none of the type.
fn bound(of: &Element, bytes: &[u8]) -> Option<Bound> {
    let unsigned = matches!(annotation(of), Some(Logical::Integer { signed: false, .. }));
    Some(match of.physical? {
        0 => Bound::Boolean(*bytes.first()? != 0),
        1 if unsigned => Bound::Integer(u32::from_le_bytes(bytes.try_into().ok()?).into()),
        1 => Bound::Integer(i32::from_le_bytes(bytes.try_into().ok()?).into()),
        2 if unsigned => Bound::Integer(u64::from_le_bytes(bytes.try_into().ok()?).into()),
        2 => Bound::Integer(i64::from_le_bytes(bytes.try_into().ok()?).into()),
        4 => Bound::Float(f32::from_le_bytes(bytes.try_into().ok()?).into()),
        5 => Bound::Float(f64::from_le_bytes(bytes.try_into().ok()?)),
        6 | 7 => match annotation(of) {
            Some(Logical::Decimal { .. }) => Bound::Integer(big_endian(bytes)?),
            Some(Logical::Float16) => return None,
            _ => Bound::Bytes(bytes.to_vec()),
        },
        // Of timestamps of 12 bytes nobody defined an order.
        _ => return None,
    })
}

fn big_endian(bytes: &[u8]) -> Option<i128> {
    let (first, rest) = bytes.split_first()?;
    let fill = if *first >= 0x80 { 0xff } else { 0 };
    let extra = bytes.len().saturating_sub(16);
    let (over, kept) = bytes.split_at_checked(extra)?;
    let same = kept.first().is_some_and(|byte| (*byte >= 0x80) == (fill == 0xff));
    if over.iter().any(|byte| *byte != fill) || !same || rest.len() > 64 {
        return None;
    }
    let mut wide = [fill; 16];
    wide.get_mut(16_usize.saturating_sub(kept.len())..)?.copy_from_slice(kept);
    Some(i128::from_be_bytes(wide))
}

/// The type of an element's values in words.
fn values_of(of: &Element) -> String {
    let unit = |unit| match unit {
        1 => "ms",
        2 => "us",
        3 => "ns",
        _ => "?",
    };
    let annotation = annotation(of);
    let physical = match of.physical {
        Some(0) => "boolean",
        Some(1) => "int32",
        Some(2) => "int64",
        Some(3) => "int96",
        Some(4) => "float",
        Some(5) => "double",
        Some(6) => "binary",
        Some(_) => "fixed",
        None => "",
    };
    match (physical, annotation) {
        (_, Some(Logical::Null)) => "null".to_owned(),
        (_, Some(Logical::List)) => "list".to_owned(),
        (_, Some(Logical::Map)) => "map".to_owned(),
        (_, Some(Logical::Decimal { precision, scale })) => format!("decimal({precision},{scale})"),
        ("int32", Some(Logical::Date)) => "date".to_owned(),
        (_, Some(Logical::Time { unit: of })) => format!("time({})", unit(of)),
        (_, Some(Logical::Timestamp { unit: of, utc })) => {
            format!("timestamp({}{})", unit(of), if utc { ",utc" } else { "" })
        }
        (_, Some(Logical::Integer { bits, signed })) => {
            format!("{}{bits}", if signed { "int" } else { "uint" })
        }
        ("binary", Some(Logical::Text)) => "string".to_owned(),
        ("fixed", Some(Logical::Uuid)) => "uuid".to_owned(),
        ("fixed", None) => format!("fixed({})", of.type_length),
        ("binary", Some(Logical::Bson)) | (_, None) => physical.to_owned(),
        _ => "other".to_owned(),
    }
}

fn group(thrift: &mut Compact, kind: Kind) -> Result<Group> {
    let mut group = Group::default();
    thrift.fields(kind, |thrift, number, kind| {
        match number {
            1 => thrift.list(kind, |thrift, kind| {
                group.chunks.push(chunk(thrift, kind)?);
                Ok(())
            })?,
            3 => group.rows = unsigned(thrift.number(kind)?)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(group)
}

fn chunk(thrift: &mut Compact, kind: Kind) -> Result<Chunk> {
    // Of a plain footer with encrypted columns, which has their sizes.
    let (mut chunk, mut encrypted) = (None, false);
    thrift.fields(kind, |thrift, number, kind| {
        match number {
            1 => return Err(Error::new(ErrorKind::Unsupported, "columns in another file are not read")),
            3 => chunk = Some(metadata(thrift, kind)?),
            8 => {
                encrypted = true;
                return Ok(false);
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if encrypted {
        return Err(Error::new(ErrorKind::Encryption, "columns are encrypted"));
    }
    chunk.ok_or_else(|| Error::new(ErrorKind::Schema, "a column without metadata"))
}

fn metadata(thrift: &mut Compact, kind: Kind) -> Result<Chunk> {
    let mut chunk = Chunk::default();
    thrift.fields(kind, |thrift, number, kind| {
        match number {
            5 => chunk.values = unsigned(thrift.number(kind)?)?,
            7 => chunk.bytes = unsigned(thrift.number(kind)?)?,
            9 => chunk.data = unsigned(thrift.number(kind)?)?,
            11 => chunk.dictionary = u64::try_from(thrift.number(kind)?).ok(),
            12 => statistics(thrift, kind, &mut chunk)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(chunk)
}

fn statistics(thrift: &mut Compact, kind: Kind, chunk: &mut Chunk) -> Result<()> {
    thrift.fields(kind, |thrift, number, kind| {
        let [new, old] = [&mut chunk.bounds.new, &mut chunk.bounds.old];
        let ([lower, upper], is_upper) = match number {
            1 | 2 => (old, number == 1),
            5 | 6 => (new, number == 5),
            3 => {
                // Some writers write -1 where they have not counted.
                chunk.nulls = u64::try_from(thrift.number(kind)?).ok();
                return Ok(true);
            }
            _ => return Ok(false),
        };
        *(if is_upper { upper } else { lower }) = Some(thrift.bytes(kind)?.to_vec());
        Ok(true)
    })
}

#[cold]
fn wrong(message: &str) -> Error {
    Error::new(ErrorKind::Length, message)
}
