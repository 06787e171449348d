//! Decides on all files of a bucket together: files may hide versions of each other's rows.

use std::collections::HashMap;

use arrow_array::{BinaryArray, BooleanArray, Int32Array, RecordBatch};
use arrow_buffer::BooleanBuffer;

use crate::error::Result;
use crate::record::column;

/// What is known of the files of one bucket.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    files: u64,
    min_level: i32,
    max_level: i32,
    may_match: bool,
}

impl Bucket {
    /// Whether no key is in two of the files: there is one file, or all are on one level above 0.
    fn is_disjoint(&self) -> bool {
        self.files <= 1 || (self.min_level == self.max_level && self.min_level > 0)
    }
}

/// Which files of `batches` are kept: all files that a scan has left, each with whether it may hold matching
/// rows.
///
/// A file without matching rows may hold the newer version of a row that matches in another file: both are
/// kept. `combines` and `skips_level_0` are those of [`Rule::Merge`](super::Rule::Merge).
pub(super) fn merged(
    batches: &[(RecordBatch, BooleanBuffer)],
    combines: bool,
    skips_level_0: bool,
) -> Result<Vec<BooleanArray>> {
    let mut numbers: HashMap<(Box<[u8]>, i32), usize> = HashMap::new();
    let mut buckets: Vec<Bucket> = Vec::new();
    let mut rows: Vec<Vec<(usize, i32)>> = Vec::with_capacity(batches.len());
    for (files, may_match) in batches {
        let partitions = column::<BinaryArray>(files, "partition")?;
        let places = column::<Int32Array>(files, "bucket")?.values();
        let levels = column::<Int32Array>(files, "level")?.values();
        let mut of_batch = Vec::with_capacity(files.num_rows());
        for (row, partition) in partitions.iter().enumerate() {
            let (level, may_match) = (levels[row], may_match.value(row));
            let key = (Box::from(partition.unwrap_or_default()), places[row]);
            let number = *numbers.entry(key).or_insert(buckets.len());
            match buckets.get_mut(number) {
                Some(bucket) => {
                    bucket.files += 1;
                    bucket.min_level = bucket.min_level.min(level);
                    bucket.max_level = bucket.max_level.max(level);
                    bucket.may_match |= may_match;
                }
                None => buckets.push(Bucket { files: 1, min_level: level, max_level: level, may_match }),
            }
            of_batch.push((number, level));
        }
        rows.push(of_batch);
    }
    let keep = |(number, level): (usize, i32), may_match: bool| {
        let bucket = buckets[number];
        match () {
            () if bucket.is_disjoint() || (skips_level_0 && level > 0) => may_match,
            () => combines || bucket.may_match,
        }
    };
    let masks = rows.into_iter().zip(batches).map(|(rows, (_, may_match))| {
        rows.into_iter().zip(may_match).map(|(place, may_match)| Some(keep(place, may_match))).collect()
    });
    Ok(masks.collect())
}
