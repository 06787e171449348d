//! The deletion vectors of a snapshot, to be marked by the data files that they apply to.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray};

use super::deletes::counted_vectors;
use super::jobs::SentSchemas;
use super::vectors::VectorKeys;
use crate::dangling::{AMOUNTS, DELETES, DeleteKind, DeleteMarks, PositionMarks, SnapshotDeletes};
use crate::distributed::hash;
use crate::error::Result;
use crate::field::POSITION_DELETES;
use crate::paimon::table::Table;
use crate::record::column;
use crate::scan::ScanOptions;
use crate::view::whole;

/// Deletion vectors, of which those are marked whose data file is live.
pub(crate) struct MarkedVectors(PositionMarks);

impl DeleteMarks<Table> for MarkedVectors {
    fn read(table: &Table, options: &ScanOptions) -> Result<Option<SnapshotDeletes>> {
        let (vectors, rows) = counted_vectors(table, options)?;
        let count = vectors.data_files.len();
        if count == 0 {
            return Ok(None);
        }
        let keys = VectorKeys::of(&vectors.files)?;
        let names = vectors.data_files.iter().enumerate();
        let keys = names.map(|(row, name)| key(&keys, row, name)).collect::<Int64Array>();
        let [kind, key, sequence] = DELETES;
        let deletes: Vec<(&str, ArrayRef)> = vec![
            (kind, Arc::new(Int8Array::from_value(DeleteKind::Vector.code(), count))),
            (key, Arc::new(keys)),
            (sequence, Arc::new(Int64Array::from_value(0, count))),
        ];
        let [content, offset, records, bytes] = AMOUNTS;
        let amounts: Vec<(&str, ArrayRef)> = vec![
            (content, Arc::new(Int32Array::from_value(POSITION_DELETES, count))),
            (offset, Arc::new(vectors.offsets.clone())),
            (records, Arc::new(rows)),
            (bytes, Arc::new(vectors.lengths.clone())),
        ];
        Ok(Some(SnapshotDeletes { deletes: whole(deletes, count)?, amounts: whole(amounts, count)? }))
    }

    fn of(_table: &Table, deletes: &RecordBatch) -> Result<MarkedVectors> {
        PositionMarks::new(deletes).map(MarkedVectors)
    }

    fn sent(_types: &SentSchemas, deletes: &RecordBatch) -> Result<MarkedVectors> {
        PositionMarks::new(deletes).map(MarkedVectors)
    }

    fn input(&self) -> Vec<&'static str> {
        vec!["partition", "bucket", "file_name"]
    }

    fn mark(&mut self, files: &RecordBatch) -> Result<()> {
        let (keys, names) = (VectorKeys::of(files)?, column::<StringArray>(files, "file_name")?);
        for (row, name) in names.iter().enumerate() {
            self.0.mark(hash(&keys.of_file(row, name.unwrap_or_default())), 0, 0);
        }
        Ok(())
    }

    fn marked(&self) -> &[bool] {
        self.0.marked()
    }
}

fn key(keys: &VectorKeys<'_>, row: usize, name: Option<&str>) -> i64 {
    hash(&keys.of_file(row, name.unwrap_or_default())).cast_signed()
}
