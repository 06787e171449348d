//! Files that a snapshot lists more than once.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use arrow_array::{Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};

use super::scan::{CONTENT, OF_FILES, OFFSET, damage, listed_files, long};
use super::{Repair, RepairKind, RowChange, TableRepairs};
use crate::dangling::DeleteMarks;
use crate::error::Result;
use crate::field::DATA;
use crate::record::column;
use crate::scan::{DeletesAs, Format, ScanOptions};
use crate::view::View;

/// Of a file at two levels Paimon's writers remove one in the commit that adds the other.
const LEVEL: &str = "level";
const SEQUENCE: &str = "sequence_number";

/// What tells a live file from the others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct FileKey {
    path: String,
    content: i32,
    offset: Option<i64>,
    level: Option<i32>,
}

/// An entry of a file.
struct Entry {
    sequence: Option<i64>,
    records: Option<i64>,
    size: Option<i64>,
}

/// Repairs of the live files of these manifests that are listed more than once. Memory is some bytes for each file.
///
/// # Errors
/// Those of reading manifests, and of planning where the snapshot has deletes.
pub(super) fn duplicates<F: Format>(
    table: &F,
    manifests: &[F::Manifest],
    threads: usize,
) -> Result<Vec<Repair>> {
    let all = table.program(F::FILES, &ScanOptions::default())?;
    let offset = F::columns(&all).field_with_name(OFFSET).is_ok().then_some(OFFSET);
    let keys: Vec<&str> = ["file_path", CONTENT, LEVEL].into_iter().chain(offset).collect();
    let hashes = RandomState::new();
    let (mut seen, mut again) = (HashSet::new(), HashSet::new());
    for files in listed_files(table, manifests, &keys, threads)? {
        for hash in keys_of(&files?)?.iter().map(|key| hashes.hash_one(key)) {
            if !seen.insert(hash) {
                again.insert(hash);
            }
        }
    }
    drop(seen);
    if again.is_empty() {
        return Ok(Vec::new());
    }
    let mut entries = BTreeMap::<FileKey, Vec<Entry>>::new();
    let columns = [&keys[..], &OF_FILES[1..], &[SEQUENCE]].concat();
    for files in listed_files(table, manifests, &columns, threads)? {
        let files = files?;
        let numbers = |name| column::<Int64Array>(&files, name);
        let (sequences, records, sizes) =
            (numbers(SEQUENCE)?, numbers("record_count")?, numbers("file_size_in_bytes")?);
        for (row, key) in keys_of(&files)?.into_iter().enumerate() {
            if again.contains(&hashes.hash_one(&key)) {
                let entry = Entry {
                    sequence: long(sequences, row),
                    records: long(records, row),
                    size: long(sizes, row),
                };
                entries.entry(key).or_default().push(entry);
            }
        }
    }
    entries.retain(|_, entries| entries.len() > 1);
    let has_data = entries.keys().any(|key| key.content == DATA);
    let deleted_from = if has_data { deleted_from(table, threads)? } else { Ok(HashSet::new()) };
    let is_marked = |path: &str| deleted_from.as_ref().is_ok_and(|files| files.contains(path));
    let repair = |(key, entries): (FileKey, Vec<Entry>)| {
        let change = match key.content {
            DATA if deleted_from.is_err() || is_marked(&key.path) || !F::Repairs::removes_rows(table) => {
                RowChange::UNKNOWN
            }
            DATA => rows_of_all_but_one(&entries),
            // A delete of a higher sequence number may apply to more files.
            _ if entries.windows(2).any(|pair| pair[0].sequence != pair[1].sequence) => RowChange::UNKNOWN,
            _ => RowChange::NONE,
        };
        let problem = format!("the snapshot lists the file {} times", entries.len());
        let size = entries.iter().find_map(|entry| entry.size);
        Repair {
            content_offset: key.offset,
            size,
            ..Repair::new(RepairKind::Duplicates, key.path, &problem, change)
        }
    };
    Ok(entries.into_iter().map(repair).collect())
}

/// The first entry of those with the lowest sequence number stays.
fn rows_of_all_but_one(entries: &[Entry]) -> RowChange {
    let kept = (0..entries.len()).min_by_key(|place| entries[*place].sequence);
    let dropped = entries.iter().enumerate().filter(|(place, _)| Some(*place) != kept);
    dropped.fold(RowChange::NONE, |sum, (_, entry)| sum.and(RowChange::lost(entry.records)))
}

/// The data files that deletes apply to, or why that is not known.
fn deleted_from<F: Format>(table: &F, threads: usize) -> Result<Result<HashSet<String>>> {
    let options = ScanOptions { threads, ..ScanOptions::default() };
    let storage = table.core().storage().as_ref();
    match damage(storage, F::Deletes::read(table, &options))? {
        Ok(None) => Ok(Ok(HashSet::new())),
        Ok(Some(_)) => damage(storage, planned_with_deletes(table, threads)),
        Err(error) => Ok(Err(error)),
    }
}

/// The data files that have deletes in a plan.
fn planned_with_deletes<F: Format>(table: &F, threads: usize) -> Result<HashSet<String>> {
    let ids = DeletesAs::Ids.column();
    let options =
        ScanOptions { deletes: DeletesAs::Ids, ..ScanOptions::of_columns(&["file_path", ids], threads) };
    let mut found = HashSet::new();
    for files in table.scan(View::Plan, options)?.stream()? {
        let files = files?;
        let (paths, ids) = (column::<StringArray>(&files, "file_path")?, column::<ListArray>(&files, ids)?);
        let some = (0..files.num_rows()).filter(|row| ids.is_valid(*row) && ids.value_length(*row) > 0);
        found.extend(some.map(|row| paths.value(row).to_owned()));
    }
    Ok(found)
}

fn keys_of(files: &RecordBatch) -> Result<Vec<FileKey>> {
    let paths = column::<StringArray>(files, "file_path")?;
    let (contents, levels) = (column::<Int32Array>(files, CONTENT)?, column::<Int32Array>(files, LEVEL)?);
    let offsets = files.column_by_name(OFFSET).map(|_| column::<Int64Array>(files, OFFSET)).transpose()?;
    let key = |row| FileKey {
        path: paths.value(row).to_owned(),
        content: contents.value(row),
        offset: offsets.and_then(|offsets| long(offsets, row)),
        level: levels.is_valid(row).then(|| levels.value(row)),
    };
    Ok((0..files.num_rows()).map(key).collect())
}
