//! `$manifests` (Paimon's `ManifestsTable.java`): the manifests of the snapshot's base, delta and changelog
//! lists.

use arrow_schema::DataType::{Int64, Utf8};
use arrow_schema::Field;

use super::rows::partition_texts;
use crate::error::Result;
use crate::paimon::fields::SimpleStats;
use crate::paimon::partition::PartitionType;
use crate::paimon::table::Table;
use crate::record::find;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "manifests", columns: |_| Ok(columns()), rows };

fn columns() -> Vec<Field> {
    vec![
        required("file_name", Utf8),
        required("file_size", Int64),
        required("num_added_files", Int64),
        required("num_deleted_files", Int64),
        required("schema_id", Int64),
        optional("min_partition_stats", Utf8),
        optional("max_partition_stats", Utf8),
        optional("min_row_id", Int64),
        optional("max_row_id", Int64),
    ]
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let list = table.every_manifest_list()?;
    let partition = PartitionType::new(table.schema());
    let columns = columns();
    let arrays = columns.iter().map(|column| match column.name().as_str() {
        "min_partition_stats" => {
            partition_texts(SimpleStats::of(&list, "partition_stats")?.lower, &partition)
        }
        "max_partition_stats" => {
            partition_texts(SimpleStats::of(&list, "partition_stats")?.upper, &partition)
        }
        name => find(&list, name),
    });
    let arrays = arrays.collect::<Result<_>>()?;
    whole(columns, arrays, list.num_rows())
}
