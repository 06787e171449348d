//! Changes a table's properties, statistics and format version (Iceberg's `PropertiesUpdate.java`,
//! `TableMetadata.java`).

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use super::attempt::{Outcome, StateChange};
use super::base::{Base, SnapshotChoice};
use super::options::uuid_text;
use super::uncommitted::UncommittedFiles;
use super::update::{StatisticsKind, Update};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::metadata::{PartitionStatisticsFile, StatisticsFile};
use crate::iceberg::write::FormatVersion;
use crate::json::words;
use crate::location::check_file;

/// Names that are fields of the metadata, and cannot be properties (`TableProperties.java`).
const RESERVED: [&str; 9] = [
    "format-version",
    "uuid",
    "snapshot-count",
    "current-snapshot-summary",
    "current-snapshot-id",
    "current-snapshot-timestamp-ms",
    "current-schema",
    "default-partition-spec",
    "default-sort-order",
];

/// A change of a table's settings.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingsChange {
    /// Sets and removes properties.
    Properties {
        /// Keys and values to set.
        set: Vec<(String, String)>,
        /// Keys to remove, if they exist.
        remove: Vec<String>,
    },
    /// Upgrades the table to a later version of the format.
    Upgrade(i32),
    /// Sets the statistics file of a snapshot, replacing the one before.
    SetStatistics {
        /// The kind of statistics.
        kind: StatisticsKind,
        /// Its description in the metadata.
        file: Value,
    },
    /// Removes the statistics of a snapshot.
    RemoveStatistics {
        /// The kind of statistics.
        kind: StatisticsKind,
        /// The snapshot.
        snapshot: SnapshotChoice,
    },
}

impl StateChange for SettingsChange {
    fn apply(&self, base: &Base, uncommitted: &mut UncommittedFiles) -> Result<Option<Outcome>> {
        let updates = match self {
            SettingsChange::Properties { set, remove } => properties(base, set, remove)?,
            SettingsChange::Upgrade(number) => upgrade(base, *number, uncommitted)?,
            SettingsChange::SetStatistics { kind, file } => {
                let id = check_statistics(base, *kind, file)?;
                let same = named(base, *kind, id).is_some_and(|known| known == file);
                Vec::from_iter((!same).then(|| Update::SetStatistics(*kind, id, file.clone())))
            }
            SettingsChange::RemoveStatistics { kind, snapshot } => {
                let id = base.chosen(snapshot, "change")?;
                let known = named(base, *kind, id).is_some();
                Vec::from_iter(known.then_some(Update::RemoveStatistics(*kind, id)))
            }
        };
        Ok((!updates.is_empty()).then_some(Outcome::Updates(updates)))
    }
}

fn properties(base: &Base, set: &[(String, String)], remove: &[String]) -> Result<Vec<Update>> {
    for key in set.iter().map(|(key, _)| key).chain(remove) {
        if RESERVED.contains(&key.as_str()) {
            let message =
                format!("{key} is not a property that can be set: it follows from the table's metadata");
            return Err(Error::new(ErrorKind::Argument, message).in_field(key));
        }
    }
    let removed: HashSet<&String> = remove.iter().collect();
    if let Some((key, _)) = set.iter().find(|(key, _)| removed.contains(key)) {
        let message = format!("{key} is both set and removed");
        return Err(Error::new(ErrorKind::Argument, message).in_field(key));
    }
    let changed = set.iter().filter(|(key, value)| base.metadata.property(key) != Some(value));
    let changed: Vec<_> = changed.cloned().collect();
    let gone = remove.iter().filter(|key| base.metadata.property(key).is_some());
    let gone: Vec<_> = gone.cloned().collect();
    let mut updates = Vec::new();
    updates.extend((!changed.is_empty()).then_some(Update::SetProperties(changed)));
    updates.extend((!gone.is_empty()).then_some(Update::RemoveProperties(gone)));
    Ok(updates)
}

fn upgrade(base: &Base, number: i32, uncommitted: &UncommittedFiles) -> Result<Vec<Update>> {
    let version = FormatVersion::try_from(number)?;
    if version < base.version {
        let message = format!("the table has version {}, which cannot be lowered", base.version.number());
        return Err(Error::new(ErrorKind::Unsupported, message).in_file(base.table.metadata_file()));
    }
    let mut updates = Vec::new();
    if version > base.version {
        // In version 1 it was optional.
        let absent = base.metadata.table_uuid.is_none();
        updates.extend(absent.then(|| Update::AssignUuid(uuid_text(&uncommitted.identity().uuid()))));
        updates.push(Update::UpgradeFormatVersion(version));
    }
    Ok(updates)
}

/// The description of a snapshot's statistics in the metadata.
fn named(base: &Base, kind: StatisticsKind, snapshot_id: i64) -> Option<&Value> {
    let mut files = base.json.values().get(kind.name()).and_then(Value::as_array).into_iter().flatten();
    files.find(|file| file.get("snapshot-id").and_then(Value::as_i64) == Some(snapshot_id))
}

/// The snapshot of the statistics.
///
/// # Errors
/// `Location` for a path that readers of the table would refuse;
/// `Argument` for an object that is not valid in metadata, or of a snapshot that the table does not have.
fn check_statistics(base: &Base, kind: StatisticsKind, file: &Value) -> Result<i64> {
    let refused = |message: String| Error::new(ErrorKind::Argument, message).in_field(kind.name());
    let file = match kind {
        StatisticsKind::Table => {
            StatisticsFile::deserialize(file).map(|file| (file.snapshot_id, file.statistics_path))
        }
        StatisticsKind::Partitions => {
            PartitionStatisticsFile::deserialize(file).map(|file| (file.snapshot_id, file.statistics_path))
        }
    };
    let (id, path) = file.map_err(|error| refused(words(&error)))?;
    check_file(base.table.storage().as_ref(), &path).map_err(|error| error.in_field("statistics-path"))?;
    match base.has_snapshot(id) {
        true => Ok(id),
        false => Err(refused(format!("the table has no snapshot {id}"))),
    }
}
