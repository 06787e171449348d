//! Sums over the live files of a table, in groups: the views `partitions`, `buckets` and `health`.

mod job;
mod sizes;
pub(crate) mod sums;

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};

pub(crate) use job::GroupsJob;
pub(crate) use sizes::Sizes;
use sums::keys;

use crate::dangling::{DeleteAmounts, DeleteMarks, SnapshotDeletes, numbers, read_numbers};
use crate::distributed::{
    MergedSums, Piece, Pieces, SumReduce, SumSide, batches, foreign, hash, nothing, one, reduced_here,
};
use crate::error::Result;
use crate::health::{self, HealthTask, HealthTotals, ManifestBounds, small_bytes};
use crate::scan::{Batches, Format, ScanOptions, lazily, no_view, once};
use crate::view::{GroupBy, select};

/// Groups of live files, and what is summed up of each.
pub(crate) trait FileGroups<F: Format>: Send + Sized + 'static {
    /// The columns of entries from which sums are made.
    const INPUT: &'static [&'static str];

    /// No groups yet, in the process that has the table.
    ///
    /// # Errors
    /// `Unsupported` for a partition field of a type that cannot be compared.
    fn of(table: &F, summing: &SumOptions) -> Result<Self> {
        Self::sent(&table.sent_types(&ScanOptions::default())?, summing)
    }

    /// No groups yet, in another process.
    ///
    /// # Errors
    /// As [`FileGroups::of`]; those of resolving types, for a job that was changed in transit.
    fn sent(types: &F::Types, summing: &SumOptions) -> Result<Self>;

    /// Adds live files, with the columns of [`FileGroups::INPUT`].
    ///
    /// # Errors
    /// `Required` for a missing column; `Mismatch` for a sum beyond 64 bits.
    fn extend(&mut self, files: &RecordBatch) -> Result<()>;

    /// Adds what [`FileGroups::drain`] returned in another process.
    ///
    /// # Errors
    /// `Required` and `Argument` for a batch of another shape; `Mismatch` for a sum beyond 64 bits.
    fn merge(&mut self, sums: &RecordBatch) -> Result<()>;

    /// Counts of deletion vectors that entries do not have, by group, as far as the requested columns need them.
    ///
    /// # Errors
    /// Those of reading the files that name them.
    fn vectors(_table: &F, _options: &ScanOptions, _by: GroupBy) -> Result<Option<RecordBatch>> {
        Ok(None)
    }

    /// Adds the result of [`FileGroups::vectors`] to groups that have all of their files.
    ///
    /// # Errors
    /// As [`FileGroups::merge`]; `Argument` for a format whose entries have them.
    fn know_vectors(&mut self, _counts: &RecordBatch) -> Result<()> {
        Err(foreign("counts of deletion vectors"))
    }

    /// How many groups there are.
    fn count(&self) -> usize;

    /// Takes out the groups: `partition` binary, equal for equal partitions, and numbers.
    ///
    /// # Errors
    /// None that input could cause.
    fn drain(&mut self) -> Result<RecordBatch>;

    /// The rows of `partitions`, in the order of their first files.
    ///
    /// # Errors
    /// Those of decoding partitions.
    fn shown_partitions(&self) -> Result<RecordBatch>;

    /// The rows of `buckets`, in the order of their first files.
    ///
    /// # Errors
    /// As [`FileGroups::shown_partitions`].
    fn shown_buckets(&self) -> Result<RecordBatch> {
        Err(no_view::<F>("buckets"))
    }

    /// Sums over all groups, with the number of manifests that a plan of each partition reads.
    ///
    /// # Errors
    /// As [`FileGroups::shown_partitions`]; `Mismatch` for a sum beyond 64 bits.
    fn totals(&self, _bounds: &ManifestBounds) -> Result<HealthTotals> {
        Err(no_view::<F>("health"))
    }
}

/// By what live files are summed up, and which columns are shown of the sums.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SumOptions {
    pub(crate) by: GroupBy,
    columns: Option<Vec<String>>,
    /// Files with fewer bytes are small.
    pub(crate) small_bytes: i64,
    /// The commit times of snapshots [milliseconds since 1970 UTC], by id, where entries record which snapshot added a
    /// file and its time is requested.
    pub(crate) committed: HashMap<i64, i64>,
    /// Of the view `health`, what its row is made of besides sums.
    health: Option<HealthTask>,
}

impl SumOptions {
    /// Without what is read of the table.
    fn new(by: GroupBy, options: &ScanOptions) -> SumOptions {
        let (columns, small_bytes) = (options.columns.clone(), small_bytes(options));
        SumOptions { by, columns, small_bytes, committed: HashMap::new(), health: None }
    }

    /// Reads of the table what the rows need besides its live files.
    ///
    /// # Errors
    /// Those of the views `snapshots` and `manifests`.
    fn read<F: Format>(table: &F, by: GroupBy, options: &ScanOptions) -> Result<SumOptions> {
        let mut summing = SumOptions::new(by, options);
        let is_time = |name: &String| name.starts_with("last_updated_");
        if by == GroupBy::Table {
            summing.health = Some(HealthTask::read(table, table.schema_id(), options)?);
        } else if options.columns.as_ref().is_none_or(|names| names.iter().any(is_time)) {
            summing.committed = table.commit_times()?;
        }
        Ok(summing)
    }
}

/// The columns of the rows.
///
/// # Errors
/// `UnknownColumn`; `Unsupported` for a partition field of a type that cannot be compared.
pub(crate) fn schema<F: Format>(table: &F, by: GroupBy, options: &ScanOptions) -> Result<SchemaRef> {
    if by == GroupBy::Table {
        return health::schema(options.columns.as_deref());
    }
    let summing = SumOptions::new(by, options);
    let groups = F::Groups::of(table, &summing)?;
    Ok(GroupSums::<F>::of(groups, summing).rows()?.schema())
}

/// The rows of a view of groups: the job's reduces in this process. Files are streamed: memory grows with the groups and, for
/// `health`, with the deletes, not with the files.
///
/// # Errors
/// Those of reading live files, and of [`FileGroups`].
pub(crate) fn rows<F: Format>(table: &F, by: GroupBy, options: &ScanOptions) -> Result<Batches> {
    let summing = SumOptions::read(table, by, options)?;
    let health = summing.health.is_some().then(|| HealthSums::of(&summing)).transpose()?;
    let mut sums = GroupSums::<F>::of(F::Groups::of(table, &summing)?, summing);
    let table = if health.is_some() { table.clone().keeping() } else { table.clone() };
    let deletes = deletes_of(&table, by, options)?;
    let mut marks = deletes.as_ref().map(|known| F::Deletes::of(&table, &known.deletes)).transpose()?;
    let unfiltered = if options.table_filter.is_some() { marks.take() } else { None };
    let files = table.live_files(&input_of::<F>(marks.as_ref()), options)?;
    sums.deletes = marks;
    let known = F::Groups::vectors(&table, options, by)?.map(once);
    let sides = [(SumSide::Rows, Some(files)), (SumSide::Known, known)];
    let sides = sides.into_iter().filter_map(|(side, rows)| Some(Ok((side.into(), rows?))));
    let sums = reduced_here(sides, SumReduce::last(sums));
    let Some(health) = health else { return Ok(batches(sums)) };
    let marked = unfiltered.map(|marks| (SumSide::Marks, marked_by_all(table, marks, options.threads)));
    let amounts = deletes.map(|deletes| (SumSide::Known, once(deletes.amounts)));
    let sides = sums.map(|piece| piece.map(|piece| (piece.side, once(piece.rows))));
    let sides = sides.chain(marked.into_iter().chain(amounts).map(|(side, rows)| Ok((side.into(), rows))));
    Ok(batches(reduced_here(sides, SumReduce::last(health))))
}

/// The deletes that `health` compares files with, as far as the requested columns need them.
///
/// # Errors
/// Those of [`DeleteMarks::read`].
fn deletes_of<F: Format>(table: &F, by: GroupBy, options: &ScanOptions) -> Result<Option<SnapshotDeletes>> {
    let are_needed = by == GroupBy::Table && health::needs_deletes(options.columns.as_deref());
    if are_needed { F::Deletes::read(table, options) } else { Ok(None) }
}

/// The columns of live files that sums are made of, and that deletes are compared with.
fn input_of<F: Format>(deletes: Option<&F::Deletes>) -> Vec<&'static str> {
    let mut columns = F::Groups::INPUT.to_vec();
    let more = deletes.map(DeleteMarks::input).unwrap_or_default();
    columns.extend(more.into_iter().filter(|name| !F::Groups::INPUT.contains(name)));
    columns
}

/// The numbers of the deletes that apply to some live file, whichever files a filter leaves.
fn marked_by_all<F: Format>(table: F, mut deletes: F::Deletes, threads: usize) -> Batches {
    lazily(move || {
        let options = ScanOptions { threads, ..ScanOptions::default() };
        for files in table.live_files(&deletes.input(), &options)? {
            deletes.mark(&files?)?;
        }
        Ok(once(numbers(deletes.marked())?))
    })
}

/// The groups of a part, or of all files.
struct GroupSums<F: Format> {
    groups: F::Groups,
    summing: SumOptions,
    /// Groups that are held before they are sent on, and rows of a batch.
    held: usize,
    /// The table's types, in another process than that which has the table.
    types: Option<F::Types>,
    /// The deletes that files are compared with.
    deletes: Option<F::Deletes>,
}

impl<F: Format> GroupSums<F> {
    /// In the process that has the table.
    fn of(groups: F::Groups, summing: SumOptions) -> GroupSums<F> {
        GroupSums { groups, summing, held: usize::MAX, types: None, deletes: None }
    }

    /// The rows; for `health` those of which [`HealthSums`] make its row.
    fn rows(&self) -> Result<RecordBatch> {
        let SumOptions { by, health, columns, .. } = &self.summing;
        let rows = match (by, health) {
            (GroupBy::Partition, _) => self.groups.shown_partitions()?,
            (GroupBy::Bucket, _) => self.groups.shown_buckets()?,
            (GroupBy::Table, Some(health)) => return self.groups.totals(health.bounds())?.to_batch(),
            (GroupBy::Table, None) => return Err(foreign("this is not a job of health")),
        };
        select(&rows, columns.as_deref(), None)
    }
}

impl<F: Format> MergedSums for GroupSums<F> {
    fn add(&mut self, files: &RecordBatch) -> Result<()> {
        self.deletes.as_mut().map_or(Ok(()), |deletes| deletes.mark(files))?;
        self.groups.extend(files)
    }

    fn compare(&mut self, deletes: &RecordBatch) -> Result<()> {
        let types = self.types.as_ref().ok_or_else(|| foreign("deletes where the table is"))?;
        self.deletes = Some(F::Deletes::sent(types, deletes)?);
        Ok(())
    }

    /// The sums of all parts are compared with what all have found.
    fn find(&mut self, marks: RecordBatch) -> Result<Pieces> {
        one(Piece::alone(SumSide::Marks, marks))
    }

    fn found(&mut self) -> Result<Option<RecordBatch>> {
        self.deletes.as_ref().map(|deletes| numbers(deletes.marked())).transpose()
    }

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        self.groups.merge(sums)
    }

    fn know(&mut self, vectors: &RecordBatch) -> Result<()> {
        self.groups.know_vectors(vectors)
    }

    fn is_full(&self) -> bool {
        self.groups.count() >= self.held
    }

    fn drain(&mut self) -> Result<(RecordBatch, Vec<Option<u64>>)> {
        let sums = self.groups.drain()?;
        let keys = keys(&sums)?.iter().map(|key| key.map(hash)).collect();
        Ok((sums, keys))
    }

    fn finish(&mut self) -> Result<Pieces> {
        let (rows, most) = (self.rows()?, self.held);
        let side = if self.summing.health.is_some() { SumSide::Sums } else { SumSide::Rows };
        let starts = (0..rows.num_rows()).step_by(most);
        Ok(Box::new(
            starts.map(move |start| {
                Ok(Piece::alone(side, rows.slice(start, most.min(rows.num_rows() - start))))
            }),
        ))
    }
}

/// The sums over all parts, of which the row of `health` is made.
struct HealthSums {
    health: HealthTask,
    totals: HealthTotals,
    /// The numbers of deletes that apply to some live file.
    marked: RoaringBitmap,
    deletes: DeleteAmounts,
}

impl HealthSums {
    /// # Errors
    /// `Argument` for sums of another view.
    fn of(summing: &SumOptions) -> Result<HealthSums> {
        let health = summing.health.clone().ok_or_else(|| foreign("this is not a job of health"))?;
        let (totals, marked) = (HealthTotals::ZERO, RoaringBitmap::new());
        Ok(HealthSums { health, totals, marked, deletes: DeleteAmounts::default() })
    }
}

impl MergedSums for HealthSums {
    fn add(&mut self, _rows: &RecordBatch) -> Result<()> {
        Err(foreign("files where all is summed up"))
    }

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        self.totals = self.totals.and_all(sums)?;
        Ok(())
    }

    fn find(&mut self, marks: RecordBatch) -> Result<Pieces> {
        let numbers = read_numbers(&marks)?.iter().flatten();
        self.marked.extend(numbers.filter_map(|number| u32::try_from(number).ok()));
        nothing()
    }

    /// How much each of the deletes is.
    fn know(&mut self, deletes: &RecordBatch) -> Result<()> {
        self.deletes = DeleteAmounts::of(deletes, &self.marked)?;
        Ok(())
    }

    fn drain(&mut self) -> Result<(RecordBatch, Vec<Option<u64>>)> {
        Ok((self.totals.to_batch()?, Vec::new()))
    }

    fn finish(&mut self) -> Result<Pieces> {
        one(Piece::rows(self.health.row_of(&self.totals, &self.deletes)?))
    }
}
