//! Merges small manifests (Iceberg's `ManifestMergeManager.java`).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use arrow_array::{Int32Array, UInt32Array};
use arrow_buffer::Buffer;
use arrow_select::take::take_record_batch;

use super::base::Base;
use super::entries::{CommitEntries, rows_where, with_status};
use super::head::{HeadList, ListContent};
use super::select::ManifestSelection;
use super::store::{EncodedManifest, encode_manifest, joined};
use super::summary::Summary;
use super::uncommitted::{LIST_CODEC, UncommittedFiles};
use crate::error::{Result, fitting};
use crate::iceberg::manifest::{EXISTING, Statuses};
use crate::iceberg::manifest_list::{DATA, DELETES, ManifestFile, manifest_rows};
use crate::iceberg::write::{FormatVersion, ManifestContent, is_list_of};
use crate::record::carried;

/// What does not fit where too many manifests are replaced.
const REPLACED: &str = "the number of replaced manifests";

/// A manifest of the new snapshot.
pub(super) enum SnapshotManifest {
    /// A manifest that the commit writes.
    New(Box<EncodedManifest>),
    /// A kept manifest, with its row in the list before.
    Kept(usize),
}

impl SnapshotManifest {
    pub(super) fn new(encoded: EncodedManifest) -> SnapshotManifest {
        SnapshotManifest::New(Box::new(encoded))
    }

    fn file<'l>(&'l self, selected: &'l ManifestSelection) -> Option<&'l ManifestFile> {
        match self {
            SnapshotManifest::New(encoded) => Some(&encoded.file),
            SnapshotManifest::Kept(row) => selected.manifests.get(*row),
        }
    }
}

/// Merges manifests by the table's properties: neighbours of the same content and spec are put together up to
/// the target size, starting at the end, so that the newest manifest stays small and can grow.
pub(super) fn merge(
    base: &Base,
    uncommitted: &UncommittedFiles,
    selected: &ManifestSelection,
    all: Vec<SnapshotManifest>,
) -> Result<Vec<SnapshotManifest>> {
    let rules = base.merging();
    if !rules.enabled {
        return Ok(all);
    }
    let key = |one: &SnapshotManifest| {
        one.file(selected).map_or((DATA, Reverse(0)), |file| (file.content, Reverse(file.spec_id)))
    };
    let mut groups: BTreeMap<(i32, Reverse<i32>), Vec<SnapshotManifest>> = BTreeMap::new();
    let mut firsts: BTreeMap<i32, Reverse<i32>> = BTreeMap::new();
    for one in all {
        let (content, spec) = key(&one);
        firsts.entry(content).or_insert(spec);
        groups.entry((content, spec)).or_default().push(one);
    }
    let mut merged = Vec::new();
    for ((content, spec), group) in groups {
        let has_first = firsts.get(&content) == Some(&spec);
        for (place, bin) in bins(group, rules.target_bytes, selected).into_iter().enumerate() {
            // The bin with the newest manifest is only merged once it has enough manifests; other bins are
            // merged.
            let waits = place == 0 && has_first && (bin.len() as u64) < rules.least;
            if bin.len() == 1 || waits {
                merged.extend(bin);
            } else {
                merged.push(SnapshotManifest::new(together(base, uncommitted, selected, bin)?));
            }
        }
    }
    Ok(merged)
}

/// Neighbours whose total size is at most the target size, packed from the end, in their order.
fn bins(
    group: Vec<SnapshotManifest>,
    target_bytes: u64,
    selected: &ManifestSelection,
) -> Vec<Vec<SnapshotManifest>> {
    let (mut bins, mut bytes) = (Vec::<Vec<SnapshotManifest>>::new(), 0_u64);
    for one in group.into_iter().rev() {
        let length = one.file(selected).and_then(|file| file.length).unwrap_or(target_bytes);
        match bins.last_mut().filter(|_| bytes.saturating_add(length) <= target_bytes) {
            Some(bin) => {
                bin.push(one);
                bytes = bytes.saturating_add(length);
            }
            None => {
                bins.push(vec![one]);
                bytes = length;
            }
        }
    }
    bins.iter_mut().for_each(|bin| bin.reverse());
    bins.reverse();
    bins
}

/// Merges several manifests into one: entries that the commit adds or deletes keep their status, other live
/// ones become EXISTING.
fn together(
    base: &Base,
    uncommitted: &UncommittedFiles,
    selected: &ManifestSelection,
    bin: Vec<SnapshotManifest>,
) -> Result<EncodedManifest> {
    let entries = CommitEntries::all(base)?;
    let (mut batches, mut of) = (Vec::with_capacity(bin.len()), (DATA, 0));
    let mut replaced = 0_usize;
    for one in &bin {
        of = one.file(selected).map_or(of, |file| (file.content, file.spec_id));
        match one {
            SnapshotManifest::New(encoded) => {
                replaced = fitting(replaced.checked_add(encoded.replaces), REPLACED)?;
                batches.push(entries.decode(
                    &encoded.file,
                    Buffer::from(encoded.bytes.as_slice()),
                    Statuses::ALL,
                )?);
            }
            SnapshotManifest::Kept(row) => {
                let Some(manifest) = selected.manifests.get(*row) else { continue };
                let live = entries.live(manifest)?;
                replaced = fitting(replaced.checked_add(1), REPLACED)?;
                batches.push(with_status(&live, &Int32Array::from_value(EXISTING, live.num_rows()), 0)?);
            }
        }
    }
    let (content, spec_id) = of;
    let content = if content == DATA { ManifestContent::Data } else { ManifestContent::Deletes };
    let written =
        encode_manifest(base, uncommitted, base.spec(spec_id)?, content, &carried::joined(&batches)?)?;
    Ok(EncodedManifest { replaces: replaced, ..written })
}

/// Writes the new manifests. Returns the list of all manifests, data before deletes.
pub(super) fn stored(
    base: &Base,
    uncommitted: &mut UncommittedFiles,
    selected: &ManifestSelection,
    all: Vec<SnapshotManifest>,
    summary: &mut Summary,
) -> Result<ListContent> {
    let (mut new, mut order) = (Vec::new(), Vec::new());
    let mut kept = vec![false; selected.manifests.len()];
    let mut replaced = 0_usize;
    for one in all {
        let content = one.file(selected).map_or(DATA, |file| file.content);
        match one {
            SnapshotManifest::New(encoded) => {
                replaced = fitting(replaced.checked_add(encoded.replaces), REPLACED)?;
                order.push((content, false, new.len()));
                new.push(encoded.store(base, uncommitted)?);
            }
            SnapshotManifest::Kept(row) => {
                order.push((content, true, row));
                kept.iter_mut().skip(row).take(1).for_each(|kept| *kept = true);
            }
        }
    }
    let stay = kept.iter().filter(|kept| **kept).count();
    summary.manifests = [new.len(), stay, replaced];
    order.sort_by_key(|(content, ..)| *content);
    if let Some(list) = list_after(base, selected, &order) {
        let new: Vec<ManifestFile> = order
            .into_iter()
            .filter(|(_, is_kept, _)| !is_kept)
            .filter_map(|(_, _, row)| new.get(row).cloned())
            .collect();
        return Ok(ListContent::InFront(manifest_rows(&new)?, list));
    }
    let rows = rows_where(&selected.list.rows()?, &kept.iter().copied().map(Some).collect())?;
    // The kept rows of the list before are behind the new ones.
    let mut next = new.len()..;
    let places: Vec<Option<usize>> = kept.iter().map(|kept| kept.then(|| next.next()).flatten()).collect();
    let place = |(_, is_kept, row): (i32, bool, usize)| {
        let place = if is_kept { places.get(row).copied().flatten() } else { Some(row) };
        fitting(place.and_then(|place| u32::try_from(place).ok()), "the number of manifests")
    };
    let order: Vec<u32> = order.into_iter().map(place).collect::<Result<_>>()?;
    Ok(ListContent::Rows(take_record_batch(&joined(&new, &rows)?, &UInt32Array::from(order))?))
}

/// The list before, if it is kept as a whole, in its order, after the new manifests; else `None`.
fn list_after(base: &Base, selected: &ManifestSelection, order: &[(i32, bool, usize)]) -> Option<Buffer> {
    let HeadList::File { bytes, decoding, .. } = &selected.list else { return None };
    let first = order.iter().position(|(_, is_kept, _)| *is_kept).unwrap_or(order.len());
    let kept = order.get(first..).unwrap_or_default();
    let all_stay = kept.len() == selected.manifests.len()
        && kept.iter().enumerate().all(|(place, (_, is_kept, row))| *is_kept && *row == place);
    // Rows whose manifest has no row id yet must be changed.
    let has_ids = |file: &ManifestFile| file.content == DELETES || file.first_row_id.is_some();
    let same = all_stay
        && (base.version != FormatVersion::V3 || selected.manifests.iter().all(has_ids))
        && is_list_of(bytes, base.version, LIST_CODEC, decoding.limits);
    same.then(|| bytes.clone())
}
