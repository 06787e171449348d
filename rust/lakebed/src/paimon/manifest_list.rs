//! Manifest lists: which manifests make up a snapshot (Paimon's `ManifestFileMeta.java`).
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrow_array::{Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::Buffer;

use super::fields::{LIST, MANIFEST_VERSION, VERSION, known};
use super::paths::is_file_name;
use super::sidecar::SUFFIX;
use super::version::read_records;
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{RecordResolver, carried, column, typed};

/// Reads a manifest list: one row per manifest, in file order, with the named columns of [`LIST`] (all for
/// `None`).
///
/// # Errors
/// Those of the container's layer; `Version` for a record that is not of version 2;
/// `Required` for a field that is absent or null; `UnknownColumn`.
pub fn read_manifest_list(
    bytes: Buffer,
    columns: Option<&[String]>,
    decoding: &Decoding,
) -> Result<RecordBatch> {
    let resolver = RecordResolver::new(&LIST, columns, &[], &[VERSION])?;
    read_records(bytes, &resolver, MANIFEST_VERSION, decoding)
}

/// The same with all columns, followed by columns with unknown fields of other writers.
///
/// # Errors
/// As [`read_manifest_list`].
pub(crate) fn read_carrying(bytes: Buffer, decoding: &Decoding) -> Result<RecordBatch> {
    let carried = carried::read(&bytes, &|record, field| known(&LIST, record, field), decoding.limits)?;
    let list = read_manifest_list(bytes, None, decoding)?;
    carried::with(&list, carried.as_ref())
}

/// One manifest as its list records it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ManifestFile {
    /// Name in the folder `manifest`.
    pub file_name: String,
    /// Size \[bytes\].
    pub file_size: u64,
    /// Entries that add a file.
    pub added: u64,
    /// Entries that delete a file.
    pub deleted: u64,
    /// The number of buckets of every entry's partition, where the list records it.
    pub total_buckets: Option<i32>,
    /// The name of its sidecar, which tells what its blocks have entries of; `None` where the list names none, and
    /// where `extra_files` was not read.
    #[serde(default)]
    pub sidecar: Option<String>,
}

/// The first of a manifest's extra files that is called as sidecars are.
fn sidecar_of(files: &ListArray, row: usize) -> Result<Option<String>> {
    if files.is_null(row) {
        return Ok(None);
    }
    let names = files.value(row);
    let mut names = typed::<StringArray>(&names, "extra_files")?.iter().flatten();
    Ok(names.find(|name| name.ends_with(SUFFIX) && is_file_name(name)).map(str::to_owned))
}

/// The manifests of a list, of which names, sizes, counts and `total_buckets` were read.
pub fn manifest_files(list: &RecordBatch) -> Result<Vec<ManifestFile>> {
    let names = column::<StringArray>(list, "file_name")?;
    let longs = |name| column::<Int64Array>(list, name);
    let (sizes, added) = (longs("file_size")?, longs("num_added_files")?);
    let deleted = longs("num_deleted_files")?;
    let number = |column: &Int64Array, name: &str, row: usize| {
        let value = column.value(row);
        u64::try_from(value).map_err(|_| {
            let message = format!("{name} is {value}");
            Error::new(ErrorKind::Mismatch, message).in_record(row as u64).in_field(name)
        })
    };
    let totals = column::<Int32Array>(list, "total_buckets")?;
    let extra = list.column_by_name("extra_files").map(|files| typed::<ListArray>(files, "extra_files"));
    let extra = extra.transpose()?;
    let manifest = |row: usize| {
        let file_name = names.value(row).to_owned();
        if !is_file_name(&file_name) {
            let error = Error::new(ErrorKind::Mismatch, format!("not a file name: {file_name:?}"));
            return Err(error.in_record(row as u64).in_field("file_name"));
        }
        Ok(ManifestFile {
            file_name,
            file_size: number(sizes, "file_size", row)?,
            added: number(added, "num_added_files", row)?,
            deleted: number(deleted, "num_deleted_files", row)?,
            total_buckets: totals.is_valid(row).then(|| totals.value(row)),
            sidecar: extra.map(|files| sidecar_of(files, row)).transpose()?.flatten(),
        })
    };
    (0..list.num_rows()).map(manifest).collect()
}
