//! Decides on all files of one range of row ids together: a row is spread over them, and the newest file that
//! has a column holds its value (Paimon's `DataEvolutionFileStoreScan.java`).

use std::collections::BTreeMap;

use arrow_array::types::Int32Type;
use arrow_array::{Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::BooleanBuffer;

use crate::error::{Result, fitting};
use crate::paimon::fields::texts_at;
use crate::paimon::schema::TableSchema;
use crate::paimon::sections::sections;
use crate::record::column;

/// Where a group has the statistics of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    /// In this file, which has the column for every row.
    File(usize),
    /// In several files, or in none of the group's: nothing is known.
    Unknown,
    /// No file has the column: it is null in every row.
    Absent,
}

/// Files whose row ids overlap.
#[derive(Debug)]
pub(super) struct OverlappingFiles {
    /// The files.
    pub(super) files: Vec<usize>,
    /// Rows in its range.
    pub(super) rows: i64,
    first: i64,
    last: i64,
}

/// The files of a scan by their row ids; files without row ids are in no group.
pub(super) struct RowRanges<'s> {
    schemas: &'s BTreeMap<i64, TableSchema>,
    schema_ids: Int64Array,
    sequences: Int64Array,
    names: StringArray,
    written: Vec<Option<Vec<String>>>,
    first: Int64Array,
    /// The id of each file's last row; any number for a file without row ids.
    last: Vec<i64>,
}

impl<'s> RowRanges<'s> {
    pub(super) fn new(files: &RecordBatch, schemas: &'s BTreeMap<i64, TableSchema>) -> Result<RowRanges<'s>> {
        let longs = |name| column::<Int64Array>(files, name).cloned();
        let write_cols = column::<ListArray>(files, "write_cols")?;
        let names = |row: usize| {
            let names = texts_at(write_cols, row)?;
            Ok(names.map(|names| names.iter().flatten().map(str::to_owned).collect()))
        };
        let (first, rows) = (longs("first_row_id")?, column::<Int64Array>(files, "row_count")?);
        let last = first.iter().zip(rows.values()).map(|(first, rows)| {
            let end = first.unwrap_or_default().checked_add(*rows);
            fitting(end.and_then(|end| end.checked_sub(1)), "a row id")
        });
        Ok(RowRanges {
            schemas,
            schema_ids: longs("schema_id")?,
            sequences: longs("max_sequence_number")?,
            names: column::<StringArray>(files, "file_name")?.clone(),
            written: (0..files.num_rows()).map(names).collect::<Result<_>>()?,
            last: last.collect::<Result<_>>()?,
            first,
        })
    }

    /// The groups, by their row ids.
    ///
    /// # Errors
    /// `Mismatch` for a range whose number of rows does not fit 64 bits.
    pub(super) fn groups(&self) -> Result<Vec<OverlappingFiles>> {
        let mut files: Vec<usize> = (0..self.first.len()).filter(|file| self.first.is_valid(*file)).collect();
        files.sort_by_key(|file| self.first.value(*file));
        let groups = sections(files, |file| (self.first.value(file), Some(self.last[file])));
        let groups = groups.into_iter().filter_map(|files| {
            let first = files.iter().map(|file| self.first.value(*file)).min()?;
            let last = files.iter().map(|file| self.last[*file]).max()?;
            let apart = last.checked_sub(first).and_then(|apart| apart.checked_add(1));
            let rows = fitting(apart, "the number of rows of a range");
            Some(rows.map(|rows| OverlappingFiles { files, rows, first, last }))
        });
        groups.collect()
    }

    /// The ids of a file's first and last row.
    fn range(&self, file: usize) -> (i64, i64) {
        (self.first.value(file), self.last[file])
    }

    /// Where a group has the statistics of a column.
    pub(super) fn provider(&self, group: &OverlappingFiles, column: i32) -> Provider {
        let mut newest: Option<(i64, usize)> = None;
        let mut tied = false;
        let mut beside = false;
        for file in &group.files {
            if !self.has(*file, column) {
                continue;
            }
            if self.is_special(*file) {
                beside = true;
                continue;
            }
            let sequence = self.sequences.value(*file);
            match newest {
                Some((known, _)) if sequence < known => {}
                Some((known, _)) if sequence == known => tied = true,
                _ => (newest, tied) = (Some((sequence, *file)), false),
            }
        }
        match newest {
            _ if beside => Provider::Unknown,
            None => Provider::Absent,
            Some((_, file)) if !tied && self.range(file) == (group.first, group.last) => Provider::File(file),
            Some(_) => Provider::Unknown,
        }
    }

    /// Whether a file holds a column; assumed of a file whose schema does not exist.
    fn has(&self, file: usize, column: i32) -> bool {
        let Some(schema) = self.schemas.get(&self.schema_ids.value(file)) else { return true };
        let Some(field) = schema.field_by_id(column) else { return false };
        self.written
            .get(file)
            .is_none_or(|names| names.as_ref().is_none_or(|names| names.contains(&field.name)))
    }

    /// Whether a file holds the blobs or vectors of one column, which have no statistics.
    fn is_special(&self, file: usize) -> bool {
        let name = self.names.value(file);
        name.ends_with(".blob") || name.contains(".vector")
    }
}

/// For each file, whether its group is kept; true for files in no group.
pub(super) fn files_of(groups: &[OverlappingFiles], kept: &BooleanBuffer, files: usize) -> BooleanBuffer {
    let mut keep = vec![true; files];
    for (group, kept) in groups.iter().zip(kept) {
        for file in &group.files {
            if let Some(keep) = keep.get_mut(*file) {
                *keep = kept;
            }
        }
    }
    BooleanBuffer::from(keep)
}

/// Row numbers to take: null where there is no such file.
pub(super) fn rows_of(providers: &[Provider]) -> Int32Array {
    let row = |provider: &Provider| match provider {
        Provider::File(file) => i32::try_from(*file).ok(),
        Provider::Unknown | Provider::Absent => None,
    };
    providers.iter().map(row).collect::<arrow_array::PrimitiveArray<Int32Type>>()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::new_null_array;

    use super::*;
    use crate::error::ErrorKind;
    use crate::field::texts;

    #[test]
    fn row_ids_that_do_not_fit_are_an_error() {
        let ranges = |ids: [i64; 2]| {
            let long =
                |numbers: [i64; 2]| Arc::new(Int64Array::from(numbers.to_vec())) as arrow_array::ArrayRef;
            let names = Arc::new(StringArray::from(vec!["a", "b"]));
            let files = RecordBatch::try_from_iter([
                ("schema_id", long([0, 0])),
                ("max_sequence_number", long([1, 1])),
                ("file_name", names as _),
                ("write_cols", new_null_array(&texts(), 2)),
                ("first_row_id", long(ids)),
                ("row_count", long([5, 5])),
            ]);
            RowRanges::new(&files.expect("files"), &BTreeMap::new())?.groups().map(|groups| groups.len())
        };
        assert_eq!(ranges([0, 3]).expect("groups"), 1);
        assert_eq!(ranges([0, 5]).expect("groups"), 2);
        let error = ranges([0, i64::MAX - 3]).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Mismatch, "a row id does not fit 64 bits"));
    }
}
