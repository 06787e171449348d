//! The rows of `plan`: data files that a batch read needs, each with its deletion vector.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int32Array, RecordBatch, StringArray, StructArray,
    UInt32Array, new_null_array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;

use crate::error::{Error, ErrorKind, Result};
use crate::field::POSITION_DELETES;
use crate::paimon::fields::RANGES;
use crate::paimon::index_files::{DELETION_VECTORS, IndexFiles};
use crate::paimon::prune::{EntryPruner, PartitionPredicate};
use crate::paimon::table::Table;
use crate::paimon::view::Vectors;
use crate::predicate::Node;
use crate::record::{column, find};
use crate::scan::DeletesAs;
use crate::view::{lists, planned_deletes};

/// A data file by its partition row, its bucket and its name.
type DataFile = (Box<[u8]>, i32, Box<str>);

/// The column of [`planned_vectors`] with the name of the data file.
const DATA_FILE: &str = "data_file";
/// The column with the vector's number among those of the snapshot.
const NUMBER: &str = "number";
/// The column with the vector as plans show it.
const SHOWN: &str = "shown";

/// What plans add to entries: the deletes that apply to each file.
#[derive(Debug)]
pub(super) struct Attach {
    deletes: DeletesAs,
    /// The row of each vector, by what it applies to.
    rows: HashMap<DataFile, u32>,
    /// The number of each vector among those of the snapshot.
    numbers: Int32Array,
    /// Every vector as plans show it.
    shown: ArrayRef,
}

impl Attach {
    /// `vectors` are made by [`planned_vectors`].
    ///
    /// # Errors
    /// `Mismatch` for two vectors of one file.
    pub(super) fn new(deletes: DeletesAs, vectors: &RecordBatch) -> Result<Attach> {
        let names = column::<StringArray>(vectors, DATA_FILE)?;
        let mut rows = HashMap::with_capacity(vectors.num_rows());
        for (row, ((partition, bucket), name)) in (0..).zip(buckets_of(vectors)?.zip(names)) {
            let name = name.unwrap_or_default();
            let key = (Box::from(partition), bucket, Box::from(name));
            if rows.insert(key, row).is_some() {
                let message = format!("data file {name:?} has two deletion vectors");
                return Err(Error::new(ErrorKind::Mismatch, message).in_field(RANGES));
            }
        }
        let numbers = column::<Int32Array>(vectors, NUMBER)?.clone();
        Ok(Attach { deletes, rows, numbers, shown: find(vectors, SHOWN)? })
    }

    /// The deletes of each of `files`.
    pub(super) fn deletes_of(&self, files: &RecordBatch) -> Result<ArrayRef> {
        let mut lengths = vec![0; files.num_rows()];
        let mut found = Vec::new();
        // Most tables have no vectors: then file names are not looked up.
        if !self.rows.is_empty() {
            let names = column::<StringArray>(files, "file_name")?;
            for (((partition, bucket), name), length) in buckets_of(files)?.zip(names).zip(&mut lengths) {
                let key = (Box::from(partition), bucket, Box::from(name.unwrap_or_default()));
                if let Some(vector) = self.rows.get(&key) {
                    *length = 1;
                    found.push(*vector);
                }
            }
        }
        let found = UInt32Array::from(found);
        let items = match self.deletes {
            DeletesAs::Ids => take(&self.numbers, &found, None),
            DeletesAs::Files => take(&self.shown, &found, None),
        };
        lists(lengths.into_iter(), items?)
    }
}

/// The deletion vectors of the table's snapshot, in the order of the view: partition and bucket, the name of
/// the data file that each applies to, its number, and how plans show it. Reads the index manifest.
///
/// # Errors
/// Those of reading it; `Unsupported` for more than 2^31 of them.
pub(super) fn planned_vectors(table: &Table) -> Result<RecordBatch> {
    let vectors = vectors_of(table)?;
    let count = i32::try_from(vectors.paths.len()).map_err(|_| too_many())?;
    let columns: Vec<ArrayRef> = vec![
        find(&vectors.files, "partition")?,
        find(&vectors.files, "bucket")?,
        Arc::new(vectors.data_files.clone()),
        Arc::new(Int32Array::from_iter_values(0..count)),
        Arc::new(shown(&vectors)?),
    ];
    RecordBatch::try_new(vectors_schema(), columns).map_err(Into::into)
}

/// The columns of [`planned_vectors`].
pub(super) fn vectors_schema() -> SchemaRef {
    let fields = [
        ("partition", DataType::Binary),
        ("bucket", DataType::Int32),
        (DATA_FILE, DataType::Utf8),
        (NUMBER, DataType::Int32),
        (SHOWN, DataType::Struct(planned_deletes())),
    ];
    Arc::new(Schema::new(fields.map(|(name, kind)| Field::new(name, kind, true)).to_vec()))
}

/// The rows of [`planned_vectors`] for partitions and buckets that a filter keeps.
///
/// # Errors
/// As [`planned_vectors`]; those of decoding partitions.
pub(super) fn vectors_within(table: &Table, filter: Option<&PartitionPredicate>) -> Result<RecordBatch> {
    let vectors = planned_vectors(table)?;
    let Some(filter) = filter else { return Ok(vectors) };
    let keep = buckets_of(&vectors)?
        .map(|(partition, bucket)| filter.matches(partition, i64::from(bucket)).map(Some));
    filter_record_batch(&vectors, &keep.collect::<Result<BooleanArray>>()?).map_err(Into::into)
}

/// What is left of a filter to test in the rows of each file, as SQL; null where nothing is.
pub(super) fn residuals(pruner: Option<&EntryPruner>, files: &RecordBatch) -> Result<ArrayRef> {
    let Some(predicate) = pruner.map(EntryPruner::partitions) else {
        return Ok(new_null_array(&DataType::Utf8, files.num_rows()));
    };
    let mut known: HashMap<(&[u8], i32), Option<String>> = HashMap::new();
    let mut texts: Vec<Option<String>> = Vec::with_capacity(files.num_rows());
    for (partition, bucket) in buckets_of(files)? {
        let text = match known.get(&(partition, bucket)) {
            Some(text) => text.clone(),
            None => {
                let text = residual(predicate, partition, bucket)?;
                known.insert((partition, bucket), text.clone());
                text
            }
        };
        texts.push(text);
    }
    Ok(Arc::new(StringArray::from(texts)))
}

/// The partition row and the bucket of each row.
fn buckets_of(rows: &RecordBatch) -> Result<impl Iterator<Item = (&[u8], i32)>> {
    let partitions = column::<BinaryArray>(rows, "partition")?.iter();
    let buckets = column::<Int32Array>(rows, "bucket")?.values();
    Ok(partitions.map(Option::unwrap_or_default).zip(buckets.iter().copied()))
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
        Arc::new(Int32Array::from_value(POSITION_DELETES, count)),
        Arc::new(vectors.paths.clone()),
        Arc::new(vectors.offsets.clone()),
        Arc::new(vectors.lengths.clone()),
        Arc::new(vectors.cardinalities.clone()),
        new_null_array(&DataType::Int64, count),
    ];
    StructArray::try_new_with_length(planned_deletes(), columns, None, count).map_err(Into::into)
}

#[cold]
fn too_many() -> Error {
    Error::new(ErrorKind::Unsupported, "more than 2^31 deletes")
}

/// The deletion vectors of the table's snapshot, in the order of the view. Reads the index manifest.
fn vectors_of(table: &Table) -> Result<Vectors> {
    Vectors::of(&IndexFiles::read(table, None)?.of_type(DELETION_VECTORS)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::mistyped;

    #[test]
    fn vectors_of_another_type_are_refused_by_name() {
        let vectors = RecordBatch::new_empty(vectors_schema());
        assert!(Attach::new(DeletesAs::Ids, &vectors).is_ok());
        for (name, vectors) in mistyped(&vectors).filter(|(name, _)| name != SHOWN) {
            let error = Attach::new(DeletesAs::Ids, &vectors).expect_err(&name);
            assert_eq!(
                (error.kind(), error.location().field.as_deref()),
                (ErrorKind::Mismatch, Some(&*name))
            );
        }
    }
}
