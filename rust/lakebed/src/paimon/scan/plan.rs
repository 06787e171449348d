//! Which manifests a scan reads.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::paimon::manifest_list::{ManifestFile, manifest_files};
use crate::paimon::prune::{BatchRead, EntryPruner};
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;

/// The manifests of a snapshot: those to read, and those that can be skipped.
pub(super) struct Plan {
    pub(super) manifests: Vec<ManifestFile>,
    pub(super) pruned: Vec<ManifestFile>,
}

impl Plan {
    pub(super) fn new(table: &Table, filter: Option<&str>) -> Result<Plan> {
        Plan::of(table, filter, None)
    }

    /// The plan for a filter and, for a batch read, for the files that it skips.
    pub(super) fn of(table: &Table, filter: Option<&str>, read: Option<BatchRead>) -> Result<Plan> {
        let (list, _) = table.manifest_list()?;
        let kept = keep(filter, table.schema(), &list)?;
        let read = read.map_or_else(|| Ok(vec![true; kept.len()]), |read| read.may_read(&list))?;
        let mut kept = kept.into_iter().zip(read).map(|(kept, read)| kept && read);
        let mut pruned = manifest_files(&list)?;
        let manifests = pruned.extract_if(.., |_| kept.next().unwrap_or(true)).collect();
        Ok(Plan { manifests, pruned })
    }
}

pub(super) fn keep(filter: Option<&str>, schema: &TableSchema, list: &RecordBatch) -> Result<Vec<bool>> {
    match bound(filter, schema)? {
        Some(pruner) => pruner.partitions().may_match(list),
        None => Ok(vec![true; list.num_rows()]),
    }
}

/// The filter on partitions and buckets; tests of other columns are checked and left open.
pub(super) fn bound(filter: Option<&str>, schema: &TableSchema) -> Result<Option<EntryPruner>> {
    filter.map(|text| EntryPruner::new(text, schema, &BTreeMap::new())).transpose()
}
