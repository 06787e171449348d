//! The partitions whose files a commit removes.

use std::collections::HashSet;

use arrow_array::{BinaryArray, BooleanArray, Int32Array, RecordBatch, StructArray};

use super::base::Base;
use super::removed::partitions_of;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::paths::POSTPONE_BUCKET;
use crate::paimon::prune::PartitionPredicate;
use crate::paimon::schema::TableSchema;
use crate::paimon::write::place::{PartialPartition, partition_of};
use crate::predicate::Predicate;
use crate::record::column;

/// Partitions whose live files are all removed.
pub(super) enum PartitionSelection {
    /// Those with these values.
    With(PartialPartition),
    /// Those of some added files.
    These(HashSet<Vec<u8>>),
    /// Those that match a condition.
    PlanRowBuilder(Box<PartitionPredicate>),
}

impl PartitionSelection {
    /// Those with some values, in which all of the `added` files must be.
    ///
    /// # Errors
    /// Those of [`partition_of`]; `Argument` for a file of another partition, with its row.
    pub(super) fn with(
        values: &StructArray,
        schema: &TableSchema,
        added: &RecordBatch,
    ) -> Result<PartitionSelection> {
        let partition = partition_of(values, schema)?;
        let inside = partition.holds(column::<BinaryArray>(added, "partition")?)?;
        match inside.iter().position(|inside| inside != Some(true)) {
            Some(row) => {
                let message = "the file is in another partition than the overwritten one";
                Err(Error::new(ErrorKind::Argument, message).in_row(row).in_field("partition"))
            }
            None => Ok(PartitionSelection::With(partition)),
        }
    }

    /// Those of `added` files.
    pub(super) fn of(added: &RecordBatch) -> Result<PartitionSelection> {
        partitions_of(added).map(PartitionSelection::These)
    }

    /// Those that match a condition.
    ///
    /// # Errors
    /// Those of [`PartitionPredicate::exact`].
    pub(super) fn matching(condition: &Predicate, schema: &TableSchema) -> Result<PartitionSelection> {
        PartitionPredicate::exact(condition, schema).map(Box::new).map(PartitionSelection::PlanRowBuilder)
    }

    /// Which entries are in the partitions.
    pub(super) fn hold(&self, entries: &RecordBatch) -> Result<BooleanArray> {
        let partitions = column::<BinaryArray>(entries, "partition")?;
        match self {
            PartitionSelection::With(partition) => partition.holds(partitions),
            PartitionSelection::These(known) => {
                Ok(partitions.iter().map(|partition| Some(known.contains(partition?))).collect())
            }
            PartitionSelection::PlanRowBuilder(condition) => condition.holds(partitions),
        }
    }

    /// Which entries are removed. In tables whose buckets are not postponed, files that are not assigned to a bucket
    /// yet are kept.
    pub(super) fn remove(&self, base: &Base, entries: &RecordBatch) -> Result<BooleanArray> {
        let held = self.hold(entries)?;
        if base.schema().bucket() == POSTPONE_BUCKET {
            return Ok(held);
        }
        let buckets = column::<Int32Array>(entries, "bucket")?;
        let rows = held.iter().zip(buckets.values());
        Ok(rows.map(|(held, bucket)| Some(held == Some(true) && *bucket >= 0)).collect())
    }

    /// Which manifests may have files of the partitions, by the bounds in their list; `None` for all.
    pub(super) fn manifests(&self, base: &Base) -> Result<Option<Vec<bool>>> {
        match self {
            PartitionSelection::With(_) => Ok(None),
            PartitionSelection::These(partitions) => super::prune::may_hold(base, partitions).map(Some),
            PartitionSelection::PlanRowBuilder(condition) => condition.may_match(base.list()?).map(Some),
        }
    }
}
