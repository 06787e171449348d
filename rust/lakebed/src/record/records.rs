//! Converts decoded batches to the field table's columns and types.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, make_array, new_null_array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, SchemaRef};

use crate::conform::conform;
use crate::error::{Error, ErrorKind, Result};
use crate::field::FieldSpec;

/// The records of one writer: its schema resolved against the requested columns.
pub(crate) struct Records {
    /// The columns, each with whether the writer has it.
    columns: Vec<(&'static FieldSpec, bool)>,
    schema: SchemaRef,
}

impl Records {
    pub(super) fn new(columns: Vec<(&'static FieldSpec, bool)>, schema: SchemaRef) -> Records {
        Records { columns, schema }
    }

    pub(super) fn columns(&self) -> &[(&'static FieldSpec, bool)] {
        &self.columns
    }

    /// Converts a decoded batch to the table's columns and types.
    ///
    /// `first_record` is the number of the batch's first row in errors.
    pub(crate) fn conform(&self, batch: &RecordBatch, first_record: Option<u64>) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let columns = self.columns.iter().zip(self.schema.fields()).map(|((spec, there), field)| {
            let column = match there {
                true => find(batch, spec.disk).and_then(|column| conform(&column, field.data_type())),
                false => Ok(new_null_array(field.data_type(), rows)),
            };
            let column = column.map_err(|error| error.in_field(spec.column))?;
            if spec.required && column.null_count() > 0 {
                let row = (0..rows).find(|row| column.is_null(*row)).unwrap_or(0) as u64;
                let error = Error::new(ErrorKind::Required, format!("{} is null", spec.on_disk()));
                let error = error.in_field(spec.column);
                return Err(match first_record {
                    Some(first) => error.in_record(first + row),
                    None => error,
                });
            }
            Ok(column)
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| Error::new(ErrorKind::Required, error.to_string()))
    }

    /// The schema of the conformed batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

/// The child of a struct; null where the struct is null.
pub(crate) fn below(parent: &StructArray, child: &ArrayRef) -> Result<ArrayRef> {
    if parent.null_count() == 0 || child.data_type() == &DataType::Null {
        return Ok(Arc::clone(child));
    }
    let nulls = NullBuffer::union(parent.nulls(), child.nulls());
    let data = child.to_data().into_builder().nulls(nulls).build();
    data.map(make_array).map_err(Into::into)
}

/// A top-level column as an array of type `A`.
///
/// # Errors
/// `Required` for a column that is not there, `Mismatch` for one of another type; both with the name.
pub(crate) fn column<'b, A: Array + 'static>(batch: &'b RecordBatch, name: &str) -> Result<&'b A> {
    let absent =
        || Error::new(ErrorKind::Required, format!("{name} is not a column of the rows")).in_field(name);
    typed(batch.column_by_name(name).ok_or_else(absent)?, name)
}

/// An array of a type.
///
/// # Errors
/// `Mismatch` for one of another type, with the name.
pub(crate) fn typed<'a, A: Array + 'static>(array: &'a dyn Array, name: &str) -> Result<&'a A> {
    array.as_any().downcast_ref().ok_or_else(|| {
        let message = format!("{name} is of type {}", array.data_type());
        Error::new(ErrorKind::Mismatch, message).in_field(name)
    })
}

/// A column by its dotted path on disk.
pub(crate) fn find(batch: &RecordBatch, disk: &str) -> Result<ArrayRef> {
    let absent = || Error::new(ErrorKind::Required, format!("{disk} is not a column of the records"));
    let mut parts = disk.split('.');
    let top = parts.next().and_then(|name| batch.column_by_name(name)).ok_or_else(absent)?;
    let mut column = Arc::clone(top);
    for part in parts {
        let parent = column.as_struct_opt().ok_or_else(absent)?;
        if parent.null_count() > 0 {
            return Err(Error::new(ErrorKind::Required, format!("the record around {disk} is null")));
        }
        let child = Arc::clone(parent.column_by_name(part).ok_or_else(absent)?);
        column = child;
    }
    Ok(column)
}
