//! What entries take from the manifest list (Iceberg specification, "Sequence Number Inheritance" and
//! "First Row ID Inheritance"; Iceberg's `InheritableMetadataFactory.java`, `ManifestReader.java`).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, new_null_array};
use arrow_schema::DataType;

use super::status::{ADDED, DELETED};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest_list::{DELETES, ManifestFile};
use crate::record::find;

/// The highest content of a file: equality deletes.
const LAST_CONTENT: i32 = 2;

/// Fills in what entries inherit, batch by batch in file order.
pub(super) struct Inheritance {
    manifest: Option<ManifestFile>,
    spec_id: Option<i32>,
    next_row_id: Option<i64>,
}

impl Inheritance {
    /// Of a manifest as its list records it; without one, what is null stays null. `spec_id` is that of
    /// the manifest's own header, which counts where there is no list.
    pub(super) fn of(manifest: Option<ManifestFile>, spec_id: Option<i32>) -> Inheritance {
        let next_row_id = manifest.as_ref().and_then(|manifest| manifest.first_row_id);
        Inheritance { manifest, spec_id, next_row_id }
    }

    /// A column of `batch`, all of whose entries are there, as the table has it.
    pub(super) fn column(&mut self, batch: &RecordBatch, name: &str) -> Result<ArrayRef> {
        let stored = find(batch, name)?;
        match (name, &self.manifest) {
            ("content", _) => content(stored.as_primitive()),
            ("spec_id", manifest) => {
                let spec_id = manifest.as_ref().map(|manifest| manifest.spec_id).or(self.spec_id);
                Ok(match spec_id {
                    Some(spec_id) => Arc::new(Int32Array::from_value(spec_id, batch.num_rows())),
                    None => stored,
                })
            }
            ("snapshot_id", Some(manifest)) => {
                let ids = stored.as_primitive::<Int64Type>().iter();
                Ok(Arc::new(ids.map(|id| id.or(manifest.added_snapshot_id)).collect::<Int64Array>()))
            }
            ("sequence_number", Some(manifest)) => {
                let numbers = sequence_numbers(batch, stored.as_primitive(), manifest)?;
                match (0..numbers.len()).find(|row| numbers.is_null(*row)) {
                    Some(row) => Err(without_sequence_number(row)),
                    None => Ok(Arc::new(numbers)),
                }
            }
            ("file_sequence_number", Some(manifest)) => {
                Ok(Arc::new(sequence_numbers(batch, stored.as_primitive(), manifest)?))
            }
            ("first_row_id", Some(manifest)) if manifest.content == DELETES || self.next_row_id.is_none() => {
                Ok(new_null_array(&DataType::Int64, stored.len()))
            }
            ("first_row_id", Some(_)) => self.first_row_ids(batch, stored.as_primitive()),
            _ => Ok(stored),
        }
    }

    /// Row ids of the files that have none of their own: each begins where the one before it ended.
    fn first_row_ids(&mut self, batch: &RecordBatch, stored: &Int64Array) -> Result<ArrayRef> {
        let (status, rows) = (find(batch, "status")?, find(batch, "record_count")?);
        let (status, rows) = (status.as_primitive::<Int32Type>(), rows.as_primitive::<Int64Type>());
        let mut next = self.next_row_id;
        let ids = stored.iter().enumerate().map(|(row, id)| {
            if id.is_some() || status.value(row) == DELETED {
                return Ok(id);
            }
            let id = next;
            let rows = rows.value(row);
            next = id.filter(|_| rows >= 0).and_then(|id| id.checked_add(rows));
            if next.is_none() {
                let message = format!("no row ids can be counted behind {id:?}: record_count is {rows}");
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

/// The kind of each file; files of version 1, which does not say, hold data.
fn content(stored: &Int32Array) -> Result<ArrayRef> {
    let contents = stored.iter().map(Option::unwrap_or_default);
    if let Some((row, content)) =
        contents.clone().enumerate().find(|(_, content)| !(0..=LAST_CONTENT).contains(content))
    {
        let message =
            format!("content is {content}, none of 0 (data), 1 (position deletes) and 2 (equality deletes)");
        return Err(Error::new(ErrorKind::Mismatch, message).in_field("content").in_record(row as u64));
    }
    Ok(Arc::new(contents.collect::<Int32Array>()))
}

/// Sequence numbers of added files that have none, and of all files of version 1, are the manifest's.
fn sequence_numbers(batch: &RecordBatch, stored: &Int64Array, manifest: &ManifestFile) -> Result<Int64Array> {
    let status = find(batch, "status")?;
    let status = status.as_primitive::<Int32Type>();
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
