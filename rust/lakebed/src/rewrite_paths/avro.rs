//! Rewrites some values of Avro files: schema, header, codec, sync marker and all other values are kept,
//! whoever wrote them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_buffer::Buffer;
use lakebed_avro::schema::{Field, Node, Schema, Wire};
use lakebed_avro::{Blocks, Limits, Program, Projection, ReadOptions, Reader, WriteOptions, Writer};

use crate::columnar::is_columnar;
use crate::error::{Error, ErrorKind, Result};

/// Changes values of some records.
pub(crate) type Edit<'e> = Box<dyn Fn(&RecordBatch) -> Result<RecordBatch> + 'e>;

/// The file after an edit of its records; `edit` makes the edit for the file's schema. Memory is that of the
/// file, of the new file, and of one batch.
///
/// # Errors
/// `Unsupported` for a manifest in another container; those of the Avro layer and of the edit.
pub(crate) fn rewritten<'e>(
    bytes: &Buffer,
    limits: Limits,
    edit: impl FnOnce(&Schema) -> Result<Edit<'e>>,
) -> Result<Vec<u8>> {
    rewritten_as(bytes, limits, Ok, edit)
}

/// The same for a file whose records are stored as `stored` describes, not as its schema does.
/// # Errors
/// As [`rewritten`].
pub(crate) fn rewritten_as<'e>(
    bytes: &Buffer,
    limits: Limits,
    stored: impl FnOnce(Schema) -> Result<Schema>,
    edit: impl FnOnce(&Schema) -> Result<Edit<'e>>,
) -> Result<Vec<u8>> {
    if is_columnar(bytes) {
        let message = "metadata in ORC and Parquet is read, not written: its paths cannot be exchanged";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let (header, blocks) = Blocks::open(bytes.clone().into(), limits)?;
    let text = header.schema()?;
    let schema = stored(Schema::parse(text, &limits)?)?;
    let edit = edit(&schema)?;
    let program = Arc::new(Program::resolve(&schema, &Projection::All, &[])?);
    let reader =
        Reader::new(&header, blocks, program, None, ReadOptions { limits, ..ReadOptions::default() });
    let own = |key: &str| !matches!(key, "avro.schema" | "avro.codec");
    let metadata = header.metadata.iter().filter(|(key, _)| own(key)).cloned().collect();
    let options = WriteOptions { codec: header.codec, metadata, limits, ..WriteOptions::new(header.sync) };
    let room = Vec::with_capacity(bytes.len());
    let mut writer = Writer::storing(room, text, schema, reader.schema(), options)?;
    for batch in reader {
        writer.write(&edit(&batch?)?)?;
    }
    Ok(writer.finish()?)
}

/// The position of a field: its index at each level of records; `None` where there is no such field.
pub(crate) fn place_of(schema: &Schema, path: &[&str]) -> Option<Vec<usize>> {
    let mut node = schema.root();
    let mut places = Vec::with_capacity(path.len());
    for name in path {
        let fields = fields_of(node)?;
        let place = fields.iter().position(|field| field.name == *name)?;
        places.push(place);
        node = &fields.get(place)?.node;
    }
    Some(places)
}

/// The fields of a record, also in a union with null.
fn fields_of(node: &Node) -> Option<&[Field]> {
    match &node.wire {
        Wire::Record(fields) => Some(fields),
        Wire::Union(branches) => branches.iter().find_map(fields_of),
        _ => None,
    }
}

/// The column of a field.
///
/// # Errors
/// `Internal` for an invalid position.
pub(crate) fn column_at(batch: &RecordBatch, place: &[usize]) -> Result<ArrayRef> {
    let (first, rest) = place.split_first().ok_or_else(no_place)?;
    let mut column = batch.columns().get(*first).ok_or_else(no_place)?;
    for place in rest {
        let records = column.as_struct_opt().ok_or_else(no_place)?;
        column = records.columns().get(*place).ok_or_else(no_place)?;
    }
    Ok(Arc::clone(column))
}

/// The records with the column of a field replaced by one of the same type.
///
/// # Errors
/// `Internal` for an invalid position and for a column of another type.
pub(crate) fn with_column(batch: &RecordBatch, place: &[usize], column: ArrayRef) -> Result<RecordBatch> {
    let (first, rest) = place.split_first().ok_or_else(no_place)?;
    let mut columns = batch.columns().to_vec();
    let old = columns.get_mut(*first).ok_or_else(no_place)?;
    *old = with_member(old, rest, column)?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

fn with_member(column: &ArrayRef, place: &[usize], member: ArrayRef) -> Result<ArrayRef> {
    let Some((first, rest)) = place.split_first() else { return Ok(member) };
    let records = column.as_struct_opt().ok_or_else(no_place)?;
    let mut columns = records.columns().to_vec();
    let old = columns.get_mut(*first).ok_or_else(no_place)?;
    *old = with_member(old, rest, member)?;
    let (fields, nulls) = (records.fields().clone(), records.nulls().cloned());
    Ok(Arc::new(StructArray::try_new(fields, columns, nulls)?))
}

#[cold]
fn no_place() -> Error {
    Error::new(ErrorKind::Internal, "a field that the records do not have")
}
