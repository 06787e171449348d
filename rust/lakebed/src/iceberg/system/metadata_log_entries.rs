//! `metadata_log_entries` (Iceberg's `MetadataLogEntriesTable.java`): the metadata files up to the current
//! one, oldest first, each with its current snapshot if the snapshot log has it.

use arrow_schema::DataType::{Int32, Int64, Utf8};
use arrow_schema::Field;
use std::collections::HashMap;

use super::instant;
use crate::error::Result;
use crate::iceberg::metadata::{Lineage, METADATA_PATH, MetadataLogEntry, TableMetadata, WantedElements};
use crate::iceberg::table::{Table, as_of};
use crate::scan::Batches;
use crate::system::{Request, SystemTable, optional, required, whole};
use crate::view::Rows;

pub(super) const TABLE: SystemTable<Table> = SystemTable { name: "metadata_log_entries", columns, rows };

fn columns(_table: &Table) -> Result<Vec<Field>> {
    Ok(vec![
        required("timestamp", instant()),
        required("file", Utf8),
        optional("latest_snapshot_id", Int64),
        optional("latest_schema_id", Int32),
        optional("latest_sequence_number", Int64),
    ])
}

fn rows(table: &Table, _request: &Request) -> Result<Batches> {
    let wanted =
        WantedElements { lineage: true, snapshot_log: true, metadata_log: true, ..WantedElements::CURRENT };
    let metadata = table.read(&wanted)?;
    let mut entries = metadata.metadata_log.clone();
    entries.push(MetadataLogEntry {
        timestamp_ms: metadata.last_updated_ms,
        metadata_file: written_file(&metadata, table.metadata_file()),
    });
    let snapshots: HashMap<i64, &Lineage> =
        metadata.lineage.iter().map(|one| (one.snapshot_id, one)).collect();
    let ids: Vec<Option<i64>> =
        entries.iter().map(|entry| as_of(&metadata.snapshot_log, entry.timestamp_ms)).collect();
    let latest = Rows(ids.iter().map(|id| snapshots.get(&(*id)?).copied()));
    let rows = Rows(entries.iter());
    let arrays = vec![
        rows.instants(|entry| entry.timestamp_ms)?,
        rows.texts(|entry| entry.metadata_file.as_str()),
        Rows(ids.iter()).longs(|id| *id),
        latest.ints(|one| one?.schema_id),
        latest.longs(|one| Some(one?.sequence_number)),
    ];
    whole(columns(table)?, arrays, entries.len())
}

/// The path under which the current file was written, which differs for a copied table: in the folder of the
/// file before it, else in the folder where writers put metadata.
fn written_file(metadata: &TableMetadata, path: &str) -> String {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let before = metadata.metadata_log.last().and_then(|entry| entry.metadata_file.rsplit_once('/'));
    let folder = match (before, metadata.property(METADATA_PATH)) {
        (Some((folder, _)), _) => folder.to_owned(),
        (None, Some(folder)) => folder.trim_end_matches('/').to_owned(),
        (None, None) => format!("{}/metadata", metadata.location),
    };
    format!("{folder}/{name}")
}
