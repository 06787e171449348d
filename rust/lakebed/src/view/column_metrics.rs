//! The view `columns`: what metrics of data files say about each column of a table.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray, UInt32Array,
};
use arrow_select::take::take;
use serde::{Deserialize, Serialize};

use super::summary::{SummaryScan, SummedView, ViewSums};
use super::{View, whole};
use crate::distributed::{Distributed, foreign};
use crate::error::{Error, ErrorKind, Result};
use crate::predicate::Reader;
use crate::record::{column, typed};
use crate::scan::ScanOptions;
use crate::text;

/// A column of a table whose values have metrics.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TableColumn {
    /// Its id.
    pub id: i32,
    /// Its name, with those of the columns that it is in.
    pub name: String,
    /// Its type, as the format spells it.
    pub data_type: String,
    /// The newest count of its distinct values, and the snapshot that they were counted in.
    pub distinct: Option<(i64, i64)>,
}

/// Sums of a column, in the order of their names in the column `stats` of files, and then the number of files that do
/// not record how many values and nulls there are, and of those that do not record bounds of what values there are.
const COUNTS: [&str; 6] =
    ["value_count", "null_count", "nan_count", "column_size", "uncounted_file_count", "unbounded_file_count"];
const BOUNDS: [&str; 2] = ["lower_bound", "upper_bound"];

/// The sums of the metrics of each column.
pub(super) struct ColumnMetrics {
    columns: Vec<(TableColumn, Metrics)>,
    files: i64,
}

/// The sums of a column.
#[derive(Default)]
struct Metrics {
    /// [`COUNTS`]; `None` where no file records one.
    counts: [Option<i64>; COUNTS.len()],
    /// [`BOUNDS`], an array of one value each.
    bounds: [Option<ArrayRef>; 2],
}

impl Metrics {
    /// Adds the metrics of data files at these rows of the column `stats`.
    fn add(&mut self, stats: &StructArray, rows: &[usize]) -> Result<()> {
        let of = |name| typed::<Int64Array>(child(stats, name)?, name);
        let [values, nulls, nans, sizes] = [of(COUNTS[0])?, of(COUNTS[1])?, of(COUNTS[2])?, of(COUNTS[3])?];
        let bounds = [child(stats, BOUNDS[0])?, child(stats, BOUNDS[1])?];
        let readers = bounds.map(|bound| Reader::new(bound.as_ref()));
        for row in rows.iter().copied() {
            let [values, nulls, nans, size] =
                [values, nulls, nans, sizes].map(|counts| counts.is_valid(row).then(|| counts.value(row)));
            let left = values.zip(nulls).map(|(values, nulls)| i128::from(values) - i128::from(nulls));
            let is_empty = left.is_some_and(|left| left <= i128::from(nans.unwrap_or_default()));
            let is_bounded = readers.iter().all(|bound| bound.get(row).is_some_and(|bound| !bound.is_nan()));
            let unbounded = !(is_empty || is_bounded);
            self.count([
                values,
                nulls,
                nans,
                size,
                Some(i64::from(left.is_none())),
                Some(i64::from(unbounded)),
            ])?;
        }
        self.bound(&bounds, rows)
    }

    /// Adds the sums that another process made.
    fn merge(&mut self, sums: &StructArray) -> Result<()> {
        let mut counts = [None; COUNTS.len()];
        for (count, name) in counts.iter_mut().zip(COUNTS) {
            *count = typed::<Int64Array>(child(sums, name)?, name)?.iter().next().flatten();
        }
        self.count(counts)?;
        self.bound(&[child(sums, BOUNDS[0])?, child(sums, BOUNDS[1])?], &[0])
    }

    fn count(&mut self, more: [Option<i64>; COUNTS.len()]) -> Result<()> {
        for ((sum, more), name) in self.counts.iter_mut().zip(more).zip(COUNTS) {
            let Some(more) = more else { continue };
            let beyond = || {
                Error::new(ErrorKind::Mismatch, "the sum over the files does not fit 64 bits").in_field(name)
            };
            *sum = Some(sum.unwrap_or_default().checked_add(more).ok_or_else(beyond)?);
        }
        Ok(())
    }

    /// Takes the least lower and the greatest upper bound that there is at these rows.
    fn bound(&mut self, bounds: &[&ArrayRef; 2], rows: &[usize]) -> Result<()> {
        for ((known, bounds), is_upper) in self.bounds.iter_mut().zip(bounds).zip([false, true]) {
            let reader = Reader::new(bounds.as_ref());
            let wider = |row: &usize, other: &usize| reader.get(*row).cmp(&reader.get(*other));
            let there = rows.iter().filter(|row| reader.get(**row).is_some_and(|bound| !bound.is_nan()));
            let found =
                if is_upper { there.max_by(|a, b| wider(a, b)) } else { there.min_by(|a, b| wider(a, b)) };
            let Some(row) = found else { continue };
            let is_wider = known.as_ref().is_none_or(|known| {
                let (old, new) = (Reader::new(known.as_ref()).get(0), reader.get(*row));
                if is_upper { new > old } else { new < old }
            });
            if is_wider {
                // A copy, since a slice keeps the bounds of all files of its batch.
                let place = u32::try_from(*row).map_err(foreign)?;
                *known = Some(take(bounds, &UInt32Array::from(vec![place]), None)?);
            }
        }
        Ok(())
    }

    /// The sums as a row, with bounds of the types in `like`.
    fn sent(&self) -> Result<ArrayRef> {
        let counts = self.counts.iter().map(|count| Arc::new(Int64Array::from(vec![*count])) as ArrayRef);
        // Without a bound its type does not matter.
        let none = || Arc::new(Int64Array::new_null(1)) as ArrayRef;
        let bounds = self.bounds.iter().map(|bound| bound.clone().unwrap_or_else(none));
        let rows = whole(COUNTS.into_iter().chain(BOUNDS).zip(counts.chain(bounds)).collect(), 1)?;
        Ok(Arc::new(StructArray::from(rows)))
    }
}

fn child<'s>(parent: &'s StructArray, name: &str) -> Result<&'s ArrayRef> {
    parent.column_by_name(name).ok_or_else(|| foreign(format!("metrics without {name}")))
}

impl ColumnMetrics {
    pub(super) fn new(columns: Vec<TableColumn>) -> ColumnMetrics {
        ColumnMetrics {
            columns: columns.into_iter().map(|column| (column, Metrics::default())).collect(),
            files: 0,
        }
    }

    fn count_files(&mut self, files: usize) -> Result<()> {
        let files = i64::try_from(files).ok().and_then(|files| self.files.checked_add(files));
        self.files =
            files.ok_or_else(|| Error::new(ErrorKind::Mismatch, "more files than 64 bits can count"))?;
        Ok(())
    }

    /// A row for each column, of a number.
    fn longs(&self, number: impl Fn(&TableColumn, &Metrics) -> Option<i64>) -> ArrayRef {
        Arc::new(self.columns.iter().map(|(column, metrics)| number(column, metrics)).collect::<Int64Array>())
    }

    /// A row for each column, of a text.
    fn texts(&self, text: impl Fn(&TableColumn, &Metrics) -> Option<String>) -> ArrayRef {
        Arc::new(self.columns.iter().map(|(column, metrics)| text(column, metrics)).collect::<StringArray>())
    }
}

/// The columns of files that are summed up.
const FILES: [&str; 2] = ["content", "stats"];
const DATA: i32 = 0;

impl ViewSums for ColumnMetrics {
    /// Rows of `files`; deletes do not count.
    fn add(&mut self, files: &RecordBatch) -> Result<()> {
        let content: &Int32Array = column(files, FILES[0])?;
        let rows: Vec<usize> = (0..files.num_rows()).filter(|row| content.value(*row) == DATA).collect();
        self.count_files(rows.len())?;
        if self.columns.is_empty() {
            return Ok(());
        }
        let stats: &StructArray = column(files, FILES[1])?;
        for ((column, metrics), stats) in self.columns.iter_mut().zip(stats.columns()) {
            metrics.add(typed(stats, FILES[1])?, &rows).map_err(|error| error.in_field(&column.name))?;
        }
        Ok(())
    }

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        let files: &Int64Array = column(sums, "files")?;
        let columns = sums.columns().iter().skip(1);
        for ((column, metrics), sums) in self.columns.iter_mut().zip(columns) {
            metrics.merge(typed(sums, "sums")?).map_err(|error| error.in_field(&column.name))?;
        }
        files
            .iter()
            .flatten()
            .try_for_each(|files| self.count_files(usize::try_from(files).map_err(foreign)?))
    }

    fn sent(&self) -> Result<RecordBatch> {
        let names: Vec<String> = (0..self.columns.len()).map(|place| place.to_string()).collect();
        let mut columns: Vec<(&str, ArrayRef)> =
            vec![("files", Arc::new(Int64Array::from(vec![self.files])))];
        for (name, (_, metrics)) in names.iter().zip(&self.columns) {
            columns.push((name, metrics.sent()?));
        }
        whole(columns, 1)
    }

    fn rows(&self) -> Result<RecordBatch> {
        let ids: Int32Array = self.columns.iter().map(|(column, _)| Some(column.id)).collect();
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("column_id", Arc::new(ids)),
            ("column", self.texts(|column, _| Some(column.name.clone()))),
            ("type", self.texts(|column, _| Some(column.data_type.clone()))),
            ("file_count", self.longs(|_, _| Some(self.files))),
        ];
        let is_count = |name: &str| name.ends_with("_file_count");
        for (place, name) in COUNTS.into_iter().enumerate() {
            // Without a file these are not unknown, but none.
            let none = is_count(name).then_some(0);
            columns
                .push((name, self.longs(|_, metrics| metrics.counts.get(place).copied().flatten().or(none))));
        }
        for (place, name) in BOUNDS.into_iter().enumerate() {
            let bound = |metrics: &Metrics| {
                metrics.bounds.get(place)?.as_ref().and_then(|bound| text::shown(bound, 0))
            };
            columns.push((name, self.texts(|_, metrics| bound(metrics))));
        }
        columns.push(("ndv", self.longs(|column, _| column.distinct.map(|(ndv, _)| ndv))));
        columns
            .push(("ndv_snapshot_id", self.longs(|column, _| column.distinct.map(|(_, snapshot)| snapshot))));
        whole(columns, self.columns.len())
    }
}

/// The view of a table with these columns, whose views `scan` resolves.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
pub(crate) fn column_metrics(
    columns: Vec<TableColumn>,
    options: ScanOptions,
    scan: impl Fn(View, ScanOptions) -> Result<Box<dyn Distributed>>,
) -> Result<Box<dyn Distributed>> {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let files = ScanOptions {
        stats: Some(names).filter(|names| !names.is_empty()),
        ..ScanOptions::of_columns(&FILES, options.threads)
    };
    let files = scan(View::Files, files)?;
    Ok(Box::new(SummaryScan::new(SummedView::Columns(columns), vec![files], options)?))
}
