//! Jobs as they are sent, and what a process does of one.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use super::JobPlan;
use super::job::{Job, ManifestMap, Piece, Pieces, Process, Shuffle, batches, foreign};
use super::shuffle::{PACKED, PlacedPieces, from_ipc, ipc, packed, packed_known, unpacked};
use super::stages::{OpenReduce, Stages, reduced, reduced_by_part};
use crate::error::{Error, ErrorKind, Result};
use crate::format::Formats;
use crate::json::parse_within;
use crate::predicate::Predicate;
use crate::scan::{Batches, Content};
use crate::view::{SummaryRows, matching, only};

/// A job of any format, as it is sent.
pub trait AnyJob: Send + Sync {
    /// The job.
    fn job(&self) -> &dyn Job;

    /// The name of its format, and its JSON.
    ///
    /// # Errors
    /// None that input could cause.
    fn to_json(&self) -> Result<(&'static str, Vec<u8>)>;

    /// The same job with its rows summed up.
    fn summed(self: Box<Self>, wanted: SummaryRows) -> Box<dyn AnyJob>;
}

/// Reads a job of one format from its JSON.
pub type ReadJob = fn(&[u8]) -> Result<Box<dyn AnyJob>>;

/// The rows of a view that its caller wants, by the view's own columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowFilter {
    /// What the rows must meet.
    pub(crate) condition: String,
    /// The columns to return.
    pub(crate) columns: Vec<String>,
}

/// The columns of the rows that are wanted of a job.
pub(super) fn wanted_schema(job: &dyn Job, filter: Option<&RowFilter>) -> Result<SchemaRef> {
    let schema = job.schema()?;
    let Some(filter) = filter else { return Ok(schema) };
    let fields = filter.columns.iter().map(|name| Ok(schema.field_with_name(name)?.clone()));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// The rows that are wanted of those that a job makes.
fn wanted(job: &dyn Job, filter: Option<&RowFilter>, pieces: Pieces) -> Result<Batches> {
    let (rows, shown) = (batches(pieces), wanted_schema(job, filter)?);
    let Some(RowFilter { condition, .. }) = filter else { return Ok(rows) };
    let condition = Predicate::parse(condition)?.bind(job.schema()?.as_ref())?;
    Ok(Box::new(rows.map(move |rows| only(&matching(&rows?, &condition)?, &shown))))
}

/// The version of lakebed, the first line of a job's bytes.
const VERSION: &str = concat!("lakebed ", env!("CARGO_PKG_VERSION"));

/// The second line; the third one is the JSON of the job, and what follows the Arrow stream of what is known.
#[derive(Serialize, Deserialize)]
struct JobHead<'h> {
    #[serde(borrow)]
    format: Cow<'h, str>,
    parts: u32,
    filter: Option<RowFilter>,
}

/// A job, what every process needs of it, and what was known when it was planned.
pub struct SentJob {
    job: Box<dyn AnyJob>,
    parts: u32,
    filter: Option<RowFilter>,
    /// Pieces, and the reduces that they are for.
    known: Vec<(usize, Piece)>,
}

/// Parts of a shuffle for each of its tasks: of several, a task has about as many bytes as any other.
const PARTS_PER_TASK: usize = 4;

impl JobPlan {
    /// The job as it is sent.
    ///
    /// # Errors
    /// None that input could cause.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (format, job) = self.job.to_json()?;
        let head = JobHead { format: format.into(), parts: self.parts(), filter: self.filter.clone() };
        let head = serde_json::to_vec(&head).map_err(foreign)?;
        let mut bytes = [VERSION.as_bytes(), &head, &job, b""].join(&b'\n');
        bytes.extend(ipc(&PACKED, &packed_known(&self.known)?, None)?);
        Ok(bytes)
    }

    fn parts(&self) -> u32 {
        let parts = u32::try_from(self.tasks.saturating_mul(PARTS_PER_TASK)).unwrap_or(u32::MAX);
        self.parts.unwrap_or(parts).max(1)
    }

    /// How many tasks each shuffle moves pieces to.
    pub fn shuffles(&self) -> Vec<usize> {
        let shuffles = self.job.job().shuffles();
        let tasks = |shuffle: &Shuffle| if *shuffle == Shuffle::ToOne { 1 } else { self.tasks };
        shuffles.iter().filter(|shuffle| **shuffle != Shuffle::Here).map(tasks).collect()
    }

    /// What was made while the job was planned, as the batches that go to the stage of that number: packed pieces, or
    /// rows for the number after the last stage.
    ///
    /// # Errors
    /// None that input could cause.
    pub fn made(&self) -> Result<Vec<(usize, Vec<RecordBatch>)>> {
        let stages = Stages::of(self.job.job());
        let mut made = BTreeMap::<usize, Vec<Piece>>::new();
        for (step, piece) in &self.made {
            made.entry(stages.of_step(*step)).or_default().push(piece.clone());
        }
        let batches = |(stage, pieces): (usize, Vec<Piece>)| -> Result<(usize, Vec<RecordBatch>)> {
            let pieces: Pieces = Box::new(pieces.into_iter().map(Ok));
            let rows = match stage > stages.last() {
                true => wanted(self.job.job(), self.filter.as_ref(), pieces)?,
                false => packed(pieces, if stages.is_to_one(stage) { 1 } else { self.parts() }),
            };
            Ok((stage, rows.collect::<Result<_>>()?))
        };
        made.into_iter().map(batches).collect()
    }
}

impl SentJob {
    /// The job that [`JobPlan::to_bytes`] wrote.
    ///
    /// # Errors
    /// `Unsupported` for a job of another version of lakebed; `Argument` for other bytes.
    pub fn read(bytes: &[u8], formats: &Formats) -> Result<SentJob> {
        let mut lines = bytes.splitn(4, |byte| *byte == b'\n');
        let mut line = || lines.next().ok_or_else(|| foreign("it has too few lines"));
        let version = line()?;
        if version != VERSION.as_bytes() {
            let theirs = std::str::from_utf8(version).ok().filter(|version| version.starts_with("lakebed "));
            let theirs = theirs.ok_or_else(|| foreign("its version is missing"))?;
            let message = format!(
                "the job is of {theirs}, and this process has {VERSION}: give the executors the driver's version"
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let unread = |error: Error| foreign(error.message());
        let JobHead { format, parts, filter } = parse_within::<JobHead<'_>>(line()?).map_err(unread)?;
        let row = formats.0.iter().find(|known| known.name == format);
        let row = row.ok_or_else(|| foreign(format!("unknown format {format:?}")))?;
        let job = (row.job)(line()?).map_err(unread)?;
        let known = from_ipc(Buffer::from(line()?))?;
        let known = unpacked(Box::new(known.into_iter().map(Ok)));
        let known = known.map(|piece| {
            let (step, piece) = piece?;
            Ok((usize::try_from(step).map_err(foreign)?, piece))
        });
        Ok(SentJob { job, parts, filter, known: known.collect::<Result<_>>()? })
    }

    /// What a stage makes: rows of the view for the last one, else packed pieces.
    ///
    /// # Errors
    /// Those of the job.
    pub fn schema_of(&self, stage: usize) -> Result<SchemaRef> {
        match stage >= Stages::of(self.job.job()).last() {
            true => wanted_schema(self.job.job(), self.filter.as_ref()),
            false => Ok(Arc::clone(&PACKED)),
        }
    }

    /// Maps manifests: given by path, with all of their bytes or some blocks.
    ///
    /// # Errors
    /// Those of the job; `Argument` for one that reads its manifests itself.
    pub fn map(
        &self,
        manifests: impl Iterator<Item = Result<(String, Content)>> + Send + 'static,
        process: Process,
    ) -> Result<Batches> {
        let ManifestMap::Content(map) = self.job.job().map(&process)? else {
            return Err(foreign("a job that reads manifests itself"));
        };
        let pieces = manifests.flat_map(move |manifest| {
            let pieces = manifest.and_then(|(path, content)| {
                let part = content.part.clone();
                let placed = move |error| match &part {
                    Some(part) => part.in_whole_file(error),
                    None => error,
                };
                let pieces = map(&path, content).map_err(&placed)?;
                Ok(Box::new(pieces.map(move |piece| piece.map_err(&placed))) as Pieces)
            });
            pieces.unwrap_or_else(|error| Box::new(std::iter::once(Err(error))))
        });
        self.finished(Box::new(pieces), 0, &process)
    }

    /// Maps manifests that the job reads itself, given by their paths.
    ///
    /// # Errors
    /// Those of the job; `Argument` for one whose manifests an engine reads.
    pub fn map_paths(&self, paths: &[String], process: Process) -> Result<Batches> {
        match self.job.job().map(&process)? {
            ManifestMap::Paths(map) => self.finished(map(paths)?, 0, &process),
            ManifestMap::Content(_) => Err(foreign("a job whose manifests an engine reads")),
        }
    }

    /// Packs pieces for the first shuffle that the map of this job did not make.
    pub fn packed(&self, pieces: Pieces) -> Batches {
        packed(pieces, self.parts)
    }

    /// The stage of that number: reduces packed pieces, sorted by part and side; all pieces of a part are there.
    ///
    /// # Errors
    /// Those of the job; `Argument` for a number that the job does not have.
    pub fn reduce(self: &Arc<SentJob>, stage: usize, batches: Batches, process: Process) -> Result<Batches> {
        self.reduce_pieces(stage, unpacked(batches), &process)
    }

    fn reduce_pieces(
        self: &Arc<SentJob>,
        stage: usize,
        pieces: PlacedPieces,
        process: &Process,
    ) -> Result<Batches> {
        let first = Stages::of(self.job.job()).steps(stage).first().copied();
        let first = first.filter(|_| stage > 0).ok_or_else(|| foreign(format!("stage {stage}")))?;
        let (sent, own) = (Arc::clone(self), process.clone());
        self.finished(reduced_by_part(pieces, move || sent.begin(first, &own)), stage, process)
    }

    /// All stages after the map, in this process: pieces are moved in memory. `made` is what [`JobPlan::made`] returned.
    ///
    /// # Errors
    /// Those of the job.
    pub fn reduce_all(
        self: &Arc<SentJob>,
        batches: Vec<RecordBatch>,
        made: &[(usize, RecordBatch)],
        process: &Process,
    ) -> Result<Batches> {
        let mut batches: Batches = Box::new(batches.into_iter().map(Ok));
        for stage in 1..=Stages::of(self.job.job()).last() {
            let made: Vec<_> =
                made.iter().filter(|(own, _)| *own == stage).map(|(_, rows)| rows.clone()).collect();
            batches = Box::new(batches.chain(made.into_iter().map(Ok)));
            let mut pieces = unpacked(batches).collect::<Result<Vec<_>>>()?;
            pieces.sort_by_key(|(part, piece)| (*part, piece.side));
            batches = self.reduce_pieces(stage, Box::new(pieces.into_iter().map(Ok)), process)?;
        }
        Ok(batches)
    }

    /// A reduce with what is known.
    fn begin(&self, step: usize, process: &Process) -> Result<OpenReduce> {
        let mut reduce = self.job.job().reduce(step, process)?;
        let mut made = VecDeque::new();
        for (_, piece) in self.known.iter().filter(|(known, _)| *known == step) {
            made.push_back(reduce.push(piece.side, piece.rows.clone())?);
        }
        Ok((reduce, made))
    }

    /// What a stage makes of the pieces of its map or of its first reduce.
    fn finished(&self, mut pieces: Pieces, stage: usize, process: &Process) -> Result<Batches> {
        let (job, stages) = (self.job.job(), Stages::of(self.job.job()));
        let steps = stages.steps(stage);
        // The first reduce of later stages is the one of the parts.
        for step in steps.into_iter().skip(usize::from(stage > 0)) {
            pieces = reduced(pieces, self.begin(step, process)?);
        }
        if stage < stages.last() {
            return Ok(packed(pieces, if stages.is_to_one(stage + 1) { 1 } else { self.parts }));
        }
        wanted(job, self.filter.as_ref(), pieces)
    }
}
