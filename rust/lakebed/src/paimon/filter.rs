//! Filters on partition columns and the bucket: what prunes manifests and entries before their
//! statistics are decoded.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema as ArrowSchema};

use super::binary_row::{arity, decode_column, decode_rows};
use super::schema::TableSchema;
use super::types::{DataField, widen};
use crate::error::{Error, ErrorKind, Result};
use crate::predicate::{BoundPredicate, ColumnRanges, Contents, Counts, Predicate};
use crate::record::find;

/// The pseudo column that filters can name besides the partition columns.
const BUCKET: &str = "bucket";

/// The partition columns of a table, as stored in rows and as shown in views.
#[derive(Debug, Clone)]
pub struct PartitionType {
    /// The columns, in key order.
    pub fields: Vec<DataField>,
    /// Their types in BinaryRow; every column may be null.
    pub stored: Fields,
    /// Their types in views.
    pub shown: Fields,
}

impl PartitionType {
    /// The partition columns of `schema`.
    pub fn new(schema: &TableSchema) -> PartitionType {
        let fields: Vec<DataField> = schema.partition_fields().into_iter().cloned().collect();
        let stored = fields.iter().map(|field| field.ty.storage_field(&field.name).with_nullable(true));
        let shown = fields.iter().map(|field| field.ty.view_field(&field.name).with_nullable(true));
        PartitionType { stored: stored.collect(), shown: shown.collect(), fields }
    }

    /// The type of the views' `partition` column.
    pub fn data_type(&self) -> DataType {
        DataType::Struct(self.shown.clone())
    }

    /// Partition rows as the views show them; a struct with a column per partition key.
    pub fn decode(&self, rows: &BinaryArray) -> Result<ArrayRef> {
        let stored: ArrayRef = Arc::new(decode_rows(rows, &self.stored)?);
        widen(&stored, &self.data_type())
    }

    /// Bounds of partitions, a column per partition key; null where a row has another arity, as the
    /// statistics of an empty manifest have.
    fn decode_bounds(&self, rows: &BinaryArray) -> Result<Vec<ArrayRef>> {
        let fits = |row: usize| rows.is_valid(row) && arity(rows.value(row)).ok() == Some(self.stored.len());
        let columns = self.stored.iter().zip(&self.shown).enumerate().map(|(position, (stored, shown))| {
            let column = decode_column(rows, |row| fits(row).then_some(position), stored)?;
            widen(&column, shown.data_type())
        });
        columns.collect()
    }

    /// Bounds of partitions as one struct.
    pub fn decode_bounds_struct(&self, rows: &BinaryArray) -> Result<ArrayRef> {
        let columns = self.decode_bounds(rows)?;
        let array =
            arrow_array::StructArray::try_new_with_length(self.shown.clone(), columns, None, rows.len());
        array
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Error::new(ErrorKind::Argument, error.to_string()).in_field("partition"))
    }
}

/// A filter bound to the partition columns and the bucket of one table.
#[derive(Debug)]
pub struct PartitionFilter {
    partition: PartitionType,
    predicate: BoundPredicate,
}

impl PartitionFilter {
    /// Parses and binds `text`.
    ///
    /// # Errors
    /// `Predicate` for a text that does not parse, a column that the table does not have or that is
    /// neither a partition column nor `bucket`, and a literal that does not fit its column.
    pub fn new(text: &str, schema: &TableSchema) -> Result<PartitionFilter> {
        let predicate = Predicate::parse(text)?;
        let partition = PartitionType::new(schema);
        for column in predicate.columns() {
            let other = column != BUCKET && !schema.partition_keys.iter().any(|key| key == column);
            if other && schema.field_by_name(column).is_some() {
                let keys = schema.partition_keys.join(", ");
                let message = format!(
                    "column {column:?} does not partition the table; filters take its partition columns ({keys}) and bucket"
                );
                return Err(Error::new(ErrorKind::Predicate, message).in_field(column));
            }
        }
        let mut fields: Vec<Arc<Field>> = partition.shown.iter().cloned().collect();
        // A partition column named `bucket` hides the pseudo column.
        if !partition.shown.iter().any(|field| field.name() == BUCKET) {
            fields.push(Arc::new(Field::new(BUCKET, DataType::Int32, false)));
        }
        let predicate = predicate.bind(&ArrowSchema::new(fields))?;
        Ok(PartitionFilter { partition, predicate })
    }

    fn keeps(&self, partition: &[u8], bucket: i64) -> Result<bool> {
        let rows = BinaryArray::from_vec(vec![partition]);
        let mut columns = self.partition.decode(&rows)?.as_struct().columns().to_vec();
        columns.push(Arc::new(Int32Array::from(vec![i32::try_from(bucket).ok()])));
        Ok(self.predicate.evaluate(&columns, 1)?.value(0))
    }

    /// Whether each manifest of a list may hold entries that match; a range that is not known keeps.
    pub fn may_match(&self, list: &RecordBatch) -> Result<Vec<bool>> {
        let count = list.num_rows();
        let entries = sum(&find(list, "num_added_files")?, &find(list, "num_deleted_files")?);
        let stats = find(list, "partition_stats")?;
        let stats = stats.as_struct();
        let lower = self.partition.decode_bounds(stats.column(0).as_binary::<i32>())?;
        let upper = self.partition.decode_bounds(stats.column(1).as_binary::<i32>())?;
        let nulls = stats.column(2).as_list::<i32>();
        let null_count = |position: usize| -> Int64Array {
            let count = |row: usize| {
                let counts = nulls.value(row);
                let counts = counts.as_primitive::<Int64Type>();
                (position < counts.len() && counts.is_valid(position)).then(|| counts.value(position))
            };
            (0..nulls.len()).map(|row| nulls.is_valid(row).then(|| count(row)).flatten()).collect()
        };
        let bounds = lower.into_iter().zip(upper).enumerate();
        let contents = |nulls: Option<&Int64Array>| {
            Contents::from_counts(count, Counts { values: Some(&entries), nulls, nans: None })
        };
        let mut columns: Vec<Option<ColumnRanges>> = bounds
            .map(|(position, (lower, upper))| {
                Some(ColumnRanges { lower, upper, contents: contents(Some(&null_count(position))) })
            })
            .collect();
        let (lower, upper) = (find(list, "min_bucket")?, find(list, "max_bucket")?);
        columns.push(Some(ColumnRanges { lower, upper, contents: contents(None) }));
        Ok(self.predicate.may_match(&columns, count)?.iter().collect())
    }
}

fn sum(left: &ArrayRef, right: &ArrayRef) -> Int64Array {
    let (left, right) = (left.as_primitive::<Int64Type>(), right.as_primitive::<Int64Type>());
    left.iter().zip(right).map(|(left, right)| left?.checked_add(right?)).collect()
}

/// Answers of a filter, kept: entries of one partition come in numbers.
#[derive(Default)]
pub(crate) struct PartitionMemo {
    known: HashMap<(Box<[u8]>, i64), bool>,
    last: Option<(Vec<u8>, i64, bool)>,
}

/// Partitions and buckets whose answers are kept before the memory is emptied.
const MEMO_ENTRIES: usize = 1 << 16;

impl PartitionMemo {
    /// Whether `filter` keeps entries of this partition and bucket.
    pub(crate) fn keeps(&mut self, filter: &PartitionFilter, partition: &[u8], bucket: i64) -> Result<bool> {
        if let Some((bytes, last_bucket, answer)) = &self.last
            && bytes == partition
            && *last_bucket == bucket
        {
            return Ok(*answer);
        }
        let key = (Box::from(partition), bucket);
        let answer = match self.known.get(&key) {
            Some(answer) => *answer,
            None => {
                let answer = filter.keeps(partition, bucket)?;
                if self.known.len() >= MEMO_ENTRIES {
                    self.known.clear();
                }
                self.known.insert(key, answer);
                answer
            }
        };
        self.last = Some((partition.to_vec(), bucket, answer));
        Ok(answer)
    }
}
