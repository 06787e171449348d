//! What entries inherit from the manifest list (Iceberg specification, "Sequence Number Inheritance" and
//! "First Row ID Inheritance"; Iceberg's `InheritableMetadataFactory.java`, `ManifestReader.java`).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, new_null_array};
use arrow_schema::DataType;

use super::status::{ADDED, DELETED};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::{DATA, EQUALITY_DELETES};
use crate::iceberg::manifest_list::{DELETES, ManifestFile};
use crate::record::{column, find, typed};

/// Fills in what entries inherit, batch by batch in file order.
pub(super) struct Inheritance {
    manifest: Option<ManifestFile>,
    spec_id: Option<i32>,
    needs_numbers: bool,
    next_row_id: Option<i64>,
}

impl Inheritance {
    /// For a manifest as its list records it; without a record nulls stay null. `spec_id` is from the
    /// manifest's own header and counts where there is no list. `needs_numbers` requires known sequence
    /// numbers, by which deletes are applied.
    pub(super) fn of(
        manifest: Option<ManifestFile>,
        spec_id: Option<i32>,
        needs_numbers: bool,
    ) -> Inheritance {
        let next_row_id = manifest.as_ref().and_then(|manifest| manifest.first_row_id);
        Inheritance { manifest, spec_id, needs_numbers, next_row_id }
    }

    /// Whether files get the row ids that follow those of the files before them.
    pub(super) fn counts_row_ids(&self) -> bool {
        self.next_row_id.is_some()
            && self.manifest.as_ref().is_some_and(|manifest| manifest.content != DELETES)
    }

    /// A column of `batch` in the table's form; the batch must have all entries of the manifest.
    pub(super) fn column(&mut self, batch: &RecordBatch, name: &str) -> Result<ArrayRef> {
        let stored = find(batch, name)?;
        match (name, &self.manifest) {
            ("content", _) => content(typed(&stored, name)?),
            ("spec_id", manifest) => {
                let spec_id = manifest.as_ref().map(|manifest| manifest.spec_id).or(self.spec_id);
                Ok(match spec_id {
                    Some(spec_id) => Arc::new(Int32Array::from_value(spec_id, batch.num_rows())),
                    None => stored,
                })
            }
            ("snapshot_id", Some(manifest)) => {
                let ids = typed::<Int64Array>(&stored, name)?.iter();
                Ok(Arc::new(ids.map(|id| id.or(manifest.added_snapshot_id)).collect::<Int64Array>()))
            }
            ("sequence_number", Some(manifest)) => {
                let numbers = sequence_numbers(batch, typed(&stored, name)?, manifest)?;
                match (0..numbers.len()).find(|row| self.needs_numbers && numbers.is_null(*row)) {
                    Some(row) => Err(without_sequence_number(row)),
                    None => Ok(Arc::new(numbers)),
                }
            }
            ("file_sequence_number", Some(manifest)) => {
                Ok(Arc::new(sequence_numbers(batch, typed(&stored, name)?, manifest)?))
            }
            ("first_row_id", Some(manifest)) if manifest.content == DELETES || self.next_row_id.is_none() => {
                Ok(new_null_array(&DataType::Int64, stored.len()))
            }
            ("first_row_id", Some(_)) => self.first_row_ids(batch, typed(&stored, name)?),
            _ => Ok(stored),
        }
    }

    /// Row ids of the files without one of their own: each begins where the one before ends.
    fn first_row_ids(&mut self, batch: &RecordBatch, stored: &Int64Array) -> Result<ArrayRef> {
        let status = column::<Int32Array>(batch, "status")?;
        let rows = column::<Int64Array>(batch, "record_count")?;
        let mut next = self.next_row_id;
        let ids = stored.iter().enumerate().map(|(row, id)| {
            if id.is_some() || status.value(row) == DELETED {
                return Ok(id);
            }
            let id = next;
            let rows = rows.value(row);
            next = id.filter(|_| rows >= 0).and_then(|id| id.checked_add(rows));
            if next.is_none() {
                let message = format!("row ids cannot be counted from {id:?}: record_count is {rows}");
                return Err(Error::new(ErrorKind::Mismatch, message)
                    .in_field("record_count")
                    .in_record(row as u64));
            }
            Ok(id)
        });
        let ids = ids.collect::<Result<Int64Array>>()?;
        self.next_row_id = next;
        Ok(Arc::new(ids))
    }
}

/// The content of each file; files of version 1, which has no content, hold data.
fn content(stored: &Int32Array) -> Result<ArrayRef> {
    let contents = stored.iter().map(Option::unwrap_or_default);
    if let Some((row, content)) =
        contents.clone().enumerate().find(|(_, content)| !(DATA..=EQUALITY_DELETES).contains(content))
    {
        let message =
            format!("content is {content}, not 0 (data), 1 (position deletes) or 2 (equality deletes)");
        return Err(Error::new(ErrorKind::Mismatch, message).in_field("content").in_record(row as u64));
    }
    Ok(Arc::new(contents.collect::<Int32Array>()))
}

/// Added files without sequence numbers, and all files of version 1, inherit those of the manifest.
fn sequence_numbers(batch: &RecordBatch, stored: &Int64Array, manifest: &ManifestFile) -> Result<Int64Array> {
    let status = column::<Int32Array>(batch, "status")?;
    let numbers = stored.iter().zip(status.values()).map(|(number, status)| {
        let inherits = *status == ADDED || manifest.sequence_number == 0;
        number.or(inherits.then_some(manifest.sequence_number))
    });
    Ok(numbers.collect())
}

#[cold]
fn without_sequence_number(row: usize) -> Error {
    let message = "an EXISTING or DELETED entry has no sequence number";
    Error::new(ErrorKind::Required, message).in_field("sequence_number").in_record(row as u64)
}

#[cfg(test)]
mod tests {
    use arrow_schema::{Field, Schema};

    use super::*;

    /// Entries as (status, stored number, rows), with the number in every column that inherits.
    fn entries(rows: &[(i32, Option<i64>, i64)]) -> RecordBatch {
        let number =
            || Arc::new(rows.iter().map(|(_, number, _)| *number).collect::<Int64Array>()) as ArrayRef;
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("status", Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.0)))),
            ("record_count", Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2)))),
            ("snapshot_id", number()),
            ("sequence_number", number()),
            ("first_row_id", number()),
            (
                "content",
                Arc::new(rows.iter().map(|row| row.1.map(|content| content as i32)).collect::<Int32Array>()),
            ),
        ];
        let fields = columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        RecordBatch::try_new(schema, columns.into_iter().map(|(_, column)| column).collect()).unwrap()
    }

    fn longs(column: &ArrayRef) -> Vec<Option<i64>> {
        typed::<Int64Array>(column, "longs").unwrap().iter().collect()
    }

    fn manifest(sequence_number: i64, first_row_id: Option<i64>) -> ManifestFile {
        ManifestFile { sequence_number, first_row_id, added_snapshot_id: Some(5), ..ManifestFile::default() }
    }

    #[test]
    fn snapshot_ids_are_inherited_whatever_the_status() {
        let mut inheritance = Inheritance::of(Some(manifest(1, None)), None, true);
        let batch = entries(&[(0, None, 1), (1, Some(7), 1), (2, None, 1)]);
        let ids = inheritance.column(&batch, "snapshot_id").unwrap();
        assert_eq!(longs(&ids), [Some(5), Some(7), Some(5)]);
    }

    #[test]
    fn sequence_numbers_are_inherited_by_added_files_and_in_version_1() {
        let batch = entries(&[(1, None, 1), (1, Some(3), 1), (0, None, 1)]);
        let mut first = Inheritance::of(Some(manifest(0, None)), None, true);
        let numbers = first.column(&batch, "sequence_number").unwrap();
        assert_eq!(longs(&numbers), [Some(0), Some(3), Some(0)]);
        let mut shown = Inheritance::of(Some(manifest(4, None)), None, false);
        let numbers = shown.column(&batch, "sequence_number").unwrap();
        assert_eq!(longs(&numbers), [Some(4), Some(3), None]);
        let mut planned = Inheritance::of(Some(manifest(4, None)), None, true);
        let error = planned.column(&batch, "sequence_number").unwrap_err();
        assert_eq!((error.kind(), error.location().record), (ErrorKind::Required, Some(2)));
    }

    #[test]
    fn row_ids_are_counted_over_the_whole_file() {
        let mut inheritance = Inheritance::of(Some(manifest(1, Some(1000))), None, true);
        let one = entries(&[(1, None, 10), (DELETED, None, 100), (0, Some(7), 3), (0, None, 5)]);
        assert_eq!(
            longs(&inheritance.column(&one, "first_row_id").unwrap()),
            [Some(1000), None, Some(7), Some(1010)]
        );
        let two = entries(&[(1, None, 1)]);
        assert_eq!(longs(&inheritance.column(&two, "first_row_id").unwrap()), [Some(1015)]);
        for rows in [-1, i64::MAX] {
            let batch = entries(&[(1, None, rows)]);
            assert_eq!(inheritance.column(&batch, "first_row_id").unwrap_err().kind(), ErrorKind::Mismatch);
        }
        let mut without = Inheritance::of(Some(manifest(1, None)), None, true);
        assert_eq!(longs(&without.column(&one, "first_row_id").unwrap()), [None; 4]);
        let deletes = ManifestFile { content: DELETES, ..manifest(1, Some(1000)) };
        let mut deletes = Inheritance::of(Some(deletes), None, true);
        assert_eq!(longs(&deletes.column(&one, "first_row_id").unwrap()), [None; 4]);
    }

    #[test]
    fn without_a_list_nothing_is_inherited_but_the_header_counts() {
        let mut alone = Inheritance::of(None, None, false);
        let batch = entries(&[(0, None, 1), (1, Some(2), 1)]);
        for name in ["snapshot_id", "sequence_number", "first_row_id"] {
            assert_eq!(longs(&alone.column(&batch, name).unwrap()), [None, Some(2)], "{name}");
        }
        let content = alone.column(&batch, "content").unwrap();
        assert_eq!(typed::<Int32Array>(&content, "content").unwrap(), &Int32Array::from(vec![0, 2]));
        let error = alone.column(&entries(&[(0, Some(3), 1)]), "content").unwrap_err();
        assert_eq!((error.kind(), error.location().record), (ErrorKind::Mismatch, Some(0)));
    }
}
