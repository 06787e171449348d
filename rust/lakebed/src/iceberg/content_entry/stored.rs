//! The records of a manifest as they are stored, whose fields are found by id in every container.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Fields};
use lakebed_avro::{Blocks, ErrorKind as AvroKind, Program, Projection, ReadOptions, Reader, Schema};

use super::fields::TRACKING_ID;
use crate::columnar::{ColumnarBatches, Decoding, PARQUET_FIELD_ID};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest::canonical::{canonical_by_ids, twice};

/// Which fields are read: those with these ids and all below them, and of a struct only the named ones.
pub(super) struct WantedFields {
    pub(super) ids: Vec<i32>,
    /// A struct, and those of its fields that are read of it.
    pub(super) some_of: Option<(i32, Vec<i32>)>,
}

/// The batches of a manifest. In Avro, the names of fields are their ids; in Parquet, their metadata has them.
pub(super) struct StoredEntries {
    batches: StoredBatches,
    /// All fields of the file.
    fields: Fields,
}

enum StoredBatches {
    Avro(Box<Reader>),
    Columnar(ColumnarBatches),
}

impl StoredEntries {
    /// Opens a manifest for some fields, by its magic bytes.
    ///
    /// # Errors
    /// Those of the container's layer; `Duplicate` for an id that a struct has twice; `Schema` for a field whose
    /// name has a dot, by which it cannot be asked for.
    pub(super) fn open(
        bytes: Buffer,
        wanted: &WantedFields,
        decoding: &Decoding,
        threads: usize,
    ) -> Result<StoredEntries> {
        if let Some(whole) = ColumnarBatches::open(&bytes, &[], decoding) {
            let schema = Arc::clone(whole?.schema());
            check_ids(schema.fields())?;
            let paths = wanted.paths(schema.fields())?;
            let batches = ColumnarBatches::open(&bytes, &paths, decoding);
            let batches =
                batches.ok_or_else(|| Error::new(ErrorKind::Internal, "a file has two formats"))??;
            let fields = schema.fields().clone();
            return Ok(StoredEntries { batches: StoredBatches::Columnar(batches), fields });
        }
        let options = ReadOptions { limits: decoding.limits, threads, ..ReadOptions::default() };
        let (header, blocks) = Blocks::open(bytes.into(), options.limits)?;
        let writer = Schema::parse(header.schema()?, &options.limits)?;
        let (writer, reader) = canonical_by_ids(writer)?;
        let all = Program::resolve_as(&writer, &reader, &Projection::All, &[])?;
        let fields = all.schema().fields().clone();
        let projection = Projection::Paths(wanted.paths(&fields)?);
        let program = Arc::new(Program::resolve_as(&writer, &reader, &projection, &[])?);
        let reader = Reader::new(&header, blocks, program, None, options);
        Ok(StoredEntries { batches: StoredBatches::Avro(Box::new(reader)), fields })
    }

    /// The type of a field of the file, whether it is read or not.
    pub(super) fn type_of(&self, id: i32) -> Option<&DataType> {
        self.fields.get(position(&self.fields, id)?).map(|field| field.data_type())
    }

    pub(super) fn next(&mut self) -> Option<Result<RecordBatch>> {
        match &mut self.batches {
            StoredBatches::Avro(reader) => Some(reader.next()?.map_err(Into::into)),
            StoredBatches::Columnar(batches) => batches.next(),
        }
    }
}

/// The fields of a file in ORC or Parquet; `None` for others.
fn columnar_fields(bytes: &Buffer, decoding: &Decoding) -> Option<Result<Fields>> {
    let batches = ColumnarBatches::open(bytes, &[], decoding)?;
    Some(batches.map(|batches| batches.schema().fields().clone()))
}

/// The error of a reader of other manifests and lists, which for a manifest of content entries is that it is one.
pub(in crate::iceberg) fn unless_content_entries(error: Error, bytes: &Buffer, decoding: &Decoding) -> Error {
    if error.kind() != ErrorKind::Required {
        return error;
    }
    let fields = columnar_fields(bytes, decoding).unwrap_or_else(|| {
        let (header, _) = Blocks::open(bytes.clone().into(), decoding.limits)?;
        let (schema, _) = canonical_by_ids(Schema::parse(header.schema()?, &decoding.limits)?)?;
        Ok(Program::resolve(&schema, &Projection::All, &[])?.schema().fields().clone())
    });
    match fields.is_ok_and(|fields| position(&fields, TRACKING_ID).is_some()) {
        true => Error::new(
            ErrorKind::Unsupported,
            "a manifest of content entries, which only lakebed.experimental reads",
        ),
        false => error,
    }
}

impl WantedFields {
    /// The dotted paths of these fields in a file.
    fn paths(&self, fields: &Fields) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        for id in &self.ids {
            let Some(field) = position(fields, *id).and_then(|at| fields.get(at)) else { continue };
            let name = plain_name(field.name())?;
            match (&self.some_of, field.data_type()) {
                (Some((parent, ids)), DataType::Struct(children)) if parent == id => {
                    let wanted: HashSet<i32> = ids.iter().copied().collect();
                    let is_wanted = |child: &&Arc<Field>| id_of(child).is_some_and(|id| wanted.contains(&id));
                    if children.iter().all(|child| is_wanted(&child)) {
                        paths.push(name.to_owned());
                        continue;
                    }
                    for child in children.iter().filter(is_wanted) {
                        paths.push(format!("{name}.{}", plain_name(child.name())?));
                    }
                }
                _ => paths.push(name.to_owned()),
            }
        }
        Ok(paths)
    }
}

/// The place of the field with an id among the fields of a struct.
pub(super) fn position(fields: &Fields, id: i32) -> Option<usize> {
    fields.iter().position(|field| id_of(field) == Some(id))
}

/// The id of a field; `None` for one without.
pub(super) fn id_of(field: &Field) -> Option<i32> {
    field.metadata().get(PARQUET_FIELD_ID).unwrap_or(field.name()).parse().ok()
}

/// Refuses an id that a struct has twice, at any depth.
fn check_ids(fields: &Fields) -> Result<()> {
    let mut ids = HashSet::with_capacity(fields.len());
    for field in fields {
        if let Some(id) = id_of(field)
            && !ids.insert(id)
        {
            return Err(twice(id, field.name()));
        }
        match field.data_type() {
            DataType::Struct(children) => check_ids(children)?,
            DataType::List(item) => {
                if let DataType::Struct(children) = item.data_type() {
                    check_ids(children)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn plain_name(name: &str) -> Result<&str> {
    if !name.contains('.') {
        return Ok(name);
    }
    let message = "the name of a field of a manifest has a dot, which no name in Avro has";
    Err(Error::new(ErrorKind::Avro(AvroKind::Schema), message).in_field(name))
}
