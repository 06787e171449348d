//! Files that batch reads skip, regardless of the filter (Paimon's `DataTableBatchScan.java`).

use arrow_array::{Array, BooleanArray, Int32Array, RecordBatch};

use super::Rule;
use crate::error::Result;
use crate::paimon::paths::POSTPONE_BUCKET;
use crate::paimon::schema::TableSchema;
use crate::record::column;

/// Which files batch reads of a table skip.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchRead {
    /// Files of level 0, whose rows are not compared with others yet.
    level_0: bool,
    /// Files that are not assigned to a bucket yet.
    postponed: bool,
}

impl BatchRead {
    pub(crate) fn new(schema: &TableSchema) -> BatchRead {
        let level_0 = matches!(Rule::new(schema), Rule::Merge { skips_level_0: true, .. });
        BatchRead { level_0, postponed: schema.bucket() == POSTPONE_BUCKET }
    }

    /// The columns of entries that it reads.
    pub(crate) fn input(self) -> [&'static str; 2] {
        ["bucket", "level"]
    }

    /// Whether each file is read.
    pub(crate) fn reads(self, entries: &RecordBatch) -> Result<BooleanArray> {
        let buckets = column::<Int32Array>(entries, "bucket")?;
        let levels = column::<Int32Array>(entries, "level")?;
        let rows = buckets.values().iter().zip(levels);
        let passed = |bucket: i32, level: i32| {
            (self.level_0 && level == 0) || (self.postponed && bucket == POSTPONE_BUCKET)
        };
        Ok(rows.map(|(bucket, level)| Some(!passed(*bucket, level.unwrap_or(1)))).collect())
    }

    /// Whether each manifest of a list may hold files that are read; true for a range that is not known.
    pub(crate) fn may_read(self, list: &RecordBatch) -> Result<Vec<bool>> {
        let levels = column::<Int32Array>(list, "max_level")?;
        let buckets = column::<Int32Array>(list, "max_bucket")?;
        let is = |array: &arrow_array::Int32Array, row: usize, value: i32| {
            array.is_valid(row) && array.value(row) == value
        };
        let passed = |row: usize| {
            (self.level_0 && is(levels, row, 0)) || (self.postponed && is(buckets, row, POSTPONE_BUCKET))
        };
        Ok((0..list.num_rows()).map(|row| !passed(row)).collect())
    }
}
