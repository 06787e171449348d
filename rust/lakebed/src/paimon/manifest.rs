//! Manifests: entries as stored (Paimon's `ManifestEntry.java`), filtered before they are decoded.

use std::sync::Arc;

use arrow_array::builder::BooleanBuilder;
use arrow_array::{Array, ArrayRef, BinaryArray, Int32Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, SchemaRef};
use arrow_select::filter::filter_record_batch;
use lakebed_avro::{Guard, GuardFactory, Peek, Program, Slot};

use super::fields::{ENTRY, MANIFEST_VERSION, VERSION};
use super::manifest_list::ManifestFile;
use super::prune::{BucketMemo, EntryPruner};
use super::table::Table;
use super::version::wrong_version;
use crate::columnar::Decoding;
use crate::conform::conform;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::record::{Counter, RecordReader, RecordResolver, Stored, Tally, batches_until_error, find, typed};
use crate::scan::Format;

/// The fields by which entries are dropped, in the order of the guard's slots.
const GUARDED: [&str; 5] = [VERSION, "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS"];

/// Kind of an entry that adds a file.
pub const ADD: i8 = 0;
/// Kind of an entry that deletes one.
pub const DELETE: i8 = 1;

/// What guards count: entries that add, entries that delete, and those whose number of buckets differs from
/// the list's.
type GuardCounts = Tally<3>;

/// The index of the last of these counts.
const OTHER_BUCKETS: usize = 2;

/// Which entries of a manifest are read.
#[derive(Clone, Default)]
pub struct EntryFilter {
    /// Only entries of this kind.
    pub kind: Option<i8>,
    /// Only entries of the partitions and buckets that a filter keeps. DELETE entries are kept whatever
    /// bucket the filter's keys hash to.
    pub(crate) pruner: Option<Arc<EntryPruner>>,
}

/// The named columns of [`ENTRY`], in that order; all columns for `None`.
///
/// # Errors
/// `UnknownColumn`, with the known names.
pub fn entry_columns(names: Option<&[String]>) -> Result<RecordResolver> {
    RecordResolver::new(&ENTRY, names, &GUARDED, &[])
}

/// The entries of one manifest as record batches, in file order.
///
/// Entries that the filter drops are skipped without decoding. After the last entry, the entries seen are
/// compared with the counts that the manifest list records.
pub struct EntryReader {
    reader: RecordReader,
    filter: EntryFilter,
    tally: Arc<GuardCounts>,
    expected: Option<ManifestFile>,
    notes: Notes,
    rows: u64,
    ended: bool,
}

impl EntryReader {
    /// Opens a manifest for the columns of `resolver`, see [`entry_columns`].
    ///
    /// With `expected`, the record of the manifest list, size and entry counts are checked: `Mismatch`, or
    /// `Truncated` for a file that is too short. More entries than recorded, and other numbers of buckets,
    /// are a note.
    ///
    /// # Errors
    /// Those of the container's layer; `Version`; `Required` for a field that is absent or null;
    /// `UnknownColumn`; those of decoding a partition for the filter.
    pub fn open(
        bytes: Buffer,
        resolver: &RecordResolver,
        filter: EntryFilter,
        expected: Option<ManifestFile>,
        decoding: &Decoding,
        threads: usize,
    ) -> Result<EntryReader> {
        EntryReader::of_stored(bytes.into(), resolver, filter, expected, decoding, threads)
    }

    /// The same of a manifest that a cache may have.
    ///
    /// # Errors
    /// As [`EntryReader::open`].
    pub(crate) fn of_stored(
        stored: Stored,
        resolver: &RecordResolver,
        filter: EntryFilter,
        expected: Option<ManifestFile>,
        decoding: &Decoding,
        threads: usize,
    ) -> Result<EntryReader> {
        let stored = stored.found(Table::NAME, resolver)?;
        if let Some(expected) = &expected {
            check_size(stored.length()?, expected.file_size)?;
        }
        let tally = Arc::new(GuardCounts::default());
        let total_buckets = expected.as_ref().and_then(|expected| expected.total_buckets);
        let guard = |program: &Program| -> GuardFactory {
            let (slots, filter, tally) = (program.slots().to_vec(), filter.clone(), Arc::clone(&tally));
            Arc::new(move || {
                let judge = Judge::new(filter.clone(), total_buckets, &tally);
                Box::new(EntryGuard { slots: slots.clone(), judge, tally: Arc::clone(&tally) })
            })
        };
        let reader = RecordReader::open(stored, resolver, Some(&guard), decoding, threads)?;
        let rows = reader.first_record();
        Ok(EntryReader { reader, filter, tally, expected, notes: Notes::default(), rows, ended: false })
    }

    /// The same reader, which adds to `notes` what is unusual about the manifest but not an error.
    #[must_use]
    pub fn noting(self, notes: &Notes) -> EntryReader {
        EntryReader { notes: notes.clone(), ..self }
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        self.reader.schema()
    }

    /// Entries seen so far, dropped ones included: added and deleted.
    pub fn seen(&self) -> (u64, u64) {
        let [added, deleted, _] = self.tally.sums();
        (added, deleted)
    }

    fn read_batch(&mut self) -> Result<Option<RecordBatch>> {
        let batch = self.reader.next().transpose();
        // The error of the guard is first: the batch lacks the rows that it dropped.
        if let Some(error) = self.tally.take_failure() {
            return Err(error);
        }
        let Some(mut batch) = batch? else {
            self.check_counts()?;
            self.reader.keep();
            return Ok(None);
        };
        let first = self.rows;
        self.rows += batch.num_rows() as u64;
        if !self.reader.guarded() {
            batch = self.judge_batch(&batch)?;
        }
        let dropping = self.filter.kind.is_some() || self.filter.pruner.is_some();
        self.reader.conform(&batch, (!dropping).then_some(first)).map(Some)
    }

    /// Filters decoded entries, where the writer's schema has the guarded fields too late for a guard.
    fn judge_batch(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let (int, bytes) = (DataType::Int32, DataType::Binary);
        let column = |name: &str, wanted| -> Result<ArrayRef> {
            let column = conform(&find(batch, name)?, wanted).map_err(|_| wrong_fields())?;
            let whole = column.null_count() == 0;
            whole.then_some(column).ok_or_else(|| Error::new(ErrorKind::Required, format!("{name} is null")))
        };
        let [version, kind, partition, bucket, total] = GUARDED;
        let (versions, kinds) = (column(version, &int)?, column(kind, &int)?);
        let (partitions, buckets) = (column(partition, &bytes)?, column(bucket, &int)?);
        let totals = column(total, &int)?;
        let totals: &Int32Array = typed(&totals, total)?;
        let (versions, kinds): (&Int32Array, &Int32Array) =
            (typed(&versions, version)?, typed(&kinds, kind)?);
        let partitions: &BinaryArray = typed(&partitions, partition)?;
        let buckets: &Int32Array = typed(&buckets, bucket)?;
        let total_buckets = self.expected.as_ref().and_then(|expected| expected.total_buckets);
        let mut judge = Judge::new(self.filter.clone(), total_buckets, &self.tally);
        let mut keep = BooleanBuilder::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let (version, kind) = (i64::from(versions.value(row)), i64::from(kinds.value(row)));
            let (bucket, total) = (i64::from(buckets.value(row)), i64::from(totals.value(row)));
            keep.append_value(judge.keep(version, kind, partitions.value(row), bucket, total)?);
        }
        filter_record_batch(batch, &keep.finish())
            .map_err(|error| Error::new(ErrorKind::Required, error.to_string()))
    }

    fn check_counts(&self) -> Result<()> {
        let Some(expected) = &self.expected else { return Ok(()) };
        let [added, deleted, others] = self.tally.sums();
        if let Some(total) = expected.total_buckets.filter(|_| others > 0) {
            let message = format!(
                "{others} entries do not have the _TOTAL_BUCKETS {total} that their list records ({})",
                expected.file_name
            );
            self.notes.add(message);
        }
        if (added, deleted) == (expected.added, expected.deleted) {
            return Ok(());
        }
        let message = format!(
            "manifest holds {added} added and {deleted} deleted files, its list records {} and {}",
            expected.added, expected.deleted
        );
        // A truncated manifest has fewer entries; with more, the list has miscounted and nothing is lost.
        if added < expected.added || deleted < expected.deleted {
            return Err(Error::new(ErrorKind::Mismatch, message));
        }
        self.notes.add(format!("{message} ({})", expected.file_name));
        Ok(())
    }
}

batches_until_error!(EntryReader);

/// Compares a file's size with what metadata records of it.
pub(crate) fn check_size(found: u64, recorded: u64) -> Result<()> {
    let message = format!("file has {found} bytes, {recorded} are recorded");
    let kind = match found.cmp(&recorded) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => ErrorKind::Avro(lakebed_avro::ErrorKind::Truncated),
        std::cmp::Ordering::Greater => ErrorKind::Mismatch,
    };
    let place = crate::error::Location { offset: Some(found.min(recorded)), ..Default::default() };
    Err(Error::new(kind, message).at(place))
}

fn wrong_fields() -> Error {
    let message = format!("{} are not int, int, bytes, int, int", GUARDED.join(", "));
    Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Schema), message)
}

/// Decides on entries by their first fields, and counts them.
struct Judge {
    filter: EntryFilter,
    /// The number of buckets of every entry's partition, as the list records it.
    total_buckets: Option<i64>,
    memo: BucketMemo,
    counter: Counter<3>,
}

impl Judge {
    fn new(filter: EntryFilter, total_buckets: Option<i32>, tally: &GuardCounts) -> Judge {
        let total_buckets = total_buckets.map(i64::from);
        Judge { filter, total_buckets, memo: BucketMemo::default(), counter: tally.counter() }
    }

    fn keep(&mut self, version: i64, kind: i64, partition: &[u8], bucket: i64, total: i64) -> Result<bool> {
        if version != MANIFEST_VERSION {
            return Err(wrong_version(version, MANIFEST_VERSION));
        }
        if !matches!(kind, 0 | 1) {
            let message = format!("kind is {kind}, neither 0 (ADD) nor 1 (DELETE)");
            return Err(Error::new(ErrorKind::Mismatch, message).in_field("kind"));
        }
        self.counter.add(usize::from(kind == i64::from(DELETE)), 1);
        if self.total_buckets.is_some_and(|recorded| recorded != total) {
            self.counter.add(OTHER_BUCKETS, 1);
        }
        if self.filter.kind.is_some_and(|wanted| i64::from(wanted) != kind) {
            return Ok(false);
        }
        let Some(pruner) = &self.filter.pruner else { return Ok(true) };
        let total = i32::try_from(total).ok().filter(|_| kind == i64::from(ADD));
        self.memo.keeps(pruner, partition, bucket, total)
    }
}

/// A [`Judge`] that runs in the middle of decoding a record.
struct EntryGuard {
    slots: Vec<Slot>,
    judge: Judge,
    tally: Arc<GuardCounts>,
}

impl Guard for EntryGuard {
    fn keep(&mut self, record: Peek<'_>) -> bool {
        let [version, kind, partition, bucket, total] = self.slots.as_slice() else { return true };
        let fields = (|| {
            let (version, kind) = (record.number(*version)?, record.number(*kind)?);
            let (bucket, total) = (record.number(*bucket)?, record.number(*total)?);
            Some((version, kind, record.bytes(*partition)?, bucket, total))
        })();
        let kept = match fields {
            Some((version, kind, partition, bucket, total)) => {
                self.judge.keep(version, kind, partition, bucket, total)
            }
            None => Err(wrong_fields()),
        };
        kept.unwrap_or_else(|error| {
            self.tally.fail(error);
            false
        })
    }
}
