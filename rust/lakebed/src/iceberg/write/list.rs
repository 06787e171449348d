//! Manifest lists, written (Iceberg specification, "Manifest Lists"; Iceberg's `ManifestListWriter.java`).

use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lakebed_avro::{WriteOptions, Writer};

use super::FormatVersion;
use super::avro::record_schema;
use super::columns::{check_absent, check_names, column, record_rows};
use super::layout::manifest_file;
use crate::error::Result;
use crate::iceberg::fields::{LIST, PARTITIONS_ON_DISK};
use crate::iceberg::types::{FieldRef, Schema};
use crate::record::carried;
use crate::write::with_level;

/// What the header of a manifest list says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListHeader {
    /// The version of the format, by which the list has its fields.
    pub version: FormatVersion,
    /// The snapshot whose list it is.
    pub snapshot_id: i64,
    /// The snapshot that it was made from.
    pub parent_snapshot_id: Option<i64>,
    /// The number of the commit; not written in version 1.
    pub sequence_number: i64,
    /// The row id from which the commit gave out its own; written in version 3 alone.
    pub first_row_id: Option<i64>,
}

impl ListHeader {
    /// The entries of the file's header, those of Java's writer.
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

/// Writes the records of a manifest list, in the order given: batches of the columns of [`LIST`], as
/// [`read_manifest_list`](crate::iceberg::manifest_list::read_manifest_list) gives them. Columns that need no
/// value may be absent; what is metadata in `options` stands behind the format's own.
///
/// # Errors
/// `UnknownColumn` for a column that is not there, or not the format's; `Type`, `Required` and `Argument` for
/// a column of another type, a null where there must be a value, and a value that the version has no field for,
/// with field and record; those of the Avro layer.
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
