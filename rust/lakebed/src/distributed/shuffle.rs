//! What crosses a shuffle: a row for each piece of a part, with the entries of a side as an Arrow IPC stream. Engines
//! move these by `part`, and sort those of a part by `side`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock};

use arrow_array::builder::{BinaryBuilder, Int32Builder};
use arrow_array::{Array, BinaryArray, Int32Array, RecordBatch, UInt32Array};
use arrow_buffer::Buffer;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use twox_hash::XxHash64;

use super::job::{Piece, Pieces, foreign};
use crate::error::Result;
use crate::record::column;
use crate::scan::{Batches, each};

/// Bytes of entries that a process holds back, to send those of one part in one piece.
const HELD_BYTES: usize = 16 << 20;

/// The columns of packed pieces.
pub(super) static PACKED: LazyLock<SchemaRef> = LazyLock::new(|| {
    let field = |name: &str, kind| Field::new(name, kind, true);
    let fields =
        [field("part", DataType::Int32), field("side", DataType::Int32), field("rows", DataType::Binary)];
    Arc::new(Schema::new(fields.to_vec()))
});

/// The hash by which keys are distributed: the same on every machine.
pub(crate) fn hash(key: &[u8]) -> u64 {
    XxHash64::oneshot(0, key)
}

/// Pieces by part, in batches of bounded bytes.
pub(super) fn packed(pieces: Pieces, parts: u32) -> Batches {
    let (waiting, ready) = (BTreeMap::new(), VecDeque::new());
    Box::new(Packer { pieces: Some(pieces), parts, waiting, held: 0, ready })
}

/// Pieces of one side each, all of which every process gets; the column `part` is the reduce that they are for.
pub(super) fn packed_known(known: &[(usize, Piece)]) -> Result<Vec<RecordBatch>> {
    let mut rows = PackedRows::default();
    for (step, piece) in known {
        let step = i32::try_from(*step).map_err(foreign)?;
        let of_piece = std::slice::from_ref(&piece.rows);
        rows.push(step, piece.side, &ipc(&piece.rows.schema(), of_piece, Some(CompressionType::ZSTD))?);
    }
    Ok(rows.finish()?.into_iter().collect())
}

struct Packer {
    /// `None` once all were taken.
    pieces: Option<Pieces>,
    parts: u32,
    /// Pieces by their side.
    waiting: BTreeMap<i32, Vec<Piece>>,
    held: usize,
    ready: VecDeque<RecordBatch>,
}

impl Packer {
    fn take(&mut self, piece: Piece) -> Result<()> {
        let sizes = piece.rows.columns().iter().map(|column| column.to_data().get_slice_memory_size());
        self.held += sizes.sum::<std::result::Result<usize, ArrowError>>()?;
        self.waiting.entry(piece.side).or_default().push(piece);
        if self.held >= HELD_BYTES { self.send() } else { Ok(()) }
    }

    /// Packs what is held back.
    fn send(&mut self) -> Result<()> {
        self.held = 0;
        let mut rows = PackedRows::default();
        for (side, pieces) in std::mem::take(&mut self.waiting) {
            for (part, entries) in by_part(&pieces, self.parts)? {
                let piece = ipc(&entries.schema(), std::slice::from_ref(&entries), None)?;
                for part in part.map_or(0..self.parts, |part| part..part + 1) {
                    rows.push(i32::try_from(part).map_err(foreign)?, side, &piece);
                    if rows.bytes >= HELD_BYTES {
                        self.ready.extend(std::mem::take(&mut rows).finish()?);
                    }
                }
            }
        }
        self.ready.extend(rows.finish()?);
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(pieces) = &mut self.pieces else { return Ok(None) };
            match pieces.next() {
                Some(piece) => self.take(piece?)?,
                None => {
                    self.pieces = None;
                    self.send()?;
                }
            }
        }
    }
}

impl Iterator for Packer {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = self.advance();
        if next.is_err() {
            self.pieces = None;
        }
        next.transpose()
    }
}

/// The rows of some pieces of a side, by part; those that every part needs come last, without one.
fn by_part(pieces: &[Piece], parts: u32) -> Result<Vec<(Option<u32>, RecordBatch)>> {
    let Some(first) = pieces.first() else { return Ok(Vec::new()) };
    let entries = concat_batches(&first.rows.schema(), pieces.iter().map(|piece| &piece.rows))?;
    let mut keys = Vec::with_capacity(entries.num_rows());
    for piece in pieces {
        match piece.keys.is_empty() {
            // Without keys there is one part.
            true => keys.resize(keys.len() + piece.rows.num_rows(), Some(0)),
            false => keys.extend_from_slice(&piece.keys),
        }
    }
    let (sorted, order) = sorted_by_part(&entries, &keys, parts)?;
    let mut start = 0;
    let slices = order.chunk_by(|one, next| one == next).map(|run| {
        let rows = sorted.slice(start, run.len());
        start += run.len();
        (run.first().copied().flatten(), rows)
    });
    Ok(slices.collect())
}

/// Rows in the order of their parts, and the part of each; those that every part needs come last, without one.
pub(crate) fn sorted_by_part(
    rows: &RecordBatch,
    keys: &[Option<u64>],
    parts: u32,
) -> Result<(RecordBatch, Vec<Option<u32>>)> {
    let part = |key: &Option<u64>| match key {
        Some(key) => u32::try_from(key % u64::from(parts)).unwrap_or(parts),
        None => parts,
    };
    let count = u32::try_from(rows.num_rows()).map_err(foreign)?;
    let mut order: Vec<(u32, u32)> = keys.iter().map(part).zip(0..count).collect();
    order.sort_by_key(|(part, _)| *part);
    let sorted = take_record_batch(rows, &UInt32Array::from_iter_values(order.iter().map(|(_, row)| *row)))?;
    Ok((sorted, order.into_iter().map(|(part, _)| Some(part).filter(|part| *part < parts)).collect()))
}

/// Packed pieces that are being put together.
#[derive(Default)]
struct PackedRows {
    parts: Int32Builder,
    sides: Int32Builder,
    rows: BinaryBuilder,
    bytes: usize,
}

impl PackedRows {
    fn push(&mut self, part: i32, side: i32, rows: &[u8]) {
        self.parts.append_value(part);
        self.sides.append_value(side);
        self.rows.append_value(rows);
        self.bytes += rows.len();
    }

    /// The batch; `None` for no pieces.
    fn finish(mut self) -> Result<Option<RecordBatch>> {
        if self.bytes == 0 {
            return Ok(None);
        }
        let (parts, sides, rows) = (self.parts.finish(), self.sides.finish(), self.rows.finish());
        let columns: Vec<Arc<dyn Array>> = vec![Arc::new(parts), Arc::new(sides), Arc::new(rows)];
        Ok(Some(RecordBatch::try_new(Arc::clone(&PACKED), columns)?))
    }
}

/// Pieces, each with its part.
pub(super) type PlacedPieces = Box<dyn Iterator<Item = Result<(i32, Piece)>> + Send>;

/// Packed pieces, each with its part.
pub(super) fn unpacked(batches: Batches) -> PlacedPieces {
    Box::new(batches.flat_map(|batch| each(batch.and_then(|batch| pieces_of(&batch)))))
}

fn pieces_of(batch: &RecordBatch) -> Result<Vec<(i32, Piece)>> {
    let (parts, sides) = (column::<Int32Array>(batch, "part")?, column::<Int32Array>(batch, "side")?);
    let rows = column::<BinaryArray>(batch, "rows")?;
    let places = parts.values().iter().zip(sides.values()).zip(rows.value_offsets().windows(2));
    let mut pieces = Vec::new();
    for ((part, side), ends) in places {
        let [start, end] = ends else { continue };
        let place = usize::try_from(*start).ok().zip(usize::try_from(end - start).ok());
        let (start, length) = place.ok_or_else(|| foreign("rows are binary"))?;
        for entries in from_ipc(rows.values().slice_with_length(start, length))? {
            pieces.push((*part, Piece::alone(*side, entries)));
        }
    }
    Ok(pieces)
}

/// Batches of one schema as an Arrow IPC stream.
pub(crate) fn ipc(
    schema: &Schema,
    batches: &[RecordBatch],
    compression: Option<CompressionType>,
) -> Result<Vec<u8>> {
    let options = IpcWriteOptions::default().try_with_compression(compression)?;
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), schema, options)?;
    batches.iter().try_for_each(|batch| writer.write(batch))?;
    Ok(writer.into_inner()?)
}

/// The batches of an Arrow IPC stream, which share its bytes where these are aligned.
pub(crate) fn from_ipc(mut bytes: Buffer) -> Result<Vec<RecordBatch>> {
    let (mut decoder, mut batches) = (StreamDecoder::new(), Vec::new());
    while let Some(batch) = decoder.decode(&mut bytes)? {
        batches.push(batch);
    }
    decoder.finish()?;
    Ok(batches)
}
