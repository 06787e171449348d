//! Evaluates filters on rows for whole files (Iceberg's `ManifestFilterManager.java`), as SQL does: no row that
//! is null where a filter compares is removed.

use std::collections::HashMap;

use arrow_array::{Array, BooleanArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::BooleanBuffer;

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::PARTITION;
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::prune::{MetricsEvaluator, Names, Pruner, Residual, RowFilter, Summaries};
use crate::iceberg::table::TableTypes;
use crate::predicate::{Logic, Predicate};
use crate::record::column;

/// A filter bound to a table.
pub(super) struct FileFilter {
    types: TableTypes,
    pruner: Pruner,
}

impl FileFilter {
    /// The filter with the text `text`.
    ///
    /// # Errors
    /// Those of [`Pruner::new`].
    pub(super) fn new(text: &str, types: &TableTypes) -> Result<FileFilter> {
        Ok(FileFilter { pruner: Pruner::with_logic(text, types, Logic::Sql)?, types: types.clone() })
    }

    /// The columns of entries that it reads.
    pub(super) fn input(&self) -> impl Iterator<Item = &'static str> {
        self.pruner.input()
    }

    /// Whether each manifest may have matching files.
    pub(super) fn may_hold(&self, manifests: &[ManifestFile]) -> Result<BooleanArray> {
        let summaries = Summaries::new(manifests, &self.types.specs, &self.types.partition);
        self.pruner.may_match(manifests, &summaries)
    }

    /// Whether each entry of a spec may have matching rows; tuples are in the table's partition type.
    pub(super) fn may_match(&self, spec: &PartitionSpec, entries: &RecordBatch) -> Result<BooleanBuffer> {
        let tuples = column::<StructArray>(entries, PARTITION)?;
        let by_tuple = self.pruner.of_spec(spec)?.evaluate(tuples.columns(), entries.num_rows())?;
        Ok(&by_tuple & &self.pruner.metrics.may_match(entries)?)
    }

    /// Whether all rows of each entry of a spec match.
    ///
    /// # Errors
    /// `Unsupported` for a file that may have both kinds of rows, with its path.
    pub(super) fn matches(&self, spec: &PartitionSpec, entries: &RecordBatch) -> Result<BooleanArray> {
        let residual = Residual::new(self.pruner.filter.clone(), spec, &self.types.partition)?.strict();
        let left = residual.texts(column(entries, PARTITION)?)?;
        let mut asked: HashMap<&str, [BooleanBuffer; 2]> = HashMap::new();
        for text in left.iter().flatten() {
            if !asked.contains_key(text) {
                asked.insert(text, self.ask(text, entries)?);
            }
        }
        let matches = |row: usize| {
            if left.is_null(row) {
                return Ok(Some(true));
            }
            match asked.get(left.value(row)).map(|[may, must]| (may.value(row), must.value(row))) {
                Some((_, true)) => Ok(Some(true)),
                Some((true, false)) => Err(partly(entries, row)),
                _ => Ok(Some(false)),
            }
        };
        (0..entries.num_rows()).map(matches).collect()
    }

    /// For each file whether any row may match the residual, and whether all rows must.
    fn ask(&self, left: &str, entries: &RecordBatch) -> Result<[BooleanBuffer; 2]> {
        if left == "FALSE" {
            let none = BooleanBuffer::new_unset(entries.num_rows());
            return Ok([none.clone(), none]);
        }
        let predicate = Predicate::parse(left)?;
        let TableTypes { schema, partition, .. } = &self.types;
        let filter = RowFilter::new(&predicate, schema, partition, Names::Exact, Logic::Sql)?;
        let metrics = MetricsEvaluator::new(&filter);
        Ok([metrics.may_match(entries)?, metrics.must_match(entries)?])
    }
}

#[cold]
fn partly(entries: &RecordBatch, row: usize) -> Error {
    let path = match column::<StringArray>(entries, "file_path") {
        Ok(paths) => paths.value(row),
        Err(error) => return error,
    };
    let message = format!(
        "the filter may match some rows of {path:?} and not others: write the rows to keep into a new file, \
        and remove this one by its path"
    );
    Error::new(ErrorKind::Unsupported, message).in_field("file_path")
}
