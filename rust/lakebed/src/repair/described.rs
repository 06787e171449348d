//! Data files that say other things of themselves than what is recorded of them.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;

use super::scan::{CONTENT, OF_FILES, long};
use super::{Repair, RepairKind, RowChange};
use crate::error::Result;
use crate::field::DATA;
use crate::record::column;
use crate::scan::{EntrySource, Format, ScanOptions};
use crate::storage::Storage;

/// Files that are looked into together, many at once.
const TOGETHER: usize = 1024;

/// The schema that a file was written with.
const SCHEMA: &str = "schema_id";

/// How data files are asked what they say of themselves.
#[derive(Clone)]
pub struct Described {
    /// The columns whose metrics are compared.
    pub stats: Vec<String>,
    /// Takes live data files in columns of the view `files`, with `location` utf8, where each is read, and returns repairs
    /// of them as rows: `kind`, `file_path` and `problem` utf8, `rows_lost`, `rows_back` and `file_size_in_bytes` int64.
    pub compare: Arc<dyn Fn(RecordBatch) -> Result<RecordBatch> + Send + Sync>,
}

/// Adds repairs of the live data files of these manifests to `found`.
///
/// # Errors
/// Those of reading manifests, and of the comparison.
pub(super) fn described<F: Format>(
    table: &F,
    manifests: &[F::Manifest],
    how: &Described,
    threads: usize,
    found: &mut Vec<Repair>,
) -> Result<()> {
    let stats = (!how.stats.is_empty()).then(|| how.stats.clone());
    let columns = [&OF_FILES[..], &[CONTENT, SCHEMA]].concat();
    let mut columns: Vec<String> = columns.into_iter().map(str::to_owned).collect();
    columns.extend(stats.is_some().then(|| "stats".to_owned()));
    let options = ScanOptions { columns: Some(columns), stats, threads, ..ScanOptions::default() };
    let program = Arc::new(table.program(F::FILES, &options)?);
    let (mut files, mut rows) = (Vec::new(), 0);
    for batch in EntrySource::new(program, table.clone()).stream(manifests.to_vec(), &options) {
        let batch = batch?;
        let contents = column::<Int32Array>(&batch, CONTENT)?;
        let is_data = contents.iter().map(|one| Some(one == Some(DATA))).collect();
        let batch = located(table.core().storage().as_ref(), &filter_record_batch(&batch, &is_data)?)?;
        rows += batch.num_rows();
        files.push(batch);
        if rows >= TOGETHER {
            found.extend(compared(how, &std::mem::take(&mut files))?);
            rows = 0;
        }
    }
    found.extend(compared(how, &files)?);
    Ok(())
}

/// Files with the place of each.
fn located(storage: &dyn Storage, files: &RecordBatch) -> Result<RecordBatch> {
    let paths = column::<StringArray>(files, "file_path")?;
    let places = paths.iter().map(|path| path.map(|path| storage.place(path)).transpose());
    let places: ArrayRef = Arc::new(places.collect::<Result<StringArray>>()?);
    let field = Field::new("location", DataType::Utf8, true);
    let fields = files.schema_ref().fields().iter().cloned().chain([Arc::new(field)]);
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = files.columns().iter().cloned().chain([places]);
    RecordBatch::try_new(schema, columns.collect()).map_err(Into::into)
}

fn compared(how: &Described, files: &[RecordBatch]) -> Result<Vec<Repair>> {
    let Some(first) = files.first() else { return Ok(Vec::new()) };
    let rows = (how.compare)(concat_batches(&first.schema(), files)?)?;
    let texts = |name| column::<StringArray>(&rows, name);
    let numbers = |name| column::<Int64Array>(&rows, name);
    let (kinds, paths, problems) = (texts("kind")?, texts("file_path")?, texts("problem")?);
    let (lost, back, sizes) = (numbers("rows_lost")?, numbers("rows_back")?, numbers("file_size_in_bytes")?);
    let repair = |row| {
        let change = RowChange { lost: long(lost, row), back: long(back, row) };
        let (kind, path) = (RepairKind::of(kinds.value(row))?, paths.value(row).to_owned());
        Ok(Repair { size: long(sizes, row), ..Repair::new(kind, path, problems.value(row), change) })
    };
    (0..rows.num_rows()).map(repair).collect()
}
