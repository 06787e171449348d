//! Files that lie among a table's and that nothing reaches.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use hashbrown::HashTable;

use super::deal::{Dealer, Named};
use super::found::count;
use super::kind::{Kind, Kinds};
use super::listed::Listed;
use super::partitions::Partitions;
use super::prefixes::Prefixes;
use super::record::{Fact, Record, records};
use super::sets::SetId;
use super::walk::Wanted;
use super::{Reach, Walk};
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited, selected, threads};
use crate::view::{select, whole};

/// Starts reading a listing, once more each time: `path` text, `size` int64 bytes, `modified` int64 milliseconds since
/// 1970 UTC.
pub type Listing = Arc<dyn Fn() -> Result<Batches> + Send + Sync>;

/// Which files may be orphans.
#[derive(Clone, Default)]
pub struct OrphanOptions {
    /// Only those modified before, in milliseconds since 1970 UTC; others may be of a commit that is under way.
    pub before_ms: Option<i64>,
    /// Schemes that mean what another means.
    pub equal_schemes: Vec<(String, String)>,
    /// Authorities (buckets, hosts) that mean what another means.
    pub equal_authorities: Vec<(String, String)>,
    /// What lies there, where the caller knows; else the table's folders are listed.
    pub listing: Option<Listing>,
}

/// What a listing has and a table does not reach.
pub(crate) struct Orphans<R> {
    reach: R,
    which: OrphanOptions,
    options: ScanOptions,
    schema: SchemaRef,
    notes: Notes,
}

impl<R: Reach> Orphans<R> {
    /// Those of a table; columns and filter are checked, nothing is read.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`.
    pub(crate) fn new(reach: R, which: OrphanOptions, options: ScanOptions) -> Result<Orphans<R>> {
        let none = Rows::default().finish()?;
        let schema = select(&none, options.columns.as_deref(), options.filter.as_deref())?.schema();
        let notes = reach.notes();
        Ok(Orphans { reach, which, options, schema, notes })
    }

    /// Lists the files, then reads the table as it is by then: what a commit added in between is reached.
    fn compared(&self) -> Result<Compared> {
        let mut listed = Listed::new(&self.which);
        let places = self.reach.places()?;
        match &self.which.listing {
            Some(listing) => listed.take_listing(listing()?, &places, self.reach.storage().as_ref())?,
            None => listed.list(&places, self.reach.storage(), &self.notes)?,
        }
        let newest = self.reach.newest()?;
        let storage = Arc::clone(newest.storage());
        let by_name = places.iter().any(|place| place.by_name);
        let dealer = Arc::new(listed.dealer(Arc::clone(&storage), by_name));
        let threads = threads(self.options.threads);
        let walk = newest.walk(&Wanted {
            retention: None,
            kinds: Kinds::ALL,
            dealer: Arc::clone(&dealer),
            threads,
        })?;
        let Listed { mut partitions, prefixes, listed, old, .. } = listed.whole()?;
        take_walk(walk, &dealer, &mut partitions)?;
        newest.notes().take().into_iter().for_each(|note| self.notes.add(note));
        let rows = partitions.each(&storage, threads, move |records| orphans(records, &prefixes));
        Ok(Compared { listed, old, rows: Box::new(rows) })
    }
}

impl<R: Reach> Scan for Orphans<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || {
            let rows = self.compared()?.rows.filter(|rows| !matches!(rows, Ok(rows) if rows.num_rows() == 0));
            Ok(selected(rows, &self.options))
        })
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let Compared { listed: all, old, rows } = self.compared()?;
        let orphans = count(rows)?;
        Ok(vec![
            Step::rows("listed files", old, all, "when they were modified"),
            Step::rows("orphans", orphans, old, "reached by nothing"),
        ])
    }
}

/// What is listed beside what is reached.
struct Compared {
    /// Files in the listing, and how many of them are old enough.
    listed: u64,
    old: u64,
    rows: Batches,
}

/// Takes everything that a table names, also what it only says is deleted: engines leave that alone.
fn take_walk(walk: Walk, dealer: &Arc<Dealer>, partitions: &mut Partitions) -> Result<()> {
    let mut deal = dealer.deal();
    let paths = walk.files.reached().iter().map(|file| file.path.as_str());
    for path in paths.chain(walk.files.named().iter().map(String::as_str)) {
        let (fact, kind, set) = (Fact::Reached, Kind::Extra, SetId::NONE);
        deal.push(Named { path, kind, fact, set, size: -1, identity: 0 })?;
    }
    partitions.push(deal.dealt()?)?;
    for batch in walk.entries {
        partitions.push_batch(&batch?)?;
    }
    Ok(())
}

/// The orphans of a part.
fn orphans(pieces: &[Buffer], prefixes: &Prefixes) -> Result<RecordBatch> {
    let reached = ReachedKeys::of(pieces)?;
    let mut rows = Rows::default();
    for record in pieces.iter().flat_map(|piece| records(piece)) {
        let record = record?;
        if record.fact != Fact::Listed {
            continue;
        }
        let mut named = reached.prefixes(&record).peekable();
        match named.peek().copied() {
            None => rows.push(&record)?,
            // Of names nobody asks where they are.
            Some(first) if record.key.contains('/') => {
                if !named.any(|prefix| prefixes.agree(prefix, record.prefix)) {
                    return Err(prefixes.conflict(first, record.prefix, record.path));
                }
            }
            Some(_) => {}
        }
    }
    rows.finish()
}

/// The keys that are reached, each with all prefixes that it has.
#[derive(Default)]
struct ReachedKeys<'r>(HashTable<(u64, u16, &'r str)>);

impl<'r> ReachedKeys<'r> {
    fn of(pieces: &'r [Buffer]) -> Result<ReachedKeys<'r>> {
        let mut keys = ReachedKeys::default();
        for record in pieces.iter().flat_map(|piece| records(piece)) {
            let Record { fact, hash, prefix, key, .. } = record?;
            let is_it = |known: &(u64, u16, &str)| *known == (hash, prefix, key);
            if fact == Fact::Reached && keys.0.find(hash, is_it).is_none() {
                keys.0.insert_unique(hash, (hash, prefix, key), |(hash, ..)| *hash);
            }
        }
        Ok(keys)
    }

    /// The prefixes that the key of a record is reached with.
    fn prefixes<'k>(&'k self, record: &'k Record<'_>) -> impl Iterator<Item = u16> + 'k {
        let of_hash = self.0.iter_hash(record.hash);
        of_hash
            .filter(|(hash, _, key)| (*hash, *key) == (record.hash, record.key))
            .map(|(_, prefix, _)| *prefix)
    }
}

/// Rows that are being made.
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
