//! Deletes that apply to one data file each, and whether they fit that file.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray,
};

use super::ENTRY_SIGN;
use super::finding::{Finding, Severity};
use super::manifests::RECORD;
use crate::error::{ErrorKind, Result, fitting};
use crate::record::column;
use crate::view::{whole, with_columns};

/// The data file that a row is about, as bytes that differ between data files.
const KEY: &str = "_data_file";
const SEQUENCE: &str = "_sequence";
const PARTITION: &str = "_partition";
/// Null for a data file, true for a deletion vector, false for position deletes.
const IS_VECTOR: &str = "_is_vector";
/// The name of the data file and of its delete, for a delete.
const TARGET: &str = "_target";
const DELETE: &str = "_delete";
/// The file that names the entry.
const NAMED_BY: &str = "_named_by";

/// Data files, and deletes that apply to one data file each, in the order in which they are added.
#[derive(Default)]
pub(crate) struct Links {
    keys: Vec<Vec<u8>>,
    signs: Vec<i32>,
    sequences: Vec<Option<i64>>,
    partitions: Vec<Option<i64>>,
    are_vectors: Vec<Option<bool>>,
    targets: Vec<Option<String>>,
    deletes: Vec<Option<String>>,
    records: Vec<usize>,
}

/// What is compared between a delete and its data file; `None` where the format does not have it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SequenceAndPartition {
    /// The data sequence number.
    pub(crate) sequence: Option<i64>,
    /// A number that differs between partitions and partition specs.
    pub(crate) partition: Option<i64>,
}

impl Links {
    /// Adds a data file of the record `record`; `sign` is its [`super::ENTRY_SIGN`].
    pub(crate) fn data_file(&mut self, key: &[u8], sign: i32, standing: SequenceAndPartition, record: usize) {
        self.push(key, (sign, standing, record), None);
    }

    /// Adds a delete of the data file `key`, which is called `target`, in the file `delete`.
    pub(crate) fn delete(
        &mut self,
        (key, target): (&[u8], &str),
        (delete, is_vector): (&str, bool),
        standing: SequenceAndPartition,
        record: usize,
    ) {
        self.push(key, (1, standing, record), Some((target, delete, is_vector)));
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn push(
        &mut self,
        key: &[u8],
        (sign, standing, record): (i32, SequenceAndPartition, usize),
        of_delete: Option<(&str, &str, bool)>,
    ) {
        self.keys.push(key.to_vec());
        self.signs.push(sign);
        self.sequences.push(standing.sequence);
        self.partitions.push(standing.partition);
        self.are_vectors.push(of_delete.map(|(_, _, is_vector)| is_vector));
        self.targets.push(of_delete.map(|(target, _, _)| target.to_owned()));
        self.deletes.push(of_delete.map(|(_, delete, _)| delete.to_owned()));
        self.records.push(record);
    }

    /// As rows; records are counted from `first` of the file `named_by` on.
    ///
    /// # Errors
    /// Those of making a batch; `Mismatch` for a record whose number does not fit 64 bits.
    pub(crate) fn rows(self, named_by: &str, first: u64) -> Result<RecordBatch> {
        let records = record_numbers(first, self.records)?;
        let named_by = self.are_vectors.iter().map(|is_vector| is_vector.map(|_| named_by));
        let count = self.keys.len();
        let columns: Vec<(&str, ArrayRef)> = vec![
            (NAMED_BY, Arc::new(named_by.collect::<StringArray>())),
            (RECORD, Arc::new(records)),
            (KEY, Arc::new(BinaryArray::from_iter_values(&self.keys))),
            (ENTRY_SIGN, Arc::new(Int32Array::from(self.signs))),
            (SEQUENCE, Arc::new(Int64Array::from(self.sequences))),
            (PARTITION, Arc::new(Int64Array::from(self.partitions))),
            (IS_VECTOR, Arc::new(BooleanArray::from(self.are_vectors))),
            (TARGET, Arc::new(StringArray::from(self.targets))),
            (DELETE, Arc::new(StringArray::from(self.deletes))),
        ];
        with_columns(&whole(Vec::new(), count)?, columns)
    }
}

/// The numbers of records that are counted from `first` on.
///
/// # Errors
/// `Mismatch` for one that does not fit 64 bits.
pub(super) fn record_numbers(first: u64, records: impl IntoIterator<Item = usize>) -> Result<Int64Array> {
    let number = |record| first.checked_add(record as u64).and_then(|number| i64::try_from(number).ok());
    let numbers = records.into_iter().map(|record| fitting(number(record), "the number of a record"));
    Ok(numbers.collect::<Result<Vec<_>>>()?.into())
}

/// The keys of the data files that rows of [`Links::rows`] are about.
///
/// # Errors
/// `Required` and `Mismatch` for other rows.
pub(super) fn keys_of(rows: &RecordBatch) -> Result<BinaryArray> {
    column::<BinaryArray>(rows, KEY).cloned()
}

/// The data files that deletes name. Memory grows with the deletes, not with the data files.
#[derive(Default)]
pub(super) struct Targets(HashMap<Box<[u8]>, Target>);

/// A data file that deletes name.
#[derive(Default)]
struct Target {
    deletes: Vec<Delete>,
    /// How much more often it is added than deleted.
    live: i64,
    standing: SequenceAndPartition,
}

struct Delete {
    named_by: Box<str>,
    record: i64,
    is_vector: bool,
    standing: SequenceAndPartition,
    target: Box<str>,
    path: Box<str>,
}

impl Targets {
    /// Adds the deletes among rows of [`Links::rows`].
    ///
    /// # Errors
    /// `Required` and `Mismatch` for other rows.
    pub(super) fn add_deletes(&mut self, rows: &RecordBatch) -> Result<()> {
        let text = |name| column::<StringArray>(rows, name);
        let (named_by, targets, deletes) = (text(NAMED_BY)?, text(TARGET)?, text(DELETE)?);
        let (records, keys) = (column::<Int64Array>(rows, RECORD)?, keys_of(rows)?);
        let standing = standings(rows)?;
        for (row, is_vector) in column::<BooleanArray>(rows, IS_VECTOR)?.iter().enumerate() {
            let Some(is_vector) = is_vector else { continue };
            let target = self.0.entry(Box::from(keys.value(row))).or_default();
            target.deletes.push(Delete {
                named_by: named_by.value(row).into(),
                record: records.value(row),
                is_vector,
                standing: standing(row),
                target: targets.value(row).into(),
                path: deletes.value(row).into(),
            });
        }
        Ok(())
    }

    /// Looks up the data files among rows of [`Links::rows`], after all deletes were added.
    ///
    /// # Errors
    /// `Required` and `Mismatch` for other rows.
    pub(super) fn add_files(&mut self, rows: &RecordBatch) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let are_vectors = column::<BooleanArray>(rows, IS_VECTOR)?;
        let signs = column::<Int32Array>(rows, ENTRY_SIGN)?;
        let (keys, standing) = (keys_of(rows)?, standings(rows)?);
        for row in (0..rows.num_rows()).filter(|row| are_vectors.is_null(*row)) {
            let Some(target) = self.0.get_mut(keys.value(row)) else { continue };
            target.live += i64::from(signs.value(row));
            if signs.value(row) > 0 {
                target.standing = standing(row);
            }
        }
        Ok(())
    }

    /// What is wrong with the deletes, in the order of their records. `is_whole` is whether all data files are known.
    pub(super) fn wrong(&mut self, is_whole: bool) -> Vec<Finding> {
        let mut found: Vec<(Delete, Finding)> = Vec::new();
        for (_, target) in self.0.drain() {
            found.extend(target.wrong(is_whole));
        }
        let place = |(delete, _): &(Delete, Finding)| (delete.named_by.clone(), delete.record);
        found.sort_by_cached_key(place);
        found.into_iter().map(|(_, finding)| finding).collect()
    }
}

impl Target {
    fn wrong(mut self, is_whole: bool) -> Vec<(Delete, Finding)> {
        self.deletes.sort_by(|one, next| (&one.named_by, one.record).cmp(&(&next.named_by, next.record)));
        let (file, is_live) = (self.standing, self.live > 0);
        let has_vector = self.deletes.iter().any(|delete| delete.is_vector);
        let mut vectors = 0;
        let mut found = Vec::new();
        for delete in self.deletes {
            vectors += u32::from(delete.is_vector);
            let wrong = match delete.is_vector {
                true if vectors > 1 => Some(delete.error("duplicate", "is not its only one")),
                true if !is_live => is_whole.then(|| delete.dangling()),
                // A vector replaces the position deletes of its file.
                false if has_vector || !is_live => None,
                _ => delete.misfit(file),
            };
            found.extend(wrong.map(|wrong| (delete, wrong)));
        }
        found
    }
}

impl Delete {
    /// What keeps it from applying to its file, or should.
    fn misfit(&self, file: SequenceAndPartition) -> Option<Finding> {
        let (own, theirs) = (self.standing.sequence, file.sequence);
        if let Some((own, theirs)) = own.zip(theirs).filter(|(own, theirs)| own < theirs) {
            // Position deletes that are older were for an earlier file of that path, and have no effect.
            let message = format!("has sequence number {own}, the file {theirs}");
            return self.is_vector.then(|| self.error(ErrorKind::Mismatch.name(), &message));
        }
        let is_foreign = self.standing.partition.zip(file.partition).is_some_and(|(own, file)| own != file);
        is_foreign
            .then(|| self.error(ErrorKind::Mismatch.name(), "is of another partition spec or partition"))
    }

    fn dangling(&self) -> Finding {
        let message = "is left over: the snapshot has no such file";
        self.finding(Severity::Warning, ErrorKind::Missing.name(), message)
    }

    fn error(&self, kind: &'static str, wrong: &str) -> Finding {
        self.finding(Severity::Error, kind, wrong)
    }

    fn finding(&self, severity: Severity, kind: &'static str, wrong: &str) -> Finding {
        let what = if self.is_vector { "the deletion vector" } else { "the position delete" };
        let message =
            format!("{what} of the data file {:?} {wrong}, in the file {:?}", self.target, self.path);
        let finding = Finding::new(severity, kind, message).in_file(&self.named_by);
        finding.in_record(u64::try_from(self.record).unwrap_or(0))
    }
}

/// The standing of each row of [`Links::rows`].
fn standings(rows: &RecordBatch) -> Result<impl Fn(usize) -> SequenceAndPartition + use<>> {
    let number = |name| column::<Int64Array>(rows, name).cloned();
    let (sequences, partitions) = (number(SEQUENCE)?, number(PARTITION)?);
    let of = |numbers: &Int64Array, row| numbers.is_valid(row).then(|| numbers.value(row));
    Ok(move |row| SequenceAndPartition { sequence: of(&sequences, row), partition: of(&partitions, row) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(sequence: i64, partition: i64) -> SequenceAndPartition {
        SequenceAndPartition { sequence: Some(sequence), partition: Some(partition) }
    }

    fn found(links: Links, is_whole: bool) -> Vec<String> {
        let rows = links.rows("m", 5).expect("rows");
        let mut targets = Targets::default();
        targets.add_deletes(&rows).expect("deletes");
        targets.add_files(&rows).expect("files");
        targets.wrong(is_whole).iter().map(|finding| format!("{finding:?}")).collect()
    }

    #[test]
    fn vectors_are_of_one_live_file_that_is_not_younger() {
        let mut links = Links::default();
        links.data_file(b"a", 1, standing(3, 0), 0);
        links.delete((b"a", "a"), ("d", true), standing(3, 0), 1);
        assert!(found(links, true).is_empty());
        let mut links = Links::default();
        links.delete((b"gone", "gone"), ("d", true), standing(3, 0), 0);
        links.delete((b"gone", "gone"), ("p", false), standing(3, 0), 1);
        assert!(found(links, false).is_empty());
        for (kind, deletes) in [
            ("mismatch", vec![(standing(2, 0), true)]),
            ("mismatch", vec![(standing(3, 7), true)]),
            ("mismatch", vec![(standing(3, 7), false)]),
            ("duplicate", vec![(standing(3, 0), true), (standing(3, 0), true)]),
            ("", vec![(standing(2, 7), false)]),
            ("", vec![(standing(3, 7), false), (standing(3, 0), true)]),
        ] {
            let mut links = Links::default();
            links.data_file(b"a", 1, standing(3, 0), 0);
            for (record, (standing, is_vector)) in deletes.into_iter().enumerate() {
                links.delete((b"a", "a"), ("d", is_vector), standing, record);
            }
            let found = found(links, true);
            assert_eq!(found.len(), usize::from(!kind.is_empty()), "{found:?}");
            assert!(found.iter().all(|one| one.contains(kind)), "{found:?}");
        }
    }

    #[test]
    fn a_vector_is_left_over_where_its_file_was_deleted() {
        let mut links = Links::default();
        links.data_file(b"a", 1, SequenceAndPartition::default(), 0);
        links.data_file(b"a", -1, SequenceAndPartition::default(), 1);
        links.delete((b"a", "a"), ("d", true), SequenceAndPartition::default(), 2);
        let found = found(links, true);
        assert!(
            matches!(found.as_slice(), [one] if one.contains("missing") && one.contains("Some(7)")),
            "{found:?}"
        );
    }
}
