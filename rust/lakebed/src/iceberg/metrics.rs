//! Metrics of columns: typed columns made of the maps by field id in manifests.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StructArray, UInt32Array};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use arrow_select::take::take;

use super::types::{FieldRef, Schema};
use super::value::decode_bounds;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{find, typed};
use crate::words::unknown;

/// One metric of a column: its name in views, and the entry's map that holds it.
pub(crate) struct Metric {
    /// The name in the column's struct.
    pub(crate) name: &'static str,
    /// The entry's column of maps by field id.
    pub(crate) map: &'static str,
    kind: MetricKind,
}

impl Metric {
    /// Whether it is a value of the column's type, rather than a count.
    pub(crate) fn is_bound(&self) -> bool {
        self.kind == MetricKind::Bound
    }
}

/// The kind of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetricKind {
    /// Counts; negative ones, which some writers use for unknown, become null.
    Count,
    /// Counts as stored.
    StoredCount,
    /// Single values of the column's type.
    Bound,
}

const fn count(name: &'static str, map: &'static str) -> Metric {
    Metric { name, map, kind: MetricKind::Count }
}

const fn stored_count(name: &'static str, map: &'static str) -> Metric {
    Metric { name, map, kind: MetricKind::StoredCount }
}

const fn bound(name: &'static str, map: &'static str) -> Metric {
    Metric { name, map, kind: MetricKind::Bound }
}

/// The metrics of the column `stats`, as every format has them.
pub(crate) const STATS: [Metric; 6] = [
    count("value_count", "value_counts"),
    count("null_count", "null_value_counts"),
    count("nan_count", "nan_value_counts"),
    count("column_size", "column_sizes"),
    bound("lower_bound", "lower_bounds"),
    bound("upper_bound", "upper_bounds"),
];

/// The metrics of the engine's `readable_metrics` (Iceberg's `MetricsUtil.java`).
pub(crate) const READABLE: [Metric; 6] = [
    stored_count("column_size", "column_sizes"),
    stored_count("value_count", "value_counts"),
    stored_count("null_value_count", "null_value_counts"),
    stored_count("nan_value_count", "nan_value_counts"),
    bound("lower_bound", "lower_bounds"),
    bound("upper_bound", "upper_bounds"),
];

/// The metrics of some columns, compiled.
pub(crate) struct MetricsView {
    /// The columns, with their names in views.
    columns: Vec<(String, FieldRef)>,
    metrics: &'static [Metric],
    fields: Fields,
}

impl MetricsView {
    /// The column `stats` for these columns, which may be nested in structs. For lists and maps name what
    /// they hold (`tags.element`).
    ///
    /// # Errors
    /// `UnknownColumn` for a name that the schema does not have, and for a type without metrics.
    pub(crate) fn stats(names: &[String], schema: &Schema) -> Result<MetricsView> {
        let find = |name: &String| {
            let message = match schema.field_by_name(name) {
                Some(field) if field.ty.is_primitive() => return Ok((name.clone(), Arc::clone(field))),
                Some(field) => format!("column {name:?} is a {}: statistics are of what it holds", field.ty),
                None => unknown("column", name, schema.primitives().map(|(name, _)| name)),
            };
            Err(Error::new(ErrorKind::UnknownColumn, message).in_field(name))
        };
        let mut columns: Vec<(String, FieldRef)> = Vec::with_capacity(names.len());
        for name in names {
            let column = find(name)?;
            if !columns.iter().any(|(known, _)| *known == column.0) {
                columns.push(column);
            }
        }
        Ok(MetricsView::new(columns, &STATS))
    }

    /// The column `readable_metrics`: all primitive columns, sorted by full name.
    pub(crate) fn readable(schema: &Schema) -> MetricsView {
        let columns = schema.primitives().map(|(name, field)| (name.to_owned(), Arc::clone(field)));
        let mut columns: Vec<_> = columns.collect();
        columns.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
        MetricsView::new(columns, &READABLE)
    }

    fn new(columns: Vec<(String, FieldRef)>, metrics: &'static [Metric]) -> MetricsView {
        let of_column = |(name, field): &(String, FieldRef)| {
            let fields = metrics.iter().map(|metric| {
                let data_type =
                    if metric.kind == MetricKind::Bound { field.ty.arrow() } else { DataType::Int64 };
                Field::new(metric.name, data_type, true)
            });
            Field::new(name, DataType::Struct(fields.collect()), true)
        };
        let fields = columns.iter().map(of_column).collect();
        MetricsView { columns, metrics, fields }
    }

    /// The type of the column.
    pub(crate) fn data_type(&self) -> DataType {
        DataType::Struct(self.fields.clone())
    }

    /// The entry's columns from which it is made.
    pub(crate) fn input(&self) -> impl Iterator<Item = &'static str> {
        self.metrics.iter().map(|metric| metric.map)
    }

    /// The ids of its columns.
    pub(crate) fn field_ids(&self) -> Vec<i32> {
        self.columns.iter().map(|(_, field)| field.id).collect()
    }

    /// The column of `entries`; bounds that are not values of their column's type are null.
    ///
    /// Cost: one pass over the maps, and one over the bounds of the columns.
    pub(crate) fn build(&self, entries: &RecordBatch) -> Result<ArrayRef> {
        let ids = self.field_ids();
        let mut by_metric = Vec::with_capacity(self.metrics.len());
        for metric in self.metrics {
            by_metric.push(metric_values(entries, metric.map, &ids)?);
        }
        let columns = self.columns.iter().zip(&self.fields).enumerate().map(|(place, ((_, field), ty))| {
            let metrics = self.metrics.iter().zip(&by_metric).map(|(metric, values)| {
                let values = values.get(place).ok_or_else(missing)?;
                Ok(match metric.kind {
                    MetricKind::Bound => decode_bounds(typed(values, metric.map)?, &field.ty),
                    MetricKind::Count => known_counts(typed(values, metric.map)?),
                    MetricKind::StoredCount => Arc::clone(values),
                })
            });
            let metrics = metrics.collect::<Result<Vec<_>>>()?;
            structs(ty.data_type(), metrics, entries.num_rows())
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        structs(&self.data_type(), columns, entries.num_rows())
    }
}

/// Counts, with negative ones as null.
fn known_counts(counts: &Int64Array) -> ArrayRef {
    if counts.iter().flatten().all(|count| count >= 0) {
        return Arc::new(counts.clone());
    }
    Arc::new(counts.iter().map(|count| count.filter(|count| *count >= 0)).collect::<Int64Array>())
}

fn structs(data_type: &DataType, columns: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
    let DataType::Struct(fields) = data_type else { return Err(missing().into()) };
    let array = StructArray::try_new_with_length(fields.clone(), columns, None, rows);
    Ok(Arc::new(array?))
}

/// For each of `ids` its values in the entry's column `map`, one per row: null where the row has no map, or
/// the map does not have the id.
pub(crate) fn metric_values(entries: &RecordBatch, map: &str, ids: &[i32]) -> Result<Vec<ArrayRef>> {
    values_of(&find(entries, map)?, ids).map_err(Into::into)
}

/// For each of `ids`, its value in each row's map; null where a map or the id in it is absent. Of an id
/// that appears twice, the last value counts.
fn values_of(maps: &ArrayRef, ids: &[i32]) -> Result<Vec<ArrayRef>, ArrowError> {
    let maps = maps.as_map_opt().ok_or_else(missing)?;
    let keys = maps.keys().as_primitive_opt::<Int32Type>().ok_or_else(missing)?;
    let mut places: Vec<(i32, usize)> = ids.iter().copied().zip(0..).collect();
    places.sort_unstable();
    let mut found: Vec<Vec<Option<u32>>> = vec![vec![None; maps.len()]; ids.len()];
    for (row, range) in maps.offsets().windows(2).enumerate() {
        let &[start, end] = range else { continue };
        let entries = if maps.is_null(row) { 0..0 } else { start as usize..end as usize };
        for position in entries {
            let Ok(place) = places.binary_search_by_key(&keys.value(position), |(id, _)| *id) else {
                continue;
            };
            let cell = places.get(place).and_then(|(_, column)| found.get_mut(*column)?.get_mut(row));
            if let Some(cell) = cell {
                *cell = u32::try_from(position).ok();
            }
        }
    }
    found.into_iter().map(|rows| take(maps.values(), &UInt32Array::from(rows), None)).collect()
}

#[cold]
fn missing() -> ArrowError {
    ArrowError::InvalidArgumentError("maps by field id are missing".to_owned())
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{BinaryBuilder, Int32Builder, Int64Builder, MapBuilder};
    use serde_json::json;

    use super::*;
    use crate::view::map_names;

    /// One entry whose maps hold these values of the field 1.
    fn entries(counts: &[i64], bound: &[u8]) -> RecordBatch {
        let mut numbers = MapBuilder::new(Some(map_names()), Int32Builder::new(), Int64Builder::new());
        for count in counts {
            numbers.keys().append_value(1);
            numbers.values().append_value(*count);
        }
        let mut bounds = MapBuilder::new(Some(map_names()), Int32Builder::new(), BinaryBuilder::new());
        bounds.keys().append_value(1);
        bounds.values().append_value(bound);
        numbers.append(true).expect("a map");
        bounds.append(true).expect("a map");
        let (numbers, bounds): (ArrayRef, ArrayRef) = (Arc::new(numbers.finish()), Arc::new(bounds.finish()));
        let of = |metric: &Metric| if metric.kind == MetricKind::Bound { &bounds } else { &numbers };
        RecordBatch::try_from_iter(STATS.iter().map(|metric| (metric.map, Arc::clone(of(metric)))))
            .expect("entries")
    }

    /// A metric of the first column.
    fn metric<'c>(columns: &'c ArrayRef, name: &str) -> &'c ArrayRef {
        let columns = typed::<StructArray>(columns, "metrics").expect("metrics");
        typed::<StructArray>(columns.column(0), name).expect("a column").column_by_name(name).expect(name)
    }

    fn null_count(view: &MetricsView, name: &str, entries: &RecordBatch) -> Option<i64> {
        let columns = view.build(entries).expect("metrics");
        let counts = typed::<Int64Array>(metric(&columns, name), name).expect("counts");
        counts.is_valid(0).then(|| counts.value(0))
    }

    #[test]
    fn counts_below_zero_are_unknown_but_shown_as_the_engine_shows_them() {
        let fields = json!({"type": "struct", "fields": [
            {"id": 1, "name": "a", "required": false, "type": "int"}]});
        let schema = Schema::from_json(&fields).expect("a schema");
        let stats = MetricsView::stats(&["a".to_owned()], &schema).expect("a view");
        let readable = MetricsView::readable(&schema);
        let unknown = entries(&[-1], &[1, 0, 0, 0]);
        assert_eq!(null_count(&stats, "null_count", &unknown), None);
        assert_eq!(null_count(&readable, "null_value_count", &unknown), Some(-1));
        // Of a field that appears twice the last value is used.
        assert_eq!(null_count(&stats, "null_count", &entries(&[5, 7], &[1, 0, 0, 0])), Some(7));
    }

    #[test]
    fn bounds_of_another_width_are_unknown() {
        let fields = json!({"type": "struct", "fields": [
            {"id": 1, "name": "a", "required": false, "type": "int"}]});
        let schema = Schema::from_json(&fields).expect("a schema");
        let stats = MetricsView::stats(&["a".to_owned()], &schema).expect("a view");
        let columns = stats.build(&entries(&[1], &[1, 0])).expect("metrics");
        let lower = metric(&columns, "lower_bound");
        assert_eq!((lower.data_type(), lower.null_count()), (&DataType::Int32, 1));
    }
}
