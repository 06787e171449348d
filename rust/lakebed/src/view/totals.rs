//! The view `totals`: how many files of each kind a table has, and what reaches them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;

use super::{View, select, whole};
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::record::column;
use crate::scan::{Batches, Scan, ScanOptions, limited, once};

/// Files, and their bytes as far as those are recorded.
#[derive(Debug, Clone, Copy, Default)]
struct Total {
    files: i64,
    bytes: Option<i64>,
}

impl Total {
    fn add(&mut self, bytes: Option<i64>) -> Result<()> {
        let sum = bytes.map(|bytes| self.bytes.unwrap_or(0).checked_add(bytes).ok_or_else(too_many));
        self.bytes = sum.transpose()?.or(self.bytes);
        self.files = self.files.checked_add(1).ok_or_else(too_many)?;
        Ok(())
    }
}

#[cold]
fn too_many() -> Error {
    Error::new(ErrorKind::Mismatch, "the sizes of the files sum up to more than 64 bits")
}

/// The files of one kind.
#[derive(Debug, Clone, Default)]
struct OfKind {
    current: Total,
    older: Total,
    orphans: Total,
}

/// The view, resolved: its schema is known, and nothing is read.
pub(super) struct TotalsScan {
    reachable: Box<dyn Distributed>,
    orphans: Option<Box<dyn Distributed>>,
    options: ScanOptions,
    schema: SchemaRef,
}

impl TotalsScan {
    /// The totals of a table whose views `scan` resolves, with orphans where `orphans` tells which files those are.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(super) fn new(
        orphans: Option<View>,
        options: ScanOptions,
        scan: impl Fn(View, ScanOptions) -> Result<Box<dyn Distributed>>,
    ) -> Result<TotalsScan> {
        let of = |columns: &[&str]| ScanOptions {
            columns: Some(columns.iter().map(|name| (*name).to_owned()).collect()),
            threads: options.threads,
            ..ScanOptions::default()
        };
        let reachable = scan(View::Reachable, of(&["kind", "file_size_in_bytes", "is_current"]))?;
        let orphans = orphans.map(|view| scan(view, of(&["file_size_in_bytes"]))).transpose()?;
        let none = rows(&BTreeMap::new(), orphans.is_some())?;
        let schema = select(&none, options.columns.as_deref(), options.filter.as_deref())?.schema();
        Ok(TotalsScan { reachable, orphans, options, schema })
    }

    fn totals(&self) -> Result<RecordBatch> {
        // Listed before the table is read, as `orphans` promises it.
        let mut unknown = OfKind::default();
        if let Some(orphans) = &self.orphans {
            for batch in orphans.stream()? {
                let batch = batch?;
                let sizes: &Int64Array = column(&batch, "file_size_in_bytes")?;
                for bytes in sizes {
                    unknown.orphans.add(bytes)?;
                }
            }
        }
        let mut kinds = BTreeMap::<String, OfKind>::new();
        for batch in self.reachable.stream()? {
            let batch = batch?;
            let sizes: &Int64Array = column(&batch, "file_size_in_bytes")?;
            let names: &StringArray = column(&batch, "kind")?;
            let current: &BooleanArray = column(&batch, "is_current")?;
            for ((name, bytes), is_current) in names.iter().zip(sizes).zip(current) {
                let name = name.unwrap_or_default();
                let kind = match kinds.get_mut(name) {
                    Some(kind) => kind,
                    None => kinds.entry(name.to_owned()).or_default(),
                };
                let total = if is_current == Some(true) { &mut kind.current } else { &mut kind.older };
                total.add(bytes)?;
            }
        }
        if unknown.orphans.files > 0 {
            kinds.insert("unknown".to_owned(), unknown);
        }
        let rows = rows(&kinds, self.orphans.is_some())?;
        select(&rows, self.options.columns.as_deref(), self.options.filter.as_deref())
    }
}

impl Scan for TotalsScan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || Ok(once(self.totals()?)))
    }

    fn notes(&self) -> Notes {
        self.reachable.notes()
    }
}

impl Distributed for TotalsScan {}

/// One row for each kind, by name.
fn rows(kinds: &BTreeMap<String, OfKind>, with_orphans: bool) -> Result<RecordBatch> {
    let totals = |of: fn(&OfKind) -> Total, is_known: bool| -> [ArrayRef; 2] {
        let totals = || kinds.values().map(of);
        let files: Int64Array = totals().map(|total| is_known.then_some(total.files)).collect();
        let bytes = totals().map(|total| match total.files {
            0 => is_known.then_some(0),
            _ => total.bytes,
        });
        [Arc::new(files), Arc::new(bytes.collect::<Int64Array>())]
    };
    let [files, bytes] = totals(OfKind::all, true);
    let [current_files, current_bytes] = totals(|kind| kind.current, true);
    let [older_files, older_bytes] = totals(|kind| kind.older, true);
    let [orphan_files, orphan_bytes] = totals(|kind| kind.orphans, with_orphans);
    let columns = vec![
        ("kind", Arc::new(StringArray::from_iter_values(kinds.keys())) as ArrayRef),
        ("file_count", files),
        ("file_size_in_bytes", bytes),
        ("current_file_count", current_files),
        ("current_file_size_in_bytes", current_bytes),
        ("older_file_count", older_files),
        ("older_file_size_in_bytes", older_bytes),
        ("orphan_file_count", orphan_files),
        ("orphan_file_size_in_bytes", orphan_bytes),
    ];
    whole(columns, kinds.len())
}

impl OfKind {
    /// All of them; a sum beyond 64 bits is not known.
    fn all(&self) -> Total {
        let parts = [self.current, self.older, self.orphans];
        let known: Vec<i64> = parts.iter().filter_map(|total| total.bytes).collect();
        let sum = known.iter().try_fold(0_i64, |sum, bytes| sum.checked_add(*bytes));
        let files = parts.iter().fold(0_i64, |sum, total| sum.saturating_add(total.files));
        Total { files, bytes: sum.filter(|_| !known.is_empty()) }
    }
}
