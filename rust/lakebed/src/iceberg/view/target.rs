//! The single data file that a delete file applies to.

use arrow_array::{Array, BinaryArray, Int32Array, RecordBatch, StringArray};

use crate::error::Result;
use crate::iceberg::fields::{FILE_PATH_ID, POSITION_DELETES};
use crate::iceberg::metrics::metric_values;
use crate::record::{column, typed};

/// The entry's columns that determine it.
pub(crate) const TARGET_INPUT: [&str; 4] =
    ["content", "referenced_data_file", "lower_bounds", "upper_bounds"];

/// The data file that each position delete file or deletion vector deletes from, if it is a single one: the
/// one it refers to, or the path that both of its bounds have (Iceberg's
/// `ContentFileUtil.referencedDataFile`). Null for all other files.
pub(crate) fn target_files(entries: &RecordBatch) -> Result<StringArray> {
    let [content, stored, lower, upper] = TARGET_INPUT;
    let (content, stored) =
        (column::<Int32Array>(entries, content)?, column::<StringArray>(entries, stored)?);
    let bounds = |map| -> Result<BinaryArray> {
        typed::<BinaryArray>(&metric_values(entries, map, &[FILE_PATH_ID])?.remove(0), map).cloned()
    };
    let (lower, upper) = (bounds(lower)?, bounds(upper)?);
    let target = |row: usize| {
        if stored.is_valid(row) {
            return Some(stored.value(row));
        }
        if content.value(row) != POSITION_DELETES {
            return None;
        }
        let is_single = lower.is_valid(row) && upper.is_valid(row) && lower.value(row) == upper.value(row);
        std::str::from_utf8(is_single.then(|| lower.value(row))?).ok()
    };
    Ok((0..entries.num_rows()).map(target).collect())
}
