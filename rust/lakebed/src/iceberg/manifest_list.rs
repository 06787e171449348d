//! Manifest lists: the manifests that make up a snapshot (Iceberg specification, "Manifest Lists"; Iceberg's
//! `ManifestFile.java`).
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, ListBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray, StructArray, new_null_array,
};
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;

use super::content_entry::unless_content_entries;
use super::encryption::{SealedKey, plain, sealed_key, sealed_keys, with_sealed_keys};
use super::fields::{FIELD_SUMMARY, LIST, known};
use super::manifest::canonical::canonical_list;
use super::manifest::number;
use super::paths::{TableFormat, resolved_column};
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::record::{RecordReader, RecordResolver, carried, column, typed};
use crate::view::Rows;

/// `content` of a manifest of data files.
pub const DATA: i32 = 0;
/// `content` of a manifest of delete files.
pub const DELETES: i32 = 1;

/// The column of partition summaries.
const SUMMARIES: &str = "partitions";

/// Columns that default to 0 in lists of version 1.
const ZERO_BY_DEFAULT: [&str; 3] = ["content", "sequence_number", "min_sequence_number"];

/// Reads a manifest list of any version: one row per manifest, in file order, with the named columns of
/// [`LIST`] (all for `None`).
///
/// Fields are matched by id, else by name. Where the list does not have them, content and sequence numbers
/// are 0; counts and all others are null: unknown.
///
/// # Errors
/// Those of the container's layer; `Required` for a path or spec that is missing or null; `Duplicate` for a
/// field id that appears twice; `UnknownColumn`.
pub fn read_manifest_list(
    bytes: Buffer,
    columns: Option<&[String]>,
    decoding: &Decoding,
) -> Result<RecordBatch> {
    read_list(bytes, columns, decoding, None, None)
}

/// The same of a table: relative paths of a list of version 4 are resolved, and one that was encrypted by `key` has the
/// keys of its manifests besides, where the columns of [`brief`] or all are read.
///
/// # Errors
/// As [`read_manifest_list`]; `Encryption` for a key that is absent or another one, and for bytes that were changed.
pub(crate) fn read_list(
    bytes: Buffer,
    columns: Option<&[String]>,
    decoding: &Decoding,
    table: Option<&TableFormat>,
    key: Option<&SealedKey>,
) -> Result<RecordBatch> {
    let (bytes, _) = plain(bytes, key, decoding)?;
    let resolver = RecordResolver::new(&LIST, columns, &[], &[])?.rewriting(canonical_list);
    let mut reader = RecordReader::open(bytes.clone(), &resolver, None, decoding, 1)
        .map_err(|error| unless_content_entries(error, &bytes, decoding))?;
    let version = reader.metadata("format-version").and_then(number);
    let location = table.and_then(|table| table.base(version));
    let mut batches = Vec::new();
    let mut first = 0;
    while let Some(batch) = reader.next() {
        let batch = reader.conform(&batch?, Some(first))?;
        first = fitting(first.checked_add(batch.num_rows() as u64), "the number of manifests")?;
        batches.push(finished(&batch, location)?);
    }
    let list = concat_batches(resolver.schema(), &batches).map_err(malformed)?;
    match key {
        Some(key) => with_sealed_keys(&list, key, decoding),
        None => Ok(list),
    }
}

/// All columns but the partition summaries, which take most of the reading.
pub(crate) fn brief() -> Vec<String> {
    let columns = LIST.iter().map(|spec| spec.column);
    columns.filter(|name| *name != SUMMARIES).map(str::to_owned).collect()
}

/// The same with all columns, followed by columns with unknown fields of other writers.
///
/// # Errors
/// As [`read_manifest_list`].
pub(crate) fn read_carrying(bytes: Buffer, decoding: &Decoding) -> Result<RecordBatch> {
    let carried = carried::read(
        &bytes,
        &|record, field| known(&[&LIST, &FIELD_SUMMARY], record, field),
        decoding.limits,
    )?;
    let list = read_manifest_list(bytes, None, decoding)?;
    carried::with(&list, carried.as_ref())
}

/// Rows with their defaults, and with paths behind `location` where they are relative.
fn finished(batch: &RecordBatch, location: Option<&str>) -> Result<RecordBatch> {
    let columns = batch.schema_ref().fields().iter().zip(batch.columns()).map(|(field, column)| match field
        .name()
        .as_str()
    {
        name @ "content" => zero_for_null::<Int32Type>(column, name),
        name if ZERO_BY_DEFAULT.contains(&name) => zero_for_null::<Int64Type>(column, name),
        name @ "manifest_path" if let Some(location) = location => resolved_column(column, name, location),
        _ => Ok(Arc::clone(column)),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = columns.collect::<Result<_>>()?;
    RecordBatch::try_new_with_options(batch.schema(), columns, &options).map_err(malformed)
}

fn zero_for_null<T: ArrowPrimitiveType<Native: Default>>(column: &ArrayRef, name: &str) -> Result<ArrayRef> {
    let values = typed::<PrimitiveArray<T>>(column, name)?;
    if values.null_count() == 0 {
        return Ok(Arc::clone(column));
    }
    let values = values.iter();
    Ok(Arc::new(values.map(|value| Some(value.unwrap_or_default())).collect::<PrimitiveArray<T>>()))
}

/// A manifest that a snapshot of version 1 names without a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineManifest {
    /// Location, as written.
    pub path: String,
    /// Size of the file \[bytes\].
    pub length: u64,
    /// The spec in the manifest's header.
    pub spec_id: i32,
}

/// All columns of the list for a snapshot of version 1 that names its manifests directly.
///
/// Such manifests hold data files, the snapshot counts as the one that added them, and counts are null
/// (Iceberg's `GenericManifestFile.java`).
pub fn inline_manifests(manifests: &[InlineManifest], snapshot_id: i64) -> Result<RecordBatch> {
    let manifest = |manifest: &InlineManifest| ManifestFile {
        path: manifest.path.clone(),
        length: Some(manifest.length),
        spec_id: manifest.spec_id,
        added_snapshot_id: Some(snapshot_id),
        ..ManifestFile::default()
    };
    manifest_rows(&manifests.iter().map(manifest).collect::<Vec<_>>())
}

/// Manifests as rows of a list, with all columns; key metadata is null for manifests that are in no list.
pub(crate) fn manifest_rows(manifests: &[ManifestFile]) -> Result<RecordBatch> {
    let all = Rows(manifests.iter());
    let files = |of: fn(&ManifestFile) -> RecordedCounts| all.ints(|row| i32::try_from(of(row).files?).ok());
    let rows = |of: fn(&ManifestFile) -> RecordedCounts| all.longs(|row| i64::try_from(of(row).rows?).ok());
    let columns = LIST.iter().map(|spec| match spec.column {
        "manifest_path" => all.texts(|row| row.path.as_str()),
        "manifest_length" => all.longs(|row| i64::try_from(row.length?).ok()),
        "partition_spec_id" => all.ints(|row| row.spec_id),
        "content" => all.ints(|row| row.content),
        "sequence_number" => all.longs(|row| row.sequence_number),
        "min_sequence_number" => all.longs(|row| row.min_sequence_number),
        "added_snapshot_id" => all.longs(|row| row.added_snapshot_id),
        "added_files_count" => files(|row| row.added),
        "existing_files_count" => files(|row| row.existing),
        "deleted_files_count" => files(|row| row.deleted),
        "added_rows_count" => rows(|row| row.added),
        "existing_rows_count" => rows(|row| row.existing),
        "deleted_rows_count" => rows(|row| row.deleted),
        SUMMARIES => summary_lists(manifests, (spec.data_type)()),
        "first_row_id" => all.longs(|row| row.first_row_id),
        _ => new_null_array(&(spec.data_type)(), manifests.len()),
    });
    let columns = columns.collect();
    let schema = RecordResolver::new(&LIST, None, &[], &[])?;
    RecordBatch::try_new(Arc::clone(schema.schema()), columns).map_err(malformed)
}

/// The summaries of each manifest's partition fields, in the type of the column.
fn summary_lists(manifests: &[ManifestFile], data_type: DataType) -> ArrayRef {
    let item = if let DataType::List(item) = &data_type { item.data_type().clone() } else { DataType::Null };
    let DataType::Struct(fields) = item else { return new_null_array(&data_type, manifests.len()) };
    let mut lists = ListBuilder::new(StructBuilder::from_fields(fields, manifests.len()));
    for manifest in manifests {
        for summary in manifest.partitions.iter().flatten() {
            let item = lists.values();
            for (place, flag) in [Some(summary.contains_null), summary.contains_nan].into_iter().enumerate() {
                if let Some(flags) = item.field_builder::<BooleanBuilder>(place) {
                    flags.append_option(flag);
                }
            }
            for (place, bound) in [(2, &summary.lower_bound), (3, &summary.upper_bound)] {
                if let Some(bounds) = item.field_builder::<BinaryBuilder>(place) {
                    bounds.append_option(bound.as_deref());
                }
            }
            item.append(true);
        }
        lists.append(manifest.partitions.is_some());
    }
    Arc::new(lists.finish())
}

/// One manifest as its list records it; null and negative numbers become unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ManifestFile {
    /// Location, as written.
    pub path: String,
    /// Size \[bytes\]; some writers record a wrong size.
    pub length: Option<u64>,
    /// The partition spec of all entries.
    pub spec_id: i32,
    /// [`DATA`] or [`DELETES`].
    pub content: i32,
    /// Sequence number of the commit that added the manifest; entries without a number inherit it.
    pub sequence_number: i64,
    /// Lowest data sequence number of its live files.
    pub min_sequence_number: i64,
    /// The snapshot that added the manifest; entries without a snapshot inherit it.
    pub added_snapshot_id: Option<i64>,
    /// Entries and rows whose status is ADDED.
    pub added: RecordedCounts,
    /// Entries and rows whose status is EXISTING.
    pub existing: RecordedCounts,
    /// Entries and rows whose status is DELETED.
    pub deleted: RecordedCounts,
    /// One summary for each field of the spec; `None` where the writer wrote none.
    pub partitions: Option<Vec<FieldSummary>>,
    /// First row id of the added data files without one of their own (version 3).
    pub first_row_id: Option<i64>,
    /// What it is decrypted by, in a form that only the table's key opens.
    pub key: Option<SealedKey>,
}

/// Counts of the entries of one status; `None` is unknown and may be any number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct RecordedCounts {
    /// Entries.
    pub files: Option<u64>,
    /// The sum of their `record_count`.
    pub rows: Option<u64>,
}

/// The values of one partition field in a manifest's entries.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FieldSummary {
    /// Whether some value is null; true where the writer does not record it.
    pub contains_null: bool,
    /// Whether some value is NaN; `None`: unknown.
    pub contains_nan: Option<bool>,
    /// A lower bound of all values except null and NaN; `None`: there is none.
    pub lower_bound: Option<Vec<u8>>,
    /// An upper bound of all values except null and NaN; `None`: there is none.
    pub upper_bound: Option<Vec<u8>>,
}

impl ManifestFile {
    /// Whether it may have live files, by its counts.
    pub fn may_be_live(&self) -> bool {
        [self.added, self.existing].iter().any(|recorded| recorded.files != Some(0))
    }

    /// Whether parts of it can be read separately, in a table of that format version: not where it is encrypted. Where row
    /// ids are counted from the first entry on, this takes columns, which Parquet alone has and version 4 brings.
    pub(crate) fn is_divisible(&self, version: i32) -> bool {
        self.length.is_some() && self.key.is_none() && (self.first_row_id.is_none() || version >= 4)
    }

    /// Its entries of all statuses; `None` where the list lacks a count.
    pub(crate) fn entries(&self) -> Option<u64> {
        [self.added, self.existing, self.deleted]
            .iter()
            .try_fold(0_u64, |sum, recorded| sum.checked_add(recorded.files?))
    }

    /// The record for a part of the manifest, without counts.
    pub(crate) fn uncounted(self) -> ManifestFile {
        let unknown = RecordedCounts::default();
        ManifestFile { length: None, added: unknown, existing: unknown, deleted: unknown, ..self }
    }

    /// The manifests of a list that was read with all columns, or with those of [`brief`].
    ///
    /// # Errors
    /// `Mismatch` for a content that is neither data nor deletes.
    pub fn all(list: &RecordBatch) -> Result<Vec<ManifestFile>> {
        let columns = Columns::of(list)?;
        (0..list.num_rows()).map(|row| columns.manifest(row).map_err(|e| e.in_record(row as u64))).collect()
    }

    /// The rows of such a list whose manifests have this kind of files.
    ///
    /// # Errors
    /// As [`ManifestFile::all`].
    pub(crate) fn rows_of(list: &RecordBatch, content: i32) -> Result<RecordBatch> {
        let columns = Columns::of(list)?;
        let rows = (0..list.num_rows()).map(|row| {
            columns.content(row).map(|found| Some(found == content)).map_err(|e| e.in_record(row as u64))
        });
        Ok(filter_record_batch(list, &rows.collect::<Result<BooleanArray>>()?)?)
    }
}

/// The columns of a list, typed.
struct Columns<'l> {
    /// In a list that was decrypted.
    sealed_keys: Option<&'l StringArray>,
    paths: &'l StringArray,
    lengths: &'l Int64Array,
    spec_ids: &'l Int32Array,
    contents: &'l Int32Array,
    sequence_numbers: &'l Int64Array,
    min_sequence_numbers: &'l Int64Array,
    added_snapshot_ids: &'l Int64Array,
    /// Files and rows that are ADDED, EXISTING and DELETED.
    counts: [(&'l Int32Array, &'l Int64Array); 3],
    /// Without a filter on partitions they are not read.
    summaries: Option<&'l ListArray>,
    first_row_ids: &'l Int64Array,
}

impl<'l> Columns<'l> {
    fn of(list: &'l RecordBatch) -> Result<Columns<'l>> {
        let ints = |name: &str| column::<Int32Array>(list, name);
        let longs = |name: &str| column::<Int64Array>(list, name);
        let summaries = list.column_by_name(SUMMARIES).map(|lists| typed(lists, SUMMARIES));
        Ok(Columns {
            sealed_keys: sealed_keys(list)?,
            paths: column(list, "manifest_path")?,
            lengths: longs("manifest_length")?,
            spec_ids: ints("partition_spec_id")?,
            contents: ints("content")?,
            sequence_numbers: longs("sequence_number")?,
            min_sequence_numbers: longs("min_sequence_number")?,
            added_snapshot_ids: longs("added_snapshot_id")?,
            counts: [
                (ints("added_files_count")?, longs("added_rows_count")?),
                (ints("existing_files_count")?, longs("existing_rows_count")?),
                (ints("deleted_files_count")?, longs("deleted_rows_count")?),
            ],
            summaries: summaries.transpose()?,
            first_row_ids: longs("first_row_id")?,
        })
    }

    fn content(&self, row: usize) -> Result<i32> {
        let content = at(self.contents, row).unwrap_or(DATA);
        if matches!(content, DATA | DELETES) {
            return Ok(content);
        }
        let message = format!("content is {content}, neither 0 (data) nor 1 (deletes)");
        Err(Error::new(ErrorKind::Mismatch, message).in_field("content"))
    }

    fn manifest(&self, row: usize) -> Result<ManifestFile> {
        let content = self.content(row)?;
        let known = |count| u64::try_from(count).ok();
        let [added, existing, deleted] = self.counts.map(|(files, rows)| RecordedCounts {
            files: at(files, row).map(i64::from).and_then(known),
            rows: at(rows, row).and_then(known),
        });
        Ok(ManifestFile {
            path: self.paths.value(row).to_owned(),
            length: at(self.lengths, row).and_then(known),
            spec_id: at(self.spec_ids, row).unwrap_or(0),
            content,
            sequence_number: at(self.sequence_numbers, row).unwrap_or(0),
            min_sequence_number: at(self.min_sequence_numbers, row).unwrap_or(0),
            added_snapshot_id: at(self.added_snapshot_ids, row),
            added,
            existing,
            deleted,
            partitions: self.summaries(row)?,
            first_row_id: at(self.first_row_ids, row),
            key: self.sealed_keys.map(|keys| sealed_key(keys, row)).transpose()?.flatten(),
        })
    }

    fn summaries(&self, row: usize) -> Result<Option<Vec<FieldSummary>>> {
        let Some(lists) = self.summaries.filter(|lists| lists.is_valid(row)) else { return Ok(None) };
        let items = lists.value(row);
        let items: &StructArray = typed(&items, SUMMARIES)?;
        Ok((0..items.len()).map(|item| summary(items, item)).collect())
    }
}

fn at<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

/// One summary; `None` where it is null, so that nothing is known.
fn summary(items: &StructArray, item: usize) -> Option<FieldSummary> {
    let flag = |name| {
        let column = items.column_by_name(name)?.as_boolean_opt()?;
        column.is_valid(item).then(|| column.value(item))
    };
    let bound = |name| {
        let column = items.column_by_name(name)?.as_binary_opt::<i32>()?;
        column.is_valid(item).then(|| column.value(item).to_vec())
    };
    items.is_valid(item).then(|| FieldSummary {
        contains_null: flag("contains_null").unwrap_or(true),
        contains_nan: flag("contains_nan"),
        lower_bound: bound("lower_bound"),
        upper_bound: bound("upper_bound"),
    })
}

#[cold]
fn malformed(error: ArrowError) -> Error {
    Error::new(ErrorKind::Required, error.to_string())
}

/// Which kind of files is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Data files.
    Data,
    /// Delete files and deletion vectors.
    Deletes,
    /// Both.
    Both,
}

impl Content {
    /// Whether a manifest has files of this kind.
    pub(crate) fn has(self, manifest: &ManifestFile) -> bool {
        match self {
            Content::Data => manifest.content == DATA,
            Content::Deletes => manifest.content == DELETES,
            Content::Both => true,
        }
    }

    /// Which of `entries`, which have the column `content`, are of this kind; `None` where all kinds are
    /// read.
    pub(crate) fn of(self, entries: &RecordBatch) -> Result<Option<BooleanArray>> {
        if self == Content::Both {
            return Ok(None);
        }
        let content = column::<Int32Array>(entries, "content")?.iter();
        Ok(Some(content.map(|content| Some((content == Some(DATA)) == (self == Content::Data))).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::mistyped;

    #[test]
    fn manifests_named_by_their_snapshot_are_of_unknown_counts() {
        let inline = |path: &str, length| InlineManifest { path: path.to_owned(), length, spec_id: 2 };
        let list = inline_manifests(&[inline("a", 3), inline("b", 5)], 7).unwrap();
        let manifests = ManifestFile::all(&list).unwrap();
        let second = ManifestFile {
            path: "b".to_owned(),
            length: Some(5),
            spec_id: 2,
            added_snapshot_id: Some(7),
            ..ManifestFile::default()
        };
        assert_eq!((manifests.len(), manifests.get(1)), (2, Some(&second)));
        assert!(second.may_be_live() && second.partitions.is_none());
    }

    #[test]
    fn columns_of_another_type_are_refused_by_name() {
        for (name, list) in mistyped(&manifest_rows(&[ManifestFile::default()]).unwrap()) {
            let error = ManifestFile::all(&list).err();
            let found = error.map(|error| (error.kind(), error.location().field.clone()));
            assert_eq!(found, (name != "key_metadata").then_some((ErrorKind::Mismatch, Some(name))));
        }
    }

    #[test]
    fn a_manifest_may_be_live_unless_both_counts_are_zero() {
        let none = RecordedCounts { files: Some(0), rows: None };
        let dead = ManifestFile { added: none, existing: none, ..ManifestFile::default() };
        assert!(!dead.may_be_live());
        assert!(ManifestFile { added: RecordedCounts::default(), ..dead }.may_be_live());
    }
}
