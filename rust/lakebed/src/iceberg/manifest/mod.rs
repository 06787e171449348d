//! Manifests: entries of files that were added, exist, or were deleted (Iceberg specification, "Manifests";
//! Iceberg's `ManifestReader.java`).

pub(in crate::iceberg) mod canonical;
mod columns;
mod guard;
mod header;
mod inherit;
mod partition;
mod status;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::filter::filter_record_batch;
use lakebed_avro::Program;

pub use self::columns::EntryColumns;
use self::guard::{guard, no_status};
pub use self::header::ManifestHeader;
use self::inherit::Inheritance;
pub use self::partition::PartitionLayout;
use self::partition::{Tuples, fixed_lengths};
pub use self::status::{ADDED, DELETED, EXISTING, Statuses};
use self::status::{Counter, Tally, dropped_rows, seen};
use super::content_entry::unless_content_entries;
use super::encryption::plain;
use super::fields::PARTITION;
use super::manifest_list::{DELETES, ManifestFile, RecordedCounts};
use super::partition::PartitionSpec;
use super::paths::{TableFormat, resolved_column};
use crate::columnar::Decoding;
use crate::conform::conform;
use crate::error::{Error, ErrorKind, Location, Result};
use crate::notes::Notes;
use crate::predicate::BoundPredicate;
use crate::record::{RecordReader, RecordResolver, Stored, batches_until_error, column, find, typed};

/// The columns with paths.
const PATHS: [&str; 2] = ["file_path", "referenced_data_file"];

/// The columns on disk by which row ids are counted.
pub(crate) const ROW_ID_COLUMNS: [&str; 3] = ["status", "data_file.record_count", "data_file.first_row_id"];

/// What is known of a manifest before it is opened.
#[derive(Debug, Clone, Default)]
pub struct ManifestContext {
    /// Its record in the manifest list, from which entries inherit, and with whose counts they are compared.
    /// Without it there is neither.
    pub manifest: Option<ManifestFile>,
    /// The spec of a manifest without a record in a list.
    pub spec_id: Option<i32>,
    /// The layout of partition tuples, and the type to show them as. Without it tuples are as stored, and
    /// their field names are ids.
    pub partition: Option<PartitionLayout>,
    /// Without a layout, this spec gives the names of the tuples' fields; types are as stored.
    pub spec: Option<Arc<PartitionSpec>>,
    /// The table that it belongs to: a manifest of a later version is noted, and relative paths of one of version 4 are
    /// resolved.
    pub table: Option<TableFormat>,
    /// The filter on tuples of that layout: other entries may be left out, but only where deleted ones are.
    pub filter: Option<Arc<BoundPredicate>>,
    /// Receives what is unusual about the manifest but not an error: another length or other sums of rows
    /// than recorded, more entries than recorded.
    pub notes: Notes,
}

/// The entries of one manifest as record batches, in file order.
///
/// Deleted entries that are not requested, and entries of other partitions, are skipped without decoding.
/// After the last entry, the entries seen are compared with the counts that the manifest list records.
pub struct EntryReader {
    file: File,
    reader: RecordReader,
    tally: Arc<Tally>,
    /// Counts entries where there is no guard.
    counter: Counter,
    tuples: Tuples,
    schema: SchemaRef,
    statuses: Statuses,
    manifest: Option<ManifestFile>,
    /// What relative paths of the entries begin with; `None` where all are absolute.
    location: Option<String>,
    inheritance: Inheritance,
    /// Rows of the entries that were decoded, by status.
    rows: [u64; 3],
    records: u64,
    ended: bool,
}

/// A manifest, and how to open it again.
struct File {
    stored: Stored,
    /// The size of the file as it is stored \[bytes\].
    length: u64,
    columns: Arc<EntryColumns>,
    known: ManifestContext,
    /// The statuses that a guard keeps; other entries are filtered after row ids are counted.
    guarded: Option<Statuses>,
    decoding: Decoding,
    threads: usize,
}

impl File {
    fn open(&self, stored: Stored, resolver: &RecordResolver) -> Result<(RecordReader, Arc<Tally>)> {
        let tally = Arc::new(Tally::default());
        let wanted = self.guarded.unwrap_or(Statuses::ALL);
        let make = |program: &Program| guard(program, wanted, self.filter(), &tally);
        let guard: Option<crate::record::GuardMaker<'_>> =
            if self.guarded.is_some() { Some(&make) } else { None };
        let reader = RecordReader::open(stored, resolver, guard, &self.decoding, self.threads);
        let reader = reader.map_err(|error| match self.stored.bytes() {
            Ok(Some(bytes)) => unless_content_entries(error, &bytes, &self.decoding),
            _ => error,
        })?;
        Ok((reader, tally))
    }

    /// The filter by which a guard may drop entries; `None` where row ids must be counted over all entries.
    fn filter(&self) -> Option<(&BoundPredicate, &PartitionLayout)> {
        let counts = self.known.manifest.as_ref().is_some_and(|manifest| manifest.first_row_id.is_some());
        self.known.filter.as_deref().zip(self.known.partition.as_ref()).filter(|_| !counts)
    }

    fn note(&self, note: &str) {
        let path = self.known.manifest.as_ref().map_or("a manifest", |manifest| &manifest.path);
        self.known.notes.add(format!("{note} in {path}"));
    }

    /// How entries inherit; live entries are those that plans read.
    fn inheritance(&self) -> Inheritance {
        Inheritance::of(self.known.manifest.clone(), self.known.spec_id, self.guarded.is_some())
    }
}

/// Refuses a manifest of another partition spec than its list records: its tuples would be read as those of
/// the list's spec. A header without the spec, or with an unreadable one, is accepted.
fn check_spec(header: Option<&[u8]>, manifest: &ManifestFile) -> Result<()> {
    let spec_id = header.and_then(number).filter(|spec_id| *spec_id != i64::from(manifest.spec_id));
    let Some(spec_id) = spec_id else { return Ok(()) };
    let message = format!("the header's partition-spec-id is {spec_id}, its list has {}", manifest.spec_id);
    Err(Error::new(ErrorKind::Mismatch, message).in_field("partition_spec_id"))
}

/// A value of the header as a number; `None` for other text.
pub(super) fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Refuses data where the list has deletes, and deletes where it has data; writers of version 1 record
/// neither.
fn check_content(header: Option<&[u8]>, manifest: &ManifestFile) -> Result<()> {
    let (word, other) = match manifest.content {
        DELETES => ("deletes", &b"data"[..]),
        _ => ("data", &b"deletes"[..]),
    };
    if header != Some(other) {
        return Ok(());
    }
    let message = format!("the header's content is {}, its list has {word}", String::from_utf8_lossy(other));
    Err(Error::new(ErrorKind::Mismatch, message).in_field("content"))
}

impl EntryReader {
    /// Opens a manifest for entries of these statuses.
    ///
    /// # Errors
    /// Those of the container's layer; `Required` for a field that is missing or null, and for an EXISTING
    /// entry without sequence number unless deleted entries are requested too; `Duplicate` for a field id
    /// that appears twice; `Mismatch` for an invalid status or content, for one that contradicts the list,
    /// and for fewer entries than recorded; `Truncated` for a file that is shorter than recorded where there
    /// are no counts; `Encryption` for a key of an encrypted manifest that is absent or another one; those of
    /// [`PartitionType::align`](super::partition::PartitionType::align).
    pub fn open(
        bytes: Buffer,
        columns: &Arc<EntryColumns>,
        known: ManifestContext,
        statuses: Statuses,
        decoding: &Decoding,
        threads: usize,
    ) -> Result<EntryReader> {
        EntryReader::of_stored(bytes.into(), columns, known, statuses, decoding, threads)
    }

    /// The same of a manifest that a cache may have.
    ///
    /// # Errors
    /// As [`EntryReader::open`].
    pub(crate) fn of_stored(
        stored: Stored,
        columns: &Arc<EntryColumns>,
        known: ManifestContext,
        statuses: Statuses,
        decoding: &Decoding,
        threads: usize,
    ) -> Result<EntryReader> {
        // Row ids are counted over all entries that are not deleted.
        let guarded = (!statuses.deleted).then_some(Statuses::LIVE);
        let key = known.manifest.as_ref().and_then(|manifest| manifest.key.as_ref());
        // What lists record is the size of the file as it is stored.
        let found = stored.length()?;
        let (stored, decoding) = match stored {
            Stored::Bytes(bytes) => {
                let (bytes, decoding) = plain(bytes, key, decoding)?;
                (bytes.into(), decoding)
            }
            // Nothing of an encrypted file is in a cache.
            stored => (stored, decoding.clone()),
        };
        let columns = Arc::clone(columns);
        let file = File { stored, length: found, columns, known, guarded, decoding, threads };
        let (reader, tally) = file.open(file.stored.clone(), file.columns.resolver())?;
        if let Some(manifest) = &file.known.manifest {
            check_content(reader.metadata("content"), manifest)?;
            check_spec(reader.metadata("partition-spec-id"), manifest)?;
        }
        let version = reader.metadata("format-version").and_then(number);
        // Java's library does not check it, and older manifests stay when the table's version is raised.
        if let (Some(version), Some(TableFormat { version: table, .. })) = (version, &file.known.table)
            && version > i64::from(*table)
        {
            file.note(&format!("the header's format-version is {version}, the table's is {table},"));
        }
        let location = file.known.table.as_ref().and_then(|table| table.base(version)).map(str::to_owned);
        let tuples = Tuples::of(&reader, file.known.partition.clone(), file.known.spec.as_deref());
        let schema = file.columns.schema(tuples.data_type());
        let manifest = file.known.manifest.clone();
        let inheritance = file.inheritance();
        if let Some(recorded) =
            manifest.as_ref().and_then(|manifest| manifest.length).filter(|length| *length != found)
        {
            file.note(&format!("manifest has {found} bytes, its list records {recorded}"));
        }
        let records = reader.first_record();
        let mut opened = EntryReader {
            file,
            reader,
            counter: Counter::of(&tally),
            tally,
            tuples,
            schema,
            statuses,
            manifest,
            location,
            inheritance,
            rows: [0; 3],
            records,
            ended: false,
        };
        opened.count_before()?;
        Ok(opened)
    }

    /// Counts row ids over the entries in front of a range: there the file has the columns for that.
    fn count_before(&mut self) -> Result<()> {
        let File { stored, columns, decoding, .. } = &self.file;
        let is_wanted = columns.wanted().iter().any(|spec| spec.column == "first_row_id");
        let range = decoding.range.as_ref().filter(|_| is_wanted && self.inheritance.counts_row_ids());
        let Some((range, bytes)) = range.zip(stored.bytes()?) else {
            return Ok(());
        };
        let names = ["status", "record_count", "first_row_id"].map(str::to_owned);
        let (columns, before) = (EntryColumns::new(Some(&names))?, Some(0..range.start));
        let decoding = Decoding { range: before, ..decoding.clone() };
        let mut reader = RecordReader::open(bytes, columns.resolver(), None, &decoding, 1)?;
        let mut first = 0_u64;
        while let Some(stored) = reader.next().transpose()? {
            let entries = reader.conform(&stored, Some(first))?;
            let ids = self.inheritance.column(&entries, "first_row_id");
            ids.map_err(|error| error.behind_records(Some(first)))?;
            first = first.saturating_add(stored.num_rows() as u64);
        }
        Ok(())
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Entries seen so far, including those not requested: EXISTING, ADDED and DELETED.
    pub fn seen(&self) -> [u64; 3] {
        seen(&self.tally)
    }

    fn read_batch(&mut self) -> Result<Option<RecordBatch>> {
        let first = self.records == 0;
        match self.decode_batch() {
            Err(error) if first => self.reopen_prefixed(error),
            result => result,
        }
    }

    /// Reads a manifest whose `fixed` partition values have a length before them, as Iceberg's Java library
    /// writes them in contradiction to its own schema. If that fails too, the result is `error`.
    fn reopen_prefixed(&mut self, error: Error) -> Result<Option<RecordBatch>> {
        let Ok(Some(bytes)) = self.file.stored.bytes() else { return Err(error) };
        let lengths = match fixed_lengths(&bytes, self.file.decoding.limits) {
            Ok(lengths) if self.tuples.fixed_lengths.is_empty() && !lengths.is_empty() => lengths,
            _ => return Err(error),
        };
        let reopened = |resolver| self.file.open(bytes.clone().into(), resolver);
        let Ok((reader, tally)) = self.file.columns.prefixed().and_then(reopened) else { return Err(error) };
        (self.counter, self.rows, self.records) = (Counter::of(&tally), [0; 3], 0);
        (self.reader, self.tally) = (reader, tally);
        self.inheritance = self.file.inheritance();
        self.tuples.fixed_lengths = lengths;
        self.decode_batch().map_err(|_| error)
    }

    fn decode_batch(&mut self) -> Result<Option<RecordBatch>> {
        let batch = self.reader.next().transpose();
        // The error of the guard is first: the batch lacks the rows that it dropped.
        if let Some(error) = self.tally.take_failure() {
            return Err(error);
        }
        let Some(stored) = batch? else {
            self.check_counts()?;
            self.reader.keep();
            return Ok(None);
        };
        let first = (!self.guarded()).then_some(self.records);
        self.records += stored.num_rows() as u64;
        let stored = match self.judged() {
            Some(wanted) => self.judge(&stored, wanted)?,
            None => stored,
        };
        let entries = self.reader.conform(&stored, first)?;
        let entries = self.assemble(&stored, &entries).map_err(|error| error.behind_records(first));
        entries.map(Some)
    }

    /// Whether entries of other statuses are left out before their columns are looked at.
    fn guarded(&self) -> bool {
        self.reader.guarded() || self.judged().is_some()
    }

    /// The statuses that are left of entries of a cache, which have seen no guard.
    fn judged(&self) -> Option<Statuses> {
        self.file.guarded.filter(|_| self.reader.is_kept())
    }

    /// Does by status what the guard does, tuples aside.
    fn judge(&mut self, stored: &RecordBatch, wanted: Statuses) -> Result<RecordBatch> {
        let statuses = find(stored, "status").and_then(|found| conform(&found, &DataType::Int32));
        let statuses = statuses.map_err(|_| no_status())?;
        let statuses = typed::<Int32Array>(&statuses, "status")?;
        if statuses.null_count() > 0 {
            return Err(no_status());
        }
        statuses.values().iter().try_for_each(|status| self.counter.count((*status).into()))?;
        if statuses.values().iter().all(|status| wanted.has(*status)) {
            return Ok(stored.clone());
        }
        let keep: BooleanArray = statuses.values().iter().map(|status| Some(wanted.has(*status))).collect();
        filter_record_batch(stored, &keep).map_err(malformed)
    }

    /// The requested columns of a batch of decoded entries, for the requested entries.
    fn assemble(&mut self, stored: &RecordBatch, entries: &RecordBatch) -> Result<RecordBatch> {
        self.count(entries)?;
        let columns = self.file.columns.wanted().iter().map(|spec| match spec.column {
            PARTITION => self.tuples.read(stored),
            name => match &self.location {
                Some(location) if PATHS.contains(&name) => {
                    resolved_column(&self.inheritance.column(entries, name)?, name, location)
                }
                _ => self.inheritance.column(entries, name),
            },
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(entries.num_rows()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        let batch = batch.map_err(malformed)?;
        if self.statuses == self.file.guarded.filter(|_| self.guarded()).unwrap_or(Statuses::ALL) {
            return Ok(batch);
        }
        let statuses = column::<Int32Array>(entries, "status")?.values().iter();
        let keep: BooleanArray = statuses.map(|status| Some(self.statuses.has(*status))).collect();
        filter_record_batch(&batch, &keep).map_err(malformed)
    }

    /// Counts decoded entries and their rows; where there is a guard, it has counted the entries already.
    fn count(&mut self, entries: &RecordBatch) -> Result<()> {
        let statuses = column::<Int32Array>(entries, "status")?.values();
        let rows = column::<Int64Array>(entries, "record_count")?.values();
        let guarded = self.guarded();
        for (record, (status, rows)) in statuses.iter().zip(rows).enumerate() {
            if !guarded {
                self.counter.count((*status).into()).map_err(|error| error.in_record(record as u64))?;
            }
            let sum = usize::try_from(*status).ok().and_then(|status| self.rows.get_mut(status));
            if let Some(sum) = sum {
                *sum = sum.saturating_add(u64::try_from(*rows).unwrap_or(0));
            }
        }
        Ok(())
    }

    /// Compares the counts with those that the manifest list records; rows only where all were decoded, and only for
    /// notes, so their sums saturate.
    fn check_counts(&self) -> Result<()> {
        let Some(manifest) = &self.manifest else { return Ok(()) };
        let recorded = [manifest.existing, manifest.added, manifest.deleted];
        let names = ["existing", "added", "deleted"];
        let found = self.seen().into_iter().zip(self.rows).zip(dropped_rows(&self.tally));
        for ((name, RecordedCounts { files, rows }), ((seen, decoded_rows), dropped_rows)) in
            names.iter().zip(recorded).zip(found)
        {
            let sum = decoded_rows.saturating_add(dropped_rows);
            if let Some(files) = files {
                let message = format!("manifest holds {seen} {name} files, its list records {files}");
                match seen.cmp(&files) {
                    Ordering::Equal => {}
                    // A truncated manifest has fewer entries; with more, the list has miscounted and nothing
                    // is lost.
                    Ordering::Less => return Err(Error::new(ErrorKind::Mismatch, message)),
                    Ordering::Greater => self.file.note(&message),
                }
            }
            let decoded = *name != "deleted" || !self.guarded();
            if let Some(rows) = rows.filter(|rows| decoded && *rows != sum) {
                self.file.note(&format!("manifest holds {sum} {name} rows, its list records {rows}"));
            }
        }
        let found = self.file.length;
        match manifest.length.filter(|length| *length > found) {
            Some(length) if recorded.iter().any(|recorded| recorded.files.is_none()) => {
                let message = format!("manifest has {found} bytes, its list records {length} and no counts");
                let place = Location { offset: Some(found), ..Location::default() };
                Err(Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Truncated), message).at(place))
            }
            _ => Ok(()),
        }
    }
}

batches_until_error!(EntryReader);

#[cold]
fn malformed(error: ArrowError) -> Error {
    Error::new(ErrorKind::Required, error.to_string())
}
