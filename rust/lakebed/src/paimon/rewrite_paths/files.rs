//! Rewrites the full paths in each kind of file, and the recorded lengths of rewritten files.

use std::sync::Arc;

use arrow_array::builder::Int64Builder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, StringArray};
use arrow_buffer::Buffer;
use serde_json::{Map, Value};

use super::super::index_manifest::read_index_manifest;
use super::super::manifest::{EntryFilter, EntryReader, entry_columns};
use super::super::manifest_list::read_manifest_list;
use super::super::table::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{invalid, parse};
use crate::record::{column, find};
use crate::rewrite_paths::avro::{column_at, place_of, rewritten, with_column};
use crate::rewrite_paths::{Lengths, Prefixes};

/// The column of full paths, and its field on disk.
const EXTERNAL_PATH: (&str, &str) = ("external_path", "_EXTERNAL_PATH");

/// The keys of a snapshot with names of lists, and those of the lists' lengths.
const LISTS: [(&str, &str); 3] = [
    ("baseManifestList", "baseManifestListSize"),
    ("deltaManifestList", "deltaManifestListSize"),
    ("changelogManifestList", "changelogManifestListSize"),
];

/// A manifest: rewrites the full paths of data files outside of the table.
pub(super) fn manifest(table: &Table, prefixes: &Prefixes, bytes: Buffer, _: &Lengths) -> Result<Buffer> {
    let columns = entry_columns(Some(&[EXTERNAL_PATH.0.to_owned()]))?;
    let (filter, decoding) = (EntryFilter::default(), table.decoding());
    let mut has_paths = false;
    for entries in EntryReader::open(bytes.clone(), &columns, filter, None, decoding, 1)? {
        has_paths |= has_values(&find(&entries?, EXTERNAL_PATH.0)?);
    }
    if has_paths { exchanged(table, prefixes, &bytes, &["_FILE", EXTERNAL_PATH.1]) } else { Ok(bytes) }
}

/// An index manifest: rewrites the full paths of index files outside of the table.
pub(super) fn index_manifest(
    table: &Table,
    prefixes: &Prefixes,
    bytes: Buffer,
    _: &Lengths,
) -> Result<Buffer> {
    let columns = [EXTERNAL_PATH.0.to_owned()];
    let entries = read_index_manifest(bytes.clone(), Some(&columns), table.decoding())?;
    let has_paths = has_values(&find(&entries, EXTERNAL_PATH.0)?);
    if has_paths { exchanged(table, prefixes, &bytes, &[EXTERNAL_PATH.1]) } else { Ok(bytes) }
}

/// A manifest list: updates the lengths of rewritten manifests.
pub(super) fn list(table: &Table, _: &Prefixes, bytes: Buffer, copied: &Lengths) -> Result<Buffer> {
    let columns = ["file_name", "file_size"].map(str::to_owned);
    let list = read_manifest_list(bytes.clone(), Some(&columns), table.decoding())?;
    let length = |name: &str| copied.get(&table.manifest_path(name)).map(|copied| copied.length);
    let names = column::<StringArray>(&list, "file_name")?;
    let sizes = column::<Int64Array>(&list, "file_size")?;
    let is_other = |row: usize| {
        let stored = sizes.is_valid(row).then(|| u64::try_from(sizes.value(row)).ok()).flatten();
        length(names.value(row)).is_some_and(|length| Some(length) != stored)
    };
    if !(0..list.num_rows()).any(is_other) {
        return Ok(bytes);
    }
    let written = rewritten(&bytes, table.decoding().limits, |schema| {
        let at = |name: &str| place_of(schema, &[name]).ok_or_else(|| absent(name));
        let (name, size) = (at("_FILE_NAME")?, at("_FILE_SIZE")?);
        Ok(Box::new(move |rows| {
            let (names, sizes) = (column_at(rows, &name)?, column_at(rows, &size)?);
            let names = names.as_string_opt::<i32>().ok_or_else(|| absent("_FILE_NAME"))?;
            let sizes = sizes.as_primitive_opt::<Int64Type>().ok_or_else(|| absent("_FILE_SIZE"))?;
            let mut lengths = Int64Builder::with_capacity(sizes.len());
            for (name, size) in names.iter().zip(sizes) {
                let now = name.and_then(length).and_then(|length| i64::try_from(length).ok());
                lengths.append_option(now.or(size));
            }
            with_column(rows, &size, Arc::new(lengths.finish()))
        }))
    })?;
    Ok(Buffer::from_vec(written))
}

/// A schema: rewrites options whose values begin with a prefix, such as `path` and
/// `data-file.external-paths`.
pub(super) fn schema(_: &Table, prefixes: &Prefixes, bytes: Buffer, _: &Lengths) -> Result<Buffer> {
    let mut schema: Map<String, Value> = parse(bytes.as_slice())?;
    let mut changes = false;
    for value in
        schema.get_mut("options").and_then(Value::as_object_mut).into_iter().flat_map(|all| all.values_mut())
    {
        let Value::String(text) = value else { continue };
        let moved: Vec<String> = text
            .split(',')
            .map(|part| prefixes.covered(part.trim()).unwrap_or_else(|| part.to_owned()))
            .collect();
        let moved = moved.join(",");
        changes |= moved != *text;
        *text = moved;
    }
    if changes { json(&schema) } else { Ok(bytes) }
}

/// A snapshot, tag or changelog: updates the lengths of rewritten lists.
pub(super) fn snapshot(table: &Table, _: &Prefixes, bytes: Buffer, copied: &Lengths) -> Result<Buffer> {
    let mut snapshot: Map<String, Value> = parse(bytes.as_slice())?;
    let mut changes = false;
    for (list, size) in LISTS {
        let name = snapshot.get(list).and_then(Value::as_str);
        let length = name.and_then(|name| copied.get(&table.manifest_path(name))).map(|copied| copied.length);
        let stored = snapshot.get(size).and_then(Value::as_u64);
        // Older writers do not record the length.
        if let (Some(length), Some(_)) = (length.filter(|length| Some(*length) != stored), stored) {
            snapshot.insert(size.to_owned(), Value::from(length));
            changes = true;
        }
    }
    if changes { json(&snapshot) } else { Ok(bytes) }
}

fn has_values(column: &ArrayRef) -> bool {
    column.null_count() < column.len()
}

fn exchanged(table: &Table, prefixes: &Prefixes, bytes: &Buffer, path: &[&str]) -> Result<Buffer> {
    let written = rewritten(bytes, table.decoding().limits, |schema| {
        let place = place_of(schema, path).ok_or_else(|| absent(EXTERNAL_PATH.1))?;
        Ok(Box::new(move |rows| with_column(rows, &place, prefixes.moved_column(&column_at(rows, &place)?)?)))
    })?;
    Ok(Buffer::from_vec(written))
}

fn json(object: &Map<String, Value>) -> Result<Buffer> {
    let text = serde_json::to_string_pretty(object).map_err(|error| invalid(error.to_string()))?;
    Ok(Buffer::from_vec(text.into_bytes()))
}

#[cold]
fn absent(field: &str) -> Error {
    Error::new(ErrorKind::Required, format!("the file has no field {field}, or of another type"))
        .in_field(field)
}
