//! Record batches as bytes, compressed: the buffers of all arrays, one after the other.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, MutableBuffer};
use arrow_data::{ArrayData, BufferSpec, layout};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use serde::{Deserialize, Serialize};

/// Each buffer begins at a multiple of this.
const ALIGNMENT: usize = 64;
/// Level of the compression; reading is equally fast at any.
const LEVEL: i32 = 1;

/// The most rows of an array: offsets of 32 bits reach no further.
const MOST_ROWS: usize = i32::MAX as usize;

/// The description of a batch, without which its bytes say nothing.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PackedBatch {
    rows: usize,
    /// Bytes of the buffers.
    pub(crate) length: usize,
    /// Bytes that these are compressed to.
    pub(crate) packed: usize,
    /// Of each array, in the order of the types, its rows, 1 if it has nulls, and the bytes of each buffer.
    lengths: Vec<usize>,
}

impl PackedBatch {
    /// A batch, and its bytes; `None` for columns that have none, such as views.
    pub(crate) fn pack(batch: &RecordBatch) -> Option<(PackedBatch, Vec<u8>)> {
        let mut body = Body::default();
        for column in batch.columns() {
            body.add_array(&column.to_data())?;
        }
        let Body { lengths, bytes } = body;
        let packed = zstd::bulk::compress(&bytes, LEVEL).ok()?;
        let (rows, length) = (batch.num_rows(), bytes.len());
        Some((PackedBatch { rows, length, packed: packed.len(), lengths }, packed))
    }

    /// The batch of these bytes; `None` where they are not those of the schema, or of other rows.
    pub(crate) fn unpack(&self, schema: &SchemaRef, bytes: &[u8]) -> Option<RecordBatch> {
        let mut body = MutableBuffer::from_len_zeroed(self.length);
        let length = zstd::bulk::decompress_to_buffer(bytes, body.as_slice_mut()).ok()?;
        if length != self.length {
            return None;
        }
        let mut arrays = Arrays { lengths: self.lengths.iter(), body: body.into(), at: 0 };
        let columns = schema.fields().iter().map(|field| {
            let data = arrays.next(field.data_type())?;
            Some(arrow_array::make_array(data))
        });
        let columns = columns.collect::<Option<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).ok()
    }
}

/// Whether arrays of a type are packed. Of others, a hostile file's among them, Arrow has no arrays, or of other parts.
fn is_packed(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedSizeBinary(size) | DataType::FixedSizeList(_, size) => *size >= 0,
        DataType::Time32(unit) => matches!(unit, TimeUnit::Second | TimeUnit::Millisecond),
        DataType::Time64(unit) => matches!(unit, TimeUnit::Microsecond | TimeUnit::Nanosecond),
        DataType::Null
        | DataType::Boolean
        | DataType::Timestamp(..)
        | DataType::Date32
        | DataType::Date64
        | DataType::Decimal128(..)
        | DataType::Decimal256(..)
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::List(_)
        | DataType::LargeList(_)
        | DataType::Struct(_)
        | DataType::Map(..) => true,
        data_type => data_type.is_integer() || data_type.is_floating(),
    }
}

/// The buffers of arrays, as they are added: of a part of an array only that part.
#[derive(Default)]
struct Body {
    lengths: Vec<usize>,
    bytes: Vec<u8>,
}

impl Body {
    fn add(&mut self, bytes: &[u8]) -> Option<()> {
        self.lengths.push(bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().checked_next_multiple_of(ALIGNMENT)?, 0);
        Some(())
    }

    /// Adds the buffers of an array, and those of its children.
    fn add_array(&mut self, data: &ArrayData) -> Option<()> {
        if !is_packed(data.data_type()) {
            return None;
        }
        let (from, rows) = (data.offset(), data.len());
        self.lengths.extend([rows, usize::from(data.nulls().is_some())]);
        if let Some(nulls) = data.nulls() {
            self.add(&nulls.inner().sliced())?;
        }
        let children = data.child_data().iter();
        let add_children = |body: &mut Body, from: usize, rows: usize| {
            children.map(|child| child.slice(from, rows)).try_for_each(|child| body.add_array(&child))
        };
        let offsets = match data.data_type() {
            DataType::Utf8 | DataType::Binary | DataType::List(_) | DataType::Map(..) => {
                Some(self.add_offsets(data.buffer::<i32>(0), rows)?)
            }
            DataType::LargeUtf8 | DataType::LargeBinary | DataType::LargeList(_) => {
                Some(self.add_offsets(data.buffer::<i64>(0), rows)?)
            }
            _ => None,
        };
        if let Some((first, end)) = offsets {
            return match data.buffers().get(1) {
                Some(values) => self.add(values.get(first..end)?),
                None => add_children(self, first, end.checked_sub(first)?),
            };
        }
        match data.data_type() {
            DataType::Boolean => {
                let bits = BooleanBuffer::new(data.buffers().first()?.clone(), from, rows);
                self.add(&bits.sliced())
            }
            DataType::Struct(_) => add_children(self, from, rows),
            DataType::FixedSizeList(_, size) => {
                let size = usize::try_from(*size).ok()?;
                add_children(self, from.checked_mul(size)?, rows.checked_mul(size)?)
            }
            data_type => match layout(data_type).buffers.as_slice() {
                [] if data_type.is_null() => Some(()),
                [BufferSpec::FixedWidth { byte_width, .. }] => {
                    let (from, length) = (from.checked_mul(*byte_width)?, rows.checked_mul(*byte_width)?);
                    self.add(data.buffers().first()?.get(from..from.checked_add(length)?)?)
                }
                _ => None,
            },
        }
    }

    /// Adds offsets of so many rows, from zero on. Returns those of the first row and of the end.
    fn add_offsets<O: ArrowNativeType + std::ops::Sub<Output = O>>(
        &mut self,
        offsets: &[O],
        rows: usize,
    ) -> Option<(usize, usize)> {
        // An array without rows may have no offsets.
        let Some(offsets) = offsets.get(..=rows) else {
            return (rows == 0).then(|| self.add(&[])).flatten().map(|()| (0, 0));
        };
        let (first, end) = (*offsets.first()?, *offsets.last()?);
        let offsets: Vec<O> = offsets.iter().map(|offset| *offset - first).collect();
        self.add(Buffer::from_vec(offsets).as_slice())?;
        Some((first.as_usize(), end.as_usize()))
    }
}

/// The arrays of a body.
struct Arrays<'b> {
    lengths: std::slice::Iter<'b, usize>,
    body: Buffer,
    at: usize,
}

impl Arrays<'_> {
    fn buffer(&mut self) -> Option<Buffer> {
        let length = *self.lengths.next()?;
        let end = self.at.checked_add(length).filter(|end| *end <= self.body.len())?;
        let buffer = self.body.slice_with_length(self.at, length);
        self.at = end.checked_next_multiple_of(ALIGNMENT)?;
        Some(buffer)
    }

    /// The next array, of this type; all that it has is checked.
    fn next(&mut self, data_type: &DataType) -> Option<ArrayData> {
        let (rows, has_nulls) = (*self.lengths.next()?, *self.lengths.next()?);
        if !is_packed(data_type) || has_nulls > 1 || rows > MOST_ROWS {
            return None;
        }
        let shape = layout(data_type);
        let nulls = if has_nulls == 1 { Some(self.buffer()?) } else { None };
        let buffers = shape.buffers.iter().map(|kind| {
            // What checks offsets takes them for whole ones.
            let is_whole = |buffer: &Buffer| match kind {
                BufferSpec::FixedWidth { byte_width, .. } => buffer.len().is_multiple_of(*byte_width),
                _ => true,
            };
            self.buffer().filter(is_whole)
        });
        let buffers = buffers.collect::<Option<Vec<_>>>()?;
        let children: Vec<&DataType> = match data_type {
            DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::FixedSizeList(field, _)
            | DataType::Map(field, _) => vec![field.data_type()],
            _ => Vec::new(),
        };
        let children = children.into_iter().map(|child| self.next(child)).collect::<Option<Vec<_>>>()?;
        ArrayData::try_new(data_type.clone(), rows, nulls, 0, buffers, children).ok()
    }
}
