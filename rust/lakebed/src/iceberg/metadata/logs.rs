//! A table's logs, statistics, sort orders and encryption keys.

use serde::Deserialize;

use super::stored::strings;

/// Records that a snapshot became current (Iceberg specification, "Table Metadata Fields").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SnapshotLogEntry {
    /// The time, milliseconds since 1970 UTC.
    pub timestamp_ms: i64,
    /// The snapshot, which may have expired.
    pub snapshot_id: i64,
}

/// A former metadata file of the table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MetadataLogEntry {
    /// When the table was last changed in that file, milliseconds since 1970 UTC.
    pub timestamp_ms: i64,
    /// Its path.
    pub metadata_file: String,
}

/// A Puffin file with statistics of a snapshot (Iceberg specification, "Table Statistics").
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StatisticsFile {
    /// The snapshot.
    pub snapshot_id: i64,
    /// The path.
    pub statistics_path: String,
    /// The size of the file \[bytes\].
    pub file_size_in_bytes: i64,
    /// The size of its footer \[bytes\].
    pub file_footer_size_in_bytes: i64,
    /// The key of an encrypted file, in base64.
    pub key_metadata: Option<String>,
    /// Its blobs.
    pub blob_metadata: Vec<BlobMetadata>,
}

/// One blob of a statistics file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BlobMetadata {
    /// The kind of statistics, such as `apache-datasketches-theta-v1`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The snapshot that they were computed from.
    pub snapshot_id: i64,
    /// The sequence number of that snapshot.
    pub sequence_number: i64,
    /// The columns, by field id.
    pub fields: Vec<i32>,
    /// User-defined key-value pairs, such as `ndv`.
    #[serde(default, deserialize_with = "strings")]
    pub properties: Vec<(String, String)>,
}

/// A file with statistics of a snapshot's partitions (Iceberg specification, "Partition Statistics").
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PartitionStatisticsFile {
    /// The snapshot.
    pub snapshot_id: i64,
    /// The path.
    pub statistics_path: String,
    /// The size of the file \[bytes\].
    pub file_size_in_bytes: i64,
}

/// How the rows of a file are sorted (Iceberg specification, "Sorting").
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SortOrder {
    /// The id; 0 is unsorted.
    pub order_id: i32,
    /// The fields to sort by, the first one first.
    pub fields: Vec<SortField>,
}

impl SortOrder {
    /// Order 0: not sorted.
    pub const UNSORTED: SortOrder = SortOrder { order_id: 0, fields: Vec::new() };
}

/// One field of a sort order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SortField {
    /// The transform whose values are compared, as written.
    pub transform: String,
    /// The source column, by field id; `None` for a transform of several columns.
    pub source_id: Option<i32>,
    /// The source columns of a transform of several.
    #[serde(default)]
    pub source_ids: Vec<i32>,
    /// `asc` or `desc`.
    pub direction: String,
    /// `nulls-first` or `nulls-last`.
    pub null_order: String,
}

impl SortField {
    /// The source columns of the transform, by field id.
    pub fn sources(&self) -> impl Iterator<Item = i32> {
        let several = if self.source_id.is_some() { &[] } else { self.source_ids.as_slice() };
        self.source_id.into_iter().chain(several.iter().copied())
    }
}

/// A key with which other keys or manifest lists are encrypted (Iceberg specification, "Encryption Keys").
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EncryptionKey {
    /// The id by which snapshots and keys refer to it.
    pub key_id: String,
    /// The encrypted key, in base64.
    #[serde(alias = "key-metadata")]
    pub encrypted_key_metadata: String,
    /// The id of the key that it is encrypted by.
    pub encrypted_by_id: Option<String>,
    /// User-defined key-value pairs.
    #[serde(default, deserialize_with = "strings")]
    pub properties: Vec<(String, String)>,
}

impl std::fmt::Debug for EncryptionKey {
    /// Does not print the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncryptionKey").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}
