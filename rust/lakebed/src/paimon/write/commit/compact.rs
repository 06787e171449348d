//! Rewrites manifests (Paimon's `ManifestFileMerger.java`).

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{BooleanArray, Int64Array, RecordBatch, UInt32Array};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;

use super::base::{Base, check_latest};
use super::change::{ManifestCompaction, Mending};
use super::described::DescribedFiles;
use super::live::{each_identity, live_files, of_kind};
use super::manifest_writer::ManifestWriter;
use super::sorted::sorted;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::paimon::identity::{DeletedIdentities, identities};
use crate::paimon::manifest::DELETE;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::write::options::manifest_target;
use crate::record::{carried, column};
use crate::repair::damage;

/// The manifests of a base list, some of which are rewritten.
pub(super) struct RewrittenManifests<'c> {
    /// Those that are kept, by their place in the list.
    kept: Vec<usize>,
    /// The rewritten ones.
    rewritten: Vec<usize>,
    /// The files that any of them deletes.
    deleted: Arc<DeletedIdentities>,
    how: ManifestCompaction,
    mending: Option<&'c Mending>,
    /// What files say of themselves, in place of what their entries record.
    described: Option<DescribedFiles<'c>>,
    /// How many rows the table has less.
    pub(super) rows_lost: i64,
}

/// The files that any of these manifests deletes.
fn deleted<'m>(base: &Base, manifests: impl Iterator<Item = &'m ManifestFile>) -> Result<DeletedIdentities> {
    let mut deleted = DeletedIdentities::default();
    let manifests = manifests.filter(|manifest| manifest.deleted > 0).cloned().collect();
    for entries in each_identity(base, manifests, |entries| of_kind(&entries, DELETE))? {
        deleted.extend(&identities(&entries?)?);
    }
    Ok(deleted)
}

/// Whether no file of a manifest is deleted.
fn is_live(base: &Base, manifest: &ManifestFile, deleted: &DeletedIdentities) -> Result<bool> {
    for entries in each_identity(base, vec![manifest.clone()], Ok)? {
        let entries = entries?;
        if deleted.live(&entries)?.count_set_bits() < entries.num_rows() {
            return Ok(false);
        }
    }
    Ok(true)
}

impl<'c> RewrittenManifests<'c> {
    /// The manifests of `base` without deleted files; `None` where nothing would change.
    ///
    /// # Errors
    /// Those of reading; `Unsupported` for a table's target size that is none.
    pub(super) fn plan(base: &Base, how: &ManifestCompaction) -> Result<Option<RewrittenManifests<'c>>> {
        let target = how.target_bytes.map_or_else(|| manifest_target(base.schema()), Ok)?;
        let deleted = deleted(base, base.manifests()?.iter())?;
        let (mut kept, mut rewritten) = (Vec::new(), Vec::new());
        for (place, manifest) in base.manifests()?.iter().enumerate() {
            let large = manifest.deleted == 0 && manifest.file_size >= target;
            let stays = !how.sort && large && (deleted.is_empty() || is_live(base, manifest, &deleted)?);
            if stays { &mut kept } else { &mut rewritten }.push(place);
        }
        // A single small manifest without deleted files would be written again unchanged.
        let same = rewritten.is_empty() || (!how.sort && deleted.is_empty() && rewritten.len() == 1);
        Ok((!same).then_some(RewrittenManifests {
            kept,
            rewritten,
            deleted: Arc::new(deleted),
            how: *how,
            mending: None,
            described: None,
            rows_lost: 0,
        }))
    }

    /// The manifests of `base`, which must be at the snapshot `id`, without those that are gone or damaged, with each
    /// live file once, or with what files say of themselves.
    ///
    /// # Errors
    /// `Conflict` for another snapshot, and where the table loses another number of rows; those of reading.
    pub(super) fn mended(
        base: &Base,
        mending: &'c Mending,
        id: Option<i64>,
    ) -> Result<RewrittenManifests<'c>> {
        let (Some(own), Some(latest)) = (id, base.snapshot()) else {
            return Err(Error::new(ErrorKind::SnapshotNotFound, "the table has no snapshot"));
        };
        check_latest(&base.table, own, latest.id)?;
        let (mut rewritten, mut manifests) = (Vec::new(), Vec::new());
        for (place, manifest) in base.manifests()?.iter().enumerate() {
            let read = || base.whole_entries(manifest)?.try_for_each(|entries| entries.map(drop));
            if !mending.leaves_out || damage(base.table.storage().as_ref(), read())?.is_ok() {
                rewritten.push(place);
                manifests.push(manifest.clone());
            }
        }
        let how = ManifestCompaction::default();
        let deleted = Arc::new(deleted(base, manifests.iter())?);
        let described = mending.described.as_ref().map(DescribedFiles::new).transpose()?;
        let mut mended = RewrittenManifests {
            kept: Vec::new(),
            rewritten,
            deleted,
            how,
            mending: Some(mending),
            described,
            rows_lost: 0,
        };
        let (mut listed, mut once, mut seen) = (0_i64, 0_i64, SeenFiles::default());
        let mut recorded = 0_i64;
        for entries in live_files(&base.table, manifests, &mended.deleted) {
            let entries = entries?;
            listed = plus_rows(listed, &entries)?;
            let first = seen.first(&entries)?;
            once = plus_rows(once, &first)?;
            let kept = if mending.lists_once { &first } else { &entries };
            recorded = plus_rows(recorded, &mended.recorded(base, kept)?)?;
        }
        let total = latest.total_record_count;
        let is_less = mending.leaves_out || mending.relists;
        let left_out = if is_less { total.and_then(|total| total.checked_sub(listed)) } else { Some(0) };
        let twice = if mending.lists_once { listed.checked_sub(once) } else { Some(0) };
        let lost = left_out.zip(twice).and_then(|(left_out, twice)| left_out.checked_add(twice));
        if lost != Some(mending.rows_lost) {
            let lost = lost.map_or_else(|| "an unknown number of".to_owned(), |lost| lost.to_string());
            let message = format!("the table would lose {lost} rows, not {}", mending.rows_lost);
            return Err(Error::new(ErrorKind::Conflict, message).in_file(base.table.location()));
        }
        let kept = if mending.lists_once { once } else { listed };
        let fewer = kept.checked_sub(recorded).and_then(|fewer| fewer.checked_add(mending.rows_lost));
        mended.rows_lost = fitting(fewer, "the number of rows of the live files")?;
        Ok(mended)
    }

    /// Entries that add live files, with what those say of themselves.
    fn recorded(&self, base: &Base, entries: &RecordBatch) -> Result<RecordBatch> {
        self.described.as_ref().map_or_else(|| Ok(entries.clone()), |files| files.recorded(base, entries))
    }

    /// Writes the new manifests. Returns the records of the base list, with the kept manifests first.
    pub(super) fn write(self, base: &Base, writer: &mut ManifestWriter<'_>) -> Result<RecordBatch> {
        let kept =
            UInt32Array::from_iter_values(self.kept.iter().filter_map(|place| u32::try_from(*place).ok()));
        let (list, manifests) = (base.list()?, base.manifests()?);
        let kept = take_record_batch(list, &kept)?;
        if self.how.sort {
            // All manifests are rewritten then.
            let mut sorted = sorted(&base.table, list, manifests, &self.deleted, self.how.memory_bytes);
            return carried::joined(&[kept, writer.manifests(&mut sorted)?]);
        }
        let manifests = self.rewritten.iter().filter_map(|place| manifests.get(*place));
        let lists_once = self.mending.is_some_and(|mending| mending.lists_once);
        let mut seen = SeenFiles::default();
        let mut live = live_files(&base.table, manifests.cloned().collect(), &self.deleted)
            .map(|entries| if lists_once { seen.first(&entries?) } else { entries })
            .map(|entries| self.recorded(base, &entries?));
        carried::joined(&[kept, writer.manifests(&mut live)?])
    }
}

/// Files that were met, by identity.
#[derive(Default)]
struct SeenFiles(HashSet<Box<[u8]>>);

impl SeenFiles {
    /// Those of some entries whose file was not met before.
    fn first(&mut self, entries: &RecordBatch) -> Result<RecordBatch> {
        let identities = identities(entries)?;
        let first = identities.iter().map(|identity| identity.map(|bytes| self.0.insert(bytes.into())));
        filter_record_batch(entries, &first.collect::<BooleanArray>()).map_err(Into::into)
    }
}

/// A number of rows and that of the files of some entries.
fn plus_rows(sum: i64, entries: &RecordBatch) -> Result<i64> {
    let rows = column::<Int64Array>(entries, "row_count")?.values().iter();
    let sum = rows.copied().try_fold(sum, i64::checked_add);
    fitting(sum, "the number of rows of the live files")
}
