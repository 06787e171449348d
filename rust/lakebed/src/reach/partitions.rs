//! The records of all files, by part, with bounded memory for any number of files.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_buffer::Buffer;
use arrow_select::concat::concat_batches;

use super::partitioner::PARTS;
use super::record::foreign;
use crate::distributed::{from_ipc, ipc};
use crate::error::Result;
use crate::pipeline::{Pipeline, Sink, Source, Width};
use crate::record::column;
use crate::scan::Batches;
use crate::spill::{HELD_BYTES, Spill, SpilledRange};
use crate::storage::Storage;

/// The records of all files.
pub(super) struct RecordParts {
    /// Rows in the order of their parts, as [`RecordRows::finish`](super::record::RecordRows::finish) returns them.
    chunks: Vec<RecordBatch>,
    held: usize,
    bound: usize,
    /// What did not fit into memory, and where the records of each part are in it.
    disk: Option<(Spill, Vec<(u32, SpilledRange)>)>,
}

/// Makes the rows of a part from all its records.
pub(super) type MakeRows = Box<dyn Fn(&[RecordBatch]) -> Result<RecordBatch> + Send + Sync>;

impl RecordParts {
    pub(super) fn new() -> RecordParts {
        RecordParts::bounded(HELD_BYTES)
    }

    fn bounded(bound: usize) -> RecordParts {
        RecordParts { chunks: Vec::new(), held: 0, bound, disk: None }
    }

    /// Adds records.
    ///
    /// # Errors
    /// `Io` where they exceed the memory and writing to disk fails.
    pub(super) fn push(&mut self, chunk: RecordBatch) -> Result<()> {
        self.held += chunk.get_array_memory_size();
        self.chunks.push(chunk);
        if self.held > self.bound { self.spill() } else { Ok(()) }
    }

    /// All records of a part, in the order in which they were added, in several pieces.
    ///
    /// # Errors
    /// `Io` where reading from disk fails.
    fn part(&self, part: u32) -> Result<Vec<RecordBatch>> {
        let mut pieces = Vec::with_capacity(self.chunks.len() + 1);
        if let Some((file, places)) = &self.disk {
            for (_, place) in places.iter().filter(|(of, _)| *of == part) {
                let mut bytes = Vec::new();
                file.read(*place, &mut bytes)?;
                pieces.extend(from_ipc(Buffer::from_vec(bytes))?);
            }
        }
        self.held(part, &mut pieces)?;
        Ok(pieces)
    }

    /// Adds the records of a part that are in memory to `pieces`.
    fn held(&self, part: u32, pieces: &mut Vec<RecordBatch>) -> Result<()> {
        for chunk in &self.chunks {
            let parts = column::<UInt32Array>(chunk, "part")?;
            let keyed = parts.len() - parts.null_count();
            let is_whole = |numbers: &&[u32]| numbers.last().is_none_or(|last| *last < PARTS);
            let numbers = parts.values().get(..keyed).filter(is_whole).ok_or_else(foreign)?;
            let start = |part: u32| numbers.partition_point(|number| *number < part);
            for (start, end) in [(start(part), start(part + 1)), (keyed, parts.len())] {
                if start < end {
                    pieces.push(chunk.slice(start, end - start));
                }
            }
        }
        Ok(())
    }

    /// Whether it is so for the records of one of the parts.
    ///
    /// # Errors
    /// `Io` where reading from disk fails; those of `is_so`, and an interruption.
    pub(super) fn any(
        &self,
        storage: &Arc<dyn Storage>,
        is_so: impl Fn(&[RecordBatch]) -> Result<bool>,
    ) -> Result<bool> {
        for part in 0..PARTS {
            storage.interrupted()?;
            if is_so(&self.part(part)?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The rows of each part, made in several threads.
    pub(super) fn rows(self, storage: &Arc<dyn Storage>, threads: usize, make: MakeRows) -> Batches {
        let parts = PartSource { parts: self, storage: Arc::clone(storage), make };
        Box::new(Pipeline::new(parts, (0..PARTS).collect(), Width { reads: threads, threads }))
    }

    /// Writes the records in memory to disk.
    fn spill(&mut self) -> Result<()> {
        let (mut file, mut places) = match self.disk.take() {
            Some(disk) => disk,
            None => (Spill::create()?, Vec::new()),
        };
        for part in 0..PARTS {
            let mut pieces = Vec::new();
            self.held(part, &mut pieces)?;
            if let Some(first) = pieces.first() {
                let bytes = ipc(&first.schema(), &[concat_batches(&first.schema(), &pieces)?], None)?;
                places.push((part, file.write(&bytes)?));
            }
        }
        self.chunks.clear();
        self.held = 0;
        self.disk = Some((file, places));
        Ok(())
    }
}

/// The parts, as a source of a pipeline that makes the rows of each.
struct PartSource {
    parts: RecordParts,
    storage: Arc<dyn Storage>,
    make: MakeRows,
}

impl Source for PartSource {
    type Request = u32;
    type Bytes = Vec<RecordBatch>;
    type Output = RecordBatch;

    fn read(&self, part: &u32) -> Result<Vec<RecordBatch>> {
        self.parts.part(*part)
    }

    fn make(&self, _part: &u32, records: Vec<RecordBatch>, give: Sink<'_, RecordBatch>) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::super::kind::Kind;
    use super::super::partitioner::Partitioner;
    use super::super::record::{Fact, Record, records};
    use super::super::sets::SetId;
    use super::*;
    use crate::distributed::hash;

    fn listed<'r>(path: &'r str, key: &'r str, size: i64) -> Record<'r> {
        let (fact, kind, set) = (Fact::Listed, Kind::Extra, SetId(9));
        Record { fact, kind, prefix: 7, set, size, value: -size, path, key }
    }

    /// Part, path, key and size of every record, and whether some were on disk.
    fn read_back(partitioner: &Arc<Partitioner>, bound: usize) -> (Vec<(u32, String, String, i64)>, bool) {
        let mut parts = RecordParts::bounded(bound);
        for number in 0..1000i64 {
            let path = format!("s3://b//t/{}", number % 100);
            let key = format!("/t/{}", number % 100);
            let mut records = partitioner.new_records();
            records.add(&listed(&path, &key, number)).expect("short");
            records.add(&listed(&key, &key, number)).expect("short");
            if number % 500 == 0 {
                records.add_to_all(&listed("/all", "", number)).expect("short");
            }
            parts.push(records.finish().expect("records")).expect("room");
        }
        let mut found = Vec::new();
        for part in 0..PARTS {
            for piece in parts.part(part).expect("rows") {
                for record in records(&piece).expect("rows") {
                    let record = record.expect("a record");
                    assert_eq!(record, listed(record.path, record.key, record.size));
                    found.push((part, record.path.to_owned(), record.key.to_owned(), record.size));
                }
            }
        }
        (found, parts.disk.is_some())
    }

    #[test]
    fn records_are_read_by_part_from_memory_and_from_disk() {
        let partitioner = Arc::new(Partitioner::new());
        let (held, on_disk) = read_back(&partitioner, usize::MAX);
        assert!(!on_disk && held.len() == 2000 + 2 * PARTS as usize);
        let (spilled, on_disk) = read_back(&partitioner, 100_000);
        assert!(on_disk);
        assert_eq!(spilled, held);
        for (part, path, key, _) in held.iter().filter(|(_, path, ..)| path != "/all") {
            assert_eq!(u64::from(*part), hash(key.as_bytes()) % u64::from(PARTS));
            assert!(path.ends_with(key.as_str()));
        }
    }
}
