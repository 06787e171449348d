//! Files in a table's folders that no root reaches.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::found::count;
use super::job::{RecordSide, keyed};
use super::kind::Kinds;
use super::listed::{ListedRecords, OrphanOptions};
use super::listing::Details;
use super::looks::{Looks, VisitedSet};
use super::orphan_rows::{Ages, has_reached, of_no_table, orphans, schema};
use super::orphans_job::planned;
use super::partitioner::{PARTS, Partitioner, seed};
use super::partitions::RecordParts;
use super::plan_columns::PlanColumns;
use super::prefixes::Prefixes;
use super::walk::WalkOptions;
use super::{NewestReach, Reach, Walk};
use crate::credentials::without_credentials;
use crate::distributed::{Bounds, Distributed, JobPlan, Pieces};
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::scan::{Batches, Scan, ScanOptions, Step, each, limited, threads};

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
    fn listed_by(&self, partitioner: Partitioner) -> Result<ListedRecords> {
        let (storage, prefixes) = (self.reach.storage(), self.prefixes()?);
        Ok(ListedRecords::new(&self.which, prefixes, R::BY_NAME, partitioner, storage, &self.notes))
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
    fn compared(&self, details: Details) -> Result<FoundOrphans> {
        let storage = Arc::clone(self.reach.storage());
        let mut listed = self.listed_by(Partitioner::seeded(seed(), PARTS))?;
        let (threads, mut partitions) = (threads(self.options.threads), RecordParts::new());
        let places = self.reach.places(&listed.prefixes)?;
        // Whether the listing has files of the table is known when all is read.
        listed.is_own()?;
        for piece in listed.pieces(places, self.which.listing.as_ref(), details)? {
            listed.take(piece?)?.into_iter().try_for_each(|chunk| partitions.push(chunk))?;
        }
        listed.finish(threads, false, &mut |chunk| partitions.push(chunk))?;
        let newest = self.checked_newest(&listed.prefixes)?;
        let plan = PlanColumns::of_orphans(newest.table(), &self.which)?;
        let partitioner = Arc::new(listed.partitioner(newest.moved(), false));
        let mut seen = VisitedSet::default();
        let (kinds, of_walk) = (Kinds::ALL, Arc::clone(&partitioner));
        let options = WalkOptions { retention: None, kinds, partitioner: of_walk, threads };
        let walk = newest.walk(&options, &mut seen)?;
        let ListedRecords { prefixes, listed, old, shows_table, .. } = listed;
        let looks = Looks::at_places(
            Arc::clone(&self.newest),
            Arc::clone(&prefixes),
            Arc::clone(&storage),
            &self.options,
        );
        take_walk(walk, &partitioner, &mut |chunk| partitions.push(chunk))?;
        newest.notes().take().into_iter().for_each(|note| self.notes.add(note));
        let ages = Ages { storage: Arc::clone(&storage), before_ms: self.which.before_ms };
        // Where files are compared by name, those that show the table are not looked at.
        let is_own = self.which.listing.is_none() || R::BY_NAME && shows_table;
        if !is_own && !partitions.any(&storage, has_reached)? {
            return Err(of_no_table());
        }
        let make = Box::new(move |pieces: &[_]| orphans(pieces, &prefixes, Some(&ages)));
        let rows = partitions.rows(&storage, threads, make);
        Ok(FoundOrphans { listed, old, rows: looks.checked(rows, seen, self.notes.clone()), plan })
    }
}

impl<R: Reach> Distributed for Orphans<R> {
    /// Reads the newest version of the table. The listing may be newer, since the last look is later than both.
    fn job(&self, bounds: &Bounds) -> Result<Option<JobPlan>> {
        let newest = self.checked_newest(&self.prefixes()?)?;
        planned(&newest, &self.which, &self.options, bounds).map(Some)
    }

    fn listed(&self) -> Result<Pieces> {
        let mut listed = self.listed_by(Partitioner::keyed(seed()))?;
        let places = self.reach.places(&listed.prefixes)?;
        if self.which.listing.is_none() {
            listed.is_own()?;
        }
        let pieces = listed.pieces(places, self.which.listing.as_ref(), Details::Now)?;
        let threads = threads(self.options.threads);
        let chunks = pieces.map(Some).chain([None]).map(move |piece| -> Result<Vec<RecordBatch>> {
            let Some(piece) = piece else {
                let mut chunks = Vec::new();
                let mut take = |chunk| -> Result<()> {
                    chunks.push(chunk);
                    Ok(())
                };
                listed.finish(threads, true, &mut take)?;
                return Ok(chunks);
            };
            listed.take(piece?)
        });
        Ok(Box::new(chunks.flat_map(each).map(|chunk| keyed(RecordSide::Listed, chunk?))))
    }
}

impl<R: Reach> Scan for Orphans<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || {
            let FoundOrphans { rows, plan, .. } = self.compared(Details::Later)?;
            let options = self.options.clone();
            Ok(Box::new(rows.map(move |rows| plan.selected(&rows?, &options))))
        })
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let FoundOrphans { listed: all, old, rows, .. } = self.compared(Details::Now)?;
        let orphans = count(rows)?;
        Ok(vec![
            Step::rows("listed files", old, all, "modified long enough ago"),
            Step::rows("orphans", orphans, old, "no root reaches them"),
        ])
    }
}

/// The records of listed and of reached files.
struct FoundOrphans {
    /// The number of files in the listing, and how many of them are old enough.
    listed: u64,
    old: u64,
    rows: Batches,
    plan: PlanColumns,
}

/// Takes records of files.
pub(super) type RecordSink<'t> = dyn FnMut(RecordBatch) -> Result<()> + 't;

/// Gives every file that a table names, including those that it lists as deleted: engines do not delete these
/// as orphans either.
pub(super) fn take_walk(
    mut walk: Walk,
    partitioner: &Arc<Partitioner>,
    take: &mut RecordSink<'_>,
) -> Result<()> {
    let mut records = partitioner.new_records();
    let paths = walk.files.reached().iter().map(|file| file.path.as_str());
    records.push_reached(paths.chain(walk.files.named().iter().map(String::as_str)))?;
    take(records.finish()?)?;
    walk.entries.try_for_each(|records| take(records?))
}
