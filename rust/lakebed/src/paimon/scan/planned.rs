//! The rows of `plan`: data files that a batch read needs, each with its deletion vector.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray, StructArray, new_null_array};
use arrow_select::take::take;

use super::deletes::vectors_of;
use super::internal;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::prune::{EntryPruner, PartitionPredicate};
use crate::paimon::table::Table;
use crate::paimon::view::Vectors;
use crate::predicate::Node;
use crate::record::find;
use crate::scan::DeletesAs;
use crate::view::{lists, planned_deletes};

/// A data file by its partition row, its bucket and its name.
type DataFile = (Box<[u8]>, i32, Box<str>);

/// What plans add to entries: the deletes that apply to a file, and what of the filter is left to test.
pub(super) struct Attach {
    deletes: DeletesAs,
    /// The row number of each vector among those of the snapshot, by what it applies to.
    numbers: HashMap<DataFile, i32>,
    /// Every vector as plans show it.
    shown: StructArray,
}

impl Attach {
    /// Reads the index manifest of the snapshot.
    ///
    /// # Errors
    /// Those of reading it; `Mismatch` for two vectors of one file.
    pub(super) fn read(table: &Table, deletes: DeletesAs) -> Result<Attach> {
        let vectors = vectors_of(table)?;
        let count = vectors.paths.len();
        let (partitions, buckets) = (find(&vectors.files, "partition")?, find(&vectors.files, "bucket")?);
        let buckets = buckets.as_primitive::<Int32Type>();
        let mut numbers = HashMap::with_capacity(count);
        for (row, partition) in partitions.as_binary::<i32>().iter().enumerate() {
            let name = vectors.data_files.value(row);
            let key = (Box::from(partition.unwrap_or_default()), buckets.value(row), Box::from(name));
            let number = i32::try_from(row).map_err(|_| too_many())?;
            if numbers.insert(key, number).is_some() {
                let message = format!("data file {name:?} has two deletion vectors");
                return Err(Error::new(ErrorKind::Mismatch, message).in_field("deletions_vectors_ranges"));
            }
        }
        Ok(Attach { deletes, numbers, shown: shown(&vectors)? })
    }

    /// The deletes of each of `files`.
    pub(super) fn deletes_of(&self, files: &RecordBatch) -> Result<ArrayRef> {
        let (partitions, buckets) = (find(files, "partition")?, find(files, "bucket")?);
        let names = find(files, "file_name")?;
        let (buckets, names) = (buckets.as_primitive::<Int32Type>(), names.as_string::<i32>());
        let mut lengths = Vec::with_capacity(files.num_rows());
        let mut found = Vec::new();
        for (row, partition) in partitions.as_binary::<i32>().iter().enumerate() {
            let key = || {
                let name: Box<str> = names.value(row).into();
                (Box::from(partition.unwrap_or_default()), buckets.value(row), name)
            };
            let number = if self.numbers.is_empty() { None } else { self.numbers.get(&key()) };
            lengths.push(usize::from(number.is_some()));
            found.extend(number.copied());
        }
        let numbers = Int32Array::from(found);
        let items = match self.deletes {
            DeletesAs::Ids => Arc::new(numbers) as ArrayRef,
            DeletesAs::Files => take(&self.shown, &numbers, None).map_err(internal)?,
        };
        lists(lengths.into_iter(), items)
    }
}

/// What of a filter is left to test in the rows of each file, as SQL; null where nothing is.
pub(super) fn residuals(pruner: Option<&EntryPruner>, files: &RecordBatch) -> Result<ArrayRef> {
    let Some(predicate) = pruner.map(EntryPruner::partitions) else {
        return Ok(new_null_array(&arrow_schema::DataType::Utf8, files.num_rows()));
    };
    let (partitions, buckets) = (find(files, "partition")?, find(files, "bucket")?);
    let rows = partitions.as_binary::<i32>().iter().zip(buckets.as_primitive::<Int32Type>().values());
    let mut known: HashMap<(&[u8], i32), Option<String>> = HashMap::new();
    let mut texts: Vec<Option<String>> = Vec::with_capacity(files.num_rows());
    for (partition, bucket) in rows {
        let partition = partition.unwrap_or_default();
        let text = match known.get(&(partition, *bucket)) {
            Some(text) => text.clone(),
            None => {
                let text = residual(predicate, partition, *bucket)?;
                known.insert((partition, *bucket), text.clone());
                text
            }
        };
        texts.push(text);
    }
    Ok(Arc::new(StringArray::from(texts)))
}

fn residual(predicate: &PartitionPredicate, partition: &[u8], bucket: i32) -> Result<Option<String>> {
    Ok(match predicate.rest(partition, i64::from(bucket))? {
        Node::Constant(true) => None,
        open => Some(open.written().to_string()),
    })
}

/// Vectors as plans show them.
fn shown(vectors: &Vectors) -> Result<StructArray> {
    let count = vectors.paths.len();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_value(1, count)),
        Arc::new(vectors.paths.clone()),
        Arc::new(vectors.offsets.clone()),
        Arc::new(vectors.lengths.clone()),
        Arc::new(vectors.cardinalities.clone()),
        new_null_array(&arrow_schema::DataType::Int64, count),
    ];
    StructArray::try_new_with_length(planned_deletes(), columns, None, count).map_err(internal)
}

#[cold]
fn too_many() -> Error {
    Error::new(ErrorKind::Unsupported, "more than 2^31 deletes")
}
