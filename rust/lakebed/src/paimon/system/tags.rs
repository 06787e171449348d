//! `$tags` (Paimon's `TagsTable.java`): one row per tag of the branch, by name.

use std::sync::Arc;

use arrow_array::StringArray;
use arrow_schema::DataType::{Int64, Utf8};
use arrow_schema::Field;

use super::{TIMESTAMP, timestamps};
use crate::error::Result;
use crate::paimon::paths::tag_file;
use crate::paimon::snapshot::Tag;
use crate::paimon::table::Table;
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::text::duration_text;
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "tags", columns: |_| Ok(columns()), rows };

fn columns() -> Vec<Field> {
    vec![
        required("tag_name", Utf8),
        required("snapshot_id", Int64),
        required("schema_id", Int64),
        required("commit_time", TIMESTAMP),
        optional("record_count", Int64),
        optional("create_time", TIMESTAMP),
        optional("time_retained", Utf8),
    ]
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let files = table.files();
    let found = files.each(files.tag_names()?, |name| tag_file(name), Tag::from_json)?;
    let tags = || found.iter().map(|(_, tag)| tag);
    let rows = Rows(tags());
    let arrays = vec![
        Rows(found.iter()).texts(|(name, _)| name.as_str()),
        rows.longs(|tag| tag.snapshot.id),
        rows.longs(|tag| tag.snapshot.schema_id),
        timestamps(tags().map(|tag| tag.snapshot.time_millis))?,
        rows.longs(|tag| tag.snapshot.total_record_count),
        timestamps(tags().map(|tag| tag.create_time_micros.map(|micros| micros.div_euclid(1000))))?,
        Arc::new(tags().map(|tag| tag.time_retained.map(duration_text)).collect::<StringArray>()),
    ];
    whole(columns(), arrays, found.len())
}
