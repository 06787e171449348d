//! The rows of the view `deletes`, and what is read for them.

use std::collections::BTreeMap;

use arrow_array::{Array, BinaryArray, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray};

use super::Scan;
use super::plan::bound;
use crate::deletion_vector::position_lists;
use crate::error::Result;
use crate::grouping::sums::{self, known_sum, sent_sums};
use crate::paimon::deletion_vector::{DeletionVector, VectorRange, read_vectors};
use crate::paimon::groups::BucketGroups;
use crate::paimon::index_files::{DELETION_VECTORS, IndexFiles};
use crate::paimon::manifest::ADD;
use crate::paimon::prune::{EntryPruner, PartitionPredicate};
use crate::paimon::table::Table;
use crate::paimon::view::{DATA_PATH, EntryView, ExternalFiles, POSITIONS, Vectors, deletes_view};
use crate::pipeline::{Pipeline, Sink, Source, Width, read_each};
use crate::record::column;
use crate::scan::{Batches, Scan as _, ScanOptions, threads};
use crate::storage::Storage;
use crate::view::{GroupBy, View};

/// How many index files make up a batch where rows have no positions.
const FILES_PER_BATCH: usize = 1024;

/// The rows of `deletes`.
///
/// With positions, of which one vector may have millions, a batch holds the vectors of one index file, and
/// several index files are read at once. Reads the index manifest. Where rows show the paths of data files,
/// it also finds out which of these are outside the table.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`; those of reading the index manifest.
pub(super) fn delete_rows(table: &Table, options: &ScanOptions) -> Result<Batches> {
    let (reader, files) = Reader::open(table, options)?;
    let threads = threads(options.threads);
    let step = if reader.view.has(POSITIONS) { 1 } else { FILES_PER_BATCH };
    let starts = (0..files.len()).step_by(step);
    let runs: Vec<_> = starts.map(|start| files.slice(start, step.min(files.len() - start))).collect();
    if reader.view.has(POSITIONS) {
        let width = Width::new(table.storage().as_ref(), threads);
        return Ok(Box::new(Pipeline::new(reader, runs, width)));
    }
    Ok(Box::new(runs.into_iter().map(move |files| {
        let vectors = Vectors::of(&files)?;
        let counted = reader.view.has("record_count") && vectors.cardinalities.null_count() > 0;
        let loaded = counted.then(|| reader.load(&vectors, threads)).transpose()?;
        vectors.rows(&reader.view, loaded.as_deref().map(counts), None, &reader.external)
    })))
}

/// Reads deletion vectors and makes rows of them.
struct Reader {
    table: Table,
    view: EntryView,
    external: ExternalFiles,
}

impl Reader {
    /// How many rows each vector deletes; vectors whose cardinality is not recorded are read.
    fn counted(&self, vectors: &Vectors, of_threads: usize) -> Result<Int64Array> {
        match vectors.cardinalities.null_count() {
            0 => Ok(vectors.cardinalities.clone()),
            _ => Ok(counts(&self.load(vectors, threads(of_threads))?)),
        }
    }

    /// The reader, and the index files that the filter leaves.
    fn open(table: &Table, options: &ScanOptions) -> Result<(Reader, IndexFiles)> {
        let columns = options.columns.as_deref();
        let view = deletes_view(table.location(), table.schema(), columns, table.noted())?;
        let pruner = bound(options.table_filter.as_deref(), table.schema())?;
        let partitions = pruner.as_ref().map(EntryPruner::partitions);
        let files = IndexFiles::read(table, partitions)?.of_type(DELETION_VECTORS)?;
        let external = match view.has(DATA_PATH) && files.len() > 0 {
            true => {
                // Files whose rows cannot match may still have vectors: only partitions and buckets are
                // filtered.
                let filter = partitions.map(PartitionPredicate::written);
                external_files(table, &ScanOptions { filter, ..options.clone() })?
            }
            false => ExternalFiles::new(),
        };
        Ok((Reader { table: table.clone(), view, external }, files))
    }

    /// Reads vectors, each index file once; compares their cardinality with the recorded one.
    fn load(&self, vectors: &Vectors, threads: usize) -> Result<Vec<DeletionVector>> {
        let numbers = vectors.offsets.values().iter().zip(vectors.lengths.values());
        let ranges = numbers.map(|(offset, length)| VectorRange::new(*offset, *length));
        let ranges = ranges.collect::<Result<Vec<_>>>()?;
        let paths: Vec<&str> = vectors.paths.iter().flatten().collect();
        let placed: Vec<(&str, VectorRange)> = paths.iter().copied().zip(ranges).collect();
        let of_file = |file: &[(&str, VectorRange)]| {
            let path = file.first().map_or_else(String::new, |(path, _)| (*path).to_owned());
            (path, file.iter().map(|(_, range)| *range).collect::<Vec<_>>())
        };
        let files = placed.chunk_by(|(one, _), (next, _)| one == next).map(of_file).collect();
        let read = |storage: &dyn Storage, (path, ranges): &(String, Vec<VectorRange>)| {
            read_vectors(storage, path, ranges)
        };
        let loaded = read_each(self.table.storage(), files, threads, read)?;
        let loaded: Vec<DeletionVector> = loaded.into_iter().flatten().collect();
        let recorded = vectors.cardinalities.iter().zip(&loaded).zip(&paths);
        for ((recorded, vector), path) in recorded {
            let check = |recorded| vector.check_cardinality(recorded);
            recorded.map_or(Ok(()), check).map_err(|error| error.in_file(path))?;
        }
        Ok(loaded)
    }
}

/// The vectors of one index file after another.
impl Source for Reader {
    type Request = IndexFiles;
    type Bytes = (Vectors, Vec<DeletionVector>);
    type Output = RecordBatch;

    fn size(&self, file: &IndexFiles) -> u64 {
        file.bytes()
    }

    fn read(&self, file: &IndexFiles) -> Result<(Vectors, Vec<DeletionVector>)> {
        let vectors = Vectors::of(file)?;
        let loaded = self.load(&vectors, 1)?;
        Ok((vectors, loaded))
    }

    fn make(
        &self,
        _: &IndexFiles,
        (vectors, loaded): (Vectors, Vec<DeletionVector>),
        give: Sink<'_, RecordBatch>,
    ) -> Result<()> {
        let positions = position_lists(loaded.iter().map(Some), &self.table.decoding().limits)?;
        give(vectors.rows(&self.view, Some(counts(&loaded)), Some(positions), &self.external)?);
        Ok(())
    }

    fn held(&self, rows: &RecordBatch) -> u64 {
        rows.get_array_memory_size() as u64
    }

    fn interrupted(&self) -> Result<()> {
        self.table.storage().interrupted()
    }
}

/// Deletion vectors of a bucket, and how many rows they delete if that is known.
#[derive(Debug, Clone, Default)]
struct BucketVectors {
    bucket: i32,
    vectors: i64,
    rows: Option<i64>,
}

sent_sums! { BucketVectors: bucket, vectors, rows }

/// How many deletion vectors each bucket has and how many rows they delete, as far as the requested columns
/// need it; `None` where they need nothing, and where there are none. Reads the index manifest, and the vectors whose cardinality is not recorded.
pub(in crate::paimon) fn vector_counts(
    table: &Table,
    options: &ScanOptions,
    by: GroupBy,
) -> Result<Option<RecordBatch>> {
    let named = |name: &str| options.columns.as_ref().is_none_or(|names| names.iter().any(|it| it == name));
    let wanted = |name| by == GroupBy::Table || named(name);
    let with_rows = wanted("delete_record_count");
    if !with_rows && !wanted("delete_file_count") {
        return Ok(None);
    }
    let columns = Some(vec!["record_count".to_owned()]);
    let (reader, files) = Reader::open(table, &ScanOptions { columns, ..options.clone() })?;
    let vectors = Vectors::of(&files)?;
    let rows =
        if with_rows { reader.counted(&vectors, options.threads)? } else { vectors.cardinalities.clone() };
    let partitions = column::<BinaryArray>(&vectors.files, "partition")?;
    let places = partitions.iter().zip(column::<Int32Array>(&vectors.files, "bucket")?.values());
    let mut counted = BTreeMap::new();
    for ((partition, bucket), rows) in places.zip(&rows) {
        let none = || BucketVectors { bucket: *bucket, vectors: 0, rows: Some(0) };
        let known = counted.entry((partition.unwrap_or_default(), *bucket)).or_insert_with(none);
        known.vectors += 1;
        known.rows = known_sum("delete_record_count", known.rows, rows)?;
    }
    if counted.is_empty() {
        return Ok(None);
    }
    let (places, counts): (Vec<_>, Vec<_>) = counted.into_iter().unzip();
    let partitions = BinaryArray::from_iter_values(places.iter().map(|(partition, _)| partition));
    sums::batch(partitions, &counts).map(Some)
}

/// The deletion vectors that the filter of `options` leaves, and how many rows each deletes. Reads the index manifest, and
/// the vectors whose cardinality is not recorded.
pub(super) fn counted_vectors(table: &Table, options: &ScanOptions) -> Result<(Vectors, Int64Array)> {
    let columns = Some(vec!["record_count".to_owned()]);
    let table_filter = options.table_filter.clone();
    let (reader, files) =
        Reader::open(table, &ScanOptions { columns, table_filter, ..ScanOptions::default() })?;
    let vectors = Vectors::of(&files)?;
    let rows = reader.counted(&vectors, options.threads)?;
    Ok((vectors, rows))
}

/// Adds the result of [`vector_counts`] to groups that have all of their files.
pub(in crate::paimon) fn know_vectors(groups: &mut BucketGroups, counts: &RecordBatch) -> Result<()> {
    sums::each(counts, |partition, BucketVectors { bucket, vectors, rows }| {
        groups.add_vectors(partition, bucket, vectors, rows)
    })
}

fn counts(vectors: &[DeletionVector]) -> Int64Array {
    vectors.iter().map(|vector| i64::try_from(vector.cardinality()).ok()).collect()
}

/// The paths of live data files outside the table, by name. Names are never reused, so names of deleted files
/// do no harm. Options that name external folders need not be in the schema, so the entries are read.
fn external_files(table: &Table, options: &ScanOptions) -> Result<ExternalFiles> {
    let columns = ["kind", "partition_row", "bucket", "file_name", "external_path"];
    let columns = Some(columns.map(str::to_owned).to_vec());
    let options = ScanOptions { columns, stats: None, limit: None, ..options.clone() };
    let mut files = ExternalFiles::new();
    for entries in Scan::new(table.clone(), View::Entries, options)?.stream()? {
        let entries = entries?;
        let outside = column::<StringArray>(&entries, "external_path")?;
        if outside.null_count() == outside.len() {
            continue;
        }
        let kinds = column::<Int8Array>(&entries, "kind")?;
        let partitions = column::<BinaryArray>(&entries, "partition_row")?;
        let buckets = column::<Int32Array>(&entries, "bucket")?;
        let names = column::<StringArray>(&entries, "file_name")?;
        for row in (0..entries.num_rows()).filter(|row| outside.is_valid(*row)) {
            if kinds.value(row) == ADD {
                let key = (partitions.value(row).into(), buckets.value(row), names.value(row).into());
                files.insert(key, outside.value(row).to_owned());
            }
        }
    }
    Ok(files)
}
