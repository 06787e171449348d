//! Tests partitions and buckets against a filter: partition rows, and the bounds of partitions (Paimon's
//! `PartitionPredicate.java`).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, Int32Array, Int64Array, RecordBatch};

use super::bind::{BoundFilter, ColumnSource, numbered, projected};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::fields::SimpleStats;
use crate::paimon::partition::{PartitionType, distinct};
use crate::paimon::schema::TableSchema;
use crate::predicate::{BoundPredicate, ColumnRanges, Contents, Counts, Node, Predicate};
use crate::record::{column, find};

/// What a filter implies of partition columns and the bucket, and the whole filter for when these are known.
#[derive(Debug)]
pub(crate) struct PartitionPredicate {
    partition: PartitionType,
    /// For each column of the filter its place among the partition columns; the bucket is after the last one.
    places: Vec<Option<usize>>,
    /// The filter.
    whole: Node,
    /// The part that tests partition columns and the bucket, with columns numbered by those places.
    implied: BoundPredicate,
    /// Whether that part tests the bucket.
    tests_bucket: bool,
}

impl PartitionPredicate {
    pub(super) fn new(bound: &BoundFilter, schema: &TableSchema) -> Result<PartitionPredicate> {
        let partition = PartitionType::new(schema);
        let place = |source: &ColumnSource| match source {
            ColumnSource::Field(field) => partition.fields.iter().position(|known| known.id == field.id),
            ColumnSource::Bucket => Some(partition.fields.len()),
            ColumnSource::Nested => None,
        };
        let places: Vec<Option<usize>> = bound.sources.iter().map(place).collect();
        let implied = BoundPredicate::new(projected(&bound.node, &|number| at(&places, number))?);
        let mut tests_bucket = false;
        implied.node.for_each_leaf(&mut |leaf| tests_bucket |= leaf.column.index == partition.fields.len());
        Ok(PartitionPredicate { partition, places, whole: bound.node.clone(), implied, tests_bucket })
    }

    /// A filter on partition columns alone, which they decide.
    ///
    /// # Errors
    /// `Unsupported` for another column of the table, with its name as the field; those of binding the filter.
    pub(crate) fn exact(filter: &Predicate, schema: &TableSchema) -> Result<PartitionPredicate> {
        let names: Vec<String> =
            PartitionType::new(schema).fields.into_iter().map(|field| field.name).collect();
        let bound = BoundFilter::new(filter, schema)?;
        if let Some(other) =
            filter.columns().into_iter().find(|column| !names.iter().any(|name| name == column))
        {
            let message = format!(
                "a condition on {other:?}, which is not a partition column ({}): it does not decide on whole files",
                if names.is_empty() { "the table has none".to_owned() } else { names.join(", ") }
            );
            return Err(Error::new(ErrorKind::Unsupported, message).in_field(other));
        }
        PartitionPredicate::new(&bound, schema)
    }

    /// Which of these partitions match an exact filter. Values on whose order engines disagree do not.
    pub(crate) fn holds(&self, partitions: &BinaryArray) -> Result<BooleanArray> {
        let (numbers, distinct) = distinct(partitions);
        let values = self.partition.values(&distinct)?;
        let matches = self.implied.evaluate_strictly(values.columns(), distinct.len())?;
        let matches: Vec<bool> = matches.iter().collect();
        Ok(numbers.into_iter().map(|number| matches.get(number).copied()).collect())
    }

    /// Whether it can exclude any partition or bucket.
    pub(super) fn can_prune(&self) -> bool {
        !matches!(self.implied.node, Node::Constant(true))
    }

    /// Whether it may keep one bucket of a partition and drop another.
    pub(in crate::paimon) fn tests_bucket(&self) -> bool {
        self.tests_bucket
    }

    /// What the filter implies of partitions and the bucket, as SQL text.
    pub(crate) fn written(&self) -> String {
        self.implied.node.written().to_string()
    }

    /// Whether rows of this partition and bucket may match.
    pub(crate) fn matches(&self, partition: &[u8], bucket: i64) -> Result<bool> {
        match &self.implied.node {
            Node::Constant(value) => Ok(*value),
            _ => Ok(self.implied.evaluate(&self.values(partition, bucket)?, 1)?.value(0)),
        }
    }

    /// The part of the filter that this partition and bucket do not decide (Paimon's
    /// `PartitionValuePredicateVisitor.java`).
    pub(crate) fn rest(&self, partition: &[u8], bucket: i64) -> Result<Node> {
        let values = self.values(partition, bucket)?;
        self.whole.map_leaves(&mut |leaf| {
            let Some(place) = at(&self.places, leaf.column.index) else {
                return Ok(Node::Leaf(leaf.clone()));
            };
            let known = BoundPredicate::new(Node::Leaf(numbered(leaf, place)));
            Ok(Node::Constant(known.evaluate(&values, 1)?.value(0)))
        })
    }

    fn values(&self, partition: &[u8], bucket: i64) -> Result<Vec<ArrayRef>> {
        let rows = BinaryArray::from_vec(vec![partition]);
        let mut columns = self.partition.values(&rows)?.columns().to_vec();
        columns.push(Arc::new(Int32Array::from(vec![i32::try_from(bucket).ok()])));
        Ok(columns)
    }

    /// Whether each manifest of a list may hold matching entries; true where its range is not known.
    pub(crate) fn may_match(&self, list: &RecordBatch) -> Result<Vec<bool>> {
        let count = list.num_rows();
        let entries = sum(column(list, "num_added_files")?, column(list, "num_deleted_files")?);
        let stats = SimpleStats::of(list, "partition_stats")?;
        let lower = self.partition.decode_bounds(stats.lower)?;
        let upper = self.partition.decode_bounds(stats.upper)?;
        let null_count =
            |position: usize| (0..count).map(|row| stats.null_count(row, position)).collect::<Int64Array>();
        let contents = |nulls: Option<&Int64Array>| {
            Contents::from_counts(count, Counts { values: Some(&entries), nulls, nans: None })
        };
        let bounds = lower.into_iter().zip(upper).enumerate();
        let mut columns: Vec<Option<ColumnRanges>> = bounds
            .map(|(position, (lower, upper))| {
                Some(ColumnRanges { lower, upper, contents: contents(Some(&null_count(position))) })
            })
            .collect();
        let (lower, upper) = (find(list, "min_bucket")?, find(list, "max_bucket")?);
        columns.push(Some(ColumnRanges { lower, upper, contents: contents(None) }));
        Ok(self.implied.may_match(&columns, count)?.iter().collect())
    }
}

fn at(places: &[Option<usize>], number: usize) -> Option<usize> {
    places.get(number).copied().flatten()
}

fn sum(left: &Int64Array, right: &Int64Array) -> Int64Array {
    left.iter().zip(right).map(|(left, right)| left?.checked_add(right?)).collect()
}
