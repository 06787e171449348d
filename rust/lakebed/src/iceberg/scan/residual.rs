//! The residual of a filter for the rows of a planned file.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray, new_null_array};
use arrow_schema::DataType;

use super::program::EntryProgram;
use crate::error::Result;
use crate::iceberg::fields::PARTITION;
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::prune::{Pruner, Residual};
use crate::iceberg::table::TableTypes;
use crate::record::column;
use crate::scan::{Batches, RESIDUAL};
use crate::view::with_columns;

/// The residuals of a table's files under one filter, or under none.
pub(super) struct Residuals {
    types: TableTypes,
    pruner: Option<Pruner>,
}

impl Residuals {
    /// The residuals of `program`, where it shows them, under the filter `text`.
    ///
    /// # Errors
    /// Those of [`Pruner::new`].
    pub(super) fn of(program: &EntryProgram, text: Option<&str>, types: TableTypes) -> Result<Residuals> {
        let text = text.filter(|_| program.view.has(RESIDUAL));
        let pruner = text.map(|text| Pruner::new(text, &types)).transpose()?;
        Ok(Residuals { types, pruner })
    }

    /// The entries of a manifest with their residuals in the column `residual`.
    pub(super) fn beside(&self, entries: Batches, manifest: &ManifestFile) -> Result<Batches> {
        let (residual, path) = (self.of_spec(manifest.spec_id)?, manifest.path.clone());
        Ok(Box::new(entries.map(move |entries| {
            let entries = entries?;
            let left = residuals(residual.as_ref(), &entries).map_err(|error| error.in_file(&path))?;
            with_columns(&entries, vec![(RESIDUAL, left)])
        })))
    }

    /// The residual for files of a spec; `None` where there is no filter.
    fn of_spec(&self, spec_id: i32) -> Result<Option<Residual>> {
        let Some(pruner) = &self.pruner else { return Ok(None) };
        let filter = Arc::clone(&pruner.filter);
        match self.types.specs.iter().find(|spec| spec.spec_id == spec_id) {
            Some(spec) => Residual::new(filter, spec, &self.types.partition).map(Some),
            None => Ok(Some(Residual::whole(filter))),
        }
    }
}

/// The residual of each of `entries`.
fn residuals(residual: Option<&Residual>, entries: &RecordBatch) -> Result<ArrayRef> {
    match residual {
        Some(residual) => Ok(Arc::new(residual.texts(column::<StructArray>(entries, PARTITION)?)?)),
        None => Ok(new_null_array(&DataType::Utf8, entries.num_rows())),
    }
}
