//! Added index files of deletion vectors, which may replace others (Paimon's `IndexManifestFileHandler.java`,
//! `ConflictDetection.java`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int8Array, Int32Array, ListArray, RecordBatch, StringArray,
    new_null_array,
};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;

use super::base::Base;
use super::index::{File, IndexEntries, files_of, names_of};
use super::live::live_entries;
use crate::error::{Error, ErrorKind, Result};
use crate::location::check_file;
use crate::paimon::fields::{INDEX, RANGES};
use crate::paimon::index_files::{DELETION_VECTORS, IndexFiles};
use crate::paimon::manifest::ADD;
use crate::paimon::partition::PartitionType;
use crate::paimon::paths::is_file_name;
use crate::paimon::table::Table;
use crate::paimon::write::files::InputFiles;
use crate::paimon::write::place::partitions;
use crate::record::{carried, column, record_schema, typed};

/// Columns that callers must give.
const NAME: &str = "file_name";
const TYPE: &str = "index_type";

/// Added and removed index files.
pub(super) struct Vectors {
    added: RecordBatch,
    /// The data files that the new ones have vectors of, with the row of each.
    of: Vec<(File, usize)>,
    /// Names of the removed index files.
    removed: HashSet<String>,
}

impl Vectors {
    /// Checks and takes the index files of a caller, after those of `before`.
    pub(super) fn new(
        table: &Table,
        files: &RecordBatch,
        removed: &StringArray,
        before: Option<Vectors>,
    ) -> Result<Vectors> {
        let mut added = records(table, files)?;
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let mut removed: HashSet<String> = removed.iter().flatten().map(last).collect();
        if let Some(before) = before {
            added = concat_batches(&added.schema(), [&before.added, &added])?;
            removed.extend(before.removed);
        }
        let of = vectors_of(&added)?;
        let mut seen = HashSet::new();
        match of.iter().find(|(file, _)| !seen.insert(file)) {
            Some(((.., name), row)) => Err(wrong(&format!("{name:?} has two vectors"), RANGES, *row)),
            None => Ok(Vectors { added, of, removed }),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.added.num_rows() == 0 && self.removed.is_empty()
    }

    /// Puts the new files into `index`, which has no vectors of removed data files any more, and removes the
    /// replaced ones.
    ///
    /// # Errors
    /// `Argument` for a vector of a file that is not live and for one that would be lost; `Conflict` for a
    /// removed index file that no longer exists, and for a data file that has another vector.
    pub(super) fn put(
        &self,
        base: &Base,
        index: IndexEntries,
        removed: &RecordBatch,
        added: &RecordBatch,
    ) -> Result<IndexEntries> {
        self.check_there(base)?;
        self.check_live(base, removed, added)?;
        let names = column::<StringArray>(&index.records, NAME)?;
        let stays: BooleanArray = names.iter().map(|name| Some(!self.removed.contains(name?))).collect();
        let kept = filter_record_batch(&index.records, &stays)?;
        let goes: BooleanArray = stays.iter().map(|stays| Some(stays != Some(true))).collect();
        self.check_lost(&filter_record_batch(&index.records, &goes)?)?;
        self.check_kept(base, &kept)?;
        Ok(IndexEntries { records: carried::joined(&[kept, self.added.clone()])?, changed: true })
    }

    /// Checks that every removed index file is in the latest snapshot and has vectors.
    fn check_there(&self, base: &Base) -> Result<()> {
        let entries = IndexFiles::read_carrying(&base.table)?;
        let (names, types) = (column::<StringArray>(&entries, NAME)?, column::<StringArray>(&entries, TYPE)?);
        let there = names.iter().zip(types);
        let there: HashSet<_> =
            there.filter(|(_, ty)| *ty == Some(DELETION_VECTORS)).filter_map(|(name, _)| name).collect();
        match self.removed.iter().find(|name| !there.contains(name.as_str())) {
            Some(name) => {
                let message = format!(
                    "{name:?} is not an index file of vectors: another commit has replaced it, or none \
                    added it"
                );
                Err(Error::new(ErrorKind::Conflict, message).in_field("removed"))
            }
            None => Ok(()),
        }
    }

    /// Checks that every file with a new vector is live after the commit.
    fn check_live(&self, base: &Base, removed: &RecordBatch, added: &RecordBatch) -> Result<()> {
        let files = self.of.iter().map(|(file, _)| file);
        let mut live = live_among(base, files, removed)?;
        live.extend(files_of(added)?);
        match self.of.iter().find(|(file, _)| !live.contains(file)) {
            Some(((.., name), row)) => {
                Err(wrong(&format!("{name:?} gets a vector and is not a live file"), RANGES, *row))
            }
            None => Ok(()),
        }
    }

    /// Checks that deleted rows stay deleted.
    fn check_lost(&self, replaced: &RecordBatch) -> Result<()> {
        let again: HashSet<&File> = self.of.iter().map(|(file, _)| file).collect();
        match vectors_of(replaced)?.into_iter().find(|(file, _)| !again.contains(file)) {
            Some(((.., name), _)) => {
                let message =
                    format!("deleted rows of {name:?} would come back: no new index file has its vector");
                Err(Error::new(ErrorKind::Argument, message).in_field(RANGES))
            }
            None => Ok(()),
        }
    }

    /// Checks that no file gets a second vector, no index file a second entry, and no bucket a second index
    /// file.
    fn check_kept(&self, base: &Base, kept: &RecordBatch) -> Result<()> {
        let names = column::<StringArray>(kept, NAME)?;
        let names: Vec<_> = names.iter().flatten().collect();
        let own = column::<StringArray>(&self.added, NAME)?;
        let mut seen: HashSet<&str> = names.iter().copied().collect();
        if let Some(row) = own.iter().position(|name| !seen.insert(name.unwrap_or_default())) {
            return Err(wrong("an index file of that name exists already", NAME, row));
        }
        let known: HashMap<File, usize> = vectors_of(kept)?.into_iter().collect();
        if let Some((file, at, row)) =
            self.of.iter().find_map(|(file, row)| Some((file, known.get(file)?, row)))
        {
            let other = names.get(*at).copied().unwrap_or_default();
            return Err(another(
                &format!("{:?} has a vector in {other:?}, which is not replaced", file.2),
                *row,
            ));
        }
        if base.schema().bucket() == -1 && base.schema().primary_keys.is_empty() {
            return Ok(());
        }
        let mut buckets: HashMap<(Vec<u8>, i32), &str> = HashMap::new();
        let types = column::<StringArray>(kept, TYPE)?;
        for ((place, name), ty) in places(kept)?.into_iter().zip(&names).zip(types) {
            if ty == Some(DELETION_VECTORS) {
                buckets.insert(place, name);
            }
        }
        for (row, place) in places(&self.added)?.into_iter().enumerate() {
            if let Some(other) = buckets.insert(place, "another new one") {
                let message = format!(
                    "the bucket has the index file {other:?}, which is not replaced, and has but one"
                );
                return Err(another(&message, row));
            }
        }
        Ok(())
    }
}

/// The records of a caller's index files.
fn records(table: &Table, files: &RecordBatch) -> Result<RecordBatch> {
    let given = InputFiles { files, rows: files.num_rows() };
    let known: Vec<&str> =
        INDEX.iter().map(|spec| spec.column).filter(|name| *name != "global_index").collect();
    given.check_names(&known)?;
    let schema = table.latest_schema()?;
    let partitions = partitions(files.column_by_name("partition"), &PartitionType::new(&schema), given.rows);
    let partitions = partitions.map_err(|error| error.within("partition"))?;
    let types = given.filled(TYPE, || StringArray::from(vec![DELETION_VECTORS; files.num_rows()]))?;
    if let Some(row) = typed::<StringArray>(&types, TYPE)?.iter().position(|ty| ty != Some(DELETION_VECTORS))
    {
        let message = "only index files of deletion vectors can be added: others belong to their writers";
        return Err(Error::new(ErrorKind::Unsupported, message).in_row(row).in_field(TYPE));
    }
    let names = given.required(NAME, &DataType::Utf8)?;
    if let Some(row) =
        typed::<StringArray>(&names, NAME)?.iter().position(|name| !name.is_some_and(is_file_name))
    {
        return Err(wrong("not a file name", NAME, row));
    }
    let column = |name: &str, bucket: bool| -> Result<ArrayRef> {
        let spec = INDEX.iter().find(|spec| spec.column == name);
        let ty = spec.map_or(DataType::Null, |spec| (spec.data_type)());
        if bucket { given.required(name, &ty) } else { given.optional(name, &ty) }
    };
    let external = column("external_path", false)?;
    for (row, path) in typed::<StringArray>(&external, "external_path")?.iter().enumerate() {
        let checked = path.map_or(Ok(()), |path| check_file(table.storage().as_ref(), path));
        checked.map_err(|error| error.in_row(row).in_field("external_path"))?;
    }
    let global = INDEX.iter().find(|spec| spec.column == "global_index");
    let global = global.map_or(DataType::Null, |spec| (spec.data_type)());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int8Array::from_value(ADD, given.rows)),
        Arc::new(partitions),
        column("bucket", true)?,
        types,
        names,
        given.counts("file_size")?,
        given.counts("row_count")?,
        column(RANGES, true)?,
        external,
        new_null_array(&global, given.rows),
    ];
    RecordBatch::try_new(record_schema(&INDEX.iter().collect::<Vec<_>>()), columns).map_err(Into::into)
}

/// Partition and bucket of index files.
fn places(entries: &RecordBatch) -> Result<Vec<(Vec<u8>, i32)>> {
    let partitions = column::<BinaryArray>(entries, "partition")?;
    let buckets = column::<Int32Array>(entries, "bucket")?.values().iter();
    let rows = partitions.iter().zip(buckets);
    Ok(rows.map(|(partition, bucket)| (partition.unwrap_or_default().to_vec(), *bucket)).collect())
}

/// The data files that index files have vectors of, with the row of each.
fn vectors_of(entries: &RecordBatch) -> Result<Vec<(File, usize)>> {
    let ranges = column::<ListArray>(entries, RANGES)?;
    let mut found = Vec::new();
    for (row, (partition, bucket)) in places(entries)?.into_iter().enumerate() {
        if ranges.is_null(row) {
            continue;
        }
        let one = ranges.value(row);
        found.extend(
            names_of(&one)?
                .iter()
                .map(|name| ((partition.clone(), bucket, name.unwrap_or_default().to_owned()), row)),
        );
    }
    Ok(found)
}

/// Which of the files, and of others with their names, are live and not among the removed entries.
pub(super) fn live_among<'f>(
    base: &Base,
    files: impl Iterator<Item = &'f File> + Clone,
    removed: &RecordBatch,
) -> Result<HashSet<File>> {
    let names: HashSet<&str> = files.clone().map(|(.., name)| name.as_str()).collect();
    let partitions: HashSet<Vec<u8>> = files.map(|(partition, ..)| partition.clone()).collect();
    let live = live_entries(base, Some(&partitions), None, |entries| {
        let found = column::<StringArray>(entries, "file_name")?;
        Ok(found.iter().map(|name| Some(names.contains(name?))).collect())
    })?;
    let mut live = files_of(&live)?;
    for gone in files_of(removed)? {
        live.remove(&gone);
    }
    Ok(live)
}

#[cold]
pub(super) fn wrong(message: &str, field: &str, row: usize) -> Error {
    Error::new(ErrorKind::Argument, message).in_row(row).in_field(field)
}

#[cold]
fn another(message: &str, row: usize) -> Error {
    Error::new(ErrorKind::Conflict, message).in_row(row).in_field(RANGES)
}
