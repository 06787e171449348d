//! Plans that end once they have enough rows.

use arrow_array::{Array, Int64Array, ListArray, RecordBatch};
use arrow_schema::SchemaRef;

use super::{Batches, RESIDUAL, ScanOptions};
use crate::error::Result;
use crate::record::{column, find};
use crate::view::only;

/// The column with the number of rows of a file.
const ROWS: &str = "record_count";

/// The rows of a plan, made by `plan`, up to the file with which `options.row_limit` is reached. Only files
/// whose rows are all returned count: those without deletes and without a residual filter.
///
/// `counts` is whether a reader returns each row of such files. Where a reader merges them with rows of other
/// files, all files are planned. `schema` is the schema of the rows.
///
/// # Errors
/// Those of `plan`.
/// Source: Paimon's `DataTableBatchScan.java`, `applyPushDownLimit`.
pub(crate) fn row_limited(
    options: &ScanOptions,
    schema: &SchemaRef,
    counts: bool,
    plan: impl FnOnce(&ScanOptions) -> Result<Batches>,
) -> Result<Batches> {
    let Some(left) = options.row_limit.filter(|_| counts) else { return plan(options) };
    let deletes = options.deletes.column();
    let columns = options.columns_and(&[ROWS, deletes, RESIDUAL]);
    let rows = plan(&ScanOptions { columns, ..options.clone() })?;
    Ok(Box::new(LimitedRows { rows, schema: schema.clone(), deletes, left }))
}

struct LimitedRows {
    rows: Batches,
    schema: SchemaRef,
    /// The column of the deletes.
    deletes: &'static str,
    /// Rows that are still wanted.
    left: u64,
}

impl LimitedRows {
    /// The first files of a batch, as many as are wanted, in the requested columns.
    fn cut(&mut self, files: &RecordBatch) -> Result<RecordBatch> {
        let (rows, residuals) = (column::<Int64Array>(files, ROWS)?, find(files, RESIDUAL)?);
        let deletes = column::<ListArray>(files, self.deletes)?;
        let mut count = 0;
        while count < files.num_rows() && self.left > 0 {
            if residuals.is_null(count) && deletes.value_length(count) == 0 && rows.is_valid(count) {
                let rows = u64::try_from(rows.value(count)).unwrap_or(0);
                self.left = self.left.saturating_sub(rows);
            }
            count += 1;
        }
        only(&files.slice(0, count), &self.schema)
    }
}

impl Iterator for LimitedRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if self.left == 0 {
            return None;
        }
        Some(self.rows.next()?.and_then(|files| self.cut(&files)))
    }
}
