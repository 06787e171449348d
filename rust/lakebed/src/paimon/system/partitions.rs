//! `$partitions` (Paimon's `PartitionsTable.java`): one row per partition, without files that are not
//! assigned to a bucket yet.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray, new_null_array};
use arrow_schema::DataType::{Boolean, Int32, Int64, Utf8};
use arrow_schema::Field;

use super::TIMESTAMP;
use crate::error::Result;

use crate::paimon::binary_row::decode_rows;
use crate::paimon::partition::PartitionType;
use crate::paimon::partition::{DEFAULT_PARTITION, partition_folders, unescape};
use crate::paimon::paths::POSTPONE_BUCKET;
use crate::paimon::scan::{know_vectors, read_changes, vector_counts};
use crate::paimon::table::Table;
use crate::paimon::write::is_on;
use crate::scan::{Batches, ScanOptions};
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::{GroupBy, Rows};

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "partitions", columns: |_| Ok(columns()), rows };

fn columns() -> Vec<Field> {
    vec![
        optional("partition", Utf8),
        required("record_count", Int64),
        required("file_size_in_bytes", Int64),
        required("file_count", Int64),
        optional("last_update_time", TIMESTAMP),
        // Only a catalog has these.
        optional("created_at", TIMESTAMP),
        optional("created_by", Utf8),
        optional("updated_by", Utf8),
        optional("options", Utf8),
        // Of Paimon 2.0.
        required("total_buckets", Int32),
        required("done", Boolean),
        optional("deleted_record_count", Int64),
    ]
}

fn rows(table: &Table, request: &Request) -> Result<Batches> {
    let mut groups = read_changes(table, request.threads)?;
    if is_on(table.schema(), "deletion-vectors.enabled", false) && request.needs("deleted_record_count") {
        // Without what only the vectors themselves tell.
        let columns = Some(vec!["delete_file_count".to_owned()]);
        let options = ScanOptions { columns, ..ScanOptions::default() };
        if let Some(counts) = vector_counts(table, &options, GroupBy::Partition)? {
            know_vectors(&mut groups, &counts)?;
        }
    }
    let mut rows = groups.partitions(|bucket| bucket.bucket != POSTPONE_BUCKET)?;
    rows.retain(|partition| partition.files > 0);
    let names = PartitionType::new(table.schema());
    let stored = decode_rows(&groups.partition_rows(&rows), &names.stored)?;
    let default_name = table.schema().option("partition.default-name").unwrap_or(DEFAULT_PARTITION);
    // `k=v/k=v`: folder names of values cast to string, before escaping.
    let folders = partition_folders(&stored, &names.fields, default_name, false)?;
    let texts = folders.iter().map(|folder| unescape(folder.trim_end_matches('/')));
    let (columns, sums) = (columns(), Rows(rows.iter()));
    let arrays = columns.iter().map(|column| match column.name().as_str() {
        "partition" => Arc::new(StringArray::from_iter_values(texts.clone())) as ArrayRef,
        "record_count" => sums.longs(|group| group.records),
        "file_size_in_bytes" => sums.longs(|group| group.bytes),
        "file_count" => sums.longs(|group| group.files),
        "last_update_time" => sums.wall_clocks(|group| group.last_created),
        "total_buckets" => sums.ints(|group| group.total_buckets),
        // Only a catalog is told that a partition is done.
        "done" => sums.booleans(|_| false),
        "deleted_record_count" => sums.longs(|group| group.vector_rows),
        _ => new_null_array(column.data_type(), rows.len()),
    });
    let arrays = arrays.collect();
    whole(columns, arrays, rows.len())
}
