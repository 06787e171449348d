//! Rewrites the paths in a metadata file.

use arrow_buffer::Buffer;
use lakebed_avro::Limits;
use serde_json::{Map, Value};

use super::super::metadata::MetadataFile;
use super::super::reach::FOLDERS;
use super::super::write::{compact, metadata_bytes};
use crate::error::Result;
use crate::json::parse_within;
use crate::rewrite_paths::Prefixes;

/// Lists of objects, and their keys with paths as values.
const LISTS: [(&str, &str); 4] = [
    ("snapshots", "manifest-list"),
    ("metadata-log", "metadata-file"),
    ("statistics", "statistics-path"),
    ("partition-statistics", "statistics-path"),
];

/// The metadata with its paths rewritten, compressed as the name of its file requires.
///
/// # Errors
/// Those of reading metadata; `Location` for a path that no prefix covers.
pub(super) fn rewritten(bytes: Buffer, path: &str, prefixes: &Prefixes, limits: Limits) -> Result<Buffer> {
    let json = MetadataFile::of_bytes(bytes, limits).to_json()?;
    let json = moved(parse_within(json.as_bytes())?, prefixes)?;
    Ok(Buffer::from_vec(metadata_bytes(compact(json)?, path)?))
}

fn moved(mut json: Map<String, Value>, prefixes: &Prefixes) -> Result<Map<String, Value>> {
    exchange(json.get_mut("location"), prefixes)?;
    for property in FOLDERS {
        exchange(json.get_mut("properties").and_then(|all| all.get_mut(property)), prefixes)?;
    }
    for (list, key) in LISTS {
        for one in json.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            exchange(one.get_mut(key), prefixes)?;
        }
    }
    for snapshot in json.get_mut("snapshots").and_then(Value::as_array_mut).into_iter().flatten() {
        // Manifests of snapshots without a list, in version 1.
        for path in snapshot.get_mut("manifests").and_then(Value::as_array_mut).into_iter().flatten() {
            exchange(Some(path), prefixes)?;
        }
    }
    Ok(json)
}

fn exchange(value: Option<&mut Value>, prefixes: &Prefixes) -> Result<()> {
    if let Some(Value::String(path)) = value {
        *path = prefixes.moved(path)?;
    }
    Ok(())
}
