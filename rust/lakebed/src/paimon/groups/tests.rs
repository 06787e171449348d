use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, Int8Array, Int32Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
};

use super::{BucketGroups, BucketSums, KIND};
use crate::error::{ErrorKind, Result};
use crate::grouping::FileGroups as _;

/// A file: partition, bucket, total buckets, level, rows, bytes, creation, rows that delete.
type File = (&'static [u8], i32, i32, i32, i64, i64, Option<i64>, Option<i64>);

fn batch(files: &[File]) -> Result<RecordBatch> {
    let ints = |value: fn(&File) -> i32| -> ArrayRef {
        Arc::new(Int32Array::from_iter_values(files.iter().map(value)))
    };
    let longs = |value: fn(&File) -> Option<i64>| -> ArrayRef {
        Arc::new(files.iter().map(value).collect::<Int64Array>())
    };
    let created = files.iter().map(|file| file.6).collect::<TimestampMicrosecondArray>();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("partition", Arc::new(BinaryArray::from_iter_values(files.iter().map(|file| file.0)))),
        ("bucket", ints(|file| file.1)),
        ("total_buckets", ints(|file| file.2)),
        ("level", ints(|file| file.3)),
        ("row_count", longs(|file| Some(file.4))),
        ("file_size", longs(|file| Some(file.5))),
        ("creation_time", Arc::new(created)),
        ("delete_row_count", longs(|file| file.7)),
    ];
    Ok(RecordBatch::try_from_iter(columns).unwrap())
}

fn read(batches: &[&[File]]) -> Result<BucketGroups> {
    let mut groups = BucketGroups::default();
    batches.iter().try_for_each(|files| groups.extend(&batch(files)?))?;
    Ok(groups)
}

/// Partition row, bucket and number of files of each group.
fn shape(groups: &BucketGroups, rows: &[BucketSums]) -> Vec<(Vec<u8>, i32, i64)> {
    let partitions = groups.partition_rows(rows);
    let shape = |(group, partition): (&BucketSums, Option<&[u8]>)| {
        (partition.unwrap().to_vec(), group.bucket, group.files)
    };
    rows.iter().zip(&partitions).map(shape).collect()
}

#[test]
fn groups_are_in_the_order_of_their_first_files_in_all_batches() {
    let files: [File; 5] = [
        (b"b", 1, 2, 0, 1, 10, None, None),
        (b"a", 0, 2, 0, 2, 20, None, None),
        (b"b", 0, 2, 0, 3, 30, None, None),
        (b"", 0, 2, 0, 4, 40, None, None),
        (b"b", 1, 2, 0, 5, 50, None, None),
    ];
    let one: Vec<&[File]> = files.chunks(1).collect();
    for batches in [vec![&files[..]], one, vec![&files[..2], &[], &files[2..]]] {
        let groups = read(&batches).unwrap();
        let buckets =
            vec![(b"b".to_vec(), 1, 2), (b"a".to_vec(), 0, 1), (b"b".to_vec(), 0, 1), (vec![], 0, 1)];
        assert_eq!(shape(&groups, groups.buckets()), buckets);
        let partitions = groups.partitions(|_| true).unwrap();
        assert_eq!(
            shape(&groups, &partitions),
            vec![(b"b".to_vec(), 1, 3), (b"a".to_vec(), 0, 1), (vec![], 0, 1)]
        );
        assert_eq!(partitions[0].buckets, 2);
        assert_eq!((partitions[0].records, partitions[0].bytes), (9, 90));
    }
}

#[test]
fn dropped_files_are_not_counted() {
    let groups = read(&[&[(b"a", -2, -2, 0, 1, 1, None, None), (b"a", 0, 1, 0, 2, 2, None, None)]]).unwrap();
    let settled = groups.partitions(|bucket| bucket.bucket != -2).unwrap();
    assert_eq!((settled.len(), settled[0].files, settled[0].records, settled[0].buckets), (1, 1, 2, 1));
    assert!(groups.partitions(|_| false).unwrap().is_empty());
}

#[test]
fn the_newest_file_has_the_time_and_number_of_buckets() {
    let groups = read(&[&[
        (b"a", 0, 2, 3, 1, 1, Some(20), Some(1)),
        (b"a", 0, 4, 1, 1, 1, Some(30), Some(2)),
        (b"a", 0, 8, 5, 1, 1, Some(10), Some(0)),
        (b"a", 0, 9, 2, 1, 1, None, Some(0)),
    ]]);
    let groups = groups.unwrap();
    let group = &groups.buckets()[0];
    assert_eq!((group.last_created, group.total_buckets), (Some(30), 4));
    assert_eq!((group.min_level, group.max_level), (1, 5));
    assert_eq!(group.delete_rows, Some(3));
}

#[test]
fn deleting_rows_are_unknown_where_one_file_does_not_say() {
    let groups = read(&[&[
        (b"a", 0, 1, 0, 1, 1, None, Some(1)),
        (b"a", 0, 1, 0, 1, 1, None, None),
        (b"a", 0, 1, 0, 1, 1, None, Some(1)),
    ]]);
    assert_eq!(groups.unwrap().buckets()[0].delete_rows, None);
}

#[test]
fn sums_beyond_64_bits_are_refused() {
    let file = |rows: i64, bytes: i64, bucket| -> File { (b"a", bucket, 1, 0, rows, bytes, None, None) };
    let refused = |files: &[File], column: &str| {
        let groups = read(&[files]);
        let error = groups.and_then(|groups| groups.partitions(|_| true)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert_eq!(error.location().field.as_deref(), Some(column));
    };
    refused(&[file(i64::MAX, 1, 0), file(1, 1, 0)], "record_count");
    refused(&[file(1, i64::MAX, 0), file(1, 1, 0)], "file_size_in_bytes");
    // Each bucket's sum fits, the partition's does not.
    refused(&[file(i64::MAX, 1, 0), file(1, 1, 1)], "record_count");
}

#[test]
fn no_files_give_no_groups() {
    let groups = read(&[]).unwrap();
    assert!(groups.buckets().is_empty() && groups.partitions(|_| true).unwrap().is_empty());
}

#[test]
fn changes_that_cancel_out_leave_groups_without_files() {
    let files: [File; 3] = [
        (b"a", 0, 1, 0, 5, 50, Some(10), Some(1)),
        (b"a", 1, 1, 0, 7, 70, Some(20), Some(0)),
        (b"a", 0, 1, 0, 5, 50, Some(10), Some(1)),
    ];
    let kinds: ArrayRef = Arc::new(Int8Array::from(vec![0, 0, 1]));
    let mut columns: Vec<(String, ArrayRef)> = vec![(KIND.to_owned(), kinds)];
    let batch = batch(&files).unwrap();
    let schema = batch.schema();
    columns
        .extend(schema.fields().iter().zip(batch.columns()).map(|(f, c)| (f.name().clone(), Arc::clone(c))));
    let mut groups = BucketGroups::default();
    groups.extend(&RecordBatch::try_from_iter(columns).unwrap()).unwrap();
    assert_eq!(shape(&groups, groups.buckets()), vec![(b"a".to_vec(), 0, 0), (b"a".to_vec(), 1, 1)]);
    let cancelled = &groups.buckets()[0];
    assert_eq!((cancelled.records, cancelled.bytes, cancelled.delete_rows), (0, 0, Some(0)));
    assert_eq!(cancelled.last_created, Some(10));
    assert_eq!(groups.partitions(|_| true).unwrap()[0].files, 1);
}

#[test]
fn deletion_vectors_are_counted_where_there_are_files() {
    let mut groups =
        read(&[&[(b"a", 0, 1, 0, 9, 1, None, None), (b"a", 1, 1, 0, 9, 1, None, None)]]).unwrap();
    for (partition, bucket, rows) in
        [(b"a", 0, Some(2)), (b"a", 0, Some(3)), (b"a", 7, None), (b"b", 0, None)]
    {
        groups.add_vectors(partition, bucket, 1, rows).unwrap();
    }
    let counts = |group: &BucketSums| (group.vectors, group.vector_rows);
    assert_eq!(groups.buckets().iter().map(counts).collect::<Vec<_>>(), [(2, Some(5)), (0, Some(0))]);
    groups.add_vectors(b"a", 1, 1, None).unwrap();
    assert_eq!(groups.partitions(|_| true).unwrap().iter().map(counts).collect::<Vec<_>>(), [(3, None)]);
}

#[test]
fn sums_of_parts_merge_to_the_sums_of_all() {
    let files: [File; 5] = [
        (b"b", 1, 2, 0, 1, 10, Some(4), None),
        (b"a", 0, 2, 5, 2, 20, None, Some(1)),
        (b"b", 1, 4, 0, 3, 5, Some(9), Some(7)),
        (b"", -2, 2, 0, 4, 40, Some(1), Some(0)),
        (b"b", 0, 2, 1, 5, 50, Some(3), Some(0)),
    ];
    let none = || BucketGroups { small_bytes: 20, ..BucketGroups::default() };
    let of = |files: &[File]| {
        let mut groups = none();
        groups.extend(&batch(files).unwrap()).unwrap();
        groups
    };
    let whole = of(&files);
    for middle in 0..=files.len() {
        let (left, right) = files.split_at(middle);
        let mut merged = none();
        for part in [left, right] {
            merged.merge(&of(part).drain().unwrap()).unwrap();
        }
        assert_eq!(merged.buckets(), whole.buckets());
        assert_eq!(merged.sums().unwrap(), whole.sums().unwrap());
    }
    let sizes = whole.buckets()[0].sizes;
    assert_eq!((sizes.min, sizes.max, sizes.small_files, sizes.small_bytes), (Some(5), Some(10), 2, 15));
    assert_eq!(whole.buckets()[0].level_0_files, 2);
}

#[test]
fn rows_that_are_not_sums_are_refused() {
    let file: File = (b"a", 0, 1, 0, 1, 1, None, None);
    let sums = read(&[&[file]]).unwrap().sums().unwrap();
    for column in 0..sums.num_columns() {
        let mut fewer = sums.clone();
        fewer.remove_column(column);
        let error = BucketGroups::default().merge(&fewer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Required);
    }
    let beyond = read(&[&[(b"a", 0, 1, 0, i64::MAX, 1, None, None)]]).unwrap().sums().unwrap();
    let mut groups = read(&[&[file]]).unwrap();
    assert_eq!(groups.merge(&beyond).unwrap_err().location().field.as_deref(), Some("record_count"));
}
