//! Evaluates filters on the metrics that manifests record of columns (Iceberg's
//! `InclusiveMetricsEvaluator.java`, `StrictMetricsEvaluator.java`).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, new_null_array};
use arrow_buffer::BooleanBuffer;

use super::bind::{ColumnSource, RowFilter};
use super::projection::Mode;
use super::transformed::at_their_lowest;
use crate::error::Result;
use crate::iceberg::metrics::metric_values;
use crate::iceberg::transform::Transform;
use crate::iceberg::types::{FieldRef, Type};
use crate::iceberg::value::decode_bounds;
use crate::predicate::{BoundPredicate, ColumnRanges, Contents, Counts, Reader};
use crate::record::column;

const ROWS: &str = "record_count";
const COUNTS: [&str; 2] = ["value_counts", "null_value_counts"];
const NAN_COUNTS: &str = "nan_value_counts";
const BOUNDS: [&str; 2] = ["lower_bounds", "upper_bounds"];

/// Decides by metrics whether files may, or must, match a filter.
#[derive(Debug, Clone)]
pub struct MetricsEvaluator {
    predicate: BoundPredicate,
    /// By the numbers to which the predicate is bound; `None` for terms without metrics.
    columns: Vec<Option<TransformedColumn>>,
    ids: Vec<i32>,
    has_floats: bool,
}

/// A column with a transform.
#[derive(Debug, Clone)]
struct TransformedColumn {
    field: FieldRef,
    transform: Transform,
    /// The position of its id among those of all columns.
    place: usize,
    /// Whether it is nested in structs.
    nested: bool,
}

impl MetricsEvaluator {
    /// The evaluator of `filter`, for files of the table to which it is bound.
    pub fn new(filter: &RowFilter) -> MetricsEvaluator {
        let mut ids = Vec::new();
        let columns = filter.terms.iter().map(|term| match &term.source {
            ColumnSource::Partition(_) => None,
            ColumnSource::Column(field, transform) => {
                let place = ids.iter().position(|id| *id == field.id).unwrap_or_else(|| {
                    ids.push(field.id);
                    ids.len() - 1
                });
                let (field, transform) = (Arc::clone(field), transform.clone());
                Some(TransformedColumn { field, transform, place, nested: term.nested })
            }
        });
        let columns: Vec<_> = columns.collect();
        let has_floats = columns.iter().flatten().any(|column| is_float(&column.field.ty));
        MetricsEvaluator { predicate: filter.predicate.clone(), columns, ids, has_floats }
    }

    /// The columns of entries that it reads.
    pub fn input(&self) -> impl Iterator<Item = &'static str> {
        let maps = COUNTS.into_iter().chain(self.has_floats.then_some(NAN_COUNTS)).chain(BOUNDS);
        std::iter::once(ROWS).chain(maps.filter(|_| !self.ids.is_empty()))
    }

    /// The ids of the columns whose metrics it reads.
    pub fn field_ids(&self) -> &[i32] {
        &self.ids
    }

    /// False for each file in which no row can match; true where a row may match or too little is known.
    ///
    /// `entries` have the columns of [`MetricsEvaluator::input`]. Negative counts and bounds that are not
    /// values of their column are unknown; files with a negative number of rows, as imports write them, may
    /// match.
    ///
    /// # Errors
    /// `Argument` for columns that are missing.
    pub fn may_match(&self, entries: &RecordBatch) -> Result<BooleanBuffer> {
        self.within(&self.ranges(entries, Mode::Inclusive)?, &rows(entries)?)
    }

    /// The same by metrics of each of the columns [`MetricsEvaluator::field_ids`], and rows of files.
    ///
    /// # Errors
    /// `Argument` for columns of another length.
    pub(in crate::iceberg) fn may_match_by(
        &self,
        metrics: &StoredMetrics,
        rows: &Int64Array,
    ) -> Result<BooleanBuffer> {
        let of = |column: &TransformedColumn| metrics.ranges(column, rows, Mode::Inclusive);
        let ranges: Vec<_> = self.columns.iter().map(|column| of(column.as_ref()?)).collect();
        self.within(&ranges, rows)
    }

    fn within(&self, ranges: &[Option<ColumnRanges>], rows: &Int64Array) -> Result<BooleanBuffer> {
        let may_match = self.predicate.may_match(ranges, rows.len())?;
        Ok(&may_match & &BooleanBuffer::collect_bool(rows.len(), |file| rows.value(file) != 0))
    }

    /// True for each file in which every row certainly matches. Nothing is certain of columns nested in
    /// structs, nor of rows of which a column's metrics do not count a value.
    ///
    /// # Errors
    /// Those of [`MetricsEvaluator::may_match`].
    pub fn must_match(&self, entries: &RecordBatch) -> Result<BooleanBuffer> {
        let ranges = self.ranges(entries, Mode::Strict)?;
        let must_match = self.predicate.must_match(&ranges, entries.num_rows())?;
        let rows = rows(entries)?;
        Ok(&must_match | &BooleanBuffer::collect_bool(rows.len(), |file| rows.value(file) == 0))
    }

    /// The known ranges of each column in each file.
    fn ranges(&self, entries: &RecordBatch, mode: Mode) -> Result<Vec<Option<ColumnRanges>>> {
        if self.ids.is_empty() {
            return Ok(Vec::new());
        }
        let read = |map| metric_values(entries, map, &self.ids);
        let nans = if self.has_floats { read(NAN_COUNTS)? } else { Vec::new() };
        let ([values, nulls], [lower, upper]) = (COUNTS.map(read), BOUNDS.map(read));
        let (values, nulls, lower, upper) = (values?, nulls?, lower?, upper?);
        let stored = StoredMetrics { values, nulls, nans, lower, upper, is_partial: false };
        let rows = rows(entries)?;
        let of = |column: &TransformedColumn| stored.ranges(column, &rows, mode);
        Ok(self.columns.iter().map(|column| of(column.as_ref()?)).collect())
    }
}

/// The stored metrics of all columns in the filter, an array of each; bounds are single values in bytes, or of the
/// column's type.
#[derive(Default)]
pub(in crate::iceberg) struct StoredMetrics {
    pub(in crate::iceberg) values: Vec<ArrayRef>,
    pub(in crate::iceberg) nulls: Vec<ArrayRef>,
    pub(in crate::iceberg) nans: Vec<ArrayRef>,
    pub(in crate::iceberg) lower: Vec<ArrayRef>,
    pub(in crate::iceberg) upper: Vec<ArrayRef>,
    /// Whether counts of every column may lack rows, and not only those of columns in structs.
    pub(in crate::iceberg) is_partial: bool,
}

impl StoredMetrics {
    fn ranges(&self, column: &TransformedColumn, rows: &Int64Array, mode: Mode) -> Option<ColumnRanges> {
        let TransformedColumn { field, transform, place, nested } = column;
        let strict = mode == Mode::Strict;
        // The results of `void` are null, whatever the column has.
        if strict && *nested || *transform == Transform::Void {
            return None;
        }
        let count = |counts: &'_ [ArrayRef]| counts.get(*place)?.as_primitive_opt::<Int64Type>().cloned();
        let (mut values, mut nulls) = (count(&self.values), count(&self.nulls));
        if *nested || strict || self.is_partial {
            (values, nulls) = with_uncounted(values, nulls, rows);
        }
        let nans = count(&self.nans).filter(|_| is_float(&field.ty));
        let counts = Counts { values: values.as_ref(), nulls: nulls.as_ref(), nans: nans.as_ref() };
        let bounds = |bounds: &'_ [ArrayRef]| {
            let stored = bounds.get(*place)?;
            match *stored.data_type() == field.ty.arrow() {
                true => Some(Arc::clone(stored)),
                false => Some(decode_bounds(stored.as_binary_opt::<i32>()?, &field.ty)),
            }
        };
        // For some times, Iceberg's Java library gives a smaller result than for earlier times.
        let lower = at_their_lowest(transform, &bounds(&self.lower)?, &field.ty)?;
        Some(ColumnRanges {
            lower: transformed_bounds(lower, &field.ty, transform),
            upper: transformed_bounds(bounds(&self.upper)?, &field.ty, transform),
            contents: Contents::from_counts(rows.len(), counts),
        })
    }
}

/// Counts of values and nulls that include rows without a value, as nulls: those whose struct is null, which
/// Iceberg's Java library does not count for floats, and in statistics of version 4 not at all.
fn with_uncounted(
    values: Option<Int64Array>,
    nulls: Option<Int64Array>,
    rows: &Int64Array,
) -> (Option<Int64Array>, Option<Int64Array>) {
    let Some(values) = values else { return (None, nulls) };
    let uncounted = |row: usize| match values.is_valid(row) && values.value(row) >= 0 {
        true => rows.value(row).saturating_sub(values.value(row)).max(0),
        false => 0,
    };
    let add = |counts: &Int64Array| -> Int64Array {
        let counts = counts.iter().enumerate();
        counts.map(|(row, count)| count?.checked_add(uncounted(row))).collect()
    };
    (Some(add(&values)), nulls.as_ref().map(add))
}

fn is_float(ty: &Type) -> bool {
    matches!(ty, Type::Float | Type::Double)
}

/// Bounds of the results of a transform for values within `bounds`; unknown unless the transform keeps their
/// order.
fn transformed_bounds(bounds: ArrayRef, ty: &Type, transform: &Transform) -> ArrayRef {
    let transformed = match transform {
        Transform::Identity => return bounds,
        Transform::Truncate(_) => transform.apply(&bounds, ty).ok().filter(|cut| !wraps(&bounds, cut)),
        Transform::Year | Transform::Month | Transform::Day | Transform::Hour => {
            transform.apply(&bounds, ty).ok()
        }
        Transform::Bucket(_) | Transform::Void | Transform::Unknown(_) => None,
    };
    transformed.unwrap_or_else(|| new_null_array(&transform.result_type(ty).arrow(), bounds.len()))
}

/// Whether truncation went below the smallest number of the type, which wrapped around.
fn wraps(values: &ArrayRef, truncated: &ArrayRef) -> bool {
    let (values, truncated) = (Reader::new(values), Reader::new(truncated));
    (0..values.len()).any(|row| truncated.get(row) > values.get(row))
}

fn rows(entries: &RecordBatch) -> Result<Int64Array> {
    column(entries, ROWS).cloned()
}
