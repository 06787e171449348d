//! What a manifest list says of a manifest that is written: counts by status and a summary of each partition
//! field (Iceberg's `ManifestWriter.java`, `PartitionSummary.java`).

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, UInt32Array};
use arrow_row::{RowConverter, SortField};
use arrow_select::take::take;

use crate::error::{Error, ErrorKind, Result, fitting};
use crate::iceberg::manifest::{ADDED, DELETED};
use crate::iceberg::manifest_list::{FieldSummary, RecordedCounts};
use crate::iceberg::types::Type;
use crate::iceberg::value;
use crate::record::column;

/// What has been seen of a manifest's entries.
pub(super) struct Tally {
    /// EXISTING, ADDED and DELETED.
    counts: [RecordedCounts; 3],
    min_sequence_number: Option<i64>,
    fields: Vec<Field>,
}

/// The values of a partition field.
struct Field {
    ty: Type,
    order: RowConverter,
    contains_null: bool,
    contains_nan: bool,
    least: Option<Extreme>,
    most: Option<Extreme>,
}

/// A value, and bytes that sort as values of its type do.
struct Extreme {
    key: Box<[u8]>,
    value: Vec<u8>,
}

impl Tally {
    /// Nothing yet, of tuples of those types.
    ///
    /// # Errors
    /// `Unsupported` for a type that has no order.
    pub(super) fn new<'t>(types: impl Iterator<Item = &'t Type>) -> Result<Tally> {
        let field = |ty: &Type| {
            let order = RowConverter::new(vec![SortField::new(ty.arrow())]);
            let order = order.map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()))?;
            let (contains_null, contains_nan) = (false, false);
            Ok(Field { ty: ty.clone(), order, contains_null, contains_nan, least: None, most: None })
        };
        let known = RecordedCounts { files: Some(0), rows: Some(0) };
        let fields = types.map(field).collect::<Result<_>>()?;
        Ok(Tally { counts: [known; 3], min_sequence_number: None, fields })
    }

    /// Adds entries, and the values of their tuples, a column for each field.
    pub(super) fn add(&mut self, entries: &RecordBatch, tuples: &[ArrayRef], commit: i64) -> Result<()> {
        let status = column::<Int32Array>(entries, "status")?;
        let rows = column::<Int64Array>(entries, "record_count")?;
        let numbers = column::<Int64Array>(entries, "sequence_number")?;
        for (row, number) in numbers.iter().enumerate() {
            let status = status.value(row);
            let count = usize::try_from(status).ok().and_then(|status| self.counts.get_mut(status));
            if let Some(RecordedCounts { files: Some(files), rows: Some(sum) }) = count {
                *files = fitting(files.checked_add(1), "a manifest's number of files")?;
                *sum =
                    fitting(sum.checked_add(rows.value(row).unsigned_abs()), "a manifest's number of rows")?;
            }
            if status != DELETED {
                let number = number.unwrap_or(commit);
                self.min_sequence_number =
                    Some(self.min_sequence_number.map_or(number, |min| min.min(number)));
            }
        }
        self.fields.iter_mut().zip(tuples).try_for_each(|(field, values)| field.add(values))
    }

    /// Entries and rows that are ADDED, EXISTING and DELETED.
    pub(super) fn recorded(&self) -> (RecordedCounts, RecordedCounts, RecordedCounts) {
        let [existing, added, deleted] = self.counts;
        debug_assert_eq!((ADDED, DELETED), (1, 2));
        (added, existing, deleted)
    }

    /// The lowest data sequence number of live entries; that of the commit where there are none.
    pub(super) fn min_sequence_number(&self, commit: i64) -> i64 {
        self.min_sequence_number.unwrap_or(commit)
    }

    /// The summaries, in the order of the spec.
    pub(super) fn summaries(self) -> Vec<FieldSummary> {
        let summary = |field: Field| FieldSummary {
            contains_null: field.contains_null,
            contains_nan: Some(field.contains_nan),
            lower_bound: field.least.map(|extreme| extreme.value),
            upper_bound: field.most.map(|extreme| extreme.value),
        };
        self.fields.into_iter().map(summary).collect()
    }
}

impl Field {
    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        if self.ty == Type::Unknown {
            self.contains_null |= !values.is_empty();
            return Ok(());
        }
        let keys = self.order.convert_columns(std::slice::from_ref(values))?;
        let (singles, doubles) =
            (values.as_primitive_opt::<Float32Type>(), values.as_primitive_opt::<Float64Type>());
        let is_nan = |row: usize| {
            singles.is_some_and(|values| values.value(row).is_nan())
                || doubles.is_some_and(|values| values.value(row).is_nan())
        };
        let (mut least, mut most): (Option<usize>, Option<usize>) = (None, None);
        for row in 0..values.len() {
            if values.is_null(row) {
                self.contains_null = true;
            } else if is_nan(row) {
                self.contains_nan = true;
            } else {
                least = least.filter(|least| keys.row(*least) <= keys.row(row)).or(Some(row));
                most = most.filter(|most| keys.row(*most) >= keys.row(row)).or(Some(row));
            }
        }
        let extreme = |row: usize| -> Result<Extreme> {
            let row_number = UInt32Array::from_iter_values(u32::try_from(row));
            let value = take(values, &row_number, None)?;
            let value = value::encode(&value, &self.ty)?.value(0).to_vec();
            Ok(Extreme { key: keys.row(row).data().into(), value })
        };
        if let (Some(least), Some(most)) = (least, most) {
            let (least, most) = (extreme(least)?, extreme(most)?);
            if self.least.as_ref().is_none_or(|known| least.key < known.key) {
                self.least = Some(least);
            }
            if self.most.as_ref().is_none_or(|known| most.key > known.key) {
                self.most = Some(most);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, StringArray};

    use super::*;

    fn entries(rows: &[(i32, Option<i64>)]) -> RecordBatch {
        let columns: [(&str, ArrayRef); 3] = [
            ("status", Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.0)))),
            ("sequence_number", Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>())),
            ("record_count", Arc::new(Int64Array::from_value(10, rows.len()))),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
    }

    #[test]
    fn counts_are_by_status_and_deleted_entries_do_not_affect_the_lowest_number() {
        let mut tally = Tally::new(std::iter::empty()).unwrap();
        tally.add(&entries(&[(DELETED, Some(1)), (0, Some(4)), (ADDED, None)]), &[], 7).unwrap();
        let one = RecordedCounts { files: Some(1), rows: Some(10) };
        assert_eq!(tally.recorded(), (one, one, one));
        assert_eq!(tally.min_sequence_number(7), 4);
        let mut none = Tally::new(std::iter::empty()).unwrap();
        none.add(&entries(&[(DELETED, Some(1))]), &[], 7).unwrap();
        assert_eq!(none.min_sequence_number(7), 7);
    }

    #[test]
    fn bounds_ignore_null_and_nan() {
        let types = [Type::Double, Type::String];
        let mut tally = Tally::new(types.iter()).unwrap();
        let floats = |values: Vec<Option<f64>>| Arc::new(Float64Array::from(values)) as ArrayRef;
        let texts = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
        let rows = entries(&[(ADDED, None), (ADDED, None)]);
        let first = [floats(vec![Some(f64::NAN), Some(0.0)]), texts(vec![None, Some("b")])];
        let second = [floats(vec![Some(-0.0), Some(-2.5)]), texts(vec![Some("ä"), Some("a")])];
        tally.add(&rows, &first, 1).unwrap();
        tally.add(&rows, &second, 1).unwrap();
        let summaries = tally.summaries();
        let [double, text] = summaries.as_slice() else { panic!("two fields") };
        assert_eq!((double.contains_null, double.contains_nan), (false, Some(true)));
        assert_eq!(double.lower_bound.as_deref(), Some((-2.5_f64).to_le_bytes().as_slice()));
        assert_eq!(double.upper_bound.as_deref(), Some(0.0_f64.to_le_bytes().as_slice()));
        assert_eq!((text.contains_null, text.contains_nan), (true, Some(false)));
        let bounds = (text.lower_bound.as_deref(), text.upper_bound.as_deref());
        assert_eq!(bounds, (Some("a".as_bytes()), Some("ä".as_bytes())));
    }
}
