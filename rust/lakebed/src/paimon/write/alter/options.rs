//! Options that are set or removed, or that contain names of columns.

use crate::error::{Error, ErrorKind, Result};
use crate::paimon::write::options::MANIFEST_FORMAT;

/// Options that cannot change once there are rows (marked `@Immutable` in Paimon's `CoreOptions.java`).
const IMMUTABLE: [&str; 24] = [
    "aggregation.remove-record-on-delete",
    "blob-descriptor-field",
    "blob-external-storage-field",
    "blob-external-storage-path",
    "blob-field",
    "blob-view-field",
    "bucket-function.type",
    "bucket-key",
    "data-evolution.enabled",
    "data-file.path-directory",
    "dynamic-bucket.initial-buckets",
    "force-lookup",
    "index-file-in-data-file-dir",
    "merge-engine",
    "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group",
    "partition",
    "pk-clustering-override",
    "primary-key",
    "primary-key.nullable",
    "row-tracking.enabled",
    "rowkind.field",
    "sequence.snapshot-ordering",
    "type",
];
/// Options that describe the table itself, not how it is read or written.
const STRUCTURAL: [&str; 6] = ["auto-create", "branch", "partition", "path", "primary-key", "type"];
/// Prefixes of options whose values only Paimon's own writers check.
const UNCHECKED: [&str; 10] = [
    "aggregation.",
    "blob-",
    "chain-table.",
    "metadata.iceberg.",
    "partial-update.",
    "pk-clustering-override",
    "pk-",
    "scan.mode",
    "upsert-key",
    "vector",
];
const BUCKET: &str = "bucket";
const DELETION_VECTORS: &str = "deletion-vectors.enabled";
const FIELDS: &str = "fields.";

/// Refuses a value that an option may not have.
///
/// # Errors
/// `Argument` where Paimon forbids it, `Unsupported` for an option that cannot be set here, both with the
/// option.
pub(super) fn check_set(
    options: &[(String, String)],
    key: &str,
    value: &str,
    has_snapshots: bool,
) -> Result<()> {
    check_known(key)?;
    let old = value_of(options, key);
    if !has_snapshots || old == Some(value) {
        return Ok(());
    }
    check_mutable(key)?;
    let (was, is) = (is_true(old), is_true(Some(value)));
    match key {
        BUCKET => {
            let count = |text: &str| text.trim().parse::<i32>();
            let new = count(value).map_err(|_| refused(key, "is a number"))?;
            if old.is_none_or(|old| count(old) == Ok(-1)) || new == -1 {
                return Err(refused(key, "cannot change from or to -1"));
            }
        }
        DELETION_VECTORS if was != is && !is_true(value_of(options, "deletion-vectors.modifiable")) => {
            let why = "cannot change once there are rows, which could then appear twice, unless option \
                       \"deletion-vectors.modifiable\" is \"true\"";
            return Err(refused(key, why));
        }
        "ignore-delete" | "ignore-update-before" if was && !is => {
            return Err(refused(key, "cannot change from true to false"));
        }
        "clustering.columns" => check_clustering(options)?,
        MANIFEST_FORMAT if !value.eq_ignore_ascii_case(old.unwrap_or("avro")) => {
            return Err(refused(key, "cannot change once there are manifests, which engines read by it"));
        }
        _ => {}
    }
    Ok(())
}

/// Refuses the removal of an option.
///
/// # Errors
/// As [`check_set`].
pub(super) fn check_removed(options: &[(String, String)], key: &str, has_snapshots: bool) -> Result<()> {
    check_known(key)?;
    if !has_snapshots {
        return Ok(());
    }
    check_mutable(key)?;
    match key {
        BUCKET => Err(refused(key, "cannot be removed: set another number")),
        DELETION_VECTORS => check_set(options, key, "false", has_snapshots),
        MANIFEST_FORMAT => check_set(options, key, "avro", has_snapshots),
        "clustering.columns" => check_clustering(options),
        _ => Ok(()),
    }
}

fn check_known(key: &str) -> Result<()> {
    if STRUCTURAL.contains(&key) {
        return Err(refused(key, "cannot be changed: it follows from what kind of table this is"));
    }
    if UNCHECKED.iter().any(|start| key.starts_with(start)) {
        let message = format!("option {key:?} is checked by Paimon's own writers alone: change it with one");
        return Err(Error::new(ErrorKind::Unsupported, message).in_field(key));
    }
    Ok(())
}

fn check_mutable(key: &str) -> Result<()> {
    if IMMUTABLE.contains(&key) {
        return Err(refused(key, "cannot change once there are snapshots"));
    }
    Ok(())
}

fn check_clustering(options: &[(String, String)]) -> Result<()> {
    match value_of(options, "pk-clustering-override") {
        Some(_) => Err(refused("clustering.columns", "cannot change where rows are clustered by it")),
        None => Ok(()),
    }
}

fn value_of<'o>(options: &'o [(String, String)], key: &str) -> Option<&'o str> {
    options.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

fn is_true(value: Option<&str>) -> bool {
    value.is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}

/// The options after columns were renamed: some keys and values contain column names
/// (`SchemaManager.applyRenameColumnsToOptions`).
pub(super) fn renamed(options: Vec<(String, String)>, renames: &[(&str, &str)]) -> Vec<(String, String)> {
    let new_name = |name: &str| {
        let new = renames.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
        new.unwrap_or(name).to_owned()
    };
    let names = |text: &str| text.split(',').map(new_name).collect::<Vec<_>>().join(",");
    let renamed = |(key, value): (String, String)| {
        if ["bucket-key", "sequence.field"].contains(&key.as_str()) {
            return (key, names(&value));
        }
        let Some(rest) = key.strip_prefix(FIELDS) else { return (key, value) };
        let of_columns = |suffix: &str| rest.strip_suffix(suffix).and_then(|rest| rest.strip_suffix('.'));
        for suffix in ["sequence-group", "nested-key"] {
            if let Some(columns) = of_columns(suffix) {
                return (format!("{FIELDS}{}.{suffix}", names(columns)), names(&value));
            }
        }
        let of_column = NAMED_AFTER_COLUMN.iter().find_map(|suffix| Some((of_columns(suffix)?, suffix)));
        match of_column {
            Some((column, suffix)) => (format!("{FIELDS}{}.{suffix}", new_name(column)), value),
            None => (key, value),
        }
    };
    if renames.is_empty() { options } else { options.into_iter().map(renamed).collect() }
}

/// What follows the name of a column in keys of options.
const NAMED_AFTER_COLUMN: [&str; 8] = [
    "aggregate-function",
    "ignore-retract",
    "distinct",
    "list-agg-delimiter",
    "stats-mode",
    "map.storage-layout",
    "map.shared-shredding.max-columns",
    "map.shared-shredding.column-placement-policy",
];

#[cold]
fn refused(key: &str, why: &str) -> Error {
    Error::new(ErrorKind::Argument, format!("option {key:?} {why}")).in_field(key)
}
