//! What of a filter is left to test in the rows of a file that is planned.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::DataType;

use crate::error::Result;
use crate::iceberg::fields::PARTITION;
use crate::iceberg::prune::{Pruner, Residual};
use crate::iceberg::table::TableTypes;
use crate::record::find;

/// The residuals of a table's files under one filter, or under none.
pub(super) struct Residuals {
    types: TableTypes,
    pruner: Option<Pruner>,
}

impl Residuals {
    /// Of the filter that `text` is, or of none.
    ///
    /// # Errors
    /// Those of [`Pruner::new`].
    pub(super) fn new(text: Option<&str>, types: TableTypes) -> Result<Residuals> {
        let pruner = text.map(|text| Pruner::new(text, &types)).transpose()?;
        Ok(Residuals { types, pruner })
    }

    /// Those of the files of a manifest, by its spec; `None` where there is no filter.
    pub(super) fn of_spec(&self, spec_id: i32) -> Result<Option<Residual>> {
        let Some(pruner) = &self.pruner else { return Ok(None) };
        let filter = Arc::clone(&pruner.filter);
        match self.types.specs.iter().find(|spec| spec.spec_id == spec_id) {
            Some(spec) => Residual::new(filter, spec, &self.types.partition).map(Some),
            None => Ok(Some(Residual::whole(filter))),
        }
    }
}

/// What is left to test in each of `entries`.
pub(super) fn residuals(residual: Option<&Residual>, entries: &RecordBatch) -> Result<ArrayRef> {
    match residual {
        Some(residual) => Ok(Arc::new(residual.texts(find(entries, PARTITION)?.as_struct())?)),
        None => Ok(new_null_array(&DataType::Utf8, entries.num_rows())),
    }
}
