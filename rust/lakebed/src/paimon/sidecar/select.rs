//! Reads those blocks of a manifest that may have entries of a filter's partitions and buckets.

use std::ops::Range;

use arrow_buffer::Buffer;
use lakebed_avro::Blocks;

use super::is_enabled;
use super::parse::{Sidecar, SidecarBlock};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::prune::{BucketMemo, EntryPruner};
use crate::paimon::scan::BLOCKS;
use crate::paimon::table::Table;
use crate::scan::{Amount, Content, Funnel};
use crate::verify::caught;

/// How many partitions and buckets of a block are tried with each other; blocks of more are kept.
const TRIED: usize = 1 << 14;

/// The blocks of a manifest that may have entries which `pruner` keeps; `None` where all of it is to be read:
/// where the table's options ask for no sidecars, the list names none, it cannot be used, which is noted, or
/// it rules nothing out. `by_keys` for entries that add files, which are also in the bucket of their keys. `funnel`
/// counts the blocks.
///
/// # Errors
/// An interruption; those of decoding a partition for the filter.
pub(crate) fn selected(
    table: &Table,
    manifest: &ManifestFile,
    pruner: &EntryPruner,
    by_keys: bool,
    funnel: &Funnel,
) -> Result<Option<Content>> {
    let Some(name) = manifest.sidecar.as_deref().filter(|_| is_enabled(table.schema())) else {
        return Ok(None);
    };
    let path = table.manifest_path(name);
    let storage = table.storage().as_ref();
    let read = || {
        let file = table.read_recorded(&path, None)?;
        let sidecar = Sidecar::parse(&file, manifest)?;
        let kept = kept(&sidecar, pruner, by_keys)?;
        let content = match kept.len() == sidecar.blocks.len() {
            true => None,
            false => Some(content(table, manifest, &sidecar, &kept)?),
        };
        funnel.pass(&BLOCKS, || {
            [sidecar.blocks.iter().map(amount).sum(), kept.iter().copied().map(amount).sum()]
        });
        Ok(content)
    };
    match caught(storage, read())? {
        Ok(content) => Ok(content),
        Err(error) => {
            let error = error.in_file(&path);
            table.noted().add(format!("all of {} is read: {error}", manifest.file_name));
            Ok(None)
        }
    }
}

fn amount(block: &SidecarBlock) -> Amount {
    Amount { count: 1, rows: 0, bytes: block.place.end.saturating_sub(block.place.start) }
}

/// The blocks that may have such entries.
fn kept<'s>(sidecar: &'s Sidecar<'_>, pruner: &EntryPruner, by_keys: bool) -> Result<Vec<&'s SidecarBlock>> {
    let mut memo = BucketMemo::default();
    let mut kept = Vec::new();
    for block in &sidecar.blocks {
        if may_match(sidecar, block, pruner, by_keys, &mut memo)? {
            kept.push(block);
        }
    }
    Ok(kept)
}

/// Whether some partition of a block with some bucket of it may match. Not every pair need be of an entry, so
/// that a block may be kept for nothing.
fn may_match(
    sidecar: &Sidecar<'_>,
    block: &SidecarBlock,
    pruner: &EntryPruner,
    by_keys: bool,
    memo: &mut BucketMemo,
) -> Result<bool> {
    let Some(partitions) = &block.partitions else { return Ok(true) };
    let any = [(0, 0)];
    let (buckets, by_keys) = match &block.buckets {
        Some(buckets) => (buckets.as_slice(), by_keys),
        None if pruner.partitions().tests_bucket() => return Ok(true),
        // Of a bucket that does not matter.
        None => (any.as_slice(), false),
    };
    if partitions.len().checked_mul(buckets.len()).is_none_or(|pairs| pairs > TRIED) {
        return Ok(true);
    }
    for partition in partitions.iter().filter_map(|number| sidecar.partitions.get(*number)) {
        for (bucket, total) in buckets {
            let (bucket, total) = (i64::try_from(*bucket).ok(), i32::try_from(*total).ok());
            let total = total.filter(|_| by_keys);
            if memo.keeps(pruner, partition, bucket.unwrap_or(0), total)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// A file of the manifest's header and these blocks.
fn content(
    table: &Table,
    manifest: &ManifestFile,
    sidecar: &Sidecar<'_>,
    kept: &[&SidecarBlock],
) -> Result<Content> {
    let path = table.manifest_path(&manifest.file_name);
    let mut runs: Vec<Range<u64>> = Vec::new();
    for block in kept {
        match runs.last_mut() {
            Some(run) if run.end == block.place.start => run.end = block.place.end,
            _ => runs.push(block.place.clone()),
        }
    }
    let content = Content::of_blocks(table.storage().as_ref(), &path, sidecar.header, runs)?;
    check(&content.clone().into_bytes()?, table, kept)?;
    Ok(content)
}

/// Compares the blocks that were read with what the sidecar says of them.
fn check(bytes: &Buffer, table: &Table, kept: &[&SidecarBlock]) -> Result<()> {
    let (header, mut blocks) = Blocks::open(bytes.clone().into(), table.decoding().limits)?;
    let mut next = header.length;
    for block in kept {
        let found = blocks.next().transpose()?;
        let end = found.as_ref().and_then(|found| {
            let behind = (found.payload.len() as u64).checked_add(header.sync.len() as u64)?;
            found.offset.checked_add(behind)
        });
        let length = end.and_then(|end| end.checked_sub(next));
        let records = found.map(|found| found.count);
        if length != block.place.end.checked_sub(block.place.start) || records != Some(block.records) {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "the manifest has other blocks than its sidecar says",
            ));
        }
        next = end.unwrap_or(next);
    }
    Ok(())
}
