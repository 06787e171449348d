//! Position deletes and deletion vectors, by the hashes of what they apply to.

use arrow_array::{Int8Array, Int64Array, RecordBatch};

use crate::error::{Result, fitting};
use crate::record::column;

/// The columns that every process gets of each delete: its kind int8, see [`DeleteKind`]; the hash int64 of the data file or
/// of the partition that it is of; its sequence number int64. Hashes that are the same by chance mark too many deletes.
pub(crate) const DELETES: [&str; 3] = ["kind", "key", "sequence_number"];

/// What a delete applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeleteKind {
    /// It is not known what it applies to.
    Unknown,
    /// A deletion vector, by its data file: no other position deletes of the file count.
    Vector,
    /// Position deletes of one data file.
    File,
    /// Position deletes of a partition.
    Partition,
    /// Equality deletes of a partition.
    Equality,
    /// Equality deletes of all partitions.
    GlobalEquality,
}

impl DeleteKind {
    /// As it is sent.
    pub(crate) const fn code(self) -> i8 {
        self as i8
    }
}

/// Position deletes and vectors, of which those are marked that apply to some data file.
pub(crate) struct PositionMarks {
    by_file: KeyedDeletes,
    by_partition: KeyedDeletes,
    marked: Vec<bool>,
}

/// A delete, in the order of keys and of sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KeyedDelete {
    key: u64,
    sequence: i64,
    number: u32,
    is_vector: bool,
}

/// Deletes by their keys: these are hashes, so that their first bits say about where a key is.
struct KeyedDeletes {
    deletes: Vec<KeyedDelete>,
    /// For all first bits of keys where their deletes begin, and the end.
    starts: Vec<usize>,
    /// How many bits are not first ones.
    shift: u32,
}

impl KeyedDeletes {
    fn new(mut deletes: Vec<KeyedDelete>) -> KeyedDeletes {
        deletes.sort_unstable();
        let bits = deletes.len().next_power_of_two().trailing_zeros();
        let shift = u64::BITS - bits;
        let mut starts = Vec::with_capacity((1 << bits) + 1);
        let mut next = 0;
        for first in 0..1 << bits {
            starts.push(next);
            let of_these = |delete: &&KeyedDelete| delete.key.checked_shr(shift).unwrap_or(0) == first;
            next += deletes.iter().skip(next).take_while(of_these).count();
        }
        starts.push(next);
        KeyedDeletes { deletes, starts, shift }
    }

    /// The deletes of a key, by sequence number.
    fn of(&self, key: u64) -> &[KeyedDelete] {
        let first = usize::try_from(key.checked_shr(self.shift).unwrap_or(0)).unwrap_or(usize::MAX);
        let range = self.starts.get(first).zip(self.starts.get(first.saturating_add(1)));
        let near = range.and_then(|(start, end)| self.deletes.get(*start..*end)).unwrap_or_default();
        let start = near.partition_point(|delete| delete.key < key);
        let rest = near.get(start..).unwrap_or_default();
        rest.get(..rest.partition_point(|delete| delete.key == key)).unwrap_or_default()
    }
}

impl PositionMarks {
    /// Of deletes with the columns of [`DELETES`] those that are neither equality deletes nor unknown, which are marked.
    ///
    /// # Errors
    /// `Required` and `Mismatch` for a batch of another shape.
    ///
    /// Cost: sorts them.
    pub(crate) fn new(deletes: &RecordBatch) -> Result<PositionMarks> {
        let [kinds, keys, sequences] = DELETES;
        let kinds = column::<Int8Array>(deletes, kinds)?.values();
        let keys = column::<Int64Array>(deletes, keys)?.values();
        let sequences = column::<Int64Array>(deletes, sequences)?.values();
        let (mut by_file, mut by_partition) = (Vec::new(), Vec::new());
        for (row, ((kind, key), sequence)) in kinds.iter().zip(keys).zip(sequences).enumerate() {
            let number = fitting(u32::try_from(row).ok(), "the number of deletes")?;
            let is_vector = *kind == DeleteKind::Vector.code();
            let delete = KeyedDelete { key: key.cast_unsigned(), sequence: *sequence, number, is_vector };
            if is_vector || *kind == DeleteKind::File.code() {
                by_file.push(delete);
            } else if *kind == DeleteKind::Partition.code() {
                by_partition.push(delete);
            }
        }
        Ok(PositionMarks {
            by_file: KeyedDeletes::new(by_file),
            by_partition: KeyedDeletes::new(by_partition),
            marked: kinds.iter().map(|kind| *kind == DeleteKind::Unknown.code()).collect(),
        })
    }

    /// Whether some delete is of a partition.
    pub(crate) fn has_partitions(&self) -> bool {
        !self.by_partition.deletes.is_empty()
    }

    /// Marks the deletes that apply to a data file, by the hash of its path, that of its partition where
    /// [`PositionMarks::has_partitions`], and its sequence number.
    ///
    /// Cost: two look-ups.
    pub(crate) fn mark(&mut self, file: u64, partition: u64, sequence: i64) {
        let own = self.by_file.of(file);
        let has_vector = own.iter().any(|delete| delete.is_vector && delete.sequence >= sequence);
        // Plans refuse a vector that is older than its file: it is not known what it applies to.
        let applies = |delete: &&KeyedDelete| delete.is_vector || !has_vector && delete.sequence >= sequence;
        own.iter().filter(applies).for_each(|delete| mark(&mut self.marked, delete));
        if has_vector {
            return;
        }
        let group = self.by_partition.of(partition);
        let since = group.partition_point(|delete| delete.sequence < sequence);
        // Where one is marked, so are all after it.
        let is_marked =
            |delete: &KeyedDelete| self.marked.get(delete.number as usize).copied().unwrap_or(true);
        let new = group.iter().skip(since).take_while(|delete| !is_marked(delete)).count();
        for delete in group.iter().skip(since).take(new) {
            mark(&mut self.marked, delete);
        }
    }

    /// Marks of all deletes, of other kinds too.
    pub(crate) fn marked(&self) -> &[bool] {
        &self.marked
    }

    /// The same, to be changed.
    pub(crate) fn marked_mut(&mut self) -> &mut [bool] {
        &mut self.marked
    }
}

fn mark(marked: &mut [bool], delete: &KeyedDelete) {
    marked.get_mut(delete.number as usize).into_iter().for_each(|marked| *marked = true);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ArrayRef;

    use super::*;
    use crate::view::whole;

    fn marks(deletes: &[(DeleteKind, i64, i64)]) -> PositionMarks {
        let longs = |of: fn(&(DeleteKind, i64, i64)) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(deletes.iter().map(of)))
        };
        let kinds = Int8Array::from_iter_values(deletes.iter().map(|(kind, ..)| kind.code()));
        let [kind, key, sequence] = DELETES;
        let columns: Vec<(&str, ArrayRef)> = vec![
            (kind, Arc::new(kinds)),
            (key, longs(|delete| delete.1)),
            (sequence, longs(|delete| delete.2)),
        ];
        PositionMarks::new(&whole(columns, deletes.len()).unwrap()).unwrap()
    }

    #[test]
    fn deletes_that_are_not_older_than_a_file_are_marked() {
        use DeleteKind::{File, GlobalEquality, Partition, Unknown};
        let mut marks = marks(&[
            (Partition, -7, 5),
            (Partition, -7, 3),
            (Partition, -7, 4),
            (Partition, 8, 9),
            (File, 1, 3),
            (File, 1, 4),
            (GlobalEquality, 0, 9),
            (Unknown, 0, 0),
        ]);
        assert!(marks.has_partitions());
        marks.mark(1, (-7i64).cast_unsigned(), 4);
        assert_eq!(marks.marked(), [true, false, true, false, false, true, false, true]);
        marks.mark(2, (-7i64).cast_unsigned(), 6);
        marks.mark(2, (-7i64).cast_unsigned(), 3);
        assert_eq!(marks.marked(), [true, true, true, false, false, true, false, true]);
    }

    #[test]
    fn a_vector_takes_the_place_of_other_position_deletes() {
        use DeleteKind::{File, Partition, Vector};
        let mut marks =
            marks(&[(Vector, 1, 1), (Vector, 1, 9), (File, 1, 9), (Partition, 7, 9), (Vector, 2, 9)]);
        marks.mark(1, 7, 3);
        assert_eq!(marks.marked(), [true, true, false, false, false]);
        marks.mark(3, 7, 3);
        assert_eq!(marks.marked(), [true, true, false, true, false]);
    }

    #[test]
    fn a_vector_that_is_older_than_its_file_leaves_other_deletes() {
        use DeleteKind::{File, Partition, Vector};
        let mut marks = marks(&[(Vector, 1, 1), (File, 1, 9), (Partition, 7, 9)]);
        marks.mark(1, 7, 3);
        assert_eq!(marks.marked(), [true, true, true]);
    }
}
