//! Checks entries for impossible values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow_row::{RowConverter, SortField};

use super::IDENTITY_COLUMN;
use super::finding::{Finding, Severity};
use crate::error::{Error, ErrorKind, Result};
use crate::record::column;

const MISMATCH: &str = ErrorKind::Mismatch.name();

/// The column of entries that tells whether they add a file (1), delete one (-1), or neither (0).
pub(crate) const ENTRY_SIGN: &str = "_sign";

/// The columns of entries to check.
pub(super) struct CheckedColumns {
    pub(super) signs: Int32Array,
    pub(super) identities: BinaryArray,
    pub(super) paths: StringArray,
    pub(super) sizes: Int64Array,
    pub(super) rows: Int64Array,
    /// The content of each file, where the format has it: 0 rows, 1 position deletes, 2 equality deletes.
    pub(super) contents: Option<Int32Array>,
    stats: Option<StructArray>,
}

impl CheckedColumns {
    /// # Errors
    /// `Required` for a batch without one of them, `Mismatch` for one of another type.
    pub(super) fn new(batch: &RecordBatch) -> Result<CheckedColumns> {
        let contents =
            batch.column_by_name("content").and_then(|column| column.as_primitive_opt::<Int32Type>());
        let stats = batch.column_by_name("stats").and_then(|stats| stats.as_struct_opt()).cloned();
        Ok(CheckedColumns {
            signs: column::<Int32Array>(batch, ENTRY_SIGN)?.clone(),
            identities: column::<BinaryArray>(batch, IDENTITY_COLUMN)?.clone(),
            paths: column::<StringArray>(batch, "file_path")?.clone(),
            sizes: column::<Int64Array>(batch, "file_size_in_bytes")?.clone(),
            rows: column::<Int64Array>(batch, "record_count")?.clone(),
            contents: contents.cloned(),
            stats,
        })
    }

    /// What is wrong with them, of which the first is the record `first` of its manifest; `wrong` is what the format
    /// finds, with rows.
    pub(super) fn wrong(&self, first: u64, wrong: &[(usize, Error)]) -> Vec<Finding> {
        let mut found = Vec::new();
        for (name, numbers) in [("record_count", &self.rows), ("file_size_in_bytes", &self.sizes)] {
            for (row, number) in
                numbers.iter().enumerate().filter(|(_, number)| number.is_some_and(|it| it < 0))
            {
                let message = format!("{name} is {}", number.unwrap_or_default());
                found.push(self.of(row, first, Severity::Error, MISMATCH, &message).in_field(name));
            }
        }
        for (row, error) in wrong {
            let finding = self.of(*row, first, Severity::Error, error.kind().name(), error.message());
            let field = error.location().field.as_deref();
            found.push(field.map_or_else(|| finding.clone(), |field| finding.clone().in_field(field)));
        }
        for (name, stats) in
            self.stats.iter().flat_map(|all| all.column_names().into_iter().zip(all.columns()))
        {
            if let Some(stats) = stats.as_struct_opt() {
                self.contradictions(name, stats, first, &mut found);
            }
        }
        found
    }

    fn of(&self, row: usize, first: u64, severity: Severity, kind: &'static str, message: &str) -> Finding {
        let path = if self.paths.is_valid(row) { self.paths.value(row) } else { "" };
        let message = format!("{message}, of the file {path:?}");
        Finding::new(severity, kind, message).in_record(first + row as u64)
    }

    /// Counts above the number of rows of the file, and a lower bound above the upper one.
    fn contradictions(&self, column: &str, stats: &StructArray, first: u64, found: &mut Vec<Finding>) {
        let mut say = |row: usize, message: String| {
            let field = format!("stats.{column}");
            found.push(self.of(row, first, Severity::Warning, MISMATCH, &message).in_field(&field));
        };
        let counts =
            |name: &str| stats.column_by_name(name).and_then(|counts| counts.as_primitive_opt::<Int64Type>());
        let values = counts("value_count");
        for name in ["null_count", "nan_count"] {
            for (row, (count, rows)) in counts(name).into_iter().flatten().zip(&self.rows).enumerate() {
                let Some(count) = count else { continue };
                let values = values.filter(|values| values.is_valid(row)).map(|values| values.value(row));
                if let Some(rows) = rows.filter(|rows| count > *rows || count < 0) {
                    say(row, format!("{name} is {count} in {rows} rows"));
                } else if let Some(values) = values.filter(|values| count > *values) {
                    say(row, format!("{name} is {count} of {values} values"));
                }
            }
        }
        let bounds = ["lower_bound", "upper_bound"].map(|name| stats.column_by_name(name));
        if let [Some(lower), Some(upper)] = bounds {
            for row in crossed(lower, upper) {
                say(row, "the lower bound is above the upper bound".to_owned());
            }
        }
    }
}

/// The rows whose lower bound is above the upper one; none for types without an order.
fn crossed(lower: &ArrayRef, upper: &ArrayRef) -> Vec<usize> {
    let ordered = |bounds: &ArrayRef| {
        let converter = RowConverter::new(vec![SortField::new(bounds.data_type().clone())]);
        let converter = converter.ok()?;
        converter.convert_columns(&[one_zero(bounds)]).ok()
    };
    let (Some(lowers), Some(uppers)) = (ordered(lower), ordered(upper)) else { return Vec::new() };
    let crossed =
        |row: &usize| lower.is_valid(*row) && upper.is_valid(*row) && lowers.row(*row) > uppers.row(*row);
    (0..lower.len().min(upper.len())).filter(crossed).collect()
}

/// The same values with a single zero, since writers use either zero for the lower bound.
fn one_zero(bounds: &ArrayRef) -> ArrayRef {
    if let Some(bounds) = bounds.as_primitive_opt::<Float32Type>() {
        Arc::new(bounds.unary::<_, Float32Type>(|value| value + 0.0))
    } else if let Some(bounds) = bounds.as_primitive_opt::<Float64Type>() {
        Arc::new(bounds.unary::<_, Float64Type>(|value| value + 0.0))
    } else {
        Arc::clone(bounds)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Float64Array;

    use super::*;

    #[test]
    fn bounds_cross_where_the_lower_is_above() {
        let lower: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("b"), Some("c"), None]));
        let upper: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("a"), None, Some("a")]));
        assert_eq!(crossed(&lower, &upper), [1]);
    }

    #[test]
    fn the_two_zeros_are_one() {
        let lower: ArrayRef = Arc::new(Float64Array::from(vec![0.0, 1.0]));
        let upper: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, -1.0]));
        assert_eq!(crossed(&lower, &upper), [1]);
    }
}
