//! Partitions as numbers: what groups files, and what is compared where deletes are looked up.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, StructArray, UInt32Array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, Fields};
use arrow_select::take::take;

use super::PartitionType;
use crate::distributed::hash;
use crate::error::{Error, ErrorKind, Result};

/// The partitions of a table, numbered in the order in which they are first met.
///
/// A tuple of one spec is never one of another. Values are equal as Iceberg's `StructLikeWrapper.java` has
/// it: null is null, any NaN is any other, and the two zeros of floats differ.
pub(crate) struct PartitionNumbers {
    fields: Fields,
    rows: RowConverter,
    numbers: HashMap<Box<[u8]>, usize>,
    keys: Vec<Box<[u8]>>,
}

impl PartitionNumbers {
    /// No partitions yet.
    ///
    /// # Errors
    /// `Unsupported` for a partition field of a type that cannot be compared.
    pub(crate) fn new(partition: &PartitionType) -> Result<PartitionNumbers> {
        let fields = partition.arrow_fields();
        let of_tuples = fields.iter().map(|field| SortField::new(field.data_type().clone()));
        let sorted = std::iter::once(SortField::new(DataType::Int32)).chain(of_tuples);
        let rows = RowConverter::new(sorted.collect())
            .map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()).in_field("partition"))?;
        Ok(PartitionNumbers { fields, rows, numbers: HashMap::new(), keys: Vec::new() })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of the partition of each tuple of a spec, which is made where it is new.
    pub(crate) fn number(&mut self, spec_ids: &ArrayRef, tuples: &StructArray) -> Result<Vec<usize>> {
        let rows = self.rows.convert_columns(&columns(spec_ids, tuples)?)?;
        Ok(of_each(&rows, |key| self.number_of(key)))
    }

    /// The number of the partition that has this key, which is made where it is new.
    pub(crate) fn number_of(&mut self, key: &[u8]) -> usize {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        self.numbers.insert(key.into(), self.keys.len());
        self.keys.push(key.into());
        self.keys.len() - 1
    }

    /// The keys of the partitions: bytes that are equal where partitions are, for all of one table.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(AsRef::as_ref)
    }

    /// Forgets the partitions.
    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
        self.keys.clear();
    }

    /// The number of the partition of each tuple of a spec, `None` for those that were never met.
    pub(crate) fn find(&self, spec_ids: &ArrayRef, tuples: &StructArray) -> Result<Vec<Option<usize>>> {
        let rows = self.rows.convert_columns(&columns(spec_ids, tuples)?)?;
        Ok(of_each(&rows, |key| self.numbers.get(key).copied()))
    }

    /// A hash of the partition of each tuple of a spec, the same wherever it is computed.
    pub(crate) fn hashes(&self, spec_ids: &ArrayRef, tuples: &StructArray) -> Result<Vec<u64>> {
        let rows = self.rows.convert_columns(&columns(spec_ids, tuples)?)?;
        Ok(of_each(&rows, hash))
    }

    /// The tuple of each partition.
    pub(crate) fn tuples(&self) -> Result<ArrayRef> {
        let parser = self.rows.parser();
        let rows = self.keys.iter().map(|key| parser.parse(key));
        let mut columns = self.rows.convert_rows(rows)?;
        columns.remove(0);
        let tuples = StructArray::try_new_with_length(self.fields.clone(), columns, None, self.len());
        Ok(Arc::new(tuples?))
    }
}

/// What `of` says of each row; files of one partition come in numbers, so it is asked once for equal
/// neighbours.
fn of_each<T: Copy>(rows: &Rows, mut of: impl FnMut(&[u8]) -> T) -> Vec<T> {
    let mut last: Option<(&[u8], T)> = None;
    let answers = rows.iter().map(|row| {
        let key = row.data();
        let answer = match last {
            Some((bytes, answer)) if bytes == key => answer,
            _ => of(key),
        };
        last = Some((key, answer));
        answer
    });
    answers.collect()
}

/// What rows are made of: the spec, then the values of the tuple.
fn columns(spec_ids: &ArrayRef, tuples: &StructArray) -> Result<Vec<ArrayRef>> {
    // Some writers have null for the tuple of a table without partitions: one of nulls.
    let valid = |row: usize| tuples.is_valid(row).then(|| u32::try_from(row).ok()).flatten();
    let rows = (tuples.null_count() > 0).then(|| (0..tuples.len()).map(valid).collect::<UInt32Array>());
    let mut columns = vec![Arc::clone(spec_ids)];
    for column in tuples.columns() {
        let column = match &rows {
            Some(rows) => take(column, rows, None)?,
            None => Arc::clone(column),
        };
        columns.push(one_nan(column));
    }
    Ok(columns)
}

/// Floats with one NaN for all.
fn one_nan(column: ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float32 => {
            let values = column.as_primitive::<Float32Type>();
            Arc::new(values.unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value }))
        }
        DataType::Float64 => {
            let values = column.as_primitive::<Float64Type>();
            Arc::new(values.unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value }))
        }
        _ => column,
    }
}
