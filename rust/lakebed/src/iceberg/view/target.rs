//! The single data file that a delete file applies to.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, MapArray, RecordBatch, StringArray};

use crate::error::{Error, ErrorKind, Result};
use crate::record::find;

/// The reserved field id of `file_path` in position delete files.
pub(crate) const FILE_PATH_ID: i32 = 2_147_483_546;

/// `content` of position delete files, including deletion vectors.
const POSITION_DELETES: i32 = 1;

/// The entry's columns that determine it.
pub(crate) const TARGET_INPUT: [&str; 4] =
    ["content", "referenced_data_file", "lower_bounds", "upper_bounds"];

/// The data file that each position delete file or deletion vector deletes from, if it is a single one: the
/// one it refers to, or the path that both of its bounds have (Iceberg's
/// `ContentFileUtil.referencedDataFile`). Null for all other files.
pub(crate) fn target_files(entries: &RecordBatch) -> Result<ArrayRef> {
    let [content, stored, lower, upper] = TARGET_INPUT.map(|name| find(entries, name));
    let (content, stored, lower, upper) = (content?, stored?, lower?, upper?);
    let (content, stored) = (content.as_primitive::<Int32Type>(), stored.as_string::<i32>());
    let (Some(lower), Some(upper)) = (lower.as_map_opt(), upper.as_map_opt()) else {
        return Err(Error::new(ErrorKind::Argument, "bounds are not maps by field id"));
    };
    let target = |row: usize| {
        if stored.is_valid(row) {
            return Some(stored.value(row).to_owned());
        }
        if content.value(row) != POSITION_DELETES {
            return None;
        }
        let path = bound(lower, row).filter(|lower| bound(upper, row).as_ref() == Some(lower))?;
        String::from_utf8(path).ok()
    };
    Ok(Arc::new((0..entries.num_rows()).map(target).collect::<StringArray>()))
}

fn bound(bounds: &MapArray, row: usize) -> Option<Vec<u8>> {
    if bounds.is_null(row) {
        return None;
    }
    let entries = bounds.value(row);
    let keys = entries.column(0).as_primitive::<Int32Type>();
    let place = keys.values().iter().rposition(|key| *key == FILE_PATH_ID)?;
    let values = entries.column(1).as_binary::<i32>();
    values.is_valid(place).then(|| values.value(place).to_vec())
}
