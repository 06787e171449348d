//! The decoded columns of one file.

use std::collections::HashSet;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::SchemaRef;

/// The records of one file as stored, see [`RecordReader`](crate::record::RecordReader).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeptRecords {
    /// The schema of the batches.
    pub(crate) schema: SchemaRef,
    /// The records, in file order.
    pub(crate) batches: Vec<RecordBatch>,
    /// Keys of the file's header, with their values.
    pub(crate) metadata: Vec<(String, String)>,
    /// The size of the file \[bytes\].
    pub(crate) file_bytes: u64,
}

impl KeptRecords {
    /// The memory that the batches take \[bytes\].
    pub(crate) fn bytes(&self) -> u64 {
        self.batches.iter().fold(0, |sum, batch| sum.saturating_add(batch_bytes(batch)))
    }
}

/// The memory that a batch takes \[bytes\]: columns may share what was allocated once.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> u64 {
    let mut seen = HashSet::new();
    batch
        .columns()
        .iter()
        .fold(0, |sum, column| sum.saturating_add(array_bytes(&column.to_data(), &mut seen)))
}

fn array_bytes(array: &ArrayData, seen: &mut HashSet<usize>) -> u64 {
    let nulls = array.nulls().map(|nulls| nulls.buffer());
    let mut of_buffer = |buffer: &Buffer| {
        if seen.insert(buffer.data_ptr().as_ptr().addr()) { buffer.capacity() as u64 } else { 0 }
    };
    let own =
        array.buffers().iter().chain(nulls).fold(0_u64, |sum, buffer| sum.saturating_add(of_buffer(buffer)));
    array.child_data().iter().fold(own, |sum, child| sum.saturating_add(array_bytes(child, seen)))
}
