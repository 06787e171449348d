//! Deletes of single data files that are listed in another partition than their file, and vectors of which a file has
//! more than one.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::{Array, Int32Array, Int64Array, RecordBatch, StringArray};

use super::program::EntryProgram;
use crate::error::{Error, Result};
use crate::iceberg::fields::{DATA, PARTITION, POSITION_DELETES};
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::partition::PartitionNumbers;
use crate::iceberg::table::Table;
use crate::iceberg::view::{Role, TARGET_INPUT, target_files};
use crate::record::{column, find};
use crate::repair::{Repair, RepairKind, RowChange};
use crate::scan::{EntrySource, ScanOptions};

const COLUMNS: [&str; 7] =
    ["file_path", "content_offset", "sequence_number", "file_size_in_bytes", "spec_id", PARTITION, "content"];

/// A delete of a single data file.
struct Delete {
    path: String,
    offset: Option<i64>,
    size: i64,
    sequence: Option<i64>,
    /// A hash of its partition.
    partition: u64,
}

/// Repairs of such deletes, of the kinds that are asked for. Iceberg's `DeleteFileIndex.java` finds them by the path of
/// the data file and refuses the table.
///
/// # Errors
/// Those of reading manifests.
pub(super) fn misplaced_deletes(
    table: &Table,
    manifests: &[ManifestFile],
    kinds: &BTreeSet<RepairKind>,
    threads: usize,
) -> Result<Vec<Repair>> {
    let types = table.types()?;
    let partitions = PartitionNumbers::new(&types.partition)?;
    let live = |columns: &[&str]| {
        let options = ScanOptions::of_columns(columns, threads);
        let program = EntryProgram::new(Role::Live, types.clone(), &options, table.decoding().clone())?;
        let source = EntrySource::new(Arc::new(program), table.clone());
        Ok::<_, Error>(source.stream(manifests.to_vec(), &options))
    };
    let hashes = |files: &RecordBatch| partitions.hashes(&find(files, "spec_id")?, column(files, PARTITION)?);
    let columns: Vec<&str> = COLUMNS.into_iter().chain(TARGET_INPUT.into_iter().skip(1)).collect();
    let mut deletes: HashMap<String, Vec<Delete>> = HashMap::new();
    for files in live(&columns)? {
        let files = files?;
        let (contents, targets, of_files) =
            (column::<Int32Array>(&files, "content")?, target_files(&files)?, hashes(&files)?);
        let paths = column::<StringArray>(&files, "file_path")?;
        let [offsets, sequences, sizes] = ["content_offset", "sequence_number", "file_size_in_bytes"]
            .map(|name| column::<Int64Array>(&files, name));
        let (offsets, sequences, sizes) = (offsets?, sequences?, sizes?);
        let of_one = |row: &usize| contents.value(*row) == POSITION_DELETES && targets.is_valid(*row);
        for row in (0..files.num_rows()).filter(of_one) {
            deletes.entry(targets.value(row).to_owned()).or_default().push(Delete {
                path: paths.value(row).to_owned(),
                offset: offsets.is_valid(row).then(|| offsets.value(row)),
                size: sizes.value(row),
                sequence: sequences.is_valid(row).then(|| sequences.value(row)),
                partition: of_files[row],
            });
        }
    }
    let mut found = Vec::new();
    for files in live(&COLUMNS)? {
        let files = files?;
        let (contents, of_files) = (column::<Int32Array>(&files, "content")?, hashes(&files)?);
        let (paths, sequences) =
            (column::<StringArray>(&files, "file_path")?, column::<Int64Array>(&files, "sequence_number")?);
        for row in (0..files.num_rows()).filter(|row| contents.value(*row) == DATA) {
            // A file that is listed twice has its deletes once.
            let Some(deletes) = deletes.remove(paths.value(row)) else { continue };
            let vectors = vectors(&deletes);
            let is_double = vectors.len() > 1 && kinds.contains(&RepairKind::Vectors);
            if is_double {
                let problem = format!("it has {} deletion vectors", vectors.len());
                let path = paths.value(row).to_owned();
                found.push(Repair::new(RepairKind::Vectors, path, &problem, RowChange::NONE));
            }
            // Those that are older than the file are of an earlier one.
            let sequence = sequences.is_valid(row).then(|| sequences.value(row));
            let applies =
                |delete: &Delete| delete.sequence.zip(sequence).is_none_or(|(own, file)| own >= file);
            let is_foreign = |delete: &&Delete| {
                let is_merged = is_double && delete.offset.is_some();
                delete.partition != of_files[row] && applies(delete) && !is_merged
            };
            if kinds.contains(&RepairKind::ForeignDeletes) {
                found.extend(
                    deletes.iter().filter(is_foreign).map(|delete| foreign(delete, paths.value(row))),
                );
            }
        }
    }
    Ok(found)
}

/// The vectors among some deletes, each once.
fn vectors(deletes: &[Delete]) -> BTreeSet<(&str, i64)> {
    deletes.iter().filter_map(|delete| Some((delete.path.as_str(), delete.offset?))).collect()
}

fn foreign(delete: &Delete, data_file: &str) -> Repair {
    let problem = format!("it is listed in another partition or spec than its data file {data_file:?}");
    let repair = Repair::new(RepairKind::ForeignDeletes, delete.path.clone(), &problem, RowChange::NONE);
    repair.of_vector(delete.offset, delete.size)
}
