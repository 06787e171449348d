//! Files that commits add.

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow_array::{
    BinaryArray, BooleanArray, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;

use super::options::CommitOptions;
use super::removed::{CallerPaths, paths_of};
use crate::error::{Error, ErrorKind, Result};
use crate::location::check_file;
use crate::paimon::identity::identities;
use crate::paimon::manifest::{DELETE, entry_columns};
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::paimon::write::files::{Origin, entries};
use crate::paimon::write::fit::fit;
use crate::record::{column, typed};

/// Files that are added, and those of changelogs.
pub(super) struct AddedFiles {
    pub(super) entries: RecordBatch,
    pub(super) changelog: Option<RecordBatch>,
    pub(super) paths: CallerPaths,
}

impl AddedFiles {
    /// No files.
    pub(super) fn none() -> Result<AddedFiles> {
        let entries = RecordBatch::new_empty(std::sync::Arc::clone(entry_columns(None)?.schema()));
        Ok(AddedFiles { entries, changelog: None, paths: CallerPaths::default() })
    }

    /// Checks and adds the files of a caller. Returns their entries.
    ///
    /// # Errors
    /// Those of [`entries`]; `Location` for a path that readers of the table would refuse.
    pub(super) fn extend(
        &mut self,
        table: &Table,
        files: &RecordBatch,
        options: &CommitOptions,
        origin: Origin,
    ) -> Result<RecordBatch> {
        let (entries, paths) = checked(table, files, options, origin)?;
        self.paths.extend(paths);
        self.entries = match self.entries.num_rows() {
            0 => entries.clone(),
            _ => concat_batches(&self.entries.schema(), [&self.entries, &entries])?,
        };
        Ok(entries)
    }

    /// Checks and adds the files of a changelog, which record what changed.
    ///
    /// # Errors
    /// As [`AddedFiles::extend`], with fields within `changelog`; `Argument` for a table without primary keys.
    pub(super) fn extend_changelog(
        &mut self,
        table: &Table,
        changelog: Option<&RecordBatch>,
        options: &CommitOptions,
    ) -> Result<()> {
        let Some(files) = changelog.filter(|files| files.num_rows() > 0) else { return Ok(()) };
        if table.schema().primary_keys.is_empty() {
            let message = "tables without primary keys have no changelog";
            return Err(Error::new(ErrorKind::Argument, message).in_field("changelog"));
        }
        let changelog = checked(table, files, options, Origin::Changelog);
        let (entries, _) = changelog.map_err(|error| error.within("changelog"))?;
        self.changelog = Some(match self.changelog.take() {
            Some(before) => concat_batches(&entries.schema(), [&before, &entries])?,
            None => entries,
        });
        Ok(())
    }

    /// Whether nothing is added.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.num_rows() == 0 && self.changelog.is_none()
    }

    /// Refuses files that are live.
    pub(super) fn check_new(&self, live: &[&str]) -> Result<()> {
        self.paths.first(live, true).map_or(Ok(()), |at| Err(self.refused(at, "is in the table already")))
    }

    /// Refuses another number of buckets than the partition has.
    pub(super) fn check_buckets(&self, live: &RecordBatch) -> Result<()> {
        let known = totals_of(live)?.into_iter().filter(|(_, total)| *total > 0);
        let known: HashMap<Vec<u8>, i32> = known.collect();
        for (at, (partition, total)) in totals_of(&self.entries)?.into_iter().enumerate() {
            if let Some(known) = known.get(&partition).filter(|known| total > 0 && **known != total) {
                let message = format!("the partition has {known} buckets, not {total}");
                return Err(self.paths.error(at, ErrorKind::Argument, message).in_field("total_buckets"));
            }
        }
        Ok(())
    }

    /// Refuses a file that replaces itself: readers would leave it out.
    pub(super) fn check_changed(&self, removed: &RecordBatch) -> Result<()> {
        let before = identities(removed)?;
        let before: HashSet<&[u8]> = before.iter().flatten().collect();
        let after = identities(&self.entries)?;
        match after.iter().position(|file| file.is_some_and(|file| before.contains(file))) {
            Some(at) => Err(self.refused(at, "is removed and added unchanged")),
            None => Ok(()),
        }
    }

    /// The error for the path of an added file.
    #[cold]
    pub(super) fn refused(&self, at: usize, why: &str) -> Error {
        self.paths.refused(at, ErrorKind::Argument, why)
    }
}

/// The entries and paths of a caller's files.
fn checked(
    table: &Table,
    files: &RecordBatch,
    options: &CommitOptions,
    origin: Origin,
) -> Result<(RecordBatch, Vec<String>)> {
    let entries = entries_of(table, files, options, origin)?;
    let paths = paths_of(table, &entries)?;
    for (row, path) in paths.iter().enumerate() {
        let checked = check_file(table.storage().as_ref(), path);
        checked.map_err(|error| error.in_row(row).in_field("file_path"))?;
    }
    Ok((entries, paths))
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
        entries(files, table.location(), schema, options.wall_clock()?, origin)
    };
    let Some(ids) = files.column_by_name("schema_id") else { return made(files, &latest) };
    let ids = fit(ids, &arrow_schema::DataType::Int64).map_err(|error| error.in_field("schema_id"))?;
    let mut by_schema: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (row, id) in typed::<Int64Array>(&ids, "schema_id")?.iter().enumerate() {
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
    added: &'a AddedFiles,
    rows: HashMap<Vec<u8>, usize>,
    found: Option<usize>,
}

impl<'a> DeletedBefore<'a> {
    pub(super) fn new(added: &'a AddedFiles) -> Result<DeletedBefore<'a>> {
        let identities = identities(&added.entries)?;
        let rows = identities.iter().flatten().map(<[u8]>::to_vec).zip(0..).collect();
        Ok(DeletedBefore { added, rows, found: None })
    }

    /// Looks for files among entries of the table; `names` are the names of the added files.
    pub(super) fn look_into(&mut self, entries: &RecordBatch, names: &HashSet<String>) -> Result<()> {
        let kinds = column::<Int8Array>(entries, "kind")?;
        let named = column::<StringArray>(entries, "file_name")?;
        let deleted = kinds.iter().zip(named);
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
        let why = "was deleted from the table, whose manifests still say so: give another name, or rewrite the manifests";
        self.found.map_or(Ok(()), |at| Err(self.added.refused(at, why)))
    }
}

fn totals_of(entries: &RecordBatch) -> Result<Vec<(Vec<u8>, i32)>> {
    let totals = column::<Int32Array>(entries, "total_buckets")?.values();
    let partitions = column::<BinaryArray>(entries, "partition")?;
    let partitions = partitions.iter().map(|row| row.unwrap_or_default().to_vec());
    Ok(partitions.zip(totals.iter().copied()).collect())
}
