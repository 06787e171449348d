//! The columns of a diff: how a file changed, then those of the view `files`.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};

use super::CHANGE;
use crate::error::Result;
use crate::record::find;
use crate::scan::ScanOptions;
use crate::view::batch;

/// The requested columns, in order.
#[derive(Clone)]
pub(super) struct ChangeColumns {
    schema: SchemaRef,
}

impl ChangeColumns {
    /// The options to read the view `files` with, which does not have the column `change`.
    pub(super) fn of_files(options: &ScanOptions) -> ScanOptions {
        let mut options = options.clone();
        if let Some(columns) = &mut options.columns {
            columns.retain(|name| name != CHANGE);
        }
        options
    }

    /// The requested columns, given the schema of the view `files` read with [`ChangeColumns::of_files`].
    pub(super) fn new(options: &ScanOptions, files: &ArrowSchema) -> ChangeColumns {
        let change = || Arc::new(Field::new(CHANGE, DataType::Utf8, true));
        let mut fields: Vec<_> = files.fields().iter().cloned().collect();
        match &options.columns {
            None => fields.insert(0, change()),
            // The other columns are in the requested order.
            Some(names) => {
                for (place, _) in names.iter().enumerate().filter(|(_, name)| *name == CHANGE) {
                    fields.insert(place, change());
                }
            }
        }
        ChangeColumns { schema: Arc::new(ArrowSchema::new(fields)) }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of files that changed in this way.
    pub(super) fn build(&self, files: &RecordBatch, change: &str) -> Result<RecordBatch> {
        let rows = files.num_rows();
        let column = |field: &Arc<Field>| -> Result<ArrayRef> {
            if field.name() == CHANGE {
                return Ok(Arc::new(StringArray::from_iter_values(std::iter::repeat_n(change, rows))));
            }
            find(files, field.name())
        };
        batch(&self.schema, self.schema.fields().iter().map(column).collect::<Result<_>>()?, rows)
    }
}
