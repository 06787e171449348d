//! Writes manifests (Iceberg specification, "Manifests"; Iceberg's `ManifestWriter.java`).

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StructArray};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use lakebed_avro::{WriteOptions, Writer};
use serde_json::Value;

use super::FormatVersion;
use super::avro::record_schema;
use super::columns::{check_absent, check_names, column, record_rows};
use super::layout::{BLOCK_SIZE, manifest_entry};
use super::partition::TupleLayout;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::{DATA, ENTRY, EQUALITY_DELETES, PARTITION, POSITION_DELETES};
use crate::iceberg::manifest::{DELETED, EXISTING};
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::types::{FieldRef, Schema, Type};
use crate::record::carried;
use crate::write::with_level;

/// The block size that Java's library writes in version 1, which nobody reads \[bytes\].
const BLOCK_BYTES: i64 = 64 << 20;

/// The content of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestContent {
    /// Data files.
    Data,
    /// Delete files and deletion vectors.
    Deletes,
}

impl ManifestContent {
    /// `data` or `deletes`.
    pub const fn name(self) -> &'static str {
        match self {
            ManifestContent::Data => "data",
            ManifestContent::Deletes => "deletes",
        }
    }

    /// The content with that name.
    ///
    /// # Errors
    /// `Argument` for another name.
    pub fn named(name: &str) -> Result<ManifestContent> {
        let all = [ManifestContent::Data, ManifestContent::Deletes];
        all.into_iter().find(|content| content.name() == name).ok_or_else(|| {
            Error::new(ErrorKind::Argument, format!("content is \"data\" or \"deletes\", not {name:?}"))
        })
    }

    /// Whether files of that content may be in the manifest.
    fn has(self, content: i32) -> bool {
        match self {
            ManifestContent::Data => content == DATA,
            ManifestContent::Deletes => matches!(content, POSITION_DELETES | EQUALITY_DELETES),
        }
    }
}

/// The layout of a manifest: version, content, schema and spec.
pub struct ManifestLayout {
    version: FormatVersion,
    content: ManifestContent,
    /// The table's schema, as JSON.
    schema: Value,
    spec: PartitionSpec,
    tuples: TupleLayout,
    fields: Vec<FieldRef>,
}

impl ManifestLayout {
    /// The layout of a manifest of `spec` over `schema`, which is JSON. Partition fields whose source the
    /// schema does not have get the types that they have in `entries`, the schema of the batches.
    ///
    /// # Errors
    /// Those of [`Schema::from_json`]; `Argument` for delete files in version 1; `Type` for a partition field
    /// without a type.
    pub fn new(
        version: FormatVersion,
        content: ManifestContent,
        schema: &Value,
        spec: &PartitionSpec,
        entries: &ArrowSchema,
    ) -> Result<ManifestLayout> {
        if version == FormatVersion::V1 && content == ManifestContent::Deletes {
            return Err(Error::new(ErrorKind::Argument, "format version 1 has no delete files"));
        }
        let tuples = TupleLayout::new(spec, &Schema::from_json(schema)?, entries)?;
        let fields = manifest_entry(version, &tuples.fields());
        Ok(ManifestLayout { version, content, schema: schema.clone(), spec: spec.clone(), tuples, fields })
    }

    /// The layout of partition tuples.
    pub(super) fn tuples(&self) -> &TupleLayout {
        &self.tuples
    }

    /// The Avro schema of the entries.
    fn avro(&self) -> String {
        record_schema("manifest_entry", &self.fields).to_string()
    }

    /// The entries of the file's header: those of Java's writer, and the id of the schema, which the
    /// specification requires.
    fn metadata(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let entry = Schema::new(0, self.fields.clone(), Vec::new())?;
        let schema_id = self.schema.get("schema-id").and_then(Value::as_i64).unwrap_or(0);
        let mut metadata = vec![
            ("schema", self.schema.to_string()),
            ("schema-id", schema_id.to_string()),
            ("partition-spec", self.spec.fields_json().to_string()),
            ("partition-spec-id", self.spec.spec_id.to_string()),
            ("format-version", self.version.number().to_string()),
            ("iceberg.schema", entry.to_json().to_string()),
        ];
        if self.version > FormatVersion::V1 {
            metadata.push(("content", self.content.name().to_owned()));
        }
        Ok(metadata.into_iter().map(|(key, value)| (key.to_owned(), value.into_bytes())).collect())
    }

    /// A batch of entries in the form of the records.
    fn rows(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.check(batch)?;
        let own = self.fields.iter().map(|field| {
            let column = match &field.ty {
                Type::Struct(file) => self.file(batch, file, &field.name)?,
                _ => column(batch, &ENTRY, &field.name, field.required)?,
            };
            Ok((field.name.as_str(), column))
        });
        record_rows(own, batch, "")
    }

    /// The column with the files, a record of that name.
    fn file(&self, batch: &RecordBatch, fields: &[FieldRef], record: &str) -> Result<ArrayRef> {
        let has_content = batch.column_by_name("content").is_some();
        let column_of = |field: &FieldRef| match field.name.as_str() {
            PARTITION => self.tuples.stored(batch),
            BLOCK_SIZE => Ok(Arc::new(Int64Array::from_value(BLOCK_BYTES, batch.num_rows())) as ArrayRef),
            // The content of data files may be missing.
            "content" if self.content == ManifestContent::Data && !has_content => {
                Ok(Arc::new(Int32Array::from_value(0, batch.num_rows())) as ArrayRef)
            }
            name => column(batch, &ENTRY, name, field.required),
        };
        let own = fields.iter().map(|field| Ok((field.name.as_str(), column_of(field)?)));
        Ok(Arc::new(StructArray::from(record_rows(own, batch, record)?)))
    }

    /// Refuses values that the manifest cannot hold.
    fn check(&self, batch: &RecordBatch) -> Result<()> {
        let Some(Type::Struct(file)) = self.fields.last().map(|file| &file.ty) else { return Ok(()) };
        let is_written =
            |name: &str| name == "spec_id" || self.fields.iter().chain(file).any(|field| field.name == name);
        for spec in ENTRY.iter().filter(|spec| !is_written(spec.column)) {
            check_absent(batch, spec.column, self.version)?;
        }
        each(batch, "status", |status| {
            let known = (EXISTING..=DELETED).contains(&status);
            (!known).then(|| format!("status is {status}, not 0 (EXISTING), 1 (ADDED) or 2 (DELETED)"))
        })?;
        each(batch, "content", |content| {
            let fits = self.content.has(content);
            (!fits).then(|| format!("content is {content}, in a manifest of {} files", self.content.name()))
        })?;
        each(batch, "spec_id", |id| {
            let spec = self.spec.spec_id;
            (id != spec).then(|| format!("spec_id is {id}, in a manifest of spec {spec}"))
        })
    }
}

/// Refuses the first number of a column for which `wrong` gives an error.
fn each(batch: &RecordBatch, name: &str, wrong: impl Fn(i32) -> Option<String>) -> Result<()> {
    let Some(column) = batch.column_by_name(name) else { return Ok(()) };
    let Some(numbers) = column.as_primitive_opt::<Int32Type>() else { return Ok(()) };
    for (row, number) in numbers.iter().enumerate() {
        if let Some(message) = number.and_then(&wrong) {
            return Err(Error::new(ErrorKind::Argument, message).in_field(name).in_row(row));
        }
    }
    Ok(())
}

/// Writes the entries of a manifest, in the given order: batches with the columns of [`ENTRY`], as from
/// [`EntryReader`](crate::iceberg::manifest::EntryReader). Optional columns may be missing; the metadata in
/// `options` follows the format's own.
///
/// # Errors
/// `UnknownColumn` for a missing column or partition field, or one that the format does not have; `Type`,
/// `Required` and `Argument` for a column of another type, a null in a required field, and a value that the
/// manifest cannot hold, with field and record; those of the Avro layer.
pub fn write_manifest<W: Write>(
    schema: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch>>,
    layout: &ManifestLayout,
    sink: W,
    options: WriteOptions,
) -> Result<W> {
    check_names(schema, &ENTRY)?;
    let mut metadata = layout.metadata()?;
    let options = with_level(options);
    metadata.extend(options.metadata);
    let empty = layout.rows(&RecordBatch::new_empty(Arc::clone(schema)))?;
    let text = carried::extended(&layout.avro(), &carried::fields(schema))?;
    let opened = Writer::new(sink, &text, &empty.schema(), WriteOptions { metadata, ..options });
    let mut writer = opened.map_err(in_column)?;
    for batch in batches {
        let written = writer.rows();
        let rows = layout.rows(&batch?);
        let rows = rows.map_err(|error| error.behind_records(Some(written)))?;
        writer.write(&rows).map_err(in_column)?;
    }
    Ok(writer.finish()?)
}

/// An error at a field of the records, placed at the column from which it is made.
fn in_column(error: lakebed_avro::Error) -> Error {
    Error::from(error).inside("data_file")
}
