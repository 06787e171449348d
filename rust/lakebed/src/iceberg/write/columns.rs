//! Matches the columns of callers with those of the records that are written.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema};

use super::FormatVersion;
use crate::error::{Error, ErrorKind, Result};
use crate::field::FieldSpec;
use crate::record::carried::{self, is_carried};

/// The columns of a record in the form in which they are written, followed by unknown fields that `batch`
/// carries. They are nullable, so that the file's schema refuses nulls.
pub(super) fn record_rows<'r>(
    own: impl Iterator<Item = Result<(&'r str, ArrayRef)>>,
    batch: &'r RecordBatch,
    record: &str,
) -> Result<RecordBatch> {
    let carried = carried::in_record(batch, record).map(|(name, column)| Ok((name, Arc::clone(column))));
    let columns = own.chain(carried).collect::<Result<Vec<_>>>()?;
    let field = |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
    let fields: Vec<Field> = columns.iter().map(field).collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(Into::into)
}

/// Refuses columns that `specs` do not have, and columns that appear twice; unknown fields of other writers
/// are kept.
pub(super) fn check_names(schema: &Schema, specs: &[FieldSpec]) -> Result<()> {
    for (place, field) in schema.fields().iter().enumerate() {
        let name = field.name();
        let message = if !is_carried(field) && !specs.iter().any(|spec| spec.column == name) {
            let known: Vec<&str> = specs.iter().map(|spec| spec.column).collect();
            format!("column {name:?} is not one of {}", known.join(", "))
        } else if schema.fields().iter().take(place).any(|known| known.name() == name) {
            format!("column {name:?} appears twice")
        } else {
            continue;
        };
        return Err(Error::new(ErrorKind::UnknownColumn, message).in_field(name));
    }
    Ok(())
}

/// The column with the name of that field in `specs`; null where it is missing.
///
/// # Errors
/// `UnknownColumn` for a missing column if `required` is set.
pub(super) fn column(
    batch: &RecordBatch,
    specs: &[FieldSpec],
    name: &str,
    required: bool,
) -> Result<ArrayRef> {
    match batch.column_by_name(name) {
        Some(column) => Ok(column.clone()),
        None if required => {
            let message = format!("the required column {name:?} is missing");
            Err(Error::new(ErrorKind::UnknownColumn, message).in_field(name))
        }
        None => {
            let spec = specs.iter().find(|spec| spec.column == name);
            Ok(new_null_array(&spec.map_or(DataType::Null, |spec| (spec.data_type)()), batch.num_rows()))
        }
    }
}

/// Refuses values in a column for which the version has no field.
pub(super) fn check_absent(batch: &RecordBatch, name: &str, version: FormatVersion) -> Result<()> {
    let Some(column) = batch.column_by_name(name) else { return Ok(()) };
    let zero = ZERO_IN_FIRST.contains(&name);
    match (0..column.len()).find(|row| column.is_valid(*row) && !(zero && is_zero(column, *row))) {
        None => Ok(()),
        Some(row) => {
            let message = format!("format version {} has no {name}: it can only be null", version.number());
            Err(Error::new(ErrorKind::Argument, message).in_field(name).in_row(row))
        }
    }
}

/// Fields that version 1 lacks and readers default to 0.
const ZERO_IN_FIRST: [&str; 4] =
    ["content", "sequence_number", "min_sequence_number", "file_sequence_number"];

fn is_zero(column: &ArrayRef, row: usize) -> bool {
    let int = column.as_primitive_opt::<Int32Type>().map(|ints| ints.value(row) == 0);
    let long = || column.as_primitive_opt::<Int64Type>().map(|longs| longs.value(row) == 0);
    int.or_else(long).unwrap_or(false)
}
