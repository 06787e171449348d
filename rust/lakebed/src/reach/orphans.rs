//! Files in a table's folders that no root reaches.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, LargeBinaryArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;

use super::found::count;
use super::job::{RecordSide, by_part};
use super::kind::Kinds;
use super::listed::{Listed, OrphanOptions, misspelled};
use super::listing::Details;
use super::looks::{Comparison, Looks, Seen};
use super::orphans_job::planned;
use super::other_tables::is_below_any;
use super::part::PartRecords;
use super::partitioner::{PARTS, Partitioner, seed};
use super::partitions::RecordParts;
use super::prefixes::{Last, Prefixes};
use super::record::{Fact, NOT_ASKED, Record, records};
use super::walk::WalkOptions;
use super::{NewestReach, Reach, Walk};
use crate::credentials::without_credentials;
use crate::distributed::{Bounds, Distributed, Pieces, Planned};
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::record::column;
use crate::scan::{Batches, Scan, ScanOptions, Step, each, limited, selected, threads};
use crate::storage::Storage;
use crate::view::{select, whole};

/// The listed files that a table does not reach.
pub(crate) struct Orphans<R> {
    reach: R,
    newest: NewestReach<R>,
    which: OrphanOptions,
    options: ScanOptions,
    schema: SchemaRef,
    notes: Notes,
}

impl<R: Reach> Orphans<R> {
    /// The orphans of a table. Columns and filter are checked; no file is read.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(crate) fn new(
        reach: R,
        newest: NewestReach<R>,
        which: OrphanOptions,
        options: ScanOptions,
    ) -> Result<Orphans<R>> {
        let schema = schema(&options)?;
        let notes = reach.notes();
        Ok(Orphans { reach, newest, which, options, schema, notes })
    }

    /// What tells spellings of paths.
    fn prefixes(&self) -> Result<Prefixes> {
        Ok(self.which.prefixes(&self.reach.storage().place(self.reach.location())?))
    }

    /// Nothing listed yet.
    fn listed_by(&self, partitioner: Partitioner) -> Result<Listed> {
        let (storage, prefixes) = (self.reach.storage(), self.prefixes()?);
        Ok(Listed::new(&self.which, prefixes, R::BY_NAME, partitioner, storage, &self.notes))
    }

    /// How the table is looked at after it was walked.
    fn looks(&self, prefixes: Arc<Prefixes>) -> Looks<R> {
        let storage = Arc::clone(self.reach.storage());
        Looks {
            newest: Arc::clone(&self.newest),
            retention: None,
            are_placed: true,
            kinds: Kinds::ALL,
            threads: threads(self.options.threads),
            comparison: Comparison::Places { prefixes, by_name: R::BY_NAME, storage },
        }
    }

    /// The newest version, whose folder is the one that is listed.
    fn checked_newest(&self, spellings: &Prefixes) -> Result<R> {
        let newest = (self.newest)()?;
        newest.check_deletable(spellings)?;
        if spellings.is_same(newest.location(), self.reach.location())? {
            return Ok(newest);
        }
        let [now, then] = [&newest, &self.reach].map(|reach| without_credentials(reach.location()));
        let message =
            format!("the table is at {now:?} now, and was at {then:?} when it was opened: open it again");
        Err(Error::new(ErrorKind::Location, message))
    }

    /// Lists the files, then reads the newest version of the table, and then looks at it again: what is
    /// committed, tagged or branched in between takes rows out.
    fn compared(&self, details: Details) -> Result<Compared> {
        let storage = Arc::clone(self.reach.storage());
        let mut listed = self.listed_by(Partitioner::of_listed(seed(), PARTS))?;
        let (threads, mut partitions) = (threads(self.options.threads), RecordParts::new());
        let places = self.reach.places(&listed.prefixes)?;
        // Whether the listing has files of the table is known when all is read.
        listed.is_own()?;
        for piece in listed.pieces(places, self.which.listing.as_ref(), details)? {
            listed.take(piece?)?;
            listed.take_chunks().try_for_each(|chunk| partitions.push(chunk))?;
        }
        listed.finish(threads, false, &mut |chunk| partitions.push(chunk))?;
        let newest = self.checked_newest(&listed.prefixes)?;
        let partitioner = Arc::new(listed.partitioner(newest.moved(), false));
        let mut seen = Seen::default();
        let (kinds, of_walk) = (Kinds::ALL, Arc::clone(&partitioner));
        let options = WalkOptions { retention: None, kinds, partitioner: of_walk, threads };
        let walk = newest.walk(&options, &mut seen)?;
        let Listed { prefixes, listed, old, shows_table, .. } = listed;
        let looks = self.looks(Arc::clone(&prefixes));
        take_walk(walk, &partitioner, &mut |chunk| partitions.push(chunk))?;
        newest.notes().take().into_iter().for_each(|note| self.notes.add(note));
        let ages = Ages { storage: Arc::clone(self.reach.storage()), before_ms: self.which.before_ms };
        // Where files are compared by name, those that show the table are not looked at.
        let is_own = self.which.listing.is_none() || R::BY_NAME && shows_table;
        if !is_own && !partitions.any(&storage, has_reached)? {
            return Err(of_no_table());
        }
        let rows = partitions.each(&storage, threads, move |pieces| {
            orphans(pieces, &prefixes, Some(&ages), &|record| Ok(record))
        });
        Ok(Compared { listed, old, rows: looks.checked(rows, seen, self.notes.clone()) })
    }
}

impl<R: Reach> Distributed for Orphans<R> {
    /// Reads the newest version of the table. The listing may be newer, since the last look is later than both.
    fn job(&self, bounds: &Bounds) -> Result<Option<Planned>> {
        let newest = self.checked_newest(&self.prefixes()?)?;
        planned(&newest, &self.which, &self.options, bounds).map(Some)
    }

    fn listed(&self, parts: u32) -> Result<Pieces> {
        let mut listed = self.listed_by(Partitioner::of_listed(0, parts as usize))?;
        let places = self.reach.places(&listed.prefixes)?;
        if self.which.listing.is_none() {
            listed.is_own()?;
        }
        let pieces = listed.pieces(places, self.which.listing.as_ref(), Details::Now)?;
        let threads = threads(self.options.threads);
        let taken = pieces.map(Some).chain([None]).map(move |piece| -> Result<Vec<LargeBinaryArray>> {
            let Some(piece) = piece else {
                let mut chunks = Vec::new();
                let mut take = |chunk| -> Result<()> {
                    chunks.push(chunk);
                    Ok(())
                };
                listed.finish(threads, true, &mut take)?;
                return Ok(chunks);
            };
            listed.take(piece?)?;
            listed.flush()?;
            Ok(listed.take_chunks().collect())
        });
        Ok(Box::new(
            taken.flat_map(each).map(|chunk| chunk.and_then(|chunk| by_part(RecordSide::Listed, &chunk))),
        ))
    }
}

impl<R: Reach> Scan for Orphans<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || Ok(selected(self.compared(Details::Later)?.rows, &self.options)))
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let Compared { listed: all, old, rows } = self.compared(Details::Now)?;
        let orphans = count(rows)?;
        Ok(vec![
            Step::rows("listed files", old, all, "modified long enough ago"),
            Step::rows("orphans", orphans, old, "no root reaches them"),
        ])
    }
}

/// The records of listed and of reached files.
struct Compared {
    /// The number of files in the listing, and how many of them are old enough.
    listed: u64,
    old: u64,
    rows: Batches,
}

/// Takes distributed records.
pub(super) type Take<'t> = dyn FnMut(LargeBinaryArray) -> Result<()> + 't;

/// Gives every file that a table names, including those that it lists as deleted: engines do not delete these
/// as orphans either.
pub(super) fn take_walk(walk: Walk, partitioner: &Arc<Partitioner>, take: &mut Take<'_>) -> Result<()> {
    let mut records = partitioner.new_records();
    let paths = walk.files.reached().iter().map(|file| file.path.as_str());
    records.push_reached(paths.chain(walk.files.named().iter().map(String::as_str)))?;
    take(records.into_parts()?)?;
    for batch in walk.entries {
        take(column::<LargeBinaryArray>(&batch?, "records")?.clone())?;
    }
    Ok(())
}

/// Whether one of the listed files of a part is reached.
fn has_reached(pieces: &[Buffer]) -> Result<bool> {
    let part = PartRecords::of(pieces, &|record| Ok(record))?;
    for record in pieces.iter().flat_map(|piece| records(piece)) {
        let record = record?;
        if matches!(record.fact, Fact::Listed | Fact::New) && part.prefixes(&record).next().is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The orphans of a part. `ages` checks those whose details were not asked for; `known` translates its records
/// to the hashes and prefix numbers of this process.
///
/// # Errors
/// `Location` for a part whose listing is not known to have the table, and has none of the files that it reaches.
pub(super) fn orphans(
    pieces: &[Buffer],
    prefixes: &Prefixes,
    ages: Option<&Ages>,
    known: KnownAs<'_>,
) -> Result<RecordBatch> {
    let part = PartRecords::of(pieces, known)?;
    let (mut rows, mut has_reached) = (OrphanRows::default(), false);
    let (mut spellings, mut taken, mut last) = (None, HashSet::new(), Last::default());
    for record in pieces.iter().flat_map(|piece| records(piece)) {
        let record = record?;
        if !matches!(record.fact, Fact::Listed | Fact::New) {
            continue;
        }
        let record = known(record)?;
        let named = part.prefixes(&record);
        let is_reached = named.clone().next().is_some();
        has_reached |= is_reached;
        if !part.tables.is_empty() && is_below_any(&prefixes.split(record.path, &mut last)?.1, &part.tables) {
            continue;
        }
        if is_reached {
            prefixes.check(named, record.prefix, record.path, record.key)?;
            continue;
        }
        if record.fact == Fact::New || part.has_newer(&record) || part.folders.contains(record.key) {
            continue;
        }
        let Some(record) = ages.map_or(Ok(Some(record)), |ages| ages.checked(record))? else { continue };
        let unlisted = spellings.get_or_insert_with(|| part.unlisted(pieces));
        if let Some(reached) = unlisted.find(record.key) {
            return Err(misspelled(record.path, reached));
        }
        if taken.insert(record.path) {
            rows.push(&record)?;
        }
    }
    // Where no process sent records, there is only what the table names.
    if has_reached || part.is_own || pieces.len() < 2 { rows.finish() } else { Err(of_no_table()) }
}

/// The error for a listing without any file of the table.
#[cold]
fn of_no_table() -> Error {
    let message = "the listing has none of the files that the table reaches: it may be of another bucket or folder, \
                   older than the table, or URL-encoded. Give one of all of the table's folder, with its metadata, and \
                   with decoded paths (urllib.parse.unquote_plus)";
    Error::new(ErrorKind::Location, message)
}

/// Checks the age of orphans that were listed without it. Most files of a table are reached, so few are asked for.
pub(super) struct Ages {
    storage: Arc<dyn Storage>,
    before_ms: Option<i64>,
}

impl Ages {
    /// The record with the details of its file; `None` for a file that was removed or modified since it was
    /// listed, or is too new.
    fn checked<'r>(&self, record: Record<'r>) -> Result<Option<Record<'r>>> {
        if record.size != NOT_ASKED {
            return Ok(Some(record));
        }
        // The path is the real one already, so whatever maps paths is left out.
        let mut storage: &dyn Storage = self.storage.as_ref();
        while let Some(inner) = storage.inner() {
            storage = inner;
        }
        let Some(details) = storage.details(record.path)? else { return Ok(None) };
        let is_old = |before| details.modified.is_some_and(|modified| modified < before);
        let (size, value) = (details.recorded_size(), details.modified.unwrap_or(i64::MIN));
        Ok(self.before_ms.is_none_or(is_old).then_some(Record { size, value, ..record }))
    }
}

/// Translates a record to this process, since hashes and numbers of prefixes differ between processes.
pub(super) type KnownAs<'k> = &'k dyn for<'r> Fn(Record<'r>) -> Result<Record<'r>>;

/// The schema of the rows that `options` ask for.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
pub(super) fn schema(options: &ScanOptions) -> Result<SchemaRef> {
    let none = OrphanRows::default().finish()?;
    Ok(select(&none, options.columns.as_deref(), options.filter.as_deref())?.schema())
}

/// A builder of rows.
#[derive(Default)]
struct OrphanRows {
    paths: StringBuilder,
    sizes: Int64Builder,
    times: TimestampMicrosecondBuilder,
    count: usize,
}

impl OrphanRows {
    fn push(&mut self, record: &Record<'_>) -> Result<()> {
        let time = (record.value != i64::MIN).then(|| record.value.checked_mul(1000));
        let out_of_range = || {
            let message = format!("modified {} ms since 1970", record.value);
            Error::new(ErrorKind::Timestamp, message).in_file(record.path)
        };
        self.times.append_option(time.map(|time| time.ok_or_else(out_of_range)).transpose()?);
        self.paths.append_value(record.path);
        self.sizes.append_option((record.size >= 0).then_some(record.size));
        self.count += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("file_path", Arc::new(self.paths.finish())),
            ("file_size_in_bytes", Arc::new(self.sizes.finish())),
            ("modified_at", Arc::new(self.times.finish().with_timezone("UTC"))),
        ];
        whole(columns, self.count)
    }
}
