//! Files in a table's folders that no root reaches.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, LargeBinaryArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use hashbrown::HashTable;

use super::exchange::by_part;
use super::found::count;
use super::kind::{Kind, Kinds};
use super::listed::{Listed, OrphanOptions, folders};
use super::listing::Details;
use super::looks::{Comparison, Looks, Seen};
use super::orphans_exchange::{LISTED, orphans_exchanged};
use super::partitioner::{Named, Partitioner};
use super::partitions::Partitions;
use super::prefixes::Prefixes;
use super::record::{Fact, NOT_ASKED, Record, records};
use super::sets::SetId;
use super::walk::WalkOptions;
use super::{NewestReach, Reach, Walk};
use crate::distributed::{Distributed, Exchanged, Pieces};
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited, selected, threads};
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
    /// `UnknownColumn`, `Predicate`.
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

    /// How the table is looked at after it was walked.
    fn looks(&self, prefixes: Arc<Prefixes>, by_name: bool) -> Looks<R> {
        let storage = Arc::clone(self.reach.storage());
        Looks {
            newest: Arc::clone(&self.newest),
            retention: None,
            kinds: Kinds::ALL,
            threads: threads(self.options.threads),
            comparison: Comparison::Places { prefixes, by_name, storage },
        }
    }

    /// Lists the files, then reads the newest version of the table, and then looks at it again: what is
    /// committed, tagged or branched in between takes rows out.
    fn compared(&self, details: Details) -> Result<Compared> {
        let mut listed = Listed::new(&self.which, Partitioner::new());
        let mut partitions = Partitions::new();
        let places = self.reach.places()?;
        let by_name = places.iter().any(|place| place.by_name);
        let storage = Arc::clone(self.reach.storage());
        match &self.which.listing {
            Some(listing) => {
                let known = listed.known_folders(places, storage.as_ref())?;
                for batch in listing()? {
                    listed.take_batch(&batch?, &known)?;
                    listed.take_chunks().try_for_each(|chunk| partitions.push(chunk))?;
                }
            }
            None => {
                for files in folders(places, details, &storage, &self.notes) {
                    listed.take_folder(files?, storage.as_ref())?;
                    listed.take_chunks().try_for_each(|chunk| partitions.push(chunk))?;
                }
            }
        }
        listed.flush()?;
        listed.take_chunks().try_for_each(|chunk| partitions.push(chunk))?;
        let newest = (self.newest)()?;
        let partitioner = Arc::new(listed.partitioner(Arc::clone(&storage), by_name));
        let (threads, mut seen) = (threads(self.options.threads), Seen::default());
        let (kinds, of_walk) = (Kinds::ALL, Arc::clone(&partitioner));
        let options = WalkOptions { retention: None, kinds, partitioner: of_walk, threads };
        let walk = newest.walk(&options, &mut seen)?;
        let Listed { prefixes, listed, old, .. } = listed;
        let looks = self.looks(Arc::clone(&prefixes), by_name);
        take_walk(walk, &partitioner, &mut partitions)?;
        newest.notes().take().into_iter().for_each(|note| self.notes.add(note));
        let ages = Ages { storage: Arc::clone(self.reach.storage()), before_ms: self.which.before_ms };
        let rows = partitions.each(&storage, threads, move |pieces| {
            orphans(pieces, &prefixes, Some(&ages), &|record| Ok(record))
        });
        Ok(Compared { listed, old, rows: looks.checked(rows, seen, self.notes.clone()) })
    }
}

impl<R: Reach> Distributed for Orphans<R> {
    /// Reads the newest version of the table. The listing may be newer, since [`Distributed::looked_again`] is
    /// later than both.
    fn exchange(&self, _equality_ids: &[i32]) -> Result<Exchanged> {
        let by_name = self.reach.places()?.iter().any(|place| place.by_name);
        let newest = (self.newest)()?;
        orphans_exchanged(&newest, by_name, &self.which, &self.options)
    }

    fn looked_again(&self, rows: Batches, seen: &str) -> Result<Batches> {
        let by_name = self.reach.places()?.iter().any(|place| place.by_name);
        let prefixes = Prefixes::new(&self.which.equal_schemes, &self.which.equal_authorities);
        let looks = self.looks(Arc::new(prefixes), by_name);
        let rows = looks.checked(rows, Seen::from_text(seen)?, self.notes.clone());
        Ok(selected(rows, &self.options))
    }

    fn listed(&self, parts: u32) -> Result<Pieces> {
        let mut listed = Listed::new(&self.which, Partitioner::seeded(0, parts as usize));
        let storage = Arc::clone(self.reach.storage());
        let places = self.reach.places()?;
        let taken: Box<dyn Iterator<Item = Result<Vec<LargeBinaryArray>>> + Send> = match &self.which.listing
        {
            Some(listing) => {
                let known = listed.known_folders(places, storage.as_ref())?;
                Box::new(listing()?.map(move |batch| {
                    listed.take_batch(&batch?, &known)?;
                    listed.flush()?;
                    Ok(listed.take_chunks().collect())
                }))
            }
            None => Box::new(folders(places, Details::Now, &storage, &self.notes).map(move |files| {
                listed.take_folder(files?, storage.as_ref())?;
                listed.flush()?;
                Ok(listed.take_chunks().collect())
            })),
        };
        Ok(Box::new(taken.flat_map(|taken| match taken {
            Ok(all) => all.iter().map(|chunk| Ok((LISTED, by_part(chunk)?))).collect(),
            Err(error) => vec![Err(error)],
        })))
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

/// Adds every file that a table names, including those that it lists as deleted: engines do not delete these
/// as orphans either.
fn take_walk(walk: Walk, partitioner: &Arc<Partitioner>, partitions: &mut Partitions) -> Result<()> {
    let mut records = partitioner.new_records();
    let paths = walk.files.reached().iter().map(|file| file.path.as_str());
    for path in paths.chain(walk.files.named().iter().map(String::as_str)) {
        let (fact, kind, set) = (Fact::Reached, Kind::Extra, SetId::NONE);
        records.push(Named { path, kind, fact, set, size: -1, identity: 0 })?;
    }
    partitions.push(records.into_parts()?)?;
    for batch in walk.entries {
        partitions.push_batch(&batch?)?;
    }
    Ok(())
}

/// The orphans of a part. `ages` checks those whose details were not asked for; `known` translates its records
/// to the hashes and prefix numbers of this process.
pub(super) fn orphans(
    pieces: &[Buffer],
    prefixes: &Prefixes,
    ages: Option<&Ages>,
    known: KnownAs<'_>,
) -> Result<RecordBatch> {
    let reached = ReachedKeys::of(pieces, known)?;
    let mut rows = Rows::default();
    for record in pieces.iter().flat_map(|piece| records(piece)) {
        let record = record?;
        if record.fact != Fact::Listed {
            continue;
        }
        let record = known(record)?;
        let named = reached.prefixes(&record);
        if named.clone().next().is_some() {
            prefixes.check(named, record.prefix, record.path, record.key)?;
        } else if let Some(record) = ages.map_or(Ok(Some(record)), |ages| ages.checked(record))? {
            rows.push(&record)?;
        }
    }
    rows.finish()
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

/// The keys of reached files, each with all its prefixes.
#[derive(Default)]
struct ReachedKeys<'r>(HashTable<(u64, u16, &'r str)>);

impl<'r> ReachedKeys<'r> {
    fn of(pieces: &'r [Buffer], known: KnownAs<'_>) -> Result<ReachedKeys<'r>> {
        let mut keys = ReachedKeys::default();
        for record in pieces.iter().flat_map(|piece| records(piece)) {
            let record = record?;
            if record.fact != Fact::Reached {
                continue;
            }
            let Record { hash, prefix, key, .. } = known(record)?;
            let is_it = |known: &(u64, u16, &str)| *known == (hash, prefix, key);
            if keys.0.find(hash, is_it).is_none() {
                keys.0.insert_unique(hash, (hash, prefix, key), |(hash, ..)| *hash);
            }
        }
        Ok(keys)
    }

    /// The prefixes with which the key of a record is reached.
    fn prefixes<'k>(&'k self, record: &'k Record<'_>) -> impl Iterator<Item = u16> + Clone + 'k {
        let of_hash = self.0.iter_hash(record.hash);
        of_hash
            .filter(|(hash, _, key)| (*hash, *key) == (record.hash, record.key))
            .map(|(_, prefix, _)| *prefix)
    }
}

/// The schema of the rows that `options` ask for.
///
/// # Errors
/// `UnknownColumn`, `Predicate`.
pub(super) fn schema(options: &ScanOptions) -> Result<SchemaRef> {
    let none = Rows::default().finish()?;
    Ok(select(&none, options.columns.as_deref(), options.filter.as_deref())?.schema())
}

/// A builder of rows.
#[derive(Default)]
struct Rows {
    paths: StringBuilder,
    sizes: Int64Builder,
    times: TimestampMicrosecondBuilder,
    count: usize,
}

impl Rows {
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
