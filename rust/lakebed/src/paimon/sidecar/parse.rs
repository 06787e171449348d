//! Reads sidecars.

use std::collections::HashSet;
use std::ops::Range;

use super::{ENCODED, FORMAT_VERSION, MAGIC, MAX_LONG, UNKNOWN};
use crate::error::{Error, ErrorKind, Location, Result};
use crate::paimon::manifest_list::ManifestFile;

/// What a sidecar says of its manifest.
pub(super) struct Sidecar<'f> {
    /// The header of the manifest.
    pub(super) header: &'f [u8],
    /// Every partition of its entries, as entries have them.
    pub(super) partitions: Vec<&'f [u8]>,
    /// All blocks, one behind the other.
    pub(super) blocks: Vec<SidecarBlock>,
}

/// A block of the manifest; `None` for a dimension that is not known.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SidecarBlock {
    /// Where it is in the manifest, from its count to its marker.
    pub(super) place: Range<u64>,
    pub(super) records: u64,
    /// Numbers of partitions.
    pub(super) partitions: Option<Vec<usize>>,
    /// Buckets with the total that each entry has.
    pub(super) buckets: Option<Vec<(u64, u64)>>,
}

const MAX_INT: u64 = i32::MAX as u64;
/// Bytes of the shortest Avro header, and of a partition without fields.
const SHORTEST_HEADER: u64 = 21;
const SHORTEST_PARTITION: u64 = 12;

impl<'f> Sidecar<'f> {
    /// Parses the sidecar of the manifest that a list records so. No I/O.
    ///
    /// # Errors
    /// `Mismatch` for a checksum, a size or a count that is another; `Version`; `Truncated`; `Length` for
    /// numbers that are none of a sidecar's. With the byte.
    pub(super) fn parse(file: &'f [u8], manifest: &ManifestFile) -> Result<Sidecar<'f>> {
        let (body, checksum) = file.split_last_chunk::<4>().ok_or_else(|| truncated(file.len()))?;
        if crc32fast::hash(body) != u32::from_be_bytes(*checksum) {
            return Err(Error::new(ErrorKind::Mismatch, "the checksum of a sidecar is another"));
        }
        let mut bytes = Bytes { file: body, at: 0 };
        if bytes.take(MAGIC.len() as u64)? != MAGIC {
            return Err(bytes.wrong("not a sidecar of a manifest"));
        }
        let version = bytes.number(MAX_INT)?;
        if version != FORMAT_VERSION {
            let message = format!("sidecars of version {version} cannot be read, only of {FORMAT_VERSION}");
            return Err(Error::new(ErrorKind::Version, message));
        }
        let header = bytes.number(manifest.file_size)?;
        if header < SHORTEST_HEADER {
            return Err(bytes.wrong("the header of the manifest is too short"));
        }
        let (header, length) = (bytes.take(header)?, header);
        let partitions = bytes.partitions()?;
        let blocks = bytes.blocks(length, partitions.len(), manifest)?;
        match bytes.at == body.len() {
            true => Ok(Sidecar { header, partitions, blocks }),
            false => Err(bytes.wrong("there are bytes behind the last block")),
        }
    }
}

/// Bytes that are read front to back.
struct Bytes<'f> {
    file: &'f [u8],
    at: usize,
}

impl<'f> Bytes<'f> {
    fn left(&self) -> u64 {
        self.file.len().abs_diff(self.at) as u64
    }

    fn take(&mut self, length: u64) -> Result<&'f [u8]> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        let taken = end.and_then(|end| self.file.get(self.at..end));
        let taken = taken.ok_or_else(|| truncated(self.file.len()))?;
        self.at = self.at.checked_add(taken.len()).ok_or_else(|| truncated(self.file.len()))?;
        Ok(taken)
    }

    /// A varint of at most `max`, in its shortest form.
    fn number(&mut self, max: u64) -> Result<u64> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let [byte] = self.take(1)? else { return Err(truncated(self.file.len())) };
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let shortest = shift == 0 || *byte != 0;
                return if shortest && value <= max {
                    Ok(value)
                } else {
                    Err(self.wrong("a number is too large"))
                };
            }
        }
        Err(self.wrong("a number has more than 63 bits"))
    }

    /// How many items there are, each of at least `least` bytes.
    fn count(&mut self, least: u64) -> Result<usize> {
        let count = self.number(MAX_INT)?;
        let fits = count.checked_mul(least).is_some_and(|bytes| bytes <= self.left());
        let count = usize::try_from(count).ok().filter(|_| fits);
        count.ok_or_else(|| self.wrong("there are more items than bytes"))
    }

    fn partitions(&mut self) -> Result<Vec<&'f [u8]>> {
        let count = self.count(SHORTEST_PARTITION + 1)?;
        let mut known = HashSet::with_capacity(count);
        let mut partitions = Vec::with_capacity(count);
        for _ in 0..count {
            let length = self.number(MAX_INT)?;
            let partition = self.take(length)?;
            if length < SHORTEST_PARTITION || !known.insert(partition) {
                return Err(self.wrong("a partition is too short or is there twice"));
            }
            partitions.push(partition);
        }
        Ok(partitions)
    }

    fn blocks(
        &mut self,
        header: u64,
        partitions: usize,
        manifest: &ManifestFile,
    ) -> Result<Vec<SidecarBlock>> {
        let entries = manifest.added.checked_add(manifest.deleted);
        let count = self.count(6)?;
        let (mut blocks, mut next, mut records) = (Vec::with_capacity(count), header, 0_u64);
        for _ in 0..count {
            let block = self.block(partitions)?;
            if block.place.start != next || block.place.is_empty() || block.records == 0 {
                return Err(self.wrong("blocks are not one behind the other"));
            }
            next = block.place.end;
            records =
                records.checked_add(block.records).ok_or_else(|| self.wrong("there are too many entries"))?;
            blocks.push(block);
        }
        if next != manifest.file_size || Some(records) != entries {
            let message = format!(
                "the sidecar is of a manifest of {next} bytes and {records} entries, the list records {} and {}",
                manifest.file_size,
                entries.unwrap_or(MAX_LONG)
            );
            return Err(Error::new(ErrorKind::Mismatch, message));
        }
        Ok(blocks)
    }

    fn block(&mut self, known: usize) -> Result<SidecarBlock> {
        let (offset, length) = (self.number(MAX_LONG)?, self.number(MAX_LONG)?);
        let records = self.number(MAX_LONG)?;
        let end = offset.checked_add(length).ok_or_else(|| self.wrong("a block is too long"))?;
        let payload = self.payload()?;
        let partitions = payload.map(|mut payload| payload.numbers_below(known, records)).transpose()?;
        if let Some(mut rows) = self.payload()? {
            rows.check_rows(records)?;
        }
        let buckets = self.payload()?.map(|mut payload| payload.buckets(records)).transpose()?;
        Ok(SidecarBlock { place: offset..end, records, partitions, buckets })
    }

    /// The payload of the next dimension; `None` where it is not known, or of an encoding that is not.
    fn payload(&mut self) -> Result<Option<Bytes<'f>>> {
        let encoding = self.take(1)?;
        if encoding == [UNKNOWN] {
            return Ok(None);
        }
        let length = self.number(MAX_INT)?;
        let payload = self.take(length)?;
        let behind = self.file.get(..self.at).unwrap_or_default();
        let begin = behind.len().abs_diff(payload.len());
        Ok((encoding == [ENCODED]).then_some(Bytes { file: behind, at: begin }))
    }

    /// Some, but at most `records`, ascending numbers below `known`, and nothing else.
    fn numbers_below(&mut self, known: usize, records: u64) -> Result<Vec<usize>> {
        let count = self.count(1)?;
        let mut numbers: Vec<usize> = Vec::with_capacity(count);
        for _ in 0..count {
            let delta = usize::try_from(self.number(MAX_INT)?).ok();
            let before = numbers.last().copied();
            let number = delta.and_then(|delta| before.unwrap_or(0).checked_add(delta));
            let number =
                number.filter(|number| *number < known && before.is_none_or(|before| before < *number));
            numbers.push(number.ok_or_else(|| self.wrong("a partition is not in the sidecar"))?);
        }
        self.ended(count as u64, records)?;
        Ok(numbers)
    }

    fn check_rows(&mut self, records: u64) -> Result<()> {
        let number = |bytes: &[u8]| bytes.try_into().map(i64::from_be_bytes).ok();
        let (first, last) = (number(self.take(8)?), number(self.take(8)?));
        let count = self.count(1)?;
        let is_range = first.zip(last).is_some_and(|(first, last)| 0 <= first && first <= last);
        if !is_range || count % 2 != 0 || (count / 2) as u64 >= records {
            return Err(self.wrong("row ids are no ranges"));
        }
        // Nothing asks for row ids: what is within is not looked at.
        Ok(())
    }

    /// Some, but at most `records`, ascending pairs of a bucket and its total, and nothing else.
    fn buckets(&mut self, records: u64) -> Result<Vec<(u64, u64)>> {
        let (mut bucket, mut buckets) = (0_u64, Vec::new());
        for _ in 0..self.count(1)? {
            bucket = bucket
                .checked_add(self.number(MAX_INT)?)
                .filter(|bucket| *bucket <= MAX_INT)
                .ok_or_else(|| self.wrong("a bucket is too large"))?;
            buckets.push(bucket);
        }
        if self.count(1)? != buckets.len() {
            return Err(self.wrong("there are other totals than buckets"));
        }
        let (mut total, mut pairs) = (0_u64, Vec::with_capacity(buckets.len()));
        for bucket in buckets {
            let delta = self.number(2 * MAX_INT)?;
            let next = if delta & 1 == 0 {
                total.checked_add(delta >> 1)
            } else {
                total.checked_sub((delta >> 1) + 1)
            };
            total = next
                .filter(|total| *total <= MAX_INT)
                .ok_or_else(|| self.wrong("a total of buckets is too large"))?;
            if total <= bucket || pairs.last().is_some_and(|last| *last >= (bucket, total)) {
                return Err(self.wrong("buckets do not ascend, or are not below their total"));
            }
            pairs.push((bucket, total));
        }
        self.ended(pairs.len() as u64, records)?;
        Ok(pairs)
    }

    fn ended(&self, count: u64, records: u64) -> Result<()> {
        match count > 0 && count <= records && self.left() == 0 {
            true => Ok(()),
            false => {
                Err(self.wrong("a block has no entry of something it tells of, or more is told than it has"))
            }
        }
    }

    #[cold]
    fn wrong(&self, message: &str) -> Error {
        let place = Location { offset: Some(self.at as u64), ..Location::default() };
        Error::new(ErrorKind::Length, message).at(place)
    }
}

#[cold]
fn truncated(length: usize) -> Error {
    let place = Location { offset: Some(length as u64), ..Location::default() };
    Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Truncated), "a sidecar ends before its last block")
        .at(place)
}
