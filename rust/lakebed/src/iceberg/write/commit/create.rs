//! Creates tables (Iceberg's `TableMetadata.java`, `HadoopTables.java`).

use std::sync::Arc;

use arrow_schema::Schema as ArrowSchema;
use lakebed_avro::Limits;
use serde_json::{Map, Value, json};

use super::columns::FreshIds;
use super::options::uuid_text;
use super::partition_by::spec_of;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::discovery::{FOLDER, HINT, current_metadata};
use crate::iceberg::metadata::MetadataFile;
use crate::iceberg::partition::{NO_PARTITION_ID, PartitionSpec};
use crate::iceberg::table::Table;
use crate::iceberg::types::Schema;
use crate::iceberg::write::metadata::{METADATA_CODEC, compact, metadata_ending};
use crate::iceberg::write::{FormatVersion, metadata_bytes};
use crate::location::check_new_table;
use crate::notes::Notes;
use crate::storage::{Local, Storage};
use crate::write::{ExistingFile, NewFolders, now_millis, publish_bytes, publish_new};

/// The system's error code for an existing file.
const EEXIST: i32 = 17;

/// The default properties of new tables in Java's library.
const PROPERTIES: [(&str, &str); 1] = [("write.parquet.compression-codec", "zstd")];

/// The definition of a new table.
#[derive(Debug, Clone)]
pub struct NewTable {
    /// Its columns; new ids are assigned.
    pub schema: ArrowSchema,
    /// Its partition fields: `region`, `day(ts)`, `bucket(16, id)`.
    pub partition_by: Vec<String>,
    /// The version of its format.
    pub version: FormatVersion,
    /// Its properties.
    pub properties: Vec<(String, String)>,
    /// Random bytes for its UUID.
    pub random: [u8; 16],
}

/// Creates a table without a snapshot at `location`, a local folder without a table.
///
/// # Errors
/// `Unsupported` and `Argument` for columns and partition fields that the format does not have, with the
/// field; `Location` for a location that has control characters, or `..`; `Io` where a table exists, and where the
/// file system fails; those of opening the table. Nothing is left behind then.
pub fn create_table(location: &str, table: &NewTable, limits: Limits) -> Result<()> {
    let location = location.trim_end_matches('/');
    check_new_table(location)?;
    let metadata = first_metadata(location, table)?;
    let storage: Arc<dyn Storage> = Arc::new(Local);
    let open = MetadataFile::opener(&storage, limits);
    match current_metadata(location, &storage, open, &Notes::default()) {
        Err(error) if error.kind() == ErrorKind::TableNotFound => {}
        Err(error) => return Err(error),
        Ok(file) => return Err(exists("a table exists already").in_file(file.path())),
    }
    let codec = table.properties.iter().find(|(key, _)| key == METADATA_CODEC);
    let folder = format!("{location}/{FOLDER}");
    let path = format!("{folder}/v1{}", metadata_ending(codec.map(|(_, codec)| codec.as_str())));
    let bytes = metadata_bytes(compact(metadata)?, &path)?;
    let folders = NewFolders::of(storage.as_ref(), &path)?;
    publish_new(storage.as_ref(), &path, &bytes)?;
    if let Err(error) = Table::open(location, Arc::clone(&storage), limits) {
        // A table that its maker cannot open is none.
        _ = storage.remove(&path);
        return Err(error);
    }
    folders.keep();
    // Versions are found without the hint, which only tells where to start looking; a failure is ignored.
    let _ = publish_bytes(&format!("{folder}/{HINT}"), ExistingFile::Replace, b"1");
    Ok(())
}

fn first_metadata(location: &str, table: &NewTable) -> Result<Map<String, Value>> {
    let mut ids = FreshIds::new(table.version);
    let fields = ids.fields(table.schema.fields())?;
    let schema = Schema::new(0, fields, Vec::new())?;
    let spec = spec_of(&table.partition_by, &schema)?;
    let mut properties = Map::new();
    let own = PROPERTIES.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    for (key, value) in own.chain(table.properties.iter().cloned()) {
        properties.insert(key, Value::String(value));
    }
    let json = json!({
        "format-version": table.version.number(),
        "table-uuid": uuid_text(&table.random),
        "location": location,
        "last-updated-ms": now_millis(),
        "last-column-id": ids.last(),
        "current-schema-id": 0,
        "schemas": [schema.to_json()],
        "default-spec-id": 0,
        "partition-specs": [spec.to_json()],
        "last-partition-id": last_partition_id(&spec),
        "default-sort-order-id": 0,
        "sort-orders": [{ "order-id": 0, "fields": [] }],
        "properties": properties,
        "refs": {},
        "snapshots": [],
        "statistics": [],
        "partition-statistics": [],
        "snapshot-log": [],
        "metadata-log": [],
    });
    let Value::Object(mut json) = json else { return Ok(Map::new()) };
    let more = match table.version {
        FormatVersion::V1 => {
            vec![
                ("schema", schema.to_json()),
                ("partition-spec", spec.fields_json()),
                ("current-snapshot-id", Value::from(-1)),
            ]
        }
        FormatVersion::V2 => {
            vec![("last-sequence-number", Value::from(0)), ("current-snapshot-id", Value::from(-1))]
        }
        FormatVersion::V3 => vec![
            ("last-sequence-number", Value::from(0)),
            ("current-snapshot-id", Value::Null),
            ("next-row-id", Value::from(0)),
        ],
    };
    json.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value)));
    Ok(json)
}

fn last_partition_id(spec: &PartitionSpec) -> i32 {
    spec.fields.iter().map(|field| field.field_id).max().unwrap_or(NO_PARTITION_ID)
}

/// The error for an existing table.
#[cold]
pub(super) fn exists(message: impl Into<String>) -> Error {
    let source = std::io::Error::from_raw_os_error(EEXIST);
    Error::new(ErrorKind::Io, message).caused_by(source)
}
