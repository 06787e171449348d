//! Table metadata: the `metadata.json` that a table is (Iceberg specification, "Table Metadata").
//!
//! It may be hundreds of megabytes long, most of it snapshots and schemas that are not current. So it is
//! never held as a tree: its top is walked, and of its lists only those elements are kept that are
//! [`Wanted`].

mod file;
mod finish;
mod logs;
mod mapping;
mod place;
mod read;
mod scanner;
mod section;
mod snapshot;
mod stored;
#[cfg(test)]
mod tests;
mod warnings;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use file::MetadataFile;
pub use logs::{
    BlobMetadata, EncryptionKey, MetadataLogEntry, PartitionStatisticsFile, SnapshotLogEntry, SortField,
    SortOrder, StatisticsFile,
};
pub use mapping::{MappedField, name_mapping};
pub use snapshot::{Lineage, RefKind, Snapshot, SnapshotRef};

use super::partition::PartitionSpec;
use super::types::Schema;

/// The name of the branch that a table without other names has.
pub const MAIN: &str = "main";

/// The metadata of a table, with the defaults of its version; of its long lists, what was wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMetadata {
    /// 1, 2 or 3.
    pub format_version: i32,
    /// The table's identity; none in some of version 1.
    pub table_uuid: Option<String>,
    /// Where the table was written, as its paths start, without a slash at the end.
    pub location: String,
    /// The highest sequence number given out; 0 in version 1.
    pub last_sequence_number: i64,
    /// When last changed, milliseconds since 1970 UTC.
    pub last_updated_ms: i64,
    /// The highest field id given out.
    pub last_column_id: i32,
    /// The schema of the table; one of `schemas`.
    pub current_schema_id: i32,
    /// Versions of the schema: those wanted, the current one among them.
    pub schemas: Vec<Arc<Schema>>,
    /// How files are partitioned, by now and before.
    pub partition_specs: Vec<PartitionSpec>,
    /// The spec of new files.
    pub default_spec_id: i32,
    /// The highest partition field id given out.
    pub last_partition_id: i32,
    /// How files are sorted, by now and before.
    pub sort_orders: Vec<SortOrder>,
    /// The order of new files.
    pub default_sort_order_id: i32,
    /// The settings, in the file's order.
    pub properties: Vec<(String, String)>,
    /// The head of `main`; none before the first commit.
    pub current_snapshot_id: Option<i64>,
    /// Snapshots: those wanted, in the file's order.
    pub snapshots: Vec<Snapshot>,
    /// Every snapshot's place among the others, in the file's order; where wanted.
    pub lineage: Vec<Lineage>,
    /// Branches and tags; `main` is among them where there is a current snapshot.
    pub refs: BTreeMap<String, SnapshotRef>,
    /// Which snapshots were current when, oldest first; where wanted.
    pub snapshot_log: Vec<SnapshotLogEntry>,
    /// The metadata files before this one, oldest first; where wanted.
    pub metadata_log: Vec<MetadataLogEntry>,
    /// Files of statistics of snapshots; where wanted.
    pub statistics: Vec<StatisticsFile>,
    /// Files of statistics of partitions; where wanted.
    pub partition_statistics: Vec<PartitionStatisticsFile>,
    /// The first row id not yet given out (version 3).
    pub next_row_id: Option<i64>,
    /// The keys of an encrypted table (version 3).
    pub encryption_keys: Vec<EncryptionKey>,
    /// What engines refuse of it, or should, though it can be read, in words; of the snapshot log, where that
    /// was wanted.
    pub warnings: Vec<String>,
}

impl TableMetadata {
    /// The schema of that id, if it is there and was wanted.
    pub fn schema(&self, id: i32) -> Option<&Arc<Schema>> {
        self.schemas.iter().find(|schema| schema.schema_id == id)
    }

    /// The snapshot of that id, if it is there and was wanted.
    pub fn snapshot(&self, id: i64) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.snapshot_id == id)
    }

    /// A property.
    pub fn property(&self, key: &str) -> Option<&str> {
        self.properties.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// Which elements of a list are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The current one.
    Current,
    /// Those with these ids, as far as they are there.
    Ids(Vec<i64>),
    /// All of them.
    All,
}

/// What is kept of metadata beside what each table has one of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Schemas beside the current one.
    pub schemas: Which,
    /// Snapshots.
    pub snapshots: Which,
    /// The parent of every snapshot.
    pub lineage: bool,
    /// The snapshot log.
    pub snapshot_log: bool,
    /// The metadata log.
    pub metadata_log: bool,
    /// Files of statistics, of both kinds.
    pub statistics: bool,
}

impl Wanted {
    /// What a table is opened with: the current schema and snapshot.
    pub const CURRENT: Wanted = Wanted {
        schemas: Which::Current,
        snapshots: Which::Current,
        lineage: false,
        snapshot_log: false,
        metadata_log: false,
        statistics: false,
    };

    /// Everything.
    pub const ALL: Wanted = Wanted {
        schemas: Which::All,
        snapshots: Which::All,
        lineage: true,
        snapshot_log: true,
        metadata_log: true,
        statistics: true,
    };
}
