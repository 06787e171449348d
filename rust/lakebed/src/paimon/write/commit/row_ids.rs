//! Row ids and sequence numbers, which commits assign to files of tables that track rows (Paimon's
//! `RowTrackingCommitUtils.java`).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int8Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};

use super::base::Base;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::paimon::fields::texts_at;
use crate::paimon::manifest::ADD;
use crate::paimon::write::options::is_on;
use crate::record::column;

/// `file_source` of a file that was written, not compacted.
const APPENDED: i32 = 0;
/// The column in files that store the ids of their rows.
const ROW_ID: &str = "_ROW_ID";

/// The entries of the snapshot `id` with their row ids and sequence numbers, and the next unused row id.
///
/// # Errors
/// `Unsupported` for files of vectors, which have other rules.
pub(super) fn assign(entries: &[RecordBatch], base: &Base, id: i64) -> Result<(Vec<RecordBatch>, i64)> {
    let mut ids = RowIds { next: next_row_id(base), file_start: 0, of_blobs: HashMap::new() };
    if !is_on(base.schema(), "row-tracking.enabled", false) {
        return Ok((entries.to_vec(), ids.next));
    }
    let mut assigned = Vec::with_capacity(entries.len());
    for batch in entries {
        let first_ids = ids.of(batch)?;
        let (least, latest) = sequences(batch, id)?;
        let changed = [
            ("first_row_id", Arc::new(first_ids) as ArrayRef),
            ("min_sequence_number", least),
            ("max_sequence_number", latest),
        ];
        assigned.push(with_columns(batch, &changed)?);
    }
    Ok((assigned, ids.next))
}

fn next_row_id(base: &Base) -> i64 {
    base.snapshot().and_then(|snapshot| snapshot.next_row_id).unwrap_or(0)
}

/// What does not fit where row ids are forged.
const NEXT: &str = "the next row id";

/// The next row ids.
struct RowIds {
    next: i64,
    /// The first id of the last file without blobs.
    file_start: i64,
    /// The next id of the blobs of a column, which belong to the rows of that file.
    of_blobs: HashMap<String, i64>,
}

impl RowIds {
    fn of(&mut self, batch: &RecordBatch) -> Result<Int64Array> {
        let kinds = column::<Int8Array>(batch, "kind")?;
        let sources = column::<Int32Array>(batch, "file_source")?;
        let names = column::<StringArray>(batch, "file_name")?;
        let rows = column::<Int64Array>(batch, "row_count")?;
        let known = column::<Int64Array>(batch, "first_row_id")?;
        let cols = column::<ListArray>(batch, "write_cols")?;
        let id = |row: usize| -> Result<Option<i64>> {
            let cols = texts_at(cols, row)?;
            let cols: Vec<&str> = cols.iter().flatten().flatten().collect();
            let appended = sources.is_valid(row) && sources.value(row) == APPENDED;
            if known.is_valid(row) || kinds.value(row) != ADD || !appended || cols.contains(&ROW_ID) {
                return Ok(known.is_valid(row).then(|| known.value(row)));
            }
            self.number(names.value(row), rows.value(row), cols.first().copied()).map(Some)
        };
        (0..batch.num_rows()).map(id).collect()
    }

    fn number(&mut self, name: &str, rows: i64, column: Option<&str>) -> Result<i64> {
        if name.contains(".vector.") {
            return Err(
                Error::new(ErrorKind::Unsupported, "files of vectors cannot be added").in_field("file_path")
            );
        }
        if name.ends_with(".blob") {
            let next = self.of_blobs.entry(column.unwrap_or_default().to_owned()).or_insert(self.file_start);
            let first = *next;
            *next = fitting(first.checked_add(rows), NEXT)?;
            return Ok(first);
        }
        self.of_blobs.clear();
        self.file_start = self.next;
        self.next = fitting(self.next.checked_add(rows), NEXT)?;
        Ok(self.file_start)
    }
}

/// Sequence numbers that the writer did not set are the snapshot's id.
fn sequences(batch: &RecordBatch, id: i64) -> Result<(ArrayRef, ArrayRef)> {
    let least = column::<Int64Array>(batch, "min_sequence_number")?;
    let latest = column::<Int64Array>(batch, "max_sequence_number")?;
    let pairs = least.values().iter();
    let pairs = pairs.zip(latest.values()).map(|pair| match pair {
        (0, _) => (id, id),
        (least, 0) => (*least, id),
        (least, latest) => (*least, *latest),
    });
    let (least, latest): (Vec<i64>, Vec<i64>) = pairs.unzip();
    Ok((Arc::new(Int64Array::from(least)), Arc::new(Int64Array::from(latest))))
}

/// The batch with some columns replaced.
pub(super) fn with_columns(
    batch: &RecordBatch,
    changed: &[(impl AsRef<str>, ArrayRef)],
) -> Result<RecordBatch> {
    let mut columns = batch.columns().to_vec();
    for (name, column) in changed {
        let place = batch.schema().index_of(name.as_ref()).ok().and_then(|place| columns.get_mut(place));
        if let Some(place) = place {
            *place = Arc::clone(column);
        }
    }
    RecordBatch::try_new(batch.schema(), columns).map_err(Into::into)
}
