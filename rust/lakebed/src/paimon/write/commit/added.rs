//! Files that commits add.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, Int64Type};
use arrow_array::{BooleanArray, RecordBatch, UInt64Array};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;

use super::base::{Base, names_of};
use super::changes::{Changes, PLACED, partitions_of, paths_of, refused_path};
use super::live::live_entries_of;
use super::options::CommitOptions;
use super::prune::may_hold;
use super::ranges::{self, KEYS};
use crate::error::{Error, ErrorKind, Result};
use crate::location::check_file;
use crate::paimon::identity::identities;
use crate::paimon::manifest::DELETE;
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::paimon::write::files::{Origin, entries};
use crate::paimon::write::fit::fit;
use crate::paimon::write::place::rooted;
use crate::record::find;

/// Files that are added, and those of a changelog.
pub(super) struct Added {
    pub(super) entries: RecordBatch,
    pub(super) paths: Vec<String>,
    pub(super) changelog: Option<RecordBatch>,
    /// Manifests in which an earlier attempt found none of the files.
    clear: RefCell<HashSet<String>>,
}

impl Added {
    /// Checks and takes the files of a caller.
    ///
    /// # Errors
    /// Those of [`entries`]; `Location` for a path that readers of the table would refuse.
    pub(super) fn new(
        table: &Table,
        files: &RecordBatch,
        options: &CommitOptions,
        origin: Origin,
    ) -> Result<Added> {
        let entries = entries_of(table, files, options, origin)?;
        let paths = paths_of(table, &entries)?;
        for (row, path) in paths.iter().enumerate() {
            let checked = check_file(table.storage().as_ref(), path);
            checked.map_err(|error| error.in_row(row).in_field("file_path"))?;
        }
        let mut seen = HashSet::with_capacity(paths.len());
        match paths.iter().position(|path| !seen.insert(rooted(path))) {
            Some(row) => Err(refused_path(&paths[row], "appears twice", row)),
            None => Ok(Added { entries, paths, changelog: None, clear: RefCell::default() }),
        }
    }

    /// The same with the files of a changelog, which record what changed.
    ///
    /// # Errors
    /// As [`Added::new`], with fields within `changelog`; `Argument` for a table without primary keys.
    pub(super) fn with_changelog(
        mut self,
        table: &Table,
        changelog: Option<&RecordBatch>,
        options: &CommitOptions,
    ) -> Result<Added> {
        let Some(files) = changelog.filter(|files| files.num_rows() > 0) else { return Ok(self) };
        if table.schema().primary_keys.is_empty() {
            let message = "tables without primary keys have no changelog";
            return Err(Error::new(ErrorKind::Argument, message).in_field("changelog"));
        }
        let changelog = Added::new(table, files, options, Origin::Changelog);
        self.changelog = Some(changelog.map_err(|error| error.within("changelog"))?.entries);
        Ok(self)
    }

    /// Whether nothing is added.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.num_rows() == 0 && self.changelog.is_none()
    }

    /// The entries that add the files. With `check`, all files are compared with the table's; where files
    /// have levels, keys are always compared.
    pub(super) fn changes(&self, base: &Base, check: bool) -> Result<Option<Changes>> {
        if self.is_empty() {
            return Ok(None);
        }
        if check || ranges::is_leveled(base.schema(), &self.entries)? {
            self.check_all(base)?;
        }
        Ok(Some(Changes { changelog: self.changelog.clone(), ..Changes::of(vec![self.entries.clone()]) }))
    }

    /// Refuses files that are live or were deleted, another number of buckets than the partition has, and
    /// overlapping keys on a level.
    fn check_all(&self, base: &Base) -> Result<()> {
        let names: HashSet<String> = names_of(&self.entries)?.into_iter().collect();
        let partitions = partitions_of(&self.entries)?;
        let leveled = ranges::is_leveled(base.schema(), &self.entries)?;
        let by_partition = base.schema().bucket() > 0 || leveled;
        let mut deleted_before = DeletedBefore::new(self)?;
        let columns: Vec<&str> =
            PLACED.into_iter().chain(if leveled { &KEYS[..] } else { &[] }.iter().copied()).collect();
        let mut read = may_hold(base, &partitions)?;
        for (manifest, read) in base.manifests()?.iter().zip(&mut read) {
            *read &= by_partition || !self.clear.borrow().contains(&manifest.file_name);
        }
        let live = live_entries_of(base, &read, Some(&columns), |entries| {
            deleted_before.look_into(entries, &names)?;
            let (named, partition) = (find(entries, "file_name")?, find(entries, "partition")?);
            let rows = named.as_string::<i32>().iter().zip(partition.as_binary::<i32>());
            let wanted = rows.map(|(name, partition)| {
                let named = name.is_some_and(|name| names.contains(name));
                let there = partition.is_some_and(|partition| partitions.contains(partition));
                Some(named || (by_partition && there))
            });
            Ok(wanted.collect())
        })?;
        deleted_before.check()?;
        self.check(base, &live, base.schema().bucket() > 0)?;
        if leveled {
            ranges::check(base, &live, self)?;
        }
        // Another attempt after a lost race does not read these again.
        self.clear.borrow_mut().extend(base.manifests()?.iter().map(|manifest| manifest.file_name.clone()));
        Ok(())
    }

    /// Refuses files that are live, and another number of buckets than the partition has.
    pub(super) fn check(&self, base: &Base, live: &RecordBatch, bucketed: bool) -> Result<()> {
        let there = paths_of(&base.table, live)?;
        let there: HashSet<_> = there.iter().map(|path| rooted(path)).collect();
        if let Some(row) = self.paths.iter().position(|path| there.contains(&rooted(path))) {
            return Err(refused_path(&self.paths[row], "is in the table already", row));
        }
        if !bucketed {
            return Ok(());
        }
        let known = totals_of(live)?.into_iter().filter(|(_, total)| *total > 0);
        let known: HashMap<Vec<u8>, i32> = known.collect();
        for (row, (partition, total)) in totals_of(&self.entries)?.into_iter().enumerate() {
            if let Some(known) = known.get(&partition).filter(|known| total > 0 && **known != total) {
                let message = format!("the partition has {known} buckets, not {total}");
                return Err(Error::new(ErrorKind::Argument, message).in_row(row).in_field("total_buckets"));
            }
        }
        Ok(())
    }
}

/// The entries of files, each by the schema that it was written with, by default the latest.
fn entries_of(
    table: &Table,
    files: &RecordBatch,
    options: &CommitOptions,
    origin: Origin,
) -> Result<RecordBatch> {
    let latest = table.latest_schema()?;
    let made = |files: &RecordBatch, schema: &TableSchema| {
        entries(files, table.location(), schema, options.wall_clock(), origin)
    };
    let Some(ids) = files.column_by_name("schema_id") else { return made(files, &latest) };
    let ids = fit(ids, &arrow_schema::DataType::Int64).map_err(|error| error.in_field("schema_id"))?;
    let mut by_schema: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (row, id) in ids.as_primitive::<Int64Type>().iter().enumerate() {
        by_schema.entry(id.unwrap_or(latest.id)).or_default().push(row);
    }
    if by_schema.keys().all(|id| *id == latest.id) {
        return made(files, &latest);
    }
    let schemas = table.schemas()?;
    let (mut all, mut order) = (Vec::new(), Vec::new());
    for (id, rows) in by_schema {
        let first = rows.first().copied().unwrap_or_default();
        let schema = schemas.get(&id).ok_or_else(|| {
            let message = format!("the table has no schema {id}; its latest is {}", latest.id);
            Error::new(ErrorKind::Argument, message).in_row(first).in_field("schema_id")
        })?;
        let taken = UInt64Array::from_iter_values(rows.iter().map(|row| *row as u64));
        let one = made(&take_record_batch(files, &taken)?, schema).map_err(|error| error.at_rows(&rows))?;
        all.push(one);
        order.extend(rows);
    }
    // Back to the order of the caller.
    let mut places: Vec<u64> = (0..order.len() as u64).collect();
    places.sort_by_key(|place| usize::try_from(*place).ok().and_then(|place| order.get(place)));
    let schema = all.first().map(RecordBatch::schema).unwrap_or_else(|| files.schema());
    Ok(take_record_batch(&concat_batches(&schema, &all)?, &UInt64Array::from(places))?)
}

/// Finds added files that entries of the table delete: readers would leave them out, whatever the order of
/// entries.
pub(super) struct DeletedBefore<'a> {
    added: &'a Added,
    rows: HashMap<Vec<u8>, usize>,
    found: Option<usize>,
}

impl<'a> DeletedBefore<'a> {
    pub(super) fn new(added: &'a Added) -> Result<DeletedBefore<'a>> {
        let identities = identities(&added.entries)?;
        let rows = identities.iter().flatten().map(<[u8]>::to_vec).zip(0..).collect();
        Ok(DeletedBefore { added, rows, found: None })
    }

    /// Looks for files among entries of the table; `names` are the names of the added files.
    pub(super) fn look_into(&mut self, entries: &RecordBatch, names: &HashSet<String>) -> Result<()> {
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

    pub(super) fn check(&self) -> Result<()> {
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
