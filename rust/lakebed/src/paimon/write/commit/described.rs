//! Records in entries what data files say of themselves: their size, number of rows and statistics.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_select::interleave::interleave;
use arrow_select::take::take;

use super::base::Base;
use super::removed::paths_of;
use super::row_ids::with_columns;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::write::stats::TypedStats;
use crate::record::{column, find};

/// What files say of themselves, a row each.
#[derive(Debug)]
pub(super) struct DescribedFiles<'c> {
    files: &'c RecordBatch,
    rows: HashMap<&'c str, usize>,
}

impl DescribedFiles<'_> {
    /// Takes `file_path`, `record_count` and `file_size_in_bytes`, and `stats`, null where statistics stay.
    ///
    /// # Errors
    /// `UnknownColumn` and `Argument` for columns that are missing or of another type.
    pub(super) fn new(files: &RecordBatch) -> Result<DescribedFiles<'_>> {
        let paths = column::<StringArray>(files, "file_path")?;
        Ok(DescribedFiles { files, rows: paths.iter().flatten().zip(0..).collect() })
    }

    /// Entries that add live files, with what these say of themselves.
    ///
    /// # Errors
    /// Those of statistics.
    pub(super) fn recorded(&self, base: &Base, entries: &RecordBatch) -> Result<RecordBatch> {
        let paths = paths_of(&base.table, entries)?;
        let rows: Vec<Option<usize>> =
            paths.iter().map(|path| self.rows.get(path.as_str()).copied()).collect();
        let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
        for (name, of_view) in [("file_size", "file_size_in_bytes"), ("row_count", "record_count")] {
            let known = column::<Int64Array>(entries, name)?;
            let said = column::<Int64Array>(self.files, of_view)?;
            let numbers =
                known.iter().zip(&rows).map(|(known, row)| row.map_or(known, |row| Some(said.value(row))));
            columns.push((name, Arc::new(numbers.collect::<Int64Array>())));
        }
        if let Some(stats) = self.files.column_by_name("stats") {
            columns.extend(statistics(base, entries, stats, &rows)?);
        }
        with_columns(entries, &columns)
    }
}

/// The statistics of entries, of which those are made anew that have a row in `stats`.
fn statistics(
    base: &Base,
    entries: &RecordBatch,
    stats: &ArrayRef,
    rows: &[Option<usize>],
) -> Result<[(&'static str, ArrayRef); 2]> {
    let row_of = |row: &Option<usize>| row.filter(|row| stats.is_valid(*row)).map(|row| row as u64);
    let given = take(stats, &rows.iter().filter_map(row_of).collect::<UInt64Array>(), None)?;
    let places = rows.iter().zip(0_u32..).filter(|(row, _)| row_of(row).is_some()).map(|(_, place)| place);
    let places: UInt32Array = places.collect();
    let write_cols = take(&find(entries, "write_cols")?, &places, None)?;
    let write_cols: &ListArray = write_cols.as_list_opt().ok_or_else(|| {
        Error::new(ErrorKind::Argument, "the columns of a file are no list").in_field("write_cols")
    })?;
    let schema = base.schema();
    let made = TypedStats::new(Some(&given), schema, given.len())?.values(schema, write_cols)?;
    let mut of_made = 0_usize..;
    let from = rows.iter().enumerate().map(|(place, row)| match row_of(row) {
        Some(_) => (1, of_made.next().unwrap_or_default()),
        None => (0, place),
    });
    let from: Vec<(usize, usize)> = from.collect();
    let chosen = |name, made: &ArrayRef| -> Result<ArrayRef> {
        interleave(&[find(entries, name)?.as_ref(), made.as_ref()], &from).map_err(Into::into)
    };
    Ok([
        ("value_stats", chosen("value_stats", &made.0)?),
        ("value_stats_cols", chosen("value_stats_cols", &made.1)?),
    ])
}
