//! Table metadata: the `metadata.json` of a table (Iceberg specification, "Table Metadata").
//!
//! It may be hundreds of megabytes long, mostly snapshots and schemas that are not current. So it is never
//! held as a tree: its top level is scanned, and only the elements of its lists that are [`WantedElements`] are kept.

mod encoding;
mod file;
mod finish;
mod logs;
mod mapping;
mod oddities;
mod passing;
mod place;
mod read;
mod scanner;
mod section;
mod snapshot;
mod stored;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

pub use file::MetadataFile;
pub use logs::{
    BlobMetadata, EncryptionKey, MetadataLogEntry, PartitionStatisticsFile, SnapshotLogEntry, SortField,
    SortOrder, StatisticsFile,
};
pub use mapping::{MappedField, name_mapping};
pub use oddities::Oddity;
pub(in crate::iceberg) use passing::members;
pub use snapshot::{Lineage, RefKind, Snapshot, SnapshotRef};

use super::partition::PartitionSpec;
use super::types::Schema;

pub use crate::table::MAIN;

/// The property with a folder for metadata other than the one below the table's location.
pub(crate) const METADATA_PATH: &str = "write.metadata.path";

/// The property with the names of columns in files without field ids.
pub(crate) const NAME_MAPPING: &str = "schema.name-mapping.default";

/// The metadata of a table, with the defaults of its version. Its long lists have only the requested
/// elements.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMetadata {
    /// 1, 2, 3 or 4.
    pub format_version: i32,
    /// The table's identity; `None` in some tables of version 1.
    pub table_uuid: Option<String>,
    /// The location of the table when it was written, with which its paths start; without a trailing slash. Where the
    /// file has none, as it may in version 4, the folder that it was read from.
    pub location: String,
    /// Whether the file has a location.
    pub has_location: bool,
    /// The highest sequence number assigned; 0 in version 1.
    pub last_sequence_number: i64,
    /// Time of the last change, milliseconds since 1970 UTC.
    pub last_updated_ms: i64,
    /// The highest field id assigned.
    pub last_column_id: i32,
    /// The schema of the table; one of `schemas`.
    pub current_schema_id: i32,
    /// The requested versions of the schema, including the current one.
    pub schemas: Vec<Arc<Schema>>,
    /// The partition specs, current and former.
    pub partition_specs: Vec<PartitionSpec>,
    /// The spec of new files.
    pub default_spec_id: i32,
    /// The highest partition field id assigned.
    pub last_partition_id: i32,
    /// The sort orders, current and former.
    pub sort_orders: Vec<SortOrder>,
    /// The order of new files.
    pub default_sort_order_id: i32,
    /// The properties, in file order.
    pub properties: Vec<(String, String)>,
    /// The head of `main`; `None` before the first commit.
    pub current_snapshot_id: Option<i64>,
    /// The requested snapshots, in file order.
    pub snapshots: Vec<Snapshot>,
    /// The parent of every snapshot, in file order, if requested.
    pub lineage: Vec<Lineage>,
    /// Branches and tags, including `main` if there is a current snapshot.
    pub refs: BTreeMap<String, SnapshotRef>,
    /// Which snapshots were current when, oldest first, if requested.
    pub snapshot_log: Vec<SnapshotLogEntry>,
    /// The former metadata files, oldest first, if requested.
    pub metadata_log: Vec<MetadataLogEntry>,
    /// Files of snapshot statistics, if requested.
    pub statistics: Vec<StatisticsFile>,
    /// Files of partition statistics, if requested.
    pub partition_statistics: Vec<PartitionStatisticsFile>,
    /// The first unused row id (version 3).
    pub next_row_id: Option<i64>,
    /// The keys of an encrypted table (version 3).
    pub encryption_keys: Vec<EncryptionKey>,
    /// What engines refuse, or should refuse, though the table can be read; about the snapshot log only if
    /// that was requested.
    pub oddities: Vec<Oddity>,
}

impl TableMetadata {
    /// The schema of that id, if it exists and was requested.
    pub fn schema(&self, id: i32) -> Option<&Arc<Schema>> {
        self.schemas.iter().find(|schema| schema.schema_id == id)
    }

    /// The snapshot of that id, if it exists and was requested.
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
pub enum ElementFilter {
    /// The current one.
    Current,
    /// Those with these ids, if they exist.
    Ids(HashSet<i64>),
    /// All of them.
    All,
}

/// Which elements of the long lists are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedElements {
    /// Schemas, besides the current one.
    pub schemas: ElementFilter,
    /// Snapshots.
    pub snapshots: ElementFilter,
    /// The parent of every snapshot.
    pub lineage: bool,
    /// The snapshot log.
    pub snapshot_log: bool,
    /// The metadata log.
    pub metadata_log: bool,
    /// Files of statistics, of both kinds.
    pub statistics: bool,
}

impl WantedElements {
    /// The current schema and snapshot, with which a table is opened.
    pub const CURRENT: WantedElements = WantedElements {
        schemas: ElementFilter::Current,
        snapshots: ElementFilter::Current,
        lineage: false,
        snapshot_log: false,
        metadata_log: false,
        statistics: false,
    };

    /// Everything.
    pub const ALL: WantedElements = WantedElements {
        schemas: ElementFilter::All,
        snapshots: ElementFilter::All,
        lineage: true,
        snapshot_log: true,
        metadata_log: true,
        statistics: true,
    };
}
