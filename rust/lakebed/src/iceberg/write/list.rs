//! Writes manifest lists (Iceberg specification, "Manifest Lists"; Iceberg's `ManifestListWriter.java`).

use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::{Blocks, Codec, Inflater, Limits, WriteOptions, Writer};
use serde_json::Value;

use super::FormatVersion;
use super::avro::record_schema;
use super::columns::{check_absent, check_names, column, record_rows};
use super::layout::manifest_file;
use crate::columnar::Decoding;
use crate::error::{Result, fitting};
use crate::iceberg::fields::{LIST, PARTITIONS_ON_DISK};
use crate::iceberg::manifest_list::read_manifest_list;
use crate::iceberg::types::{FieldRef, Schema};
use crate::json::parse;
use crate::record::carried;
use crate::write::with_level;

/// The metadata in the header of a manifest list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListHeader {
    /// The version of the format, which determines the fields of the list.
    pub version: FormatVersion,
    /// The snapshot whose list it is.
    pub snapshot_id: i64,
    /// Its parent snapshot.
    pub parent_snapshot_id: Option<i64>,
    /// The sequence number of the commit; not written in version 1.
    pub sequence_number: i64,
    /// The first row id that the commit assigned; written in version 3 only.
    pub first_row_id: Option<i64>,
}

impl ListHeader {
    /// The entries of the file's header, as Java's writer has them.
    fn metadata(&self, fields: &[FieldRef]) -> Result<Vec<(String, Vec<u8>)>> {
        let or_null = |id: Option<i64>| id.map_or("null".to_owned(), |id| id.to_string());
        let mut metadata = vec![
            ("snapshot-id", self.snapshot_id.to_string()),
            ("parent-snapshot-id", or_null(self.parent_snapshot_id)),
        ];
        if self.version > FormatVersion::V1 {
            metadata.push(("sequence-number", self.sequence_number.to_string()));
        }
        if self.version == FormatVersion::V3 {
            metadata.push(("first-row-id", or_null(self.first_row_id)));
        }
        metadata.push(("format-version", self.version.number().to_string()));
        let schema = Schema::new(0, fields.to_vec(), Vec::new())?;
        metadata.push(("iceberg.schema", schema.to_json().to_string()));
        Ok(metadata.into_iter().map(|(key, value)| (key.to_owned(), value.into_bytes())).collect())
    }
}

/// Writes the records of a manifest list, in the given order: batches with the columns of [`LIST`], as from
/// [`read_manifest_list`]. Optional columns may be missing; the metadata in `options` follows the format's
/// own.
///
/// # Errors
/// `UnknownColumn` for a missing column, or one that the format does not have; `Type`, `Required` and
/// `Argument` for a column of another type, a null in a required field, and a value for which the version has
/// no field, with field and record; those of the Avro layer.
pub fn write_manifest_list<W: Write>(
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch>>,
    header: &ListHeader,
    sink: W,
    options: WriteOptions,
) -> Result<W> {
    check_names(schema, &LIST)?;
    let fields = manifest_file(header.version);
    let mut metadata = header.metadata(&fields)?;
    let options = with_level(options);
    metadata.extend(options.metadata);
    let text = record_schema("manifest_file", &fields).to_string();
    let text = carried::extended(&text, &carried::fields(schema))?;
    let empty = rows(&RecordBatch::new_empty(Arc::clone(schema)), &fields, header.version)?;
    let mut writer = Writer::new(sink, &text, &empty.schema(), WriteOptions { metadata, ..options })?;
    for batch in batches {
        let written = writer.rows();
        let rows = rows(&batch?, &fields, header.version);
        writer.write(&rows.map_err(|error| error.behind_records(Some(written)))?)?;
    }
    Ok(writer.finish()?)
}

/// Whether a file is a manifest list as this writer writes it for a version, with blocks of that codec.
pub(crate) fn is_list_of(bytes: &Buffer, version: FormatVersion, codec: Codec, limits: Limits) -> bool {
    // A file that is not Avro is from another writer.
    let Ok((header, _)) = Blocks::open(bytes.clone().into(), limits) else { return false };
    let Some(schema) = header.schema().ok().and_then(|text| parse::<Value>(text.as_bytes()).ok()) else {
        return false;
    };
    header.codec == codec && schema == record_schema("manifest_file", &manifest_file(version))
}

/// Writes a manifest list of a batch of rows followed by all rows of `before`, a list for which
/// [`is_list_of`] is true. The blocks of `before` are copied, except for small ones at its start: each commit
/// adds its rows in front, which would make many small blocks.
///
/// # Errors
/// Those of [`write_manifest_list`], and of reading `before`.
pub(crate) fn write_in_front(
    new: &RecordBatch,
    before: &Buffer,
    header: &ListHeader,
    options: WriteOptions,
    decoding: &Decoding,
) -> Result<Vec<u8>> {
    let limits = decoding.limits;
    let (head, blocks) = Blocks::open(before.clone().into(), limits)?;
    let mut inflater = Inflater::new(head.codec, &limits, head.sync);
    let (least, mut end, mut large) = (options.block_bytes / 2, head.length, None);
    let mut blocks = blocks.into_iter();
    for block in blocks.by_ref() {
        let block = block?;
        if inflater.inflate(&block.payload)?.len() >= least {
            large = Some(block);
            break;
        }
        end = block.offset + (block.payload.len() + head.sync.len()) as u64;
    }
    let fields = manifest_file(header.version);
    let mut metadata = header.metadata(&fields)?;
    let options = with_level(options);
    metadata.extend(options.metadata);
    let text = record_schema("manifest_file", &fields).to_string();
    let new = rows(new, &fields, header.version)?;
    let mut writer = Writer::new(Vec::new(), &text, &new.schema(), WriteOptions { metadata, ..options })?;
    writer.write(&new)?;
    // Even a file that ends early ends well after these blocks.
    let end = fitting(usize::try_from(end).ok(), "the offset of a block")?;
    let small = before.slice_with_length(0, end.min(before.len()));
    writer.write(&rows(&read_manifest_list(small, None, decoding)?, &fields, header.version)?)?;
    large.into_iter().try_for_each(|block| writer.copy_block(&block))?;
    for block in blocks {
        writer.copy_block(&block?)?;
    }
    Ok(writer.finish()?)
}

/// The columns in the order of the version's fields.
fn rows(batch: &RecordBatch, fields: &[FieldRef], version: FormatVersion) -> Result<RecordBatch> {
    for spec in LIST.iter().filter(|spec| !fields.iter().any(|field| field.name == spec.column)) {
        check_absent(batch, spec.column, version)?;
    }
    let own = fields.iter().map(|field| {
        let column = column(batch, &LIST, &field.name, field.required)?;
        let column = match field.name.as_str() {
            PARTITIONS_ON_DISK => carried::with_members(&column, batch, PARTITIONS_ON_DISK, str::to_owned)?,
            _ => column,
        };
        Ok((field.name.as_str(), column))
    });
    record_rows(own, batch, "")
}
