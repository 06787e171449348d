//! Files that replace all files of some partitions.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use super::added::{Added, DeletedBefore};
use super::base::{Base, names_of};
use super::changes::{Changes, deletions, not, partitions_of};
use super::index::without_partitions;
use super::live::live_entries;
use super::ranges;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::paths::POSTPONE_BUCKET;
use crate::paimon::write::place::PartialPartition;
use crate::record::find;

/// The partitions whose files are all replaced.
pub(super) enum Replaced {
    /// Those with these values.
    With(PartialPartition),
    /// Those of the new files.
    OfFiles(HashSet<Vec<u8>>),
}

/// Files that replace all files of some partitions.
pub(super) struct Overwritten {
    added: Added,
    replaced: Replaced,
}

impl Overwritten {
    /// Files that replace those in `partition`; for `None`, those in each of the new files' partitions.
    ///
    /// # Errors
    /// `Argument` for a file of another partition, with its row.
    pub(super) fn new(added: Added, partition: Option<PartialPartition>) -> Result<Overwritten> {
        let Some(partition) = partition else {
            let replaced = Replaced::OfFiles(partitions_of(&added.entries)?);
            return Ok(Overwritten { added, replaced });
        };
        let inside = partition.holds(find(&added.entries, "partition")?.as_binary::<i32>())?;
        match inside.iter().position(|inside| inside != Some(true)) {
            Some(row) => {
                let message = "the file is in another partition than the overwritten one";
                Err(Error::new(ErrorKind::Argument, message).in_row(row).in_field("partition"))
            }
            None => Ok(Overwritten { added, replaced: Replaced::With(partition) }),
        }
    }

    /// Which entries are in the partitions.
    fn holds(&self, entries: &RecordBatch) -> Result<BooleanArray> {
        let partitions = find(entries, "partition")?;
        let partitions = partitions.as_binary::<i32>();
        match &self.replaced {
            Replaced::With(partition) => partition.holds(partitions),
            Replaced::OfFiles(known) => {
                Ok(partitions.iter().map(|partition| Some(known.contains(partition?))).collect())
            }
        }
    }

    /// Which entries of the partitions are removed. In tables with postponed buckets, files that are not
    /// assigned to a bucket yet are kept.
    fn is_removed(&self, base: &Base, entries: &RecordBatch) -> Result<BooleanArray> {
        let held = self.holds(entries)?;
        if base.schema().bucket() == POSTPONE_BUCKET {
            return Ok(held);
        }
        let buckets = find(entries, "bucket")?;
        let rows = held.iter().zip(buckets.as_primitive::<Int32Type>().values());
        Ok(rows.map(|(held, bucket)| Some(held == Some(true) && *bucket >= 0)).collect())
    }

    /// The entries that delete what is live in the partitions, and those that add the files.
    pub(super) fn changes(&self, base: &Base) -> Result<Option<Changes>> {
        let names: HashSet<String> = names_of(&self.added.entries)?.into_iter().collect();
        let mut deleted_before = DeletedBefore::new(&self.added)?;
        let partitions = match &self.replaced {
            Replaced::With(_) => None,
            Replaced::OfFiles(partitions) => Some(partitions),
        };
        let found = live_entries(base, partitions, None, |entries| {
            deleted_before.look_into(entries, &names)?;
            let named = find(entries, "file_name")?;
            let named =
                named.as_string::<i32>().iter().map(|name| name.is_some_and(|name| names.contains(name)));
            Ok(named
                .zip(&self.is_removed(base, entries)?)
                .map(|(named, is_removed)| Some(named || is_removed == Some(true)))
                .collect())
        })?;
        deleted_before.check()?;
        self.added.check(base, &found, false)?;
        let is_removed = self.is_removed(base, &found)?;
        let removed = filter_record_batch(&found, &is_removed)?;
        if ranges::is_leveled(base.schema(), &self.added.entries)? {
            ranges::check(base, &filter_record_batch(&found, &not(&is_removed))?, &self.added)?;
        }
        if removed.num_rows() + self.added.entries.num_rows() == 0 {
            return Ok(None);
        }
        let index = without_partitions(base, &partitions_of(&removed)?)?;
        let entries = vec![deletions(&removed, base)?, self.added.entries.clone()];
        Ok(Some(Changes { index, ..Changes::of(entries) }))
    }
}
