//! `partitions`: sums over live files (Iceberg's `PartitionsTable.java`).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array};
use arrow_schema::{DataType, Field, TimeUnit};

use crate::error::{Error, ErrorKind, Result};
use crate::grouping::FileGroups as _;
use crate::iceberg::groups::{PartitionGroups, PartitionSums};
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::scan::{Plan, rows_of};
use crate::iceberg::table::Table;
use crate::iceberg::view::Role;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "partitions", columns, rows };

fn columns(table: &Table) -> Result<Vec<Field>> {
    use DataType::{Int32, Int64};
    let types = table.current_types()?;
    let mut fields = Vec::new();
    if !types.partition.fields.is_empty() {
        fields.extend([required("partition", types.partition.arrow()), required("spec_id", Int32)]);
    }
    fields.extend([
        required("record_count", Int64),
        required("file_count", Int32),
        required("total_data_file_size_in_bytes", Int64),
        required("position_delete_record_count", Int64),
        required("position_delete_file_count", Int32),
        required("equality_delete_record_count", Int64),
        required("equality_delete_file_count", Int32),
        optional("last_updated_at", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        optional("last_updated_snapshot_id", Int64),
    ]);
    Ok(fields)
}

fn rows(table: &Table, request: &Request) -> Result<Batches> {
    let types = table.current_types()?;
    // The engine compares tuples of specs that have as many of the fields, whichever these are.
    let count = |spec: &PartitionSpec| {
        let has = |id| spec.fields.iter().any(|field| field.field_id == id);
        types.partition.fields.iter().filter(|unified| has(unified.field.field_id)).count() as u64
    };
    let present: HashMap<i32, u64> = types.specs.iter().map(|spec| (spec.spec_id, count(spec))).collect();
    let mut groups = PartitionGroups::new(&types.partition, table.commit_times()?)?;
    let manifests = Plan::new(table, None)?.of_role(Role::Live);
    for files in rows_of(table, Role::Live, types, PartitionGroups::INPUT, None, manifests, request.threads)?
    {
        groups.extend(&files?)?;
    }
    let (groups, tuples) = groups.by_tuple(|spec_id| present.get(&spec_id).copied())?;
    let rows = Rows(groups.iter());
    let fields = columns(table)?;
    let arrays = fields.iter().map(|field| match field.name().as_str() {
        "partition" => Ok(Arc::clone(&tuples)),
        "spec_id" => Ok(rows.ints(|group| group.spec_id)),
        "record_count" => Ok(rows.longs(|group| group.data.records)),
        "file_count" => counts(&groups, |group| group.data.files),
        "total_data_file_size_in_bytes" => Ok(rows.longs(|group| group.data_bytes)),
        "position_delete_record_count" => Ok(rows.longs(|group| group.position_deletes.records)),
        "position_delete_file_count" => counts(&groups, |group| group.position_deletes.files),
        "equality_delete_record_count" => Ok(rows.longs(|group| group.equality_deletes.records)),
        "equality_delete_file_count" => counts(&groups, |group| group.equality_deletes.files),
        "last_updated_at" => rows.instants(|group| group.last_updated.0),
        _ => Ok(rows.longs(|group| group.last_updated.1)),
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    whole(fields, arrays, groups.len())
}

/// A number of files in 32 bits, as in the engine.
pub(super) fn counts<'g>(
    rows: impl IntoIterator<Item = &'g PartitionSums>,
    count: impl Fn(&PartitionSums) -> i64,
) -> Result<ArrayRef> {
    let counts = rows.into_iter().map(|group| {
        i32::try_from(count(group)).map_err(|_| {
            Error::new(ErrorKind::Mismatch, "the file count of a partition does not fit 32 bits")
        })
    });
    Ok(Arc::new(counts.collect::<Result<Int32Array>>()?))
}
