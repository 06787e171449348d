//! Files that replace others with the same rows: the result of a compaction.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

use super::added::{Added, DeletedBefore};
use super::base::{Base, names_of};
use super::changes::{Changes, Removed, deletions, not, partitions_of, refuse_evolution, refused_path};
use super::index::{Index, without_files};
use super::live::live_entries;
use super::ranges;
use super::vectors::Vectors;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::identity::identities;
use crate::record::find;

/// The changes of a compaction.
pub(super) struct Compacted {
    pub(super) removed: Removed,
    pub(super) added: Added,
    pub(super) vectors: Option<Vectors>,
}

impl Compacted {
    /// The entries that delete the replaced files, all of which must be live, and add the new ones.
    ///
    /// # Errors
    /// `Conflict` for a replaced file that is no longer live, and for keys and vectors that another commit
    /// has changed.
    pub(super) fn changes(&self, base: &Base) -> Result<Option<Changes>> {
        if self.removed.paths.is_empty() && self.added.is_empty() && self.vectors.is_none() {
            return Ok(None);
        }
        refuse_evolution(base)?;
        let (live, removed) = self.live(base)?;
        let goes = self.removed.among(&base.table, &removed)?;
        let goes = goes.map_err(|row| no_longer(&self.removed.paths[row], row))?;
        let stays = filter_record_batch(&live, &self.stays(base, &live)?)?;
        let removed = filter_record_batch(&removed, &goes)?;
        self.refuse_same(&removed)?;
        self.added.check(base, &stays, base.schema().bucket() > 0)?;
        if ranges::is_leveled(base.schema(), &self.added.entries)? {
            ranges::check(base, &stays, &self.added)?;
        }
        let mut index = without_files(base, &removed)?;
        if let Some(vectors) = &self.vectors {
            index = vectors.put(base, index, &removed, &self.added.entries)?;
        }
        let entries = vec![deletions(&removed, base)?, self.added.entries.clone()];
        let changelog = self.added.changelog.clone();
        Ok(Some(Changes { index: Index::of(index), changelog, ..Changes::of(entries) }))
    }

    /// The live files of the new files' partitions, and of the names of new and replaced files, in two forms
    /// of the same entries.
    fn live(&self, base: &Base) -> Result<(RecordBatch, RecordBatch)> {
        let names: HashSet<String> = names_of(&self.added.entries)?.into_iter().collect();
        let partitions = partitions_of(&self.added.entries)?;
        let mut deleted_before = DeletedBefore::new(&self.added)?;
        let live = live_entries(base, None, None, |entries| {
            deleted_before.look_into(entries, &names)?;
            let (named, partition) = (find(entries, "file_name")?, find(entries, "partition")?);
            let rows = named.as_string::<i32>().iter().zip(partition.as_binary::<i32>());
            let wanted = rows.map(|(name, partition)| {
                let named =
                    name.is_some_and(|name| names.contains(name) || self.removed.names.contains(name));
                Some(named || partition.is_some_and(|partition| partitions.contains(partition)))
            });
            Ok(wanted.collect())
        })?;
        deleted_before.check()?;
        let names = find(&live, "file_name")?;
        let named = names.as_string::<i32>().iter();
        let named: BooleanArray = named.map(|name| Some(self.removed.names.contains(name?))).collect();
        let removed = filter_record_batch(&live, &named)?;
        Ok((live, removed))
    }

    /// Which of these live files are not removed.
    fn stays(&self, base: &Base, live: &RecordBatch) -> Result<BooleanArray> {
        match self.removed.among(&base.table, live)? {
            Ok(goes) => Ok(not(&goes)),
            Err(row) => Err(no_longer(&self.removed.paths[row], row)),
        }
    }

    /// Refuses a file that replaces itself: readers would leave it out.
    fn refuse_same(&self, removed: &RecordBatch) -> Result<()> {
        let before = identities(removed)?;
        let before: HashSet<&[u8]> = before.iter().flatten().collect();
        let after = identities(&self.added.entries)?;
        match after.iter().position(|file| file.is_some_and(|file| before.contains(file))) {
            Some(row) => Err(refused_path(&self.added.paths[row], "is removed and added unchanged", row)),
            None => Ok(()),
        }
    }
}

#[cold]
fn no_longer(path: &str, row: usize) -> Error {
    let message =
        format!("{path:?} is not the path of a live file: another commit has removed it, or none added it");
    Error::new(ErrorKind::Conflict, message).in_row(row).in_field("file_path")
}
