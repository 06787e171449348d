//! `$buckets` (Paimon's `BucketsTable.java`): one row per bucket with files in the branch's latest snapshot,
//! whichever snapshot the table is at.

use arrow_schema::DataType::{Int32, Int64, Utf8};
use arrow_schema::Field;

use super::TIMESTAMP;
use super::rows::partition_texts;
use crate::error::Result;
use crate::paimon::partition::PartitionType;
use crate::paimon::scan::read_changes;
use crate::paimon::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "buckets", columns: |_| Ok(columns()), rows };

fn columns() -> Vec<Field> {
    vec![
        optional("partition", Utf8),
        required("bucket", Int32),
        required("record_count", Int64),
        required("file_size_in_bytes", Int64),
        required("file_count", Int64),
        optional("last_update_time", TIMESTAMP),
    ]
}

fn rows(table: &Table, request: &Request) -> Result<Batches> {
    let groups = read_changes(&table.at_branch(table.branch())?, request.threads)?;
    let rows: Vec<_> = groups.buckets().iter().filter(|bucket| bucket.files > 0).cloned().collect();
    let partition = PartitionType::new(table.schema());
    let sums = Rows(rows.iter());
    let arrays = vec![
        partition_texts(&groups.partition_rows(&rows), &partition)?,
        sums.ints(|group| group.bucket),
        sums.longs(|group| group.records),
        sums.longs(|group| group.bytes),
        sums.longs(|group| group.files),
        sums.wall_clocks(|group| group.last_created),
    ];
    whole(columns(), arrays, rows.len())
}
