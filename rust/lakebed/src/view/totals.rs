//! The view `totals`: how many files of each kind a table has, and what reaches them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};

use super::summary::{SummaryScan, SummedView, ViewSums};
use super::{View, whole};
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::record::column;
use crate::scan::ScanOptions;

/// Files, and their bytes as far as those are recorded.
#[derive(Debug, Clone, Copy, Default)]
struct Total {
    files: i64,
    bytes: Option<i64>,
}

impl Total {
    fn add(&mut self, other: Total) -> Result<()> {
        let sum = other.bytes.map(|bytes| self.bytes.unwrap_or(0).checked_add(bytes).ok_or_else(too_many));
        self.bytes = sum.transpose()?.or(self.bytes);
        self.files = self.files.checked_add(other.files).ok_or_else(too_many)?;
        Ok(())
    }
}

#[cold]
fn too_many() -> Error {
    Error::new(ErrorKind::Mismatch, "the sizes of the files sum up to more than 64 bits")
}

/// What reaches files, with the columns of their number and their bytes.
const REACHED_BY: [[&str; 2]; 3] = [
    ["current_file_count", "current_file_size_in_bytes"],
    ["older_file_count", "older_file_size_in_bytes"],
    ["orphan_file_count", "orphan_file_size_in_bytes"],
];
const CURRENT: usize = 0;
const OLDER: usize = 1;
const ORPHANS: usize = 2;

/// The files of each kind, by what reaches them.
pub(super) struct Totals {
    kinds: BTreeMap<String, [Total; 3]>,
    with_orphans: bool,
}

impl Totals {
    pub(super) fn new(with_orphans: bool) -> Totals {
        Totals { kinds: BTreeMap::new(), with_orphans }
    }

    fn add_to(&mut self, kind: &str, place: usize, files: i64, bytes: Option<i64>) -> Result<()> {
        let totals = match self.kinds.get_mut(kind) {
            Some(totals) => totals,
            None => self.kinds.entry(kind.to_owned()).or_default(),
        };
        totals.get_mut(place).map_or(Ok(()), |total| total.add(Total { files, bytes }))
    }
}

impl ViewSums for Totals {
    /// Rows of `reachable`, or of `orphans`, whose kind nothing says.
    fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        let sizes: &Int64Array = column(rows, "file_size_in_bytes")?;
        if rows.column_by_name("kind").is_none() {
            return sizes.iter().try_for_each(|bytes| self.add_to("unknown", ORPHANS, 1, bytes));
        }
        let kinds: &StringArray = column(rows, "kind")?;
        let current: &BooleanArray = column(rows, "is_current")?;
        for ((kind, bytes), is_current) in kinds.iter().zip(sizes).zip(current) {
            let place = if is_current == Some(true) { CURRENT } else { OLDER };
            self.add_to(kind.unwrap_or_default(), place, 1, bytes)?;
        }
        Ok(())
    }

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        let kinds: &StringArray = column(sums, "kind")?;
        for (place, [files, bytes]) in REACHED_BY.iter().enumerate() {
            let files: &Int64Array = column(sums, files)?;
            let bytes: &Int64Array = column(sums, bytes)?;
            for ((kind, files), bytes) in kinds.iter().zip(files).zip(bytes) {
                if let Some(files) = files.filter(|files| *files > 0) {
                    self.add_to(kind.unwrap_or_default(), place, files, bytes)?;
                }
            }
        }
        Ok(())
    }

    fn sent(&self) -> Result<RecordBatch> {
        self.rows()
    }

    /// One row for each kind, by name.
    fn rows(&self) -> Result<RecordBatch> {
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        // What nothing says is last.
        kinds.sort_by_key(|(kind, _)| *kind == "unknown");
        let all = kinds.iter().map(|(_, totals)| {
            let mut sum = Total::default();
            totals.iter().try_for_each(|total| sum.add(*total)).map(|()| sum)
        });
        let [files, bytes] = columns(&all.collect::<Result<Vec<_>>>()?, true);
        let names = StringArray::from_iter_values(kinds.iter().map(|(kind, _)| kind));
        let mut found: Vec<(&str, ArrayRef)> =
            vec![("kind", Arc::new(names)), ("file_count", files), ("file_size_in_bytes", bytes)];
        for (place, names) in REACHED_BY.into_iter().enumerate() {
            let totals: Vec<Total> =
                kinds.iter().filter_map(|(_, totals)| totals.get(place).copied()).collect();
            found.extend(names.into_iter().zip(columns(&totals, place != ORPHANS || self.with_orphans)));
        }
        whole(found, kinds.len())
    }
}

/// Numbers of files and their bytes; of no file those are 0.
fn columns(totals: &[Total], is_known: bool) -> [ArrayRef; 2] {
    let files: Int64Array = totals.iter().map(|total| is_known.then_some(total.files)).collect();
    let bytes = totals.iter().map(|total| if total.files == 0 { is_known.then_some(0) } else { total.bytes });
    [Arc::new(files), Arc::new(bytes.collect::<Int64Array>())]
}

/// The view of a table whose views `scan` resolves, with orphans where `orphans` tells which files those are.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
pub(crate) fn totals(
    orphans: Option<View>,
    options: ScanOptions,
    scan: impl Fn(View, ScanOptions) -> Result<Box<dyn Distributed>>,
) -> Result<Box<dyn Distributed>> {
    let of = |columns: &[&str]| ScanOptions::of_columns(columns, options.threads);
    let with_orphans = orphans.is_some();
    // Listed before the table is read, as `orphans` promises it.
    let orphans = orphans.map(|view| scan(view, of(&["file_size_in_bytes"])));
    let reachable = scan(View::Reachable, of(&["kind", "file_size_in_bytes", "is_current"]));
    let views = orphans.into_iter().chain([reachable]).collect::<Result<_>>()?;
    Ok(Box::new(SummaryScan::new(SummedView::Totals { with_orphans }, views, options)?))
}
