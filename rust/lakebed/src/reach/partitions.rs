//! The records of all files, by part, with bounded memory for any number of files.

use std::sync::Arc;

use arrow_array::{Array, LargeBinaryArray, RecordBatch};
use arrow_buffer::Buffer;

use super::partitioner::PARTS;
use super::record::foreign;
use crate::error::Result;
use crate::pipeline::{Give, Pipeline, Source, Width};
use crate::record::column;
use crate::spill::{HELD_BYTES, Spill, SpilledRange};
use crate::storage::Storage;

/// The records of all files.
pub(super) struct RecordParts {
    /// Distributed records, one row for each part.
    chunks: Vec<LargeBinaryArray>,
    held: usize,
    bound: usize,
    disk: Option<Disk>,
}

/// Records that did not fit into memory.
struct Disk {
    file: Spill,
    /// Where the records of each part are.
    places: Vec<Vec<SpilledRange>>,
}

impl RecordParts {
    pub(super) fn new() -> RecordParts {
        RecordParts::bounded(HELD_BYTES)
    }

    fn bounded(bound: usize) -> RecordParts {
        RecordParts { chunks: Vec::new(), held: 0, bound, disk: None }
    }

    /// Adds the records of a manifest, in the form that
    /// [`PartitionedRecords::finish`](super::partitioner::PartitionedRecords::finish) returns.
    ///
    /// # Errors
    /// As [`RecordParts::push`].
    pub(super) fn push_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        self.push(column::<LargeBinaryArray>(batch, "records")?.clone())
    }

    /// Adds distributed records.
    ///
    /// # Errors
    /// `Io` where they exceed the memory and writing to disk fails.
    pub(super) fn push(&mut self, chunk: LargeBinaryArray) -> Result<()> {
        if chunk.len() != PARTS {
            return Err(foreign());
        }
        self.held += chunk.get_array_memory_size();
        self.chunks.push(chunk);
        if self.held > self.bound { self.spill() } else { Ok(()) }
    }

    /// All records of a part, in the order in which they were added, in several pieces.
    ///
    /// # Errors
    /// `Io` where reading from disk fails.
    fn part(&self, part: usize) -> Result<Vec<Buffer>> {
        let mut pieces = Vec::with_capacity(self.chunks.len() + 1);
        if let Some(disk) = &self.disk {
            pieces.push(Buffer::from_vec(disk.read(part)?));
        }
        pieces.extend(self.chunks.iter().map(|chunk| piece(chunk, part)).filter(|piece| !piece.is_empty()));
        Ok(pieces)
    }

    /// Whether it is so for the records of one of the parts.
    ///
    /// # Errors
    /// `Io` where reading from disk fails; those of `is_so`, and an interruption.
    pub(super) fn any(
        &self,
        storage: &Arc<dyn Storage>,
        is_so: impl Fn(&[Buffer]) -> Result<bool>,
    ) -> Result<bool> {
        for part in 0..PARTS {
            storage.interrupted()?;
            if is_so(&self.part(part)?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Calls `make` with the records of each part, in several threads.
    pub(super) fn each<F>(
        self,
        storage: &Arc<dyn Storage>,
        threads: usize,
        make: F,
    ) -> Pipeline<PartSource<F>>
    where
        F: Fn(&[Buffer]) -> Result<RecordBatch> + Send + Sync + 'static,
    {
        let parts = PartSource { partitions: self, storage: Arc::clone(storage), make };
        Pipeline::new(parts, (0..PARTS).collect(), Width { reads: threads, threads })
    }

    /// Writes the records in memory to disk.
    fn spill(&mut self) -> Result<()> {
        let mut disk = self.disk.take().map_or_else(Disk::create, Ok)?;
        for part in 0..PARTS {
            let pieces: Vec<Buffer> = self.chunks.iter().map(|chunk| piece(chunk, part)).collect();
            disk.write(part, &pieces)?;
        }
        self.chunks.clear();
        self.held = 0;
        self.disk = Some(disk);
        Ok(())
    }
}

/// The records of a part in a chunk.
fn piece(chunk: &LargeBinaryArray, part: usize) -> Buffer {
    let offsets = chunk.value_offsets();
    let place = |at: usize| offsets.get(at).and_then(|offset| usize::try_from(*offset).ok());
    let (start, end) = place(part).zip(place(part + 1)).unwrap_or_default();
    chunk.values().slice_with_length(start, end - start)
}

/// The parts, as a source of a pipeline that calls `make` with each.
pub(super) struct PartSource<F> {
    partitions: RecordParts,
    storage: Arc<dyn Storage>,
    make: F,
}

impl<F> Source for PartSource<F>
where
    F: Fn(&[Buffer]) -> Result<RecordBatch> + Send + Sync + 'static,
{
    type Request = usize;
    type Bytes = Vec<Buffer>;
    type Made = RecordBatch;

    fn read(&self, part: &usize) -> Result<Vec<Buffer>> {
        self.partitions.part(*part)
    }

    fn make(&self, _part: &usize, records: Vec<Buffer>, give: Give<'_, RecordBatch>) -> Result<()> {
        give((self.make)(&records)?);
        Ok(())
    }

    fn held(&self, made: &RecordBatch) -> u64 {
        made.get_array_memory_size() as u64
    }

    fn interrupted(&self) -> Result<()> {
        self.storage.interrupted()
    }
}

impl Disk {
    fn create() -> Result<Disk> {
        Ok(Disk { file: Spill::create()?, places: vec![Vec::new(); PARTS] })
    }

    fn write(&mut self, part: usize, pieces: &[Buffer]) -> Result<()> {
        let mut all = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
        pieces.iter().for_each(|piece| all.extend_from_slice(piece));
        let place = self.file.write(&all)?;
        self.places.get_mut(part).ok_or_else(foreign)?.push(place);
        Ok(())
    }

    fn read(&self, part: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        for place in self.places.get(part).ok_or_else(foreign)? {
            self.file.read(*place, &mut all)?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::Kind;
    use super::super::partitioner::{Partitioner, part_of};
    use super::super::record::{Fact, Record, records};
    use super::super::sets::SetId;
    use super::*;

    fn listed<'r>(path: &'r str, key: &'r str, size: i64) -> Record<'r> {
        let (fact, kind, set) = (Fact::Listed, Kind::Extra, SetId(9));
        Record { fact, kind, prefix: 7, set, hash: 0, size, value: -size, path, key }
    }

    /// Part, path, key and size of every record, and whether some were on disk.
    fn read_back(partitioner: &Arc<Partitioner>, bound: usize) -> (Vec<(usize, String, String, i64)>, bool) {
        let mut partitions = RecordParts::bounded(bound);
        for number in 0..1000i64 {
            let path = format!("s3://b//t/{}", number % 100);
            let key = format!("/t/{}", number % 100);
            let mut records = partitioner.new_records();
            records.add(listed(&path, &key, number)).expect("short");
            records.add(listed(&key, &key, number)).expect("short");
            partitions.push_batch(&records.finish().expect("records")).expect("room");
        }
        let mut found = Vec::new();
        for part in 0..PARTS {
            for piece in partitions.part(part).expect("bytes") {
                for record in records(&piece) {
                    let record = record.expect("a record");
                    let hash = record.hash;
                    assert_eq!(record, Record { hash, ..listed(record.path, record.key, record.size) });
                    found.push((part, record.path.to_owned(), record.key.to_owned(), record.size));
                }
            }
        }
        (found, partitions.disk.is_some())
    }

    #[test]
    fn records_are_read_by_part_from_memory_and_from_disk() {
        let partitioner = Arc::new(Partitioner::new());
        let (held, on_disk) = read_back(&partitioner, usize::MAX);
        assert!(!on_disk && held.len() == 2000);
        let (spilled, on_disk) = read_back(&partitioner, 100_000);
        assert!(on_disk);
        assert_eq!(spilled, held);
        for (part, path, key, _) in &held {
            assert_eq!(*part, part_of(key, PARTS) as usize);
            assert!(path.ends_with(key.as_str()));
        }
    }
}
