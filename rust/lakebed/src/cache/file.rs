//! A file of the cache's folder: the columns of one file, compressed, with what shows that they are whole.
//!
//! ```text
//! magic ─ checksum of all that follows ─ length of the file ─ length of the header ─ header ─ body of each batch
//! ```
//!
//! The header is JSON: key, schema, and of each batch its arrays in the order of their types, with the lengths of their
//! buffers. A body is the buffers one after the other, each begun at a multiple of [`ALIGNMENT`].

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_data::{ArrayData, BufferSpec, layout};
use arrow_schema::{DataType, Schema};
use serde::{Deserialize, Serialize};

use super::KeptRecords;

/// The number of this layout, which is part of every key.
pub(super) const LAYOUT: u32 = 1;

const MAGIC: &[u8; 8] = b"LAKEBEDc";
const CHECKED_FROM: usize = MAGIC.len() + 4;
const HEADER_FROM: usize = CHECKED_FROM + 8 + 4;
const ALIGNMENT: usize = 64;
/// Level of the compression: what reads it is as fast after any.
const LEVEL: i32 = 1;

/// The rows of an array: offsets of lists and texts count no more.
const MOST_ROWS: usize = i32::MAX as usize;

/// A file is not what was written for a key: it is cut, changed, of another key or layout, or larger than what is kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damaged;

#[derive(Serialize, Deserialize)]
struct Header {
    key: String,
    schema: Schema,
    metadata: Vec<(String, String)>,
    file_bytes: u64,
    batches: Vec<Batch>,
}

#[derive(Serialize, Deserialize)]
struct Batch {
    rows: usize,
    /// Bytes of the buffers, as they are and compressed.
    length: usize,
    packed: usize,
    /// Of each array its length, whether it has nulls, and the lengths of its buffers.
    arrays: Vec<(usize, bool, Vec<usize>)>,
}

/// The bytes of a file; `None` for columns that it cannot have.
pub(super) fn write(key: &str, kept: &KeptRecords) -> Option<Vec<u8>> {
    let (mut bodies, mut batches) = (Vec::new(), Vec::new());
    for batch in &kept.batches {
        let (mut arrays, mut body) = (Vec::new(), Vec::new());
        for column in batch.columns() {
            flatten(&column.to_data(), &mut arrays, &mut body)?;
        }
        let packed = zstd::bulk::compress(&body, LEVEL).ok()?;
        batches.push(Batch { rows: batch.num_rows(), length: body.len(), packed: packed.len(), arrays });
        bodies.extend_from_slice(&packed);
    }
    let header = Header {
        key: key.to_owned(),
        schema: kept.schema.as_ref().clone(),
        metadata: kept.metadata.clone(),
        file_bytes: kept.file_bytes,
        batches,
    };
    let header = serde_json::to_vec(&header).ok()?;
    let length = HEADER_FROM.checked_add(header.len())?.checked_add(bodies.len())?;
    let mut file = Vec::with_capacity(length);
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&[0; 4]);
    file.extend_from_slice(&(length as u64).to_le_bytes());
    file.extend_from_slice(&u32::try_from(header.len()).ok()?.to_le_bytes());
    file.extend_from_slice(&header);
    file.extend_from_slice(&bodies);
    let checksum = crc32fast::hash(file.get(CHECKED_FROM..)?);
    file.get_mut(MAGIC.len()..CHECKED_FROM)?.copy_from_slice(&checksum.to_le_bytes());
    Some(file)
}

/// Adds an array and its children to `arrays`, and their buffers to `body`.
fn flatten(data: &ArrayData, arrays: &mut Vec<(usize, bool, Vec<usize>)>, body: &mut Vec<u8>) -> Option<()> {
    if data.offset() > 0 {
        let mut whole = MutableArrayData::new(vec![data], false, data.len());
        whole.try_extend(0, 0, data.len()).ok()?;
        return flatten(&whole.freeze(), arrays, body);
    }
    let nulls = data.nulls().map(|nulls| nulls.inner().sliced());
    let buffers = nulls.iter().chain(data.buffers());
    let lengths = buffers.clone().map(Buffer::len).collect();
    arrays.push((data.len(), nulls.is_some(), lengths));
    for buffer in buffers {
        body.extend_from_slice(buffer);
        body.resize(body.len().checked_next_multiple_of(ALIGNMENT)?, 0);
    }
    data.child_data().iter().try_for_each(|child| flatten(child, arrays, body))
}

/// What a file has for `key`: at most `most` bytes of columns.
///
/// # Errors
/// [`Damaged`].
pub(super) fn read(file: &[u8], key: &str, most: u64) -> Result<KeptRecords, Damaged> {
    if file.get(..MAGIC.len()) != Some(MAGIC.as_slice()) {
        return Err(Damaged);
    }
    let number = |from: usize| file.get(from..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let length = file.get(CHECKED_FROM..).and_then(|rest| rest.first_chunk()).ok_or(Damaged)?;
    if u64::from_le_bytes(*length) != file.len() as u64 {
        return Err(Damaged);
    }
    let checksum = number(MAGIC.len()).ok_or(Damaged)?;
    if crc32fast::hash(file.get(CHECKED_FROM..).ok_or(Damaged)?) != checksum {
        return Err(Damaged);
    }
    let header = number(HEADER_FROM - 4).and_then(|length| usize::try_from(length).ok()).ok_or(Damaged)?;
    let (header, mut bodies) =
        file.get(HEADER_FROM..).and_then(|rest| rest.split_at_checked(header)).ok_or(Damaged)?;
    let header: Header = serde_json::from_slice(header).map_err(|_| Damaged)?;
    if header.key != key {
        return Err(Damaged);
    }
    let schema = Arc::new(header.schema);
    let mut left = usize::try_from(most).unwrap_or(usize::MAX);
    let mut batches = Vec::new();
    for batch in header.batches {
        let (packed, rest) = bodies.split_at_checked(batch.packed).ok_or(Damaged)?;
        bodies = rest;
        left = left.checked_sub(batch.length).ok_or(Damaged)?;
        let mut body = MutableBuffer::from_len_zeroed(batch.length);
        let unpacked = zstd::bulk::decompress_to_buffer(packed, body.as_slice_mut());
        if unpacked.ok() != Some(batch.length) {
            return Err(Damaged);
        }
        batches.push(rebuilt(&schema, &batch, body.into()).ok_or(Damaged)?);
    }
    Ok(KeptRecords { schema, batches, metadata: header.metadata, file_bytes: header.file_bytes })
}

/// A batch of the buffers in `body`; `None` where they are not those of the schema.
fn rebuilt(schema: &Arc<Schema>, batch: &Batch, body: Buffer) -> Option<RecordBatch> {
    let mut parts = Parts { arrays: batch.arrays.iter(), body, at: 0 };
    let columns = schema.fields().iter().map(|field| {
        let data = parts.array(field.data_type())?;
        Some(arrow_array::make_array(data))
    });
    let columns = columns.collect::<Option<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).ok()
}

struct Parts<'b> {
    arrays: std::slice::Iter<'b, (usize, bool, Vec<usize>)>,
    body: Buffer,
    at: usize,
}

impl Parts<'_> {
    fn buffer(&mut self, length: usize) -> Option<Buffer> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.body.len())?;
        let buffer = self.body.slice_with_length(self.at, length);
        self.at = end.checked_next_multiple_of(ALIGNMENT)?;
        Some(buffer)
    }

    /// The next array, of this type; all that it has is checked.
    fn array(&mut self, data_type: &DataType) -> Option<ArrayData> {
        let (rows, has_nulls, lengths) = self.arrays.next()?;
        let shape = layout(data_type);
        if shape.variadic
            || lengths.len() != shape.buffers.len() + usize::from(*has_nulls)
            || *rows > MOST_ROWS
        {
            return None;
        }
        let mut lengths = lengths.iter();
        let nulls = match has_nulls {
            true => Some(self.buffer(*lengths.next()?)?),
            false => None,
        };
        let buffers = lengths.zip(&shape.buffers).map(|(length, kind)| {
            // What checks offsets takes them for whole ones.
            let is_whole = match kind {
                BufferSpec::FixedWidth { byte_width, .. } => length.is_multiple_of(*byte_width),
                _ => true,
            };
            is_whole.then(|| self.buffer(*length))?
        });
        let buffers = buffers.collect::<Option<Vec<_>>>()?;
        let children: Vec<&DataType> = match data_type {
            DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::FixedSizeList(field, _)
            | DataType::Map(field, _) => vec![field.data_type()],
            data_type if data_type.is_nested() => return None,
            _ => Vec::new(),
        };
        let children = children.into_iter().map(|child| self.array(child)).collect::<Option<Vec<_>>>()?;
        ArrayData::try_new(data_type.clone(), *rows, nulls, 0, buffers, children).ok()
    }
}
