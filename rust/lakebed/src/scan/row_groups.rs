//! Shares of manifests in Parquet.

use std::ops::Range;

use arrow_buffer::Buffer;
use lakebed_avro::{ErrorKind as AvroKind, Limits};

use super::share::{Content, DivisibleManifest, Part};
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::storage::Storage;

/// The magic at both ends of a file that is not encrypted.
const MAGIC: &[u8; 4] = b"PAR1";
/// Bytes in which a file ends: the length of its footer, and the magic.
pub(super) const TRAILER: u64 = 8;
/// Columns with no more than this between them are one request \[bytes\].
const GAP: u64 = 64 << 10;

/// The magic and the footer of a manifest that can be read in ranges, given what its file ends in; `None` for one that a
/// single task has to read. One request.
///
/// # Errors
/// Those of the storage and of a footer.
pub(super) fn header(
    storage: &dyn Storage,
    manifest: &DivisibleManifest,
    end: &[u8; TRAILER as usize],
    limits: &Limits,
) -> Result<Option<Buffer>> {
    let DivisibleManifest { path, length, entries, .. } = manifest;
    let [a, b, c, d, magic @ ..] = end;
    let footer = u64::from(u32::from_le_bytes([*a, *b, *c, *d])).saturating_add(TRAILER);
    let Some(from) =
        length.checked_sub(footer).filter(|_| magic == MAGIC && footer <= limits.max_header_bytes)
    else {
        return Ok(None);
    };
    let end = storage.read_range(path, from, footer)?;
    let groups = lakebed_columnar::row_groups(&end, from, &[], limits);
    let groups = groups.map_err(|error| Error::from(error).in_file(path))?;
    let rows = groups.iter().fold(0_u64, |rows, group| rows.saturating_add(group.rows));
    let are_in_order =
        groups.windows(2).all(|two| matches!(two, [one, next] if one.bytes.end <= next.bytes.start));
    let is_divisible = groups.len() > 1 && are_in_order && entries.is_none_or(|entries| rows >= entries);
    Ok(is_divisible.then(|| Buffer::from_vec([MAGIC.as_slice(), end.as_slice()].concat())))
}

/// [`Content::of_range`] of such a manifest.
pub(super) fn of_range(
    (storage, path): (&dyn Storage, &str),
    length: u64,
    range: Range<u64>,
    header: &Buffer,
    (counted, limits): (&[String], &Limits),
) -> Result<Option<Content>> {
    if length > limits.max_file_bytes {
        return Err(Limits::exceeded("max_file_bytes", limits.max_file_bytes, length).into());
    }
    let other = || Error::new(ErrorKind::Argument, "the footer of another file");
    let end = header.slice(MAGIC.len().min(header.len()));
    let from = length.checked_sub(end.len() as u64).ok_or_else(other)?;
    let (mut before, mut own) = (Vec::new(), None::<Range<u64>>);
    for group in lakebed_columnar::row_groups(&end, from, counted, limits)? {
        if group.bytes.start < range.start {
            before.extend(group.columns);
        } else if group.bytes.start < range.end {
            own = Some(own.map_or(group.bytes.start, |own| own.start)..group.bytes.end);
        }
    }
    let Some(own) = own else { return Ok(None) };
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| other())?];
    put(&mut bytes, 0, MAGIC)?;
    put(&mut bytes, from, &end)?;
    for run in close(before).into_iter().chain([own]) {
        let wanted = fitting(run.end.checked_sub(run.start), "the length of some row groups")?;
        let read = storage.read_range(path, run.start, wanted)?;
        if read.len() as u64 != wanted {
            let ends = run.start.saturating_add(read.len() as u64);
            let message = format!("the file ends at {ends}, its list records {length} bytes");
            return Err(Error::new(ErrorKind::Avro(AvroKind::Truncated), message));
        }
        put(&mut bytes, run.start, &read)?;
    }
    Ok(Some(Content { stored: Buffer::from_vec(bytes).into(), part: Some(Part::Groups(range)) }))
}

/// Puts a piece of a file in its place.
fn put(file: &mut [u8], at: u64, piece: &[u8]) -> Result<()> {
    let place = usize::try_from(at).ok().and_then(|at| file.get_mut(at..)?.get_mut(..piece.len()));
    let outside = || Error::new(ErrorKind::Argument, "a row group that is not in its file");
    place.ok_or_else(outside)?.copy_from_slice(piece);
    Ok(())
}

/// The same ranges, those put together that have no more than [`GAP`] between them.
fn close(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut runs: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match runs.last_mut().filter(|run| range.start <= run.end.saturating_add(GAP)) {
            Some(run) => run.end = run.end.max(range.end),
            None => runs.push(range),
        }
    }
    runs
}
