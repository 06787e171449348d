//! Partition specs, and the one type that the partitions of all specs of a table share.

mod conform;
mod numbers;
mod rows;
mod spec;
mod unified;

#[cfg(test)]
mod tests;

pub(in crate::iceberg) use conform::conform;
pub(crate) use numbers::PartitionNumbers;
pub(in crate::iceberg) use rows::partitions_of;
pub(in crate::iceberg) use spec::{FIRST_FIELD_ID, NO_PARTITION_ID};
pub use spec::{PartitionField, PartitionSpec};
pub use unified::{PartitionType, UnifiedField};
