//! What commits change: files added, taken away, and put in the place of others.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int8Array, RecordBatch, StringArray};
use arrow_select::filter::filter_record_batch;

use super::base::{Base, names_of};
use super::compact::Rewritten;
use super::index::{Index, without_files, without_partitions};
use super::live::live_entries;
use super::options::CommitOptions;
use super::row_ids::with_columns;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::identity::identities;
use crate::paimon::manifest::DELETE;
use crate::paimon::paths::DataPaths;
use crate::paimon::table::Table;
use crate::paimon::write::files::entries;
use crate::paimon::write::options::is_on;
use crate::paimon::write::place::{PartialPartition, absolute, rooted};
use crate::paimon::write::stats::dropped;
use crate::record::find;

/// The columns that say which file an entry is of, and how many buckets its partition has.
const PLACED: [&str; 9] = [
    "kind",
    "partition",
    "bucket",
    "total_buckets",
    "file_name",
    "level",
    "extra_files",
    "embedded_file_index",
    "external_path",
];

/// What a snapshot changes.
pub(super) struct Changes {
    /// The entries of its delta.
    pub(super) entries: Vec<RecordBatch>,
    /// Its base, where that is not what was live before as it was listed.
    pub(super) rewritten: Option<Rewritten>,
    /// Its index files.
    pub(super) index: Index,
    /// The size of manifests, where it is not the table's.
    pub(super) target_bytes: Option<u64>,
}

/// Files that are added.
pub(super) struct Added {
    entries: RecordBatch,
    paths: Vec<String>,
}

impl Added {
    /// Takes what a caller gives.
    pub(super) fn new(table: &Table, files: &RecordBatch, options: &CommitOptions) -> Result<Added> {
        let schema = table.latest_schema()?;
        let entries = entries(files, table.location(), &schema, options.wall_clock())?;
        let paths = paths_of(table, &entries)?;
        let mut seen = HashSet::with_capacity(paths.len());
        match paths.iter().position(|path| !seen.insert(rooted(path))) {
            Some(row) => Err(refused_path(&paths[row], "is there twice", row)),
            None => Ok(Added { entries, paths }),
        }
    }

    /// The entries, none of whose files is live yet.
    pub(super) fn changes(&self, base: &Base) -> Result<Option<Changes>> {
        if self.entries.num_rows() == 0 {
            return Ok(None);
        }
        let names: HashSet<String> = names_of(&self.entries)?.into_iter().collect();
        let partitions = partitions_of(&self.entries)?;
        let bucketed = base.schema().bucket() > 0;
        let mut buried = Buried::new(self)?;
        let live = live_entries(base, Some(&partitions), Some(&PLACED), |entries| {
            buried.look_into(entries, &names)?;
            let (named, partition) = (find(entries, "file_name")?, find(entries, "partition")?);
            let rows = named.as_string::<i32>().iter().zip(partition.as_binary::<i32>());
            let wanted = rows.map(|(name, partition)| {
                let named = name.is_some_and(|name| names.contains(name));
                Some(named || (bucketed && partition.is_some_and(|partition| partitions.contains(partition))))
            });
            Ok(wanted.collect())
        })?;
        buried.check()?;
        self.check(base, &live, bucketed)?;
        Ok(Some(Changes {
            entries: vec![self.entries.clone()],
            rewritten: None,
            index: Index::AsBefore,
            target_bytes: None,
        }))
    }

    /// Refuses files that are live, and buckets that are counted otherwise than those of their partition.
    fn check(&self, base: &Base, live: &RecordBatch, bucketed: bool) -> Result<()> {
        let there = paths_of(&base.table, live)?;
        let there: HashSet<_> = there.iter().map(|path| rooted(path)).collect();
        if let Some(row) = self.paths.iter().position(|path| there.contains(&rooted(path))) {
            return Err(refused_path(&self.paths[row], "is in the table already", row));
        }
        if !bucketed {
            return Ok(());
        }
        let known: HashMap<Vec<u8>, i32> = totals_of(live)?.into_iter().collect();
        for (row, (partition, total)) in totals_of(&self.entries)?.into_iter().enumerate() {
            if let Some(known) = known.get(&partition).filter(|known| **known != total) {
                let message = format!("the partition has {known} buckets, not {total}");
                return Err(Error::new(ErrorKind::Argument, message).in_row(row).in_field("total_buckets"));
            }
        }
        Ok(())
    }
}

/// A file that is added though entries delete it: readers leave it out, wherever those stand.
struct Buried<'a> {
    added: &'a Added,
    rows: HashMap<Vec<u8>, usize>,
    found: Option<usize>,
}

impl<'a> Buried<'a> {
    fn new(added: &'a Added) -> Result<Buried<'a>> {
        let identities = identities(&added.entries)?;
        let rows = identities.iter().flatten().map(<[u8]>::to_vec).zip(0..).collect();
        Ok(Buried { added, rows, found: None })
    }

    /// Looks for files among entries of the table; `names` are those of the files that are added.
    fn look_into(&mut self, entries: &RecordBatch, names: &HashSet<String>) -> Result<()> {
        let (kinds, named) = (find(entries, "kind")?, find(entries, "file_name")?);
        let deleted = kinds.as_primitive::<Int8Type>().iter().zip(named.as_string::<i32>());
        let deleted: BooleanArray = deleted
            .map(|(kind, name)| Some(kind == Some(DELETE) && name.is_some_and(|name| names.contains(name))))
            .collect();
        if deleted.true_count() > 0 {
            let deleted = filter_record_batch(entries, &deleted)?;
            let row = identities(&deleted)?.iter().flatten().find_map(|file| self.rows.get(file).copied());
            self.found = self.found.or(row);
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let why =
            "was deleted from the table, whose manifests still say so: give another name, or compact them";
        self.found.map_or(Ok(()), |row| Err(refused_path(&self.added.paths[row], why, row)))
    }
}

fn totals_of(entries: &RecordBatch) -> Result<Vec<(Vec<u8>, i32)>> {
    let totals = find(entries, "total_buckets")?;
    let totals = totals.as_primitive::<Int32Type>().values();
    let partitions = find(entries, "partition")?;
    let partitions = partitions.as_binary::<i32>().iter().map(|row| row.unwrap_or_default().to_vec());
    Ok(partitions.zip(totals.iter().copied()).collect())
}

/// Files that are taken away.
pub(super) struct Removed {
    paths: Vec<String>,
    names: HashSet<String>,
}

impl Removed {
    /// Takes paths, absolute or relative to the table.
    pub(super) fn new(table: &Table, paths: &StringArray) -> Result<Removed> {
        if let Some(row) = (0..paths.len()).find(|row| paths.is_null(*row)) {
            let null = Error::new(ErrorKind::Required, "file_path is null");
            return Err(null.in_row(row).in_field("file_path"));
        }
        let paths: Vec<String> =
            paths.iter().flatten().map(|path| absolute(path, table.location())).collect();
        let mut seen = HashSet::with_capacity(paths.len());
        if let Some(row) = paths.iter().position(|path| !seen.insert(rooted(path))) {
            return Err(refused_path(&paths[row], "is there twice", row));
        }
        let names = paths.iter().map(|path| path.rsplit('/').next().unwrap_or_default().to_owned()).collect();
        Ok(Removed { paths, names })
    }

    /// The entries that delete the files, all of which are live.
    pub(super) fn changes(&self, base: &Base) -> Result<Option<Changes>> {
        if self.paths.is_empty() {
            return Ok(None);
        }
        if is_on(base.schema(), "data-evolution.enabled", false) {
            let message = "single files of a table with data evolution, which share rows, are not taken away";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let named = live_entries(base, None, None, |entries| {
            let names = find(entries, "file_name")?;
            Ok(names.as_string::<i32>().iter().map(|name| Some(self.names.contains(name?))).collect())
        })?;
        let there = paths_of(&base.table, &named)?;
        let live: HashSet<_> = there.iter().map(|path| rooted(path)).collect();
        if let Some(row) = self.paths.iter().position(|path| !live.contains(&rooted(path))) {
            return Err(refused_path(&self.paths[row], "is no live file's path", row));
        }
        let wanted: HashSet<_> = self.paths.iter().map(|path| rooted(path)).collect();
        let keep: BooleanArray = there.iter().map(|path| Some(wanted.contains(&rooted(path)))).collect();
        let removed = filter_record_batch(&named, &keep)?;
        let index = without_files(base, &removed)?;
        let entries = vec![deletions(&removed, base)?];
        Ok(Some(Changes { entries, rewritten: None, index, target_bytes: None }))
    }
}

/// Files that take the place of all in some partitions.
pub(super) struct Overwritten {
    added: Added,
    partition: PartialPartition,
}

impl Overwritten {
    /// # Errors
    /// `Argument` for a file of another partition, with its row.
    pub(super) fn new(added: Added, partition: PartialPartition) -> Result<Overwritten> {
        let inside = partition.holds(find(&added.entries, "partition")?.as_binary::<i32>())?;
        match inside.iter().position(|inside| inside != Some(true)) {
            Some(row) => {
                let message = "the file is of another partition than is overwritten";
                Err(Error::new(ErrorKind::Argument, message).in_row(row).in_field("partition"))
            }
            None => Ok(Overwritten { added, partition }),
        }
    }

    /// The entries that delete what is live in the partitions, and those that add the files.
    pub(super) fn changes(&self, base: &Base) -> Result<Option<Changes>> {
        let names: HashSet<String> = names_of(&self.added.entries)?.into_iter().collect();
        let inside = |entries: &RecordBatch| -> Result<BooleanArray> {
            self.partition.holds(find(entries, "partition")?.as_binary::<i32>())
        };
        let mut buried = Buried::new(&self.added)?;
        let found = live_entries(base, None, None, |entries| {
            buried.look_into(entries, &names)?;
            let named = find(entries, "file_name")?;
            let named =
                named.as_string::<i32>().iter().map(|name| name.is_some_and(|name| names.contains(name)));
            Ok(named
                .zip(&inside(entries)?)
                .map(|(named, inside)| Some(named || inside == Some(true)))
                .collect())
        })?;
        buried.check()?;
        self.added.check(base, &found, false)?;
        let removed = filter_record_batch(&found, &inside(&found)?)?;
        if removed.num_rows() + self.added.entries.num_rows() == 0 {
            return Ok(None);
        }
        let index = without_partitions(base, &partitions_of(&removed)?)?;
        let entries = vec![deletions(&removed, base)?, self.added.entries.clone()];
        Ok(Some(Changes { entries, rewritten: None, index, target_bytes: None }))
    }
}

/// The entries that delete live files: as they were added, since all of it may be their identity.
fn deletions(live: &RecordBatch, base: &Base) -> Result<RecordBatch> {
    let kinds: ArrayRef = Arc::new(Int8Array::from_value(DELETE, live.num_rows()));
    let mut changed = vec![("kind", kinds)];
    if is_on(base.schema(), "manifest.delete-file-drop-stats", false) {
        let (stats, names) = dropped(live.num_rows())?;
        changed.extend([("value_stats", stats), ("value_stats_cols", names)]);
    }
    with_columns(live, &changed)
}

fn partitions_of(entries: &RecordBatch) -> Result<HashSet<Vec<u8>>> {
    let partitions = find(entries, "partition")?;
    Ok(partitions.as_binary::<i32>().iter().flatten().map(<[u8]>::to_vec).collect())
}

fn paths_of(table: &Table, entries: &RecordBatch) -> Result<Vec<String>> {
    let external = find(entries, "external_path")?;
    let paths = DataPaths::new(table.location(), table.schema()).of(entries, external.as_string::<i32>())?;
    Ok(paths.iter().flatten().map(str::to_owned).collect())
}

#[cold]
fn refused_path(path: &str, why: &str, row: usize) -> Error {
    Error::new(ErrorKind::Argument, format!("{path:?} {why}")).in_row(row).in_field("file_path")
}
