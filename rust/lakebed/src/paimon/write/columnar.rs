//! Records in ORC and Parquet, with the columns that Paimon's writers give them (Paimon's
//! `ParquetSchemaConverter.java`, `OrcTypeUtil.java`).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, ListArray, RecordBatch, StructArray, TimestampMicrosecondArray, UInt32Array, make_array,
};
use arrow_buffer::Buffer;
use arrow_schema::{
    DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, SchemaRef, TimeUnit,
};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use lakebed_avro::ErrorKind as AvroKind;
use lakebed_avro::schema::{Field, Logical, Node, Wire};

use super::fit::fit;
use super::layout::{FileKind, Layout};
use super::records::{Shape, inner};
use crate::columnar::{Codec, Decoding, Encoder, Format, field_id_key};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::fields::VERSION;
use crate::paimon::version::read_records;
use crate::record::RecordResolver;

/// The fields that are `TINYINT`, which Avro does not have.
const TINY: [&str; 2] = ["_KIND", "_FILE_SOURCE"];
/// A file is measured for the first time after so many rows.
const FIRST_MEASURED: usize = 1000;
/// A file has at most so many times the rows that it was measured with last.
const GROWTH: usize = 8;

/// How the columns of a file are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ColumnarOptions {
    pub(super) format: Format,
    pub(super) codec: Codec,
}

/// The records of one file, which is encoded as a whole.
pub(super) struct ColumnarRecords<'e> {
    shape: Shape,
    schema: SchemaRef,
    options: ColumnarOptions,
    encoder: &'e dyn Encoder,
    decoding: &'e Decoding,
    /// The rows as callers gave them, and as they are stored.
    rows: Vec<RecordBatch>,
    stored: Vec<RecordBatch>,
    count: usize,
    /// The number of rows at which the file is encoded next to learn its size.
    measured_next: usize,
    /// The file of all rows so far, if it is known.
    encoded: Option<Buffer>,
}

impl<'e> ColumnarRecords<'e> {
    /// Nothing yet.
    ///
    /// # Errors
    /// `Unsupported` for carried fields, which have no type in these formats.
    pub(super) fn new(
        kind: FileKind,
        layout: Layout,
        carried: &[FieldRef],
        options: ColumnarOptions,
        encoder: &'e dyn Encoder,
        decoding: &'e Decoding,
    ) -> Result<ColumnarRecords<'e>> {
        if let Some(field) = carried.first() {
            let message = format!(
                "{:?}, a field of another writer's Avro, cannot be kept in {}",
                field.name(),
                options.format.name()
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let shape = Shape::new(kind, layout.schema(kind))?;
        // Not a field of Paimon's types: its writers put it in front of them.
        let fields = record_fields(&shape.fields, -1, options.format)?;
        let schema = Arc::new(ArrowSchema::new(fields));
        Ok(ColumnarRecords {
            shape,
            schema,
            options,
            encoder,
            decoding,
            rows: Vec::new(),
            stored: Vec::new(),
            count: 0,
            measured_next: FIRST_MEASURED,
            encoded: None,
        })
    }

    /// Adds rows, as [`RecordWriter::write`](super::RecordWriter::write) does.
    ///
    /// # Errors
    /// The same.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let added = || -> Result<(RecordBatch, RecordBatch)> {
            let rows = self.shape.checked(batch)?;
            let stored = self.shape.stored(&rows)?;
            let columns = stored.columns().iter().zip(self.schema.fields());
            let columns = columns.map(|(column, field)| typed(column, field)).collect::<Result<Vec<_>>>()?;
            Ok((rows, RecordBatch::try_new(Arc::clone(&self.schema), columns)?))
        };
        let (rows, stored) = added().map_err(|error| error.behind_records(Some(self.count as u64)))?;
        self.count += rows.num_rows();
        self.rows.push(rows);
        self.stored.push(stored);
        self.encoded = None;
        Ok(())
    }

    /// Whether the file has that many bytes. It is encoded for that, but not often: at first after
    /// [`FIRST_MEASURED`] rows, then where it should be large enough by what it was then.
    ///
    /// # Errors
    /// Those of the encoder.
    pub(super) fn has(&mut self, bytes: u64) -> Result<bool> {
        if self.count < self.measured_next {
            return Ok(false);
        }
        let file = self.encode()?;
        let length = (file.len() as u64).max(1);
        if length >= bytes {
            self.encoded = Some(file);
            return Ok(true);
        }
        // A twentieth more, so that the next one is seldom a little too small.
        let wanted = (self.count as u128 * u128::from(bytes) * 21 / (u128::from(length) * 20)) as usize;
        self.measured_next = wanted.clamp(self.count + 1, self.count * GROWTH);
        Ok(false)
    }

    /// The file.
    ///
    /// # Errors
    /// Those of the encoder; `Internal` for a file that does not read as these rows; `Limit` for one that
    /// readers would refuse.
    pub(super) fn finish(mut self) -> Result<Buffer> {
        let file = match self.encoded.take() {
            Some(file) => file,
            None => self.encode()?,
        };
        self.check(&file)?;
        Ok(file)
    }

    fn encode(&self) -> Result<Buffer> {
        let rows = match self.stored.as_slice() {
            // A copy: some encoders overlook that an array is part of another.
            [one] => take_record_batch(one, &UInt32Array::from_iter_values(0..one.num_rows() as u32))?,
            batches => concat_batches(&self.schema, batches)?,
        };
        self.encoder.encode(&rows, self.options.format, self.options.codec)
    }

    /// Reads the file again: encoders have written other values than they were given (pyarrow's of ORC does
    /// behind a record that is null within another).
    fn check(&self, file: &Buffer) -> Result<()> {
        let kind = self.shape.kind;
        let resolver = RecordResolver::new(kind.table(), None, &[], &[VERSION])?;
        let wrong = |why: &str| {
            let format = self.options.format.name();
            let message =
                format!("the encoder's {format} file does not have the rows that it was given{why}");
            Error::new(ErrorKind::Internal, message)
        };
        let found = read_records(file.clone(), &resolver, kind.version(), self.decoding);
        let found = found.map_err(|error| match error.kind() {
            ErrorKind::Avro(AvroKind::Limit) => error,
            _ => wrong(&format!(": {error}")),
        })?;
        let mut first = 0;
        for rows in &self.rows {
            let same = first + rows.num_rows() <= found.num_rows()
                && rows.columns() == found.slice(first, rows.num_rows()).columns();
            if !same {
                return Err(wrong(""));
            }
            first += rows.num_rows();
        }
        if first == found.num_rows() { Ok(()) } else { Err(wrong("")) }
    }
}

/// The fields of a record; the first one has the id `first`.
fn record_fields(fields: &[Field], first: i32, format: Format) -> Result<Fields> {
    let fields = fields.iter().zip(first..).map(|(field, id)| column(&field.name, &field.node, id, format));
    fields.collect()
}

fn column(name: &str, node: &Node, id: i32, format: Format) -> Result<FieldRef> {
    let nullable = matches!(&node.wire, Wire::Union(branches) if branches.iter().any(|branch| branch.wire == Wire::Null));
    let node = inner(node);
    let ty = match (&node.wire, node.logical) {
        (Wire::Int, None) if TINY.contains(&name) => DataType::Int8,
        (Wire::Int, None) => DataType::Int32,
        (Wire::Long, None) => DataType::Int64,
        (Wire::Long, Some(Logical::Timestamp { per_second: 1000, .. })) => {
            DataType::Timestamp(TimeUnit::Millisecond, None)
        }
        (Wire::Bytes, None) => DataType::Binary,
        (Wire::String, None) => DataType::Utf8,
        (Wire::Record(fields), _) => DataType::Struct(record_fields(fields, 0, format)?),
        (Wire::Array(items), _) => DataType::List(column("element", items, element_id(id), format)?),
        (wire, _) => {
            let message = format!("{wire:?} has no type in {}", format.name());
            return Err(Error::new(ErrorKind::Unsupported, message).in_field(name));
        }
    };
    let id = (format == Format::Orc || id >= 0).then(|| (field_id_key(format).to_owned(), id.to_string()));
    let metadata: HashMap<String, String> = id.into_iter().collect();
    Ok(Arc::new(ArrowField::new(name, ty, nullable).with_metadata(metadata)))
}

/// The id of the elements of a list that is a field (Paimon's `SpecialFields.getArrayElementFieldId`).
fn element_id(list: i32) -> i32 {
    const FIRST: i32 = i32::MAX / 4;
    const DEPTHS: i32 = 1 << 10;
    FIRST + list * DEPTHS + 1
}

/// A column without its nulls if its field has none. pyarrow's encoder of Parquet would refuse them even below
/// records that are null.
fn without_nulls(column: &ArrayRef, field: &ArrowField) -> ArrayRef {
    if field.is_nullable() || column.null_count() == 0 {
        return Arc::clone(column);
    }
    let data = column.to_data().into_builder().nulls(None);
    // The values are those of a valid array.
    data.build().map_or_else(|_| Arc::clone(column), make_array)
}

/// A stored column with the types of a field.
fn typed(column: &ArrayRef, field: &ArrowField) -> Result<ArrayRef> {
    let typed = match (column.data_type(), field.data_type()) {
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let record: &StructArray = crate::record::typed(column, field.name())?;
            let columns = record.columns().iter().zip(fields).map(|(column, field)| typed(column, field));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let nulls = record.nulls().cloned();
            // Nulls where they may not be are found here: a column that has none has them below null records.
            let record = StructArray::try_new_with_length(fields.clone(), columns, nulls, record.len())?;
            let columns = record.columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| without_nulls(column, field)).collect();
            let nulls = record.nulls().cloned();
            Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, record.len())?)
                as ArrayRef
        }
        (DataType::List(_), DataType::List(item)) => {
            let list: &ListArray = crate::record::typed(column, field.name())?;
            let values = typed(list.values(), item)?;
            let list =
                ListArray::try_new(Arc::clone(item), list.offsets().clone(), values, list.nulls().cloned());
            Arc::new(list?)
        }
        // Avro has times on the wall clock as if they were instants.
        (DataType::Timestamp(TimeUnit::Microsecond, Some(_)), to) => {
            let clock: &TimestampMicrosecondArray = crate::record::typed(column, field.name())?;
            let clock = clock.clone().with_timezone_opt::<Arc<str>>(None);
            fit(&(Arc::new(clock) as ArrayRef), to)?
        }
        (_, to) => fit(column, to)?,
    };
    Ok(typed)
}
