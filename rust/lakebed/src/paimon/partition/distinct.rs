//! The distinct partitions of many rows, each decoded once.

use std::collections::HashMap;

use arrow_array::{Array, ArrayRef, BinaryArray, StructArray, UInt64Array};
use arrow_select::take::take;

use super::PartitionType;
use crate::error::{Error, Result};
use crate::paimon::binary_row::decode_rows;

/// The distinct partitions of some rows, each decoded once.
pub(crate) struct DistinctPartitions {
    /// The number of each row's partition.
    pub(crate) numbers: Vec<usize>,
    /// The partitions, as stored.
    pub(crate) stored: StructArray,
}

impl PartitionType {
    /// The partitions of `rows`.
    ///
    /// # Errors
    /// Those of [`decode_rows`], with the row.
    pub(crate) fn partitions_of(&self, rows: &BinaryArray) -> Result<DistinctPartitions> {
        let (numbers, distinct) = distinct(rows);
        // Decoding all rows tells which of them is wrong.
        let placed = |error: Error| decode_rows(rows, &self.stored).err().unwrap_or(error);
        Ok(DistinctPartitions { numbers, stored: decode_rows(&distinct, &self.stored).map_err(placed)? })
    }

    /// The partition of each row as the views show it.
    pub(crate) fn show(&self, partitions: &DistinctPartitions) -> Result<ArrayRef> {
        let numbers = UInt64Array::from_iter_values(partitions.numbers.iter().map(|number| *number as u64));
        take(&self.as_shown(&partitions.stored)?, &numbers, None).map_err(Into::into)
    }
}

/// Numbers distinct values; gives each row's number and the values by number.
pub(crate) fn distinct(values: &BinaryArray) -> (Vec<usize>, BinaryArray) {
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut order: Vec<&[u8]> = Vec::new();
    let mut numbers: Vec<usize> = Vec::with_capacity(values.len());
    for row in 0..values.len() {
        let value = values.value(row);
        let number = match numbers.last() {
            Some(last) if order.get(*last) == Some(&value) => *last,
            _ => *known.entry(value).or_insert_with(|| {
                order.push(value);
                order.len() - 1
            }),
        };
        numbers.push(number);
    }
    (numbers, BinaryArray::from_vec(order))
}
