//! Partitions as numbers, by which files are grouped and deletes are looked up.

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

/// The partitions of a table, numbered in the order of their first appearance.
///
/// Tuples of different specs are different partitions. Values are equal as in Iceberg's
/// `StructLikeWrapper.java`: null equals null, any NaN equals any other, and the two zeros of floats differ.
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

    /// The number of partitions.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of the partition of each tuple of a spec; new partitions get the next number.
    pub(crate) fn number(&mut self, spec_ids: &ArrayRef, tuples: &StructArray) -> Result<Vec<usize>> {
        let rows = self.rows.convert_columns(&columns(spec_ids, tuples)?)?;
        Ok(of_each(&rows, |key| self.number_of(key)))
    }

    /// The number of the partition with this key; a new partition gets the next number.
    pub(crate) fn number_of(&mut self, key: &[u8]) -> usize {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        self.numbers.insert(key.into(), self.keys.len());
        self.keys.push(key.into());
        self.keys.len() - 1
    }

    /// The keys of the partitions: within a table, bytes that are equal exactly where partitions are.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(AsRef::as_ref)
    }

    /// The numbers of the partitions, sorted by their tuples, nulls first, then by spec.
    pub(crate) fn sorted(&self) -> Vec<usize> {
        // A key begins with the spec: whether there is one, and four bytes.
        let mut keys: Vec<_> = self.keys.iter().map(|key| key.split_at_checked(5)).enumerate().collect();
        keys.sort_by_key(|(number, key)| (key.map(|(spec, tuple)| (tuple, spec)), *number));
        keys.into_iter().map(|(number, _)| number).collect()
    }

    /// Removes all partitions.
    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
        self.keys.clear();
    }

    /// The number of the partition of each tuple of a spec; `None` for unknown partitions.
    pub(crate) fn find(&self, spec_ids: &ArrayRef, tuples: &StructArray) -> Result<Vec<Option<usize>>> {
        let rows = self.rows.convert_columns(&columns(spec_ids, tuples)?)?;
        Ok(of_each(&rows, |key| self.numbers.get(key).copied()))
    }

    /// A hash of the partition of each tuple of a spec, the same in every process.
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

/// The result of `of` for each row; it is called once for equal neighbours, since files of one partition
/// often follow each other.
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

/// The columns of a partition's key: the spec, then the values of the tuple.
fn columns(spec_ids: &ArrayRef, tuples: &StructArray) -> Result<Vec<ArrayRef>> {
    // For unpartitioned tables some writers write null instead of a tuple of nulls.
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

/// Floats in which every NaN has the same bits.
fn one_nan(column: ArrayRef) -> ArrayRef {
    if let Some(values) = column.as_primitive_opt::<Float32Type>() {
        Arc::new(values.unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value }))
    } else if let Some(values) = column.as_primitive_opt::<Float64Type>() {
        Arc::new(values.unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value }))
    } else {
        column
    }
}
