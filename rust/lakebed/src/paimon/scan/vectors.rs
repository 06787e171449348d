//! What is wrong with the index files of a snapshot, and which data files its deletion vectors are of.

use std::collections::HashMap;

use arrow_array::{Array, BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray};

use crate::error::{Error, ErrorKind, Result, fitting};
use crate::notes::Notes;
use crate::paimon::deletion_vector::VectorRange;
use crate::paimon::fields::RANGES;
use crate::paimon::index_files::{DELETION_VECTORS, IndexFiles};
use crate::paimon::table::Table;
use crate::paimon::view::{ExternalFiles, Vectors, deletes_view, indexes};
use crate::record::column;
use crate::verify::{Links, SequenceAndPartition};

/// What is wrong with the index manifest of the table's snapshot: what `indexes` and `deletes` would refuse, and
/// deletion vectors beyond the end of their index file.
///
/// # Errors
/// Those after which nothing more can be said.
pub(super) fn wrong_indexes(table: &Table) -> Result<Vec<Error>> {
    let files = IndexFiles::read(table, None)?;
    let mut found: Vec<Error> =
        indexes(&files, table.schema(), &table.partition_type()).err().into_iter().collect();
    let vectors = match Vectors::of(&files.of_type(DELETION_VECTORS)?) {
        Ok(vectors) => vectors,
        Err(error) => {
            found.push(error);
            return Ok(found);
        }
    };
    let view = deletes_view(table.location(), table.schema(), None, &Notes::default())?;
    found.extend(vectors.rows(&view, None, None, &ExternalFiles::new()).err());
    let sizes = column::<Int64Array>(&vectors.files, "file_size")?.values();
    let ranges = vectors.offsets.values().iter().zip(vectors.lengths.values());
    // The framing of a 32-bit vector is added.
    let end = |range: VectorRange| fitting(range.offset.checked_add(range.length), "the end of a vector");
    let wrong = |((offset, length), size): ((&i64, &i64), &i64)| match VectorRange::new(*offset, *length)
        .and_then(end)
    {
        Ok(end) => u64::try_from(*size).is_ok_and(|size| end > size).then(|| {
            let message = format!("it ends at byte {end}, the index file has {size} bytes");
            Error::new(ErrorKind::Mismatch, message)
        }),
        Err(error) => Some(error),
    };
    let wrong = ranges.zip(sizes).map(wrong);
    let named = wrong.enumerate().filter_map(|(row, error)| {
        let (name, path) = (vectors.data_files.value(row), vectors.paths.value(row));
        let error = error?;
        let message = format!(
            "the deletion vector of the data file {name:?} in the file {path:?}: {}",
            error.message()
        );
        Some(Error::new(error.kind(), message).in_field(RANGES))
    });
    found.extend(named);
    Ok(found)
}

/// The deletion vectors of the table's snapshot, as records of its index manifest.
///
/// # Errors
/// Those of reading the index manifest.
pub(super) fn vector_links(table: &Table) -> Result<Links> {
    let files = IndexFiles::read(table, None)?;
    let names = column::<StringArray>(&files.entries, "file_name")?;
    let records: HashMap<&str, usize> = names.iter().flatten().zip(0..).collect();
    let vectors = Vectors::of(&files.of_type(DELETION_VECTORS)?)?;
    let (keys, names) =
        (VectorKeys::of(&vectors.files)?, column::<StringArray>(&vectors.files, "file_name")?);
    let mut links = Links::default();
    for (row, target) in vectors.data_files.iter().enumerate() {
        let (target, name) = (target.unwrap_or_default(), names.value(row));
        let record = records.get(name).copied().unwrap_or_default();
        let key = keys.of_file(row, target);
        links.delete(
            (&key, target),
            (vectors.paths.value(row), true),
            SequenceAndPartition::default(),
            record,
        );
    }
    Ok(links)
}

/// The data files that entries add (1) or delete (-1).
///
/// # Errors
/// `Required` for entries without the columns.
pub(super) fn file_links(entries: &RecordBatch, signs: &Int32Array) -> Result<Links> {
    let (keys, mut links) = (VectorKeys::of(entries)?, Links::default());
    let names = column::<StringArray>(entries, "file_name")?;
    for ((row, name), sign) in names.iter().enumerate().zip(signs.values()) {
        links.data_file(
            &keys.of_file(row, name.unwrap_or_default()),
            *sign,
            SequenceAndPartition::default(),
            row,
        );
    }
    Ok(links)
}

/// What a deletion vector knows of its data file beside the name: partition and bucket.
pub(super) struct VectorKeys<'r> {
    partitions: &'r BinaryArray,
    buckets: &'r Int32Array,
}

impl VectorKeys<'_> {
    pub(super) fn of(rows: &RecordBatch) -> Result<VectorKeys<'_>> {
        Ok(VectorKeys { partitions: column(rows, "partition")?, buckets: column(rows, "bucket")? })
    }

    /// The bytes that identify the file `name` in the partition and bucket of `row`.
    pub(super) fn of_file(&self, row: usize, name: &str) -> Vec<u8> {
        let partition = if self.partitions.is_valid(row) { self.partitions.value(row) } else { &[] };
        let length = partition.len() as u64;
        [&length.to_le_bytes(), partition, &self.buckets.value(row).to_le_bytes(), name.as_bytes()].concat()
    }
}
