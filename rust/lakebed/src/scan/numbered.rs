//! The deletes of a plan, with the numbers by which the plan refers to them.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};

use super::{Batches, Scan};
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::view::batch;

/// The column of the numbers by which [`super::DeletesAs::Ids`] names deletes.
pub(crate) const DELETE_ID: &str = "delete_id";

/// The rows of a scan with their numbers, from 0, in an added first column `delete_id`.
pub(crate) struct Numbered<S> {
    rows: S,
    schema: SchemaRef,
}

impl<S: Scan> Numbered<S> {
    pub(crate) fn new(rows: S) -> Numbered<S> {
        let number = Arc::new(Field::new(DELETE_ID, DataType::Int32, true));
        let fields = std::iter::once(&number).chain(rows.schema().fields()).cloned();
        Numbered { schema: Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>())), rows }
    }
}

impl<S: Scan> Scan for Numbered<S> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        let (schema, mut next) = (Arc::clone(&self.schema), 0);
        Ok(Box::new(self.rows.stream()?.map(move |rows| numbered(&rows?, &schema, &mut next))))
    }

    fn notes(&self) -> Notes {
        self.rows.notes()
    }
}

/// `rows` with a first column of numbers, which start at `next`.
fn numbered(rows: &RecordBatch, schema: &SchemaRef, next: &mut i32) -> Result<RecordBatch> {
    let end = i32::try_from(rows.num_rows()).ok().and_then(|count| next.checked_add(count));
    let end = end.ok_or_else(|| Error::new(ErrorKind::Unsupported, "more than 2^31 deletes"))?;
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(*next..end));
    *next = end;
    batch(schema, std::iter::once(&numbers).chain(rows.columns()).cloned().collect(), rows.num_rows())
}
