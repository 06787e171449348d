//! Writes records that have the columns of readers.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Int8Array, Int32Array, Int64Array, ListArray, RecordBatch, RecordBatchOptions,
    StructArray, TimestampMicrosecondArray, new_null_array,
};
use arrow_schema::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, TimeUnit};
use lakebed_avro::schema::{Field, Logical, Node, Schema, Wire};
use lakebed_avro::{Block, Limits, WriteOptions, Writer};

use super::layout::{FileKind, Layout};
use crate::conform::conform;
use crate::error::{Error, ErrorKind, Result};
use crate::field::FieldSpec;
use crate::paimon::fields::{VERSION, member_name};
use crate::record::{carried, record_schema, typed};
use crate::write::with_level;

/// How a file of records is written.
#[derive(Debug, Clone)]
pub struct FileOptions {
    /// The generation of writers.
    pub layout: Layout,
    /// The options of its container.
    pub container: WriteOptions,
    /// Unknown fields of other writers, after those of the layout.
    pub(crate) carried: Vec<FieldRef>,
}

impl FileOptions {
    /// A layout in a container; Zstandard gets Java's level unless one is set.
    pub fn new(layout: Layout, container: WriteOptions) -> FileOptions {
        FileOptions { layout, container: with_level(container), carried: Vec::new() }
    }
}

/// The names and nesting of a layout's fields.
pub(super) struct Shape {
    pub(super) kind: FileKind,
    pub(super) fields: Vec<Field>,
}

impl Shape {
    /// The shape of a schema's text.
    ///
    /// # Errors
    /// Those of parsing it.
    pub(super) fn new(kind: FileKind, text: &str) -> Result<Shape> {
        match record(Schema::parse(text, &Limits::DEFAULT)?.root()) {
            Some(fields) => Ok(Shape { kind, fields: fields.to_vec() }),
            None => Err(Error::new(ErrorKind::Argument, "a layout is a record")),
        }
    }

    /// Rows with every column of the kind's field table, in its order and types, and the carried columns.
    pub(super) fn checked(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let (rows, carried) = carried::split(batch)?;
        let rows = conformed(self.kind.table(), &rows)?;
        check_kinds(&rows)?;
        carried::with(&rows, &carried)
    }

    /// Checked rows with the names and nesting of the layout's fields.
    pub(super) fn stored(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        stored(self.kind, &self.fields, rows)
    }
}

/// Writes records to a sink, batch by batch.
pub struct RecordWriter<W> {
    shape: Shape,
    writer: Writer<W>,
}

impl<W: Write> RecordWriter<W> {
    /// Writes the header. No metadata is written but the schema and the codec, as in Java.
    ///
    /// # Errors
    /// Those of [`Writer::new`].
    pub fn new(sink: W, kind: FileKind, options: FileOptions) -> Result<RecordWriter<W>> {
        let text = carried::extended(options.layout.schema(kind), &options.carried)?;
        let shape = Shape::new(kind, &text)?;
        let empty = RecordBatch::new_empty(record_schema(&kind.table().iter().collect::<Vec<_>>()));
        let none = RecordBatch::new_empty(Arc::new(ArrowSchema::new(options.carried)));
        let arrow = shape.stored(&carried::with(&empty, &none)?)?.schema();
        let writer = Writer::new(sink, &text, &arrow, options.container)?;
        Ok(RecordWriter { shape, writer })
    }

    /// Writes rows with the columns of the kind's field table; optional ones may be missing.
    ///
    /// # Errors
    /// Each names the column, and the row if there is one: `UnknownColumn` for a column that the format does
    /// not have, and for a missing required one; `Required` for a null in a required one; `Argument` for a
    /// value in a column that the layout lacks, and for an invalid kind; the Avro layer's `Schema` for a type
    /// that the column does not accept; those of [`Writer::write`]. The file is unusable after an error.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let first = self.writer.rows();
        let stored = self.shape.checked(batch).and_then(|rows| self.shape.stored(&rows));
        let stored = stored.map_err(|error| error.behind_records(Some(first)))?;
        Ok(self.writer.write(&stored)?)
    }

    /// Copies a block of another file with the same layout and codec.
    ///
    /// # Errors
    /// Those of [`Writer::copy_block`].
    pub(crate) fn copy_block(&mut self, block: &Block) -> Result<()> {
        Ok(self.writer.copy_block(block)?)
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.writer.rows()
    }

    /// Writes the rest and returns the sink.
    ///
    /// # Errors
    /// Those of [`Writer::finish`].
    pub fn finish(self) -> Result<W> {
        Ok(self.writer.finish()?)
    }
}

/// The batch with every column of the table, in its order and types; missing ones are null.
pub(crate) fn conformed(table: &'static [FieldSpec], batch: &RecordBatch) -> Result<RecordBatch> {
    let given = batch.schema();
    let known = |name: &str| table.iter().any(|spec| spec.column == name);
    if let Some(field) = given.fields().iter().find(|field| !known(field.name())) {
        let names: Vec<&str> = table.iter().map(|spec| spec.column).collect();
        let message = format!("the format has no column {:?}; it has {}", field.name(), names.join(", "));
        return Err(Error::new(ErrorKind::UnknownColumn, message).in_field(field.name()));
    }
    let columns = table.iter().map(|spec| column(spec, batch).map_err(|error| error.in_field(spec.column)));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    built(record_schema(&table.iter().collect::<Vec<_>>()), columns, batch.num_rows())
}

fn column(spec: &FieldSpec, batch: &RecordBatch) -> Result<ArrayRef> {
    let wanted = (spec.data_type)();
    let Some(found) = batch.column_by_name(spec.column) else {
        let none = || new_null_array(&wanted, batch.num_rows());
        return if spec.required { Err(absent(spec.column)) } else { Ok(none()) };
    };
    check_range(found, &wanted)?;
    let column = conform(found, &wanted)?;
    let rows = if spec.required && column.null_count() > 0 { column.len() } else { 0 };
    match (0..rows).find(|row| column.is_null(*row)) {
        Some(row) => Err(Error::new(ErrorKind::Required, format!("{} is null", spec.column)).in_row(row)),
        None => Ok(column),
    }
}

#[cold]
fn absent(column: &str) -> Error {
    let message = format!("column {column:?} is missing, which the format requires");
    Error::new(ErrorKind::UnknownColumn, message).in_field(column)
}

/// Refuses numbers that do not fit their column, with their row.
pub(crate) fn check_range(found: &ArrayRef, wanted: &DataType) -> Result<()> {
    let bounds = match wanted {
        _ if found.data_type() == wanted => return Ok(()),
        DataType::Int8 => i64::from(i8::MIN)..=i64::from(i8::MAX),
        DataType::Int32 => i64::from(i32::MIN)..=i64::from(i32::MAX),
        _ => return Ok(()),
    };
    let Ok(wide) = conform(found, &DataType::Int64) else { return Ok(()) };
    let wide: &Int64Array = typed(&wide, "values")?;
    match wide.iter().position(|value| value.is_some_and(|value| !bounds.contains(&value))) {
        Some(row) => {
            let message = format!("{} does not fit {wanted}", wide.value(row));
            Err(Error::new(ErrorKind::Argument, message).in_row(row))
        }
        None => Ok(()),
    }
}

/// Refuses entries that neither add nor delete.
fn check_kinds(rows: &RecordBatch) -> Result<()> {
    let Some(kinds) = rows.column_by_name("kind") else { return Ok(()) };
    let kinds = typed::<Int8Array>(kinds, "kind")?.values();
    match kinds.iter().position(|kind| !(0..=1).contains(kind)) {
        Some(row) => {
            let message = format!("kind is {}, neither 0 (ADD) nor 1 (DELETE)", kinds[row]);
            Err(Error::new(ErrorKind::Argument, message).in_row(row).in_field("kind"))
        }
        None => Ok(()),
    }
}

/// The rows with the names and nesting of the layout's fields.
fn stored(kind: FileKind, fields: &[Field], rows: &RecordBatch) -> Result<RecordBatch> {
    let mut used = vec![VERSION.to_owned()];
    let (names, columns) = members(kind, fields, "", rows, &mut used)?;
    for spec in kind.table().iter().filter(|spec| !used.iter().any(|path| path == spec.disk)) {
        if let Some(column) = rows.column_by_name(spec.column) {
            refuse_values(column).map_err(|error| error.in_field(spec.column))?;
        }
    }
    built(Arc::new(ArrowSchema::new(names)), columns, rows.num_rows())
}

type Members = (Fields, Vec<ArrayRef>);

/// The members of the record at `path`, which ends in a dot except at the top.
fn members(
    kind: FileKind,
    fields: &[Field],
    path: &str,
    rows: &RecordBatch,
    used: &mut Vec<String>,
) -> Result<Members> {
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(fields.len());
    for field in fields {
        let path = format!("{path}{}", field.name);
        let spec = kind.table().iter().find(|spec| spec.disk == path);
        if let Some(carried) = rows.column_by_name(&carried::column_name(&path)) {
            columns.push(Arc::clone(carried));
            continue;
        }
        columns.push(match (spec, record(&field.node)) {
            (Some(spec), _) => {
                let column = rows.column_by_name(spec.column);
                let column = column.ok_or_else(|| absent(spec.column))?;
                let column = carried::with_members(column, rows, &path, carried::column_name)?;
                used.push(path);
                nested(&field.node, &column).map_err(|error| error.in_field(spec.column))?
            }
            (None, Some(inner)) => {
                let (names, columns) = members(kind, inner, &format!("{path}."), rows, used)?;
                structure(names, columns, rows.num_rows())?
            }
            (None, None) => {
                let version = i32::try_from(kind.version()).unwrap_or_default();
                Arc::new(Int32Array::from_value(version, rows.num_rows()))
            }
        });
    }
    let named = fields.iter().zip(&columns);
    let names = named.map(|(field, column)| ArrowField::new(&field.name, column.data_type().clone(), true));
    Ok((names.collect(), columns))
}

/// A column whose nested fields have their names on disk.
fn nested(node: &Node, column: &ArrayRef) -> Result<ArrayRef> {
    match (&inner(node).wire, column.data_type()) {
        (Wire::Record(fields), DataType::Struct(_)) => renamed(fields, typed(column, "record")?),
        (Wire::Array(items), DataType::List(item)) => {
            let list: &ListArray = typed(column, "list")?;
            let values = nested(items, list.values())?;
            let item = Arc::new(ArrowField::new(item.name(), values.data_type().clone(), true));
            let list = ListArray::try_new(item, list.offsets().clone(), values, list.nulls().cloned());
            list.map(|list| Arc::new(list) as ArrayRef).map_err(Into::into)
        }
        // Paimon writes wall-clock times as if they were instants.
        (_, DataType::Timestamp(TimeUnit::Microsecond, None)) if is_instant(node) => {
            let clock = typed::<TimestampMicrosecondArray>(column, "time")?.clone();
            Ok(Arc::new(clock.with_timezone("UTC")))
        }
        _ => Ok(Arc::clone(column)),
    }
}

fn is_instant(node: &Node) -> bool {
    matches!(inner(node).logical, Some(Logical::Timestamp { utc: true, .. }))
}

fn renamed(fields: &[Field], rows: &StructArray) -> Result<ArrayRef> {
    let mut columns = Vec::with_capacity(fields.len());
    for field in fields {
        if let Some(carried) = rows.column_by_name(&carried::column_name(&field.name)) {
            columns.push(Arc::clone(carried));
            continue;
        }
        let name = member_name(&field.name);
        let column = rows.column_by_name(&name).ok_or_else(|| absent(&name))?;
        columns.push(nested(&field.node, column).map_err(|error| error.in_field(&name))?);
    }
    for (field, column) in rows.fields().iter().zip(rows.columns()) {
        let is = |known: &Field| {
            [member_name(&known.name), carried::column_name(&known.name)].contains(field.name())
        };
        if !fields.iter().any(is) {
            refuse_values(column).map_err(|error| error.within(field.name()))?;
        }
    }
    let named = fields.iter().zip(&columns);
    let names = named.map(|(field, column)| ArrowField::new(&field.name, column.data_type().clone(), true));
    let array = StructArray::try_new_with_length(names.collect(), columns, rows.nulls().cloned(), rows.len());
    array.map(|array| Arc::new(array) as ArrayRef).map_err(Into::into)
}

/// Refuses values for which the layout has no field.
fn refuse_values(column: &ArrayRef) -> Result<()> {
    let rows = if column.null_count() < column.len() { column.len() } else { 0 };
    match (0..rows).find(|row| column.is_valid(*row)) {
        Some(row) => {
            let message = "the layout has no such field; it must be null";
            Err(Error::new(ErrorKind::Argument, message).in_row(row))
        }
        None => Ok(()),
    }
}

/// The other type where a node is a union with null.
pub(super) fn inner(node: &Node) -> &Node {
    match &node.wire {
        Wire::Union(branches) => branches.iter().find(|branch| branch.wire != Wire::Null).unwrap_or(node),
        _ => node,
    }
}

fn record(node: &Node) -> Option<&[Field]> {
    match &inner(node).wire {
        Wire::Record(fields) => Some(fields),
        _ => None,
    }
}

fn structure(names: Fields, columns: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
    let array = StructArray::try_new_with_length(names, columns, None, rows);
    array.map(|array| Arc::new(array) as ArrayRef).map_err(Into::into)
}

fn built(schema: Arc<ArrowSchema>, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(Into::into)
}
