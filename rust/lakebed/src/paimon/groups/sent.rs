//! Groups in the form in which they are sent from where files are read to where they are combined.

use super::BucketSums;
use crate::error::{Error, ErrorKind, Result};
use crate::grouping::Sizes;

pub(super) const COLUMNS: [&str; 12] = [
    "bucket",
    "files",
    "records",
    "bytes",
    "delete_rows",
    "last_created",
    "total_buckets",
    "min_level",
    "max_level",
    "level_0_files",
    "vectors",
    "vector_rows",
];

pub(super) fn numbers(group: &BucketSums) -> [Option<i64>; 12] {
    [
        Some(i64::from(group.bucket)),
        Some(group.files),
        Some(group.records),
        Some(group.bytes),
        group.delete_rows,
        group.last_created,
        Some(i64::from(group.total_buckets)),
        Some(i64::from(group.min_level)),
        Some(i64::from(group.max_level)),
        Some(group.level_0_files),
        Some(group.vectors),
        group.vector_rows,
    ]
}

pub(super) fn group(partition: usize, numbers: [Option<i64>; 12], sizes: Sizes) -> Result<BucketSums> {
    let [bucket, files, records, bytes, delete_rows, last_created, total_buckets, levels @ ..] = numbers;
    let [min_level, max_level, level_0_files, vectors, vector_rows] = levels;
    let long = |number: Option<i64>| number.ok_or_else(odd);
    let int = |number: Option<i64>| long(number).and_then(|number| i32::try_from(number).map_err(|_| odd()));
    Ok(BucketSums {
        partition,
        bucket: int(bucket)?,
        buckets: 1,
        files: long(files)?,
        records: long(records)?,
        bytes: long(bytes)?,
        delete_rows,
        last_created,
        total_buckets: int(total_buckets)?,
        min_level: int(min_level)?,
        max_level: int(max_level)?,
        level_0_files: long(level_0_files)?,
        sizes,
        vectors: long(vectors)?,
        vector_rows,
    })
}

#[cold]
fn odd() -> Error {
    Error::new(ErrorKind::Argument, "these are not sums of a bucket")
}
