//! Makes a manifest's record in its list from its entries (Paimon's `ManifestFile.java`).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::types::{ArrowPrimitiveType, Int8Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, Int64Array, PrimitiveArray, RecordBatch, StringArray,
    StructArray, UInt32Array, new_null_array,
};
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use arrow_select::take::take;
use foldhash::fast::RandomState;

use crate::error::{Error, ErrorKind, Result, fitting};
use crate::field::texts;
use crate::paimon::binary_row::{decode_rows, encode_rows};
use crate::paimon::fields::{LIST, simple_stats};
use crate::paimon::manifest::ADD;
use crate::paimon::partition::PartitionType;
use crate::record::{column, record_schema};
use crate::view;

/// Minimum and maximum of the values so far.
#[derive(Debug, Clone, Copy)]
struct Range<T>(Option<(T, T)>);

impl<T: Ord + Copy> Range<T> {
    const EMPTY: Range<T> = Range(None);

    fn extend(&mut self, values: impl IntoIterator<Item = T>) {
        for value in values {
            self.0 = Some(self.0.map_or((value, value), |(low, high)| (low.min(value), high.max(value))));
        }
    }
}

type PartitionCounts = HashMap<Box<[u8]>, i64, RandomState>;

/// The record of a manifest, built while its entries are written batch by batch.
pub(super) struct Summary {
    added: i64,
    deleted: i64,
    schemas: Range<i64>,
    buckets: Range<i32>,
    levels: Range<i32>,
    /// `None` once an entry has no row ids.
    row_ids: Option<Range<i64>>,
    /// The number of entries of each partition.
    partitions: PartitionCounts,
}

impl Summary {
    pub(super) fn new() -> Summary {
        Summary {
            added: 0,
            deleted: 0,
            schemas: Range::EMPTY,
            buckets: Range::EMPTY,
            levels: Range::EMPTY,
            row_ids: Some(Range::EMPTY),
            partitions: PartitionCounts::default(),
        }
    }

    /// Adds entries, which have all columns of the field table.
    pub(super) fn extend(&mut self, entries: &RecordBatch) -> Result<()> {
        let kinds = numbers::<Int8Type>(entries, "kind")?;
        let added = kinds.iter().filter(|kind| **kind == ADD).count() as i64;
        self.added += added;
        self.deleted += kinds.len() as i64 - added;
        self.schemas.extend(numbers::<Int64Type>(entries, "schema_id")?);
        self.buckets.extend(numbers::<Int32Type>(entries, "bucket")?);
        self.levels.extend(numbers::<Int32Type>(entries, "level")?);
        let first_ids = column::<Int64Array>(entries, "first_row_id")?;
        if first_ids.null_count() > 0 {
            self.row_ids = None;
        }
        if let Some(row_ids) = &mut self.row_ids {
            let first_ids = first_ids.values();
            let rows = numbers::<Int64Type>(entries, "row_count")?;
            let last = first_ids.iter().zip(rows).map(|(first, rows)| {
                let last = rows.checked_sub(1).and_then(|rows| first.checked_add(rows));
                fitting(last, "a row id")
            });
            let last = last.collect::<Result<Vec<_>>>()?;
            row_ids.extend(first_ids.iter().copied().chain(last));
        }
        for partition in column::<BinaryArray>(entries, "partition")?.iter().flatten() {
            match self.partitions.get_mut(partition) {
                Some(count) => *count += 1,
                None => drop(self.partitions.insert(partition.into(), 1)),
            }
        }
        Ok(())
    }

    /// The record of the manifest `name` with this size \[bytes\], and its sidecar where it has one.
    pub(super) fn finish(
        self,
        name: &str,
        size: u64,
        sidecar: Option<&str>,
        partition: &PartitionType,
    ) -> Result<RecordBatch> {
        let int = |value: Option<i32>| Arc::new(Int32Array::from(vec![value])) as ArrayRef;
        let long = |value: Option<i64>| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
        let row_ids = self.row_ids.and_then(|range| range.0);
        let columns = [
            Arc::new(StringArray::from(vec![name])) as ArrayRef,
            long(Some(fitting(i64::try_from(size).ok(), "the size of a manifest")?)),
            long(Some(self.added)),
            long(Some(self.deleted)),
            partition_stats(&self.partitions, partition)?,
            long(Some(self.schemas.0.map_or(0, |(_, last)| last))),
            int(self.buckets.0.map(|(low, _)| low)),
            int(self.buckets.0.map(|(_, high)| high)),
            int(self.levels.0.map(|(low, _)| low)),
            int(self.levels.0.map(|(_, high)| high)),
            long(row_ids.map(|(low, _)| low)),
            long(row_ids.map(|(_, high)| high)),
            int(None),
            match sidecar {
                Some(name) => view::lists([1].into_iter(), Arc::new(StringArray::from(vec![name])))?,
                None => new_null_array(&texts(), 1),
            },
        ];
        RecordBatch::try_new(record_schema(&LIST.iter().collect::<Vec<_>>()), columns.to_vec())
            .map_err(Into::into)
    }
}

fn numbers<T: ArrowPrimitiveType>(entries: &RecordBatch, name: &str) -> Result<Vec<T::Native>> {
    Ok(column::<PrimitiveArray<T>>(entries, name)?.values().to_vec())
}

/// The minimum and maximum of each partition column, and its number of nulls.
fn partition_stats(partitions: &PartitionCounts, partition: &PartitionType) -> Result<ArrayRef> {
    let rows = BinaryArray::from_iter_values(partitions.keys());
    let counts: Vec<i64> = partitions.values().copied().collect();
    let values = decode_rows(&rows, &partition.stored)?;
    let mut bounds: [Vec<ArrayRef>; 2] = [Vec::new(), Vec::new()];
    let mut nulls = ListBuilder::new(Int64Builder::new());
    for column in values.columns() {
        for (bound, row) in bounds.iter_mut().zip(extremes(column)?) {
            bound.push(match row {
                Some(row) => take(column, &UInt32Array::from(vec![row]), None)?,
                None => new_null_array(column.data_type(), 1),
            });
        }
        let of_nulls = counts.iter().enumerate().filter(|(row, _)| column.is_null(*row));
        nulls.values().append_value(of_nulls.map(|(_, count)| count).sum());
    }
    nulls.append(true);
    let [lower, upper] = bounds.map(|columns| {
        let row = StructArray::try_new_with_length(partition.stored.clone(), columns, None, 1);
        encode_rows(&row?, &partition.stored)
    });
    let DataType::Struct(fields) = simple_stats() else {
        return Err(Error::new(ErrorKind::Argument, "statistics are a struct"));
    };
    let columns = vec![Arc::new(lower?) as ArrayRef, Arc::new(upper?), Arc::new(nulls.finish())];
    Ok(Arc::new(StructArray::try_new(fields, columns, None)?))
}

/// The rows of the minimum and the maximum.
fn extremes(column: &ArrayRef) -> Result<[Option<u32>; 2]> {
    let converter = RowConverter::new(vec![SortField::new(column.data_type().clone())]);
    let ordered = converter?.convert_columns(&[Arc::clone(column)])?;
    let there = || (0..column.len()).filter(|row| column.is_valid(*row));
    let row = |found: Option<usize>| found.and_then(|row| u32::try_from(row).ok());
    let least = there().min_by(|a, b| ordered.row(*a).cmp(&ordered.row(*b)));
    let largest = there().max_by(|a, b| ordered.row(*a).cmp(&ordered.row(*b)));
    Ok([row(least), row(largest)])
}
