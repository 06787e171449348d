//! Which files may be dropped for their values, by the kind of table, and which ones batch reads skip, regardless of the
//! filter (Paimon's `AppendOnlyFileStoreScan.java`, `KeyValueFileStoreScan.java`, `DataEvolutionFileStoreScan.java`,
//! `DataTableBatchScan.java`).

use arrow_array::{Array, BooleanArray, Int32Array, RecordBatch};

use crate::error::Result;
use crate::paimon::paths::POSTPONE_BUCKET;
use crate::paimon::schema::TableSchema;
use crate::record::column;

/// Which files may be dropped for their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Each file on its own: its rows do not depend on other files.
    Append,
    /// Several files of a bucket have rows of one key, of which the newest counts.
    Merge {
        /// Whether rows of one key are combined into a new row: then a file can be dropped for its values
        /// only where it overlaps no other.
        combines: bool,
        /// Whether each file above level 0 is read on its own, as deletion vectors and the merge engine
        /// `first-row` allow, and files of level 0 are not read before they are compacted.
        skips_level_0: bool,
    },
    /// A row is spread over files: files of one range of row ids are dropped together.
    Evolution,
}

impl Rule {
    /// The rule for tables of this schema.
    pub(crate) fn new(schema: &TableSchema) -> Rule {
        let is_set = |key: &str| schema.option(key).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let vectors = is_set("deletion-vectors.enabled");
        if schema.primary_keys.is_empty() {
            return if is_set("data-evolution.enabled") { Rule::Evolution } else { Rule::Append };
        }
        let engine = schema.option("merge-engine").unwrap_or_default().to_ascii_lowercase();
        let skips_level_0 =
            if vectors { !is_set("deletion-vectors.merge-on-read") } else { engine == "first-row" };
        let combines = !skips_level_0 && matches!(engine.as_str(), "partial-update" | "aggregation");
        Rule::Merge { combines, skips_level_0 }
    }

    /// Whether a batch read returns each row of a file that has no deletion vector.
    pub(crate) fn reads_files_whole(self) -> bool {
        matches!(self, Rule::Append | Rule::Merge { skips_level_0: true, .. })
    }

    /// Whether files are decided on together, once all of them are known.
    pub(crate) fn is_of_groups(self) -> bool {
        self != Rule::Append
    }
}

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

    /// Whether all files are read.
    pub(crate) fn reads_all(self) -> bool {
        !self.level_0 && !self.postponed
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
