//! `$snapshots` (Paimon's `SnapshotsTable.java`): one row per snapshot file, oldest first.

use arrow_schema::DataType::{Int64, Utf8};
use arrow_schema::Field;

use super::{TIMESTAMP, wall_clock};
use crate::error::Result;
use crate::paimon::table::Table;
use crate::record::find;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};

pub(super) const TABLE: SystemTable<Table> =
    SystemTable { name: "snapshots", columns: |_| Ok(columns()), rows };

fn columns() -> Vec<Field> {
    vec![
        required("snapshot_id", Int64),
        required("schema_id", Int64),
        required("commit_user", Utf8),
        required("commit_identifier", Int64),
        required("commit_kind", Utf8),
        required("commit_time", TIMESTAMP),
        required("base_manifest_list", Utf8),
        required("delta_manifest_list", Utf8),
        optional("changelog_manifest_list", Utf8),
        optional("total_record_count", Int64),
        optional("delta_record_count", Int64),
        optional("changelog_record_count", Int64),
        optional("watermark", Int64),
        optional("next_row_id", Int64),
        // Of Paimon 2.0.
        optional("operation", Utf8),
        optional("writer_version", Utf8),
    ]
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let view = table.snapshots_view()?;
    let columns = columns();
    let arrays = columns.iter().map(|column| match column.name().as_str() {
        "commit_kind" => find(&view, "operation"),
        "operation" => find(&view, "commit_operation"),
        "commit_time" => wall_clock(&find(&view, "committed_at")?),
        name => find(&view, name),
    });
    let arrays = arrays.collect::<Result<_>>()?;
    whole(columns, arrays, view.num_rows())
}
