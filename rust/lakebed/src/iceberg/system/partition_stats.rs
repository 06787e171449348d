//! The statistics of the snapshot's partitions: `partition_stats`, as their file has them
//! (Iceberg's `PartitionStatisticsScan.java`), and `computed_partition_stats`, as the engine's next file would
//! have them (`PartitionStatsHandler.java`). Columns are those of `PartitionStatistics.java`, but that
//! `last_updated_at` is an instant, as in `partitions`.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::DataType::{Int32, Int64};
use arrow_schema::{Field, Schema};

use super::instant;
use super::partitions::counts;
use crate::error::Result;
use crate::iceberg::fields::{DV_COUNT, LAST_UPDATED_AT, PARTITION, PARTITION_STATS};
use crate::iceberg::groups::PartitionSums;
use crate::iceberg::partition_stats::{PartitionStats, computed, files, read};
use crate::iceberg::table::Table;
use crate::record::{column, find};
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::{Rows, batch, instants};

pub(super) const STORED: SystemTable<Table> = SystemTable { name: "partition_stats", columns, rows: stored };
pub(super) const COMPUTED: SystemTable<Table> =
    SystemTable { name: "computed_partition_stats", columns, rows: of_now };

/// The first version of the format that counts deletion vectors.
const VERSION_OF_VECTORS: i32 = 3;

/// Without the partition of a table that has none, and without deletion vectors before version 3.
fn columns(table: &Table) -> Result<Vec<Field>> {
    let types = table.current_types()?;
    let has_vectors = table.metadata().format_version >= VERSION_OF_VECTORS;
    let fields = PARTITION_STATS.iter().filter_map(|spec| match spec.column {
        PARTITION if types.partition.fields.is_empty() => None,
        PARTITION => Some(required(PARTITION, types.partition.arrow())),
        DV_COUNT => has_vectors.then(|| required(DV_COUNT, Int32)),
        LAST_UPDATED_AT => Some(optional(LAST_UPDATED_AT, instant())),
        _ => Some(spec.arrow()),
    });
    Ok(fields.collect())
}

fn stored(table: &Table, _request: &Request) -> Result<Batches> {
    let snapshot = table.snapshot()?.map(|snapshot| snapshot.snapshot_id);
    let file = files(table)?.into_iter().find(|file| Some(file.snapshot_id) == snapshot);
    let Some(file) = file else { return Ok(Box::new(std::iter::empty())) };
    let schema = Arc::new(Schema::new(columns(table)?));
    let rows = read(table, &file, &table.current_types()?.partition)?;
    Ok(Box::new(rows.map(move |rows| {
        let rows = rows?;
        let columns = schema.fields().iter().map(|field| shown(&rows, field.name()));
        let columns = columns.collect::<Result<Vec<_>>>();
        let columns = columns.map_err(|error| error.in_file(&file.statistics_path))?;
        batch(&schema, columns, rows.counts.num_rows())
    })))
}

fn shown(rows: &PartitionStats, name: &str) -> Result<ArrayRef> {
    match name {
        PARTITION => Ok(Arc::new(rows.partitions.clone())),
        DV_COUNT => rows.dv_counts(),
        LAST_UPDATED_AT => {
            let millis = column::<Int64Array>(&rows.counts, name)?;
            instants(millis.iter()).map_err(|error| error.in_field(name))
        }
        _ => find(&rows.counts, name),
    }
}

fn of_now(table: &Table, request: &Request) -> Result<Batches> {
    let sums = computed(table, request.threads)?;
    let (groups, tuples) = sums.sorted()?;
    let fields = columns(table)?;
    let rows = Rows(groups.iter());
    let count = |of: fn(&PartitionSums) -> i64| counts(groups.iter().copied(), of);
    let arrays = fields.iter().map(|field| match field.name().as_str() {
        PARTITION => Ok(tuples.clone()),
        "spec_id" => Ok(rows.ints(|group| group.spec_id)),
        "data_record_count" => Ok(rows.longs(|group| group.data.records)),
        "data_file_count" => count(|group| group.data.files),
        "total_data_file_size_in_bytes" => Ok(rows.longs(|group| group.data_bytes)),
        "position_delete_record_count" => Ok(rows.longs(|group| group.position_deletes.records)),
        "position_delete_file_count" => count(|group| group.position_deletes.files - group.vectors.files),
        "equality_delete_record_count" => Ok(rows.longs(|group| group.equality_deletes.records)),
        "equality_delete_file_count" => count(|group| group.equality_deletes.files),
        DV_COUNT => count(|group| group.vectors.files),
        LAST_UPDATED_AT => rows.instants(|group| group.last_updated.0),
        "last_updated_snapshot_id" => Ok(rows.longs(|group| group.last_updated.1)),
        // Rows after deletes: only their data can tell.
        _ => Ok(rows.absent(&Int64)),
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    whole(fields, arrays, groups.len())
}
