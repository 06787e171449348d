//! Converts typed metrics of columns to the maps by field id of manifests.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, BinaryBuilder, Int32Builder, Int64Builder, MapBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, StructArray};

use crate::conform::conform;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::metrics::{Metric, STATS};
use crate::iceberg::partition::conform as conform_value;
use crate::iceberg::types::{NestedField, Schema};
use crate::iceberg::value;
use crate::record::{below, typed};
use crate::view::map_names;

/// The columns of entries with metrics.
pub(super) const METRICS: [&str; 6] =
    ["column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"];

/// The values of one metric of one column.
enum Values {
    Counts(Int64Array),
    Bounds(BinaryArray),
}

/// The maps made from the column `stats`, by column of entries: for each table column its counts and typed
/// bounds, in the form of views. Nulls are unknown.
///
/// # Errors
/// `UnknownColumn` for an unknown column or metric; `Argument` and those of
/// [`conform`](crate::iceberg::partition::conform) for values that do not fit; each with field and row.
pub(super) fn metric_maps(stats: &ArrayRef, schema: &Schema) -> Result<HashMap<&'static str, ArrayRef>> {
    let Some(columns) = stats.as_struct_opt() else {
        let message = format!("a column of type {} cannot hold metrics", stats.data_type());
        return Err(Error::new(ErrorKind::Argument, message).in_field("stats"));
    };
    let mut found: HashMap<&'static str, Vec<(i32, Values)>> = HashMap::new();
    for (name, metrics) in columns.fields().iter().map(|field| field.name()).zip(columns.columns()) {
        let in_column = |error: Error| error.in_field(&format!("stats.{name}"));
        let field = schema.field_by_name(name).filter(|field| field.ty.is_primitive()).ok_or_else(|| {
            let message = format!("the table has no column {name:?} that metrics are of");
            in_column(Error::new(ErrorKind::UnknownColumn, message))
        })?;
        let metrics = below(columns, metrics)?;
        let metrics = metrics.as_struct_opt().ok_or_else(|| {
            in_column(Error::new(ErrorKind::Argument, format!("metrics of {name:?} are not a struct")))
        })?;
        for (map, values) in of_column(field, metrics, name)? {
            found.entry(map).or_default().push((field.id, values));
        }
    }
    found.into_iter().map(|(map, columns)| Ok((map, built(&columns, stats.len())?))).collect()
}

/// The metrics of one column.
fn of_column(field: &NestedField, metrics: &StructArray, name: &str) -> Result<Vec<(&'static str, Values)>> {
    let values = metrics.fields().iter().zip(metrics.columns()).map(|(metric, column)| {
        let in_field = |error: Error| error.in_field(&format!("stats.{name}.{}", metric.name()));
        let known = STATS.iter().find(|known| known.name == metric.name()).ok_or_else(|| {
            let names = STATS.each_ref().map(|known| known.name).join(", ");
            let message = format!("{:?} is not one of the metrics {names}", metric.name());
            in_field(Error::new(ErrorKind::UnknownColumn, message))
        })?;
        let column = below(metrics, column)?;
        Ok((known.map, one(known, field, &column).map_err(in_field)?))
    });
    values.collect()
}

fn one(metric: &Metric, field: &NestedField, column: &ArrayRef) -> Result<Values> {
    if metric.is_bound() {
        return Ok(Values::Bounds(value::encode(&conform_value(column, &field.ty)?, &field.ty)?));
    }
    let counts = conform(column, &arrow_schema::DataType::Int64)?;
    let counts = typed::<Int64Array>(&counts, metric.name)?;
    match counts.iter().position(|count| count.is_some_and(|count| count < 0)) {
        Some(row) => Err(Error::new(ErrorKind::Argument, "a count is below 0").in_row(row)),
        None => Ok(Values::Counts(counts.clone())),
    }
}

/// One map per row with the columns that have a value in it; null where none has.
fn built(columns: &[(i32, Values)], rows: usize) -> Result<ArrayRef> {
    let mut sorted: Vec<&(i32, Values)> = columns.iter().collect();
    sorted.sort_by_key(|(id, _)| *id);
    // All values of a map are of one kind.
    match sorted.first() {
        Some((_, Values::Bounds(_))) => maps(&sorted, rows, BinaryBuilder::new(), |values, row, maps| {
            if let Values::Bounds(values) = values
                && values.is_valid(row)
            {
                maps.append_value(values.value(row));
                return true;
            }
            false
        }),
        _ => maps(&sorted, rows, Int64Builder::new(), |values, row, maps| {
            if let Values::Counts(values) = values
                && values.is_valid(row)
            {
                maps.append_value(values.value(row));
                return true;
            }
            false
        }),
    }
}

/// Maps whose values are appended by `append`, where a row has one.
fn maps<B: ArrayBuilder>(
    columns: &[&(i32, Values)],
    rows: usize,
    values: B,
    append: impl Fn(&Values, usize, &mut B) -> bool,
) -> Result<ArrayRef> {
    let mut maps = MapBuilder::new(Some(map_names()), Int32Builder::new(), values);
    for row in 0..rows {
        let mut some = false;
        for (id, column) in columns {
            if append(column, row, maps.values()) {
                maps.keys().append_value(*id);
                some = true;
            }
        }
        maps.append(some)?;
    }
    Ok(Arc::new(maps.finish()))
}
