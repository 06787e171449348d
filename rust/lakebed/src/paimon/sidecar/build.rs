//! Makes the sidecar of a manifest.

use std::collections::{BTreeSet, HashMap};

use arrow_array::{Array, BinaryArray, Int32Array, Int64Array, RecordBatch};
use arrow_buffer::Buffer;
use lakebed_avro::Blocks;

use super::{ENCODED, FORMAT_VERSION, MAGIC, UNKNOWN};
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::paimon::manifest::{EntryFilter, EntryReader, entry_columns};
use crate::paimon::schema::TableSchema;
use crate::paimon::write::is_on;
use crate::record::column;

/// The columns of entries that a sidecar tells of.
const INPUT: [&str; 5] = ["partition", "bucket", "total_buckets", "row_count", "first_row_id"];

/// The sidecar of a manifest in Avro, with row ids for tables with data evolution, and with buckets for those
/// that have some; `None` for a manifest with a block of no entries, which a sidecar cannot tell of. Cost is
/// decoding [`INPUT`].
///
/// # Errors
/// Those of reading the manifest.
pub(crate) fn build(manifest: &Buffer, schema: &TableSchema, decoding: &Decoding) -> Result<Option<Vec<u8>>> {
    let Some((header, frames)) = frames(manifest, decoding)? else { return Ok(None) };
    let with = Dimensions {
        row_ids: is_on(schema, "data-evolution.enabled", false),
        buckets: schema.bucket() != -1,
    };
    let columns = entry_columns(Some(&INPUT.map(str::to_owned)))?;
    let mut entries =
        EntryReader::open(manifest.clone(), &columns, EntryFilter::default(), None, decoding, 1)?;
    let (mut dictionary, mut blocks) = (Dictionary::default(), Vec::new());
    let mut rows = Rows { batch: None, next: 0 };
    varint(&mut blocks, frames.len() as u64);
    for Frame { offset, length, records } in frames {
        let mut covered = BlockCoverage::new(with);
        for _ in 0..records {
            covered.add(&rows.next(&mut entries)?, &mut dictionary);
        }
        [offset, length, records].into_iter().for_each(|number| varint(&mut blocks, number));
        covered.payloads().iter().for_each(|payload| put(&mut blocks, payload.as_deref()));
    }
    let mut file = MAGIC.to_vec();
    varint(&mut file, FORMAT_VERSION);
    varint(&mut file, header.len() as u64);
    file.extend_from_slice(header);
    dictionary.put(&mut file);
    file.extend(blocks);
    let checksum = crc32fast::hash(&file);
    file.extend(checksum.to_be_bytes());
    Ok(Some(file))
}

/// Where a block is, with its count, length and marker.
struct Frame {
    offset: u64,
    length: u64,
    records: u64,
}

/// The header of a file and its blocks.
fn frames<'m>(manifest: &'m Buffer, decoding: &Decoding) -> Result<Option<(&'m [u8], Vec<Frame>)>> {
    let (header, blocks) = Blocks::open(manifest.clone().into(), decoding.limits)?;
    let (mut offset, mut frames) = (header.length, Vec::new());
    for block in blocks {
        let block = block?;
        if block.count == 0 {
            return Ok(None);
        }
        let behind = (block.payload.len() as u64).checked_add(header.sync.len() as u64);
        let end = fitting(behind.and_then(|behind| block.offset.checked_add(behind)), "the end of a block")?;
        let length = fitting(end.checked_sub(offset), "the length of a block")?;
        frames.push(Frame { offset, length, records: block.count });
        offset = end;
    }
    let length = usize::try_from(header.length).ok();
    let header = length.and_then(|length| manifest.as_slice().get(..length));
    Ok(header.map(|header| (header, frames)))
}

/// The entries of a manifest one by one.
struct Rows {
    batch: Option<EntryColumns>,
    next: usize,
}

struct EntryColumns {
    partitions: BinaryArray,
    buckets: Int32Array,
    totals: Int32Array,
    counts: Int64Array,
    first_ids: Int64Array,
}

/// What is told of one entry.
struct SidecarEntry<'r> {
    partition: &'r [u8],
    bucket: (i32, i32),
    /// The first row id, and the number of rows.
    rows: (Option<i64>, i64),
}

impl Rows {
    fn next(&mut self, entries: &mut EntryReader) -> Result<SidecarEntry<'_>> {
        while self.batch.as_ref().is_none_or(|batch| self.next >= batch.buckets.len()) {
            let none =
                || Error::new(ErrorKind::Mismatch, "a manifest has fewer entries than its blocks declare");
            self.batch = Some(EntryColumns::of(&entries.next().ok_or_else(none)??)?);
            self.next = 0;
        }
        let row = self.next;
        self.next += 1;
        let absent = || Error::new(ErrorKind::Argument, "a batch of entries is there");
        let columns = self.batch.as_ref().ok_or_else(absent)?;
        let first = columns.first_ids.is_valid(row).then(|| columns.first_ids.value(row));
        Ok(SidecarEntry {
            partition: columns.partitions.value(row),
            bucket: (columns.buckets.value(row), columns.totals.value(row)),
            rows: (first, columns.counts.value(row)),
        })
    }
}

impl EntryColumns {
    fn of(batch: &RecordBatch) -> Result<EntryColumns> {
        Ok(EntryColumns {
            partitions: column::<BinaryArray>(batch, "partition")?.clone(),
            buckets: column::<Int32Array>(batch, "bucket")?.clone(),
            totals: column::<Int32Array>(batch, "total_buckets")?.clone(),
            counts: column::<Int64Array>(batch, "row_count")?.clone(),
            first_ids: column::<Int64Array>(batch, "first_row_id")?.clone(),
        })
    }
}

/// The partitions of a manifest, numbered in the order of their first entries.
#[derive(Default)]
struct Dictionary {
    numbers: HashMap<Box<[u8]>, u64>,
    partitions: Vec<Box<[u8]>>,
}

impl Dictionary {
    fn number(&mut self, partition: &[u8]) -> u64 {
        if let Some(number) = self.numbers.get(partition) {
            return *number;
        }
        let number = self.partitions.len() as u64;
        self.numbers.insert(partition.into(), number);
        self.partitions.push(partition.into());
        number
    }

    fn put(&self, file: &mut Vec<u8>) {
        varint(file, self.partitions.len() as u64);
        for partition in &self.partitions {
            varint(file, partition.len() as u64);
            file.extend_from_slice(partition);
        }
    }
}

/// The dimensions that are told of besides partitions.
#[derive(Clone, Copy)]
struct Dimensions {
    row_ids: bool,
    buckets: bool,
}

/// What the entries of a block have; `None` for a dimension that is not told of.
struct BlockCoverage {
    partitions: BTreeSet<u64>,
    /// First and last row id of each entry.
    rows: Option<Vec<(u64, u64)>>,
    /// Buckets with their totals.
    buckets: Option<BTreeSet<(u64, u64)>>,
}

impl BlockCoverage {
    fn new(with: Dimensions) -> BlockCoverage {
        let (rows, buckets) = (with.row_ids.then(Vec::new), with.buckets.then(BTreeSet::new));
        BlockCoverage { partitions: BTreeSet::new(), rows, buckets }
    }

    fn add(&mut self, entry: &SidecarEntry<'_>, dictionary: &mut Dictionary) {
        self.partitions.insert(dictionary.number(entry.partition));
        let (bucket, total) = entry.bucket;
        let pair = u64::try_from(bucket).ok().zip(u64::try_from(total).ok());
        match pair.filter(|(bucket, total)| bucket < total) {
            Some(pair) => drop(self.buckets.as_mut().map(|buckets| buckets.insert(pair))),
            None => self.buckets = None,
        }
        let (first, count) = entry.rows;
        let last = first.filter(|first| *first >= 0 && count > 0);
        let last = last.and_then(|first| first.checked_add(count.checked_sub(1)?));
        let range = first
            .zip(last)
            .and_then(|(first, last)| Some((u64::try_from(first).ok()?, u64::try_from(last).ok()?)));
        match range {
            Some(range) => drop(self.rows.as_mut().map(|rows| rows.push(range))),
            None => self.rows = None,
        }
    }

    /// The payloads of partitions, row ids and buckets.
    fn payloads(self) -> [Option<Vec<u8>>; 3] {
        let partitions = deltas(self.partitions.iter().copied(), 0);
        let rows = self.rows.map(merged).and_then(|ends| {
            let [first, inner @ .., last] = ends.as_slice() else { return None };
            let mut payload = [first.to_be_bytes(), last.to_be_bytes()].concat();
            payload.extend(deltas(inner.iter().copied(), *first));
            Some(payload)
        });
        let buckets = self.buckets.map(|pairs| {
            let mut payload = deltas(pairs.iter().map(|(bucket, _)| *bucket), 0);
            payload.extend(zigzags(&pairs.iter().map(|(_, total)| *total).collect::<Vec<_>>()));
            payload
        });
        [Some(partitions), rows, buckets]
    }
}

/// The first and last numbers of the ranges that the given ones are together, in order.
fn merged(mut ranges: Vec<(u64, u64)>) -> Vec<u64> {
    ranges.sort_unstable();
    let mut ends: Vec<u64> = Vec::new();
    for (first, last) in ranges {
        match ends.last_mut() {
            // Row ids are at most 63 bits.
            Some(end) if first <= *end || first - *end == 1 => *end = last.max(*end),
            _ => ends.extend([first, last]),
        }
    }
    ends
}

/// The number of values, then the difference of each from the one before it, the first from `base`. They
/// ascend.
fn deltas(values: impl ExactSizeIterator<Item = u64>, base: u64) -> Vec<u8> {
    let (mut payload, mut before) = (Vec::new(), base);
    varint(&mut payload, values.len() as u64);
    for value in values {
        varint(&mut payload, value.abs_diff(before));
        before = value;
    }
    payload
}

/// The same for values that may fall, each difference zigzag encoded.
fn zigzags(values: &[u64]) -> Vec<u8> {
    let (mut payload, mut before) = (Vec::new(), 0_u64);
    varint(&mut payload, values.len() as u64);
    for value in values {
        // Totals are of 31 bits.
        let far = value.abs_diff(before) << 1;
        varint(&mut payload, if *value < before { far - 1 } else { far });
        before = *value;
    }
    payload
}

fn put(file: &mut Vec<u8>, payload: Option<&[u8]>) {
    match payload {
        None => file.push(UNKNOWN),
        Some(payload) => {
            file.push(ENCODED);
            varint(file, payload.len() as u64);
            file.extend_from_slice(payload);
        }
    }
}

fn varint(file: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        file.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    file.push(value as u8);
}
