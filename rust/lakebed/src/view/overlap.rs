//! The view `overlap`: how many data files a value of a column meets, by the bounds of files, in each partition.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    StructArray, UInt64Array, new_empty_array,
};
use arrow_row::{Row, RowConverter, Rows, SortField};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;
use serde::{Deserialize, Serialize};

use super::summary::{SummaryScan, SummedView, ViewSums};
use super::{View, whole};
use crate::distributed::{Distributed, foreign};
use crate::error::{Error, Result};
use crate::predicate::Reader;
use crate::record::{column, find, typed};
use crate::scan::ScanOptions;

/// The columns of files that bounds are taken from.
const FILES: [&str; 4] = ["content", "partition", "spec_id", "stats"];
const DATA: i32 = 0;

/// What files are compared by.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OverlapColumns {
    /// Names of columns of the table, in the order of the column `stats` of files.
    names: Vec<String>,
    /// The type of partitions.
    partition: DataType,
}

/// The bounds of data files. Memory is that of the bounds of all files.
pub(super) struct Overlap {
    columns: OverlapColumns,
    /// Rows of data files with [`FILES`].
    files: Vec<RecordBatch>,
}

impl Overlap {
    pub(super) fn new(columns: OverlapColumns) -> Overlap {
        Overlap { columns, files: Vec::new() }
    }

    /// The bounds of all files; `None` where there is no batch of files.
    fn all(&self) -> Result<Option<RecordBatch>> {
        let Some(first) = self.files.first() else { return Ok(None) };
        Ok(Some(concat_batches(&first.schema(), &self.files)?))
    }
}

impl ViewSums for Overlap {
    /// Rows of `files`; deletes do not count.
    fn add(&mut self, files: &RecordBatch) -> Result<()> {
        let contents = column::<Int32Array>(files, FILES[0])?;
        let is_data = contents.iter().map(|content| Some(content == Some(DATA))).collect();
        self.files.push(filter_record_batch(files, &is_data)?);
        Ok(())
    }

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        self.files.extend((sums.num_columns() > 0).then(|| sums.clone()));
        Ok(())
    }

    fn sent(&self) -> Result<RecordBatch> {
        self.all()?.map_or_else(|| whole(Vec::new(), 0), Ok)
    }

    fn rows(&self) -> Result<RecordBatch> {
        let mut rows = OverlapRows::default();
        let Some(files) = self.all()? else {
            let places = [new_empty_array(&self.columns.partition), new_empty_array(&DataType::Int32)];
            return rows.shown(places);
        };
        // Partitions of two specs may have the same values, and are two.
        let places = [find(&files, FILES[1])?, find(&files, FILES[2])?];
        let groups = groups(&places)?;
        let stats: &StructArray = column(&files, FILES[3])?;
        for (name, stats) in self.columns.names.iter().zip(stats.columns()) {
            let bounds = FileBounds::of(typed(stats, FILES[3])?)?;
            for files in &groups {
                rows.push(name, files, &bounds.depth(files))?;
            }
        }
        let firsts = UInt64Array::from(std::mem::take(&mut rows.firsts));
        let [partitions, specs] = places.map(|values| take(&values, &firsts, None));
        rows.shown([partitions?, specs?])
    }
}

/// The rows of files that have the same values in these columns, in the order of their first files.
pub(crate) fn groups(columns: &[ArrayRef]) -> Result<Vec<Vec<usize>>> {
    let is_empty = |kind: &DataType| matches!(kind, DataType::Struct(fields) if fields.is_empty());
    let rows = columns.first().map_or(0, |values| values.len());
    let columns: Vec<ArrayRef> =
        columns.iter().filter(|values| !is_empty(values.data_type())).cloned().collect();
    if columns.is_empty() {
        return Ok(if rows == 0 { Vec::new() } else { vec![(0..rows).collect()] });
    }
    let sorted = columns.iter().map(|values| SortField::new(values.data_type().clone()));
    let keys = RowConverter::new(sorted.collect())?.convert_columns(&columns)?;
    let (mut numbers, mut groups) = (HashMap::new(), Vec::<Vec<usize>>::new());
    for (row, key) in keys.iter().enumerate() {
        let number = *numbers.entry(key).or_insert(groups.len());
        match groups.get_mut(number) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    Ok(groups)
}

/// The bounds of a column in files, in a form that compares as its values do.
struct FileBounds {
    lower: Rows,
    upper: Rows,
    /// Whether a file has both.
    is_bounded: Vec<bool>,
    /// Whether a file has nothing but nulls and NaN, so that no value meets it.
    is_empty: Vec<bool>,
}

impl FileBounds {
    fn of(stats: &StructArray) -> Result<FileBounds> {
        let child =
            |name| stats.column_by_name(name).ok_or_else(|| foreign(format!("metrics without {name}")));
        let (lower, upper) = (child("lower_bound")?, child("upper_bound")?);
        let counts = |name| typed::<Int64Array>(child(name)?, name);
        let [values, nulls, nans] = [counts("value_count")?, counts("null_count")?, counts("nan_count")?];
        let readers = [Reader::new(lower.as_ref()), Reader::new(upper.as_ref())];
        // Arrays of no type say that their values are there.
        let is_typed = *lower.data_type() != DataType::Null;
        let is_bound = |bound: &Reader<'_>, row| bound.get(row).is_some_and(|bound| !bound.is_nan());
        let has_bounds = |row| is_typed && readers.iter().all(|bound| is_bound(bound, row));
        let has_none = |row| {
            let count = |counts: &Int64Array| counts.is_valid(row).then(|| i128::from(counts.value(row)));
            let left = count(values).zip(count(nulls)).map(|(values, nulls)| values - nulls);
            left.is_some_and(|left| left <= count(nans).unwrap_or_default())
        };
        let converter = RowConverter::new(vec![SortField::new(lower.data_type().clone())])?;
        let comparable = |bounds| Ok::<_, Error>(converter.convert_columns(&[with_one_zero(bounds)?])?);
        let (lower, upper) = (comparable(lower)?, comparable(upper)?);
        // Where they contradict each other, the values may be anywhere.
        let is_bounded = |row| has_bounds(row) && lower.row(row) <= upper.row(row);
        let is_bounded = (0..stats.len()).map(is_bounded).collect();
        let is_empty = (0..stats.len()).map(has_none).collect();
        Ok(FileBounds { is_bounded, is_empty, lower, upper })
    }

    /// How many of these files lie one above the other.
    fn depth(&self, files: &[usize]) -> Depth {
        let (bounded, others): (Vec<usize>, Vec<usize>) =
            files.iter().partition(|file| self.is_bounded[**file]);
        let unbounded = others.into_iter().filter(|file| !self.is_empty[*file]).count();
        let mut lower: Vec<Row<'_>> = bounded.iter().map(|file| self.lower.row(*file)).collect();
        let mut upper: Vec<Row<'_>> = bounded.iter().map(|file| self.upper.row(*file)).collect();
        // Files of one value each, which no order of rows keeps apart.
        let mut single: Vec<Row<'_>> = lower
            .iter()
            .zip(&upper)
            .filter(|(lower, upper)| lower == upper)
            .map(|(value, _)| *value)
            .collect();
        [&mut lower, &mut upper, &mut single].into_iter().for_each(|bounds| bounds.sort_unstable());
        let below = |bounds: &[Row<'_>], value: &Row<'_>| bounds.partition_point(|bound| bound < value);
        let up_to = |bounds: &[Row<'_>], value: &Row<'_>| bounds.partition_point(|bound| bound <= value);
        let mut depth = Depth { unbounded, ..Depth::default() };
        for value in lower.iter().chain(&upper) {
            let here = up_to(&lower, value) - below(&upper, value);
            depth.values += 1;
            depth.sum += here as u128;
            depth.most = depth.most.max(here);
            depth.sorted += (up_to(&single, value) - below(&single, value)).max(1) as u128;
        }
        depth
    }
}

/// The bounds as values compare: rows of Arrow put -0.0 below 0.0, which are one value.
fn with_one_zero(bounds: &ArrayRef) -> Result<ArrayRef> {
    Ok(match bounds.data_type() {
        DataType::Float32 => {
            Arc::new(typed::<Float32Array>(bounds, "bounds")?.unary::<_, Float32Type>(|bound| bound + 0.0))
        }
        DataType::Float64 => {
            Arc::new(typed::<Float64Array>(bounds, "bounds")?.unary::<_, Float64Type>(|bound| bound + 0.0))
        }
        _ => Arc::clone(bounds),
    })
}

/// How many files the bounds of files meet.
#[derive(Default)]
struct Depth {
    /// How many bounds there are.
    values: usize,
    /// The files that each of them meets.
    sum: u128,
    /// The most that one meets.
    most: usize,
    /// As [`Depth::sum`], at least, if the files were sorted by the column.
    sorted: u128,
    /// Files with values but without bounds.
    unbounded: usize,
}

/// The rows of the view.
#[derive(Default)]
struct OverlapRows {
    /// A file of the partition of each row.
    firsts: Vec<u64>,
    columns: Vec<String>,
    files: Vec<i64>,
    unbounded: Vec<i64>,
    average: Vec<Option<f64>>,
    most: Vec<Option<i64>>,
    sorted: Vec<Option<f64>>,
}

impl OverlapRows {
    fn push(&mut self, name: &str, files: &[usize], depth: &Depth) -> Result<()> {
        let Some(first) = files.first() else { return Ok(()) };
        let count = |number: usize| i64::try_from(number).map_err(foreign);
        let of_values = |sum: u128| (depth.values > 0).then(|| sum as f64 / depth.values as f64);
        self.firsts.push(u64::try_from(*first).map_err(foreign)?);
        self.columns.push(name.to_owned());
        self.files.push(count(files.len())?);
        self.unbounded.push(count(depth.unbounded)?);
        self.average.push(of_values(depth.sum));
        self.most.push(if depth.values > 0 { Some(count(depth.most)?) } else { None });
        self.sorted.push(of_values(depth.sorted));
        Ok(())
    }

    fn shown(self, [partitions, specs]: [ArrayRef; 2]) -> Result<RecordBatch> {
        let rows = partitions.len();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("partition", partitions),
            ("spec_id", specs),
            ("column", Arc::new(StringArray::from(self.columns))),
            ("file_count", Arc::new(Int64Array::from(self.files))),
            ("unbounded_file_count", Arc::new(Int64Array::from(self.unbounded))),
            ("average_depth", Arc::new(Float64Array::from(self.average))),
            ("max_depth", Arc::new(Int64Array::from(self.most))),
            ("sorted_depth", Arc::new(Float64Array::from(self.sorted))),
        ];
        whole(columns, rows)
    }
}

/// The view for these columns of a table, whose views `scan` resolves.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
pub(crate) fn overlap(
    names: Vec<String>,
    options: ScanOptions,
    scan: impl Fn(View, ScanOptions) -> Result<Box<dyn Distributed>>,
) -> Result<Box<dyn Distributed>> {
    let files = ScanOptions {
        stats: Some(names.clone()),
        table_filter: options.table_filter.clone(),
        ..ScanOptions::of_columns(&FILES, options.threads)
    };
    let files = scan(View::Files, files)?;
    let partition = files.schema().field_with_name(FILES[1])?.data_type().clone();
    let columns = OverlapColumns { names, partition };
    Ok(Box::new(SummaryScan::new(SummedView::Overlap(columns), vec![files], options)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(bounds: &[(i64, i64)]) -> Depth {
        let long = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
        let counts = || long(vec![1; bounds.len()]);
        let none = || long(vec![0; bounds.len()]);
        let columns = vec![
            ("lower_bound", long(bounds.iter().map(|(lower, _)| *lower).collect())),
            ("upper_bound", long(bounds.iter().map(|(_, upper)| *upper).collect())),
            ("value_count", counts()),
            ("null_count", none()),
            ("nan_count", none()),
        ];
        let stats = StructArray::from(whole(columns, bounds.len()).unwrap());
        FileBounds::of(&stats).unwrap().depth(&(0..bounds.len()).collect::<Vec<_>>())
    }

    #[test]
    fn depth_is_that_at_the_bounds_of_files() {
        let apart = depth(&[(1, 2), (3, 4), (5, 6)]);
        assert_eq!((apart.values, apart.sum, apart.most, apart.sorted), (6, 6, 1, 6));
        let alike = depth(&[(1, 9), (1, 9), (1, 9)]);
        assert_eq!((alike.sum, alike.most, alike.sorted), (18, 3, 6));
        // 2 meets the first alone, 3 both, 5 both, 8 the second.
        let half = depth(&[(2, 5), (3, 8)]);
        assert_eq!((half.sum, half.most, half.sorted), (6, 2, 4));
        // Nothing keeps files of one value apart.
        let single = depth(&[(7, 7), (7, 7), (1, 9)]);
        assert_eq!((single.sum, single.most, single.sorted), (3 * 4 + 2, 3, 2 * 4 + 2));
    }
}
