//! Jobs as they are sent, and what a process does of one.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{Schema, SchemaRef};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Planned;
use super::job::{Job, ManifestMap, Piece, Pieces, Process, Reduce, Shuffle, foreign};
use super::shuffle::{PACKED, from_ipc, packed, packed_known, stream_of, unpacked};
use crate::error::{Error, ErrorKind, Result};
use crate::format::Formats;
use crate::json::parse_within;
use crate::predicate::Predicate;
use crate::scan::{Batches, Content};
use crate::view::{matching, only};

/// The jobs of a format, one of which is sent.
pub trait FormatJob: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name of the format.
    const FORMAT: &'static str;

    /// The job.
    fn job(&self) -> &dyn Job;
}

/// A job of any format.
pub trait AnyJob: Send + Sync {
    /// The job.
    fn job(&self) -> &dyn Job;

    /// The name of its format, and its JSON.
    ///
    /// # Errors
    /// None that input could cause.
    fn to_json(&self) -> Result<(&'static str, Box<RawValue>)>;
}

impl<J: FormatJob> AnyJob for J {
    fn job(&self) -> &dyn Job {
        FormatJob::job(self)
    }

    fn to_json(&self) -> Result<(&'static str, Box<RawValue>)> {
        let json = serde_json::value::to_raw_value(self);
        Ok((J::FORMAT, json.map_err(foreign)?))
    }
}

/// Reads a job of one format from its JSON.
pub type ReadJob = fn(&RawValue) -> Result<Box<dyn AnyJob>>;

/// [`ReadJob`] for a format.
pub(crate) fn read_job<J: FormatJob>(json: &RawValue) -> Result<Box<dyn AnyJob>> {
    Ok(Box::new(parse_within::<J>(json.get().as_bytes())?))
}

/// The rows of a view that its caller wants, by the view's own columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowFilter {
    /// What the rows must meet.
    pub(crate) condition: String,
    /// The columns to return.
    pub(crate) columns: Vec<String>,
}

impl RowFilter {
    /// The columns of the rows that it returns, of rows with the columns of `schema`.
    pub(super) fn schema(&self, schema: &SchemaRef) -> Result<SchemaRef> {
        let fields = self.columns.iter().map(|name| Ok(schema.field_with_name(name)?.clone()));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
    }

    /// The rows that it keeps.
    fn of(&self, schema: &SchemaRef, rows: Batches) -> Result<Batches> {
        let (shown, condition) = (self.schema(schema)?, Predicate::parse(&self.condition)?.bind(schema)?);
        Ok(Box::new(rows.map(move |rows| only(&matching(&rows?, &condition)?, &shown))))
    }
}

/// The text in front of a job's bytes.
#[derive(Serialize, Deserialize)]
struct Head<'h> {
    /// The version of lakebed.
    #[serde(borrow)]
    lakebed: Cow<'h, str>,
    #[serde(borrow)]
    format: Cow<'h, str>,
    parts: u32,
    filter: Option<RowFilter>,
    #[serde(borrow)]
    job: &'h RawValue,
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

impl Planned {
    /// The job as it is sent.
    ///
    /// # Errors
    /// None that input could cause.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (format, job) = self.job.to_json()?;
        let head = Head {
            lakebed: env!("CARGO_PKG_VERSION").into(),
            format: format.into(),
            parts: self.parts(),
            filter: self.filter.clone(),
            job: &job,
        };
        let mut bytes = serde_json::to_vec(&head).map_err(foreign)?;
        bytes.push(b'\n');
        bytes.extend(stream_of(&PACKED, &packed_known(&self.known)?)?);
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
        let mut made: Vec<(usize, Vec<Piece>)> = Vec::new();
        for (step, piece) in &self.made {
            let stage = stages.of_step(*step);
            match made.iter_mut().find(|(known, _)| *known == stage) {
                Some((_, pieces)) => pieces.push(piece.clone()),
                None => made.push((stage, vec![piece.clone()])),
            }
        }
        let parts = |stage: usize| if stages.is_to_one(stage) { 1 } else { self.parts() };
        let batches = |(stage, pieces): (usize, Vec<Piece>)| -> Result<(usize, Vec<RecordBatch>)> {
            if stage > stages.last() {
                let rows: Batches = Box::new(pieces.into_iter().map(|piece| Ok(piece.rows)));
                let rows = match &self.filter {
                    Some(filter) => filter.of(&self.job.job().schema()?, rows)?,
                    None => rows,
                };
                return Ok((stage, rows.collect::<Result<_>>()?));
            }
            let pieces = Box::new(pieces.into_iter().map(Ok));
            Ok((stage, packed(pieces, parts(stage)).collect::<Result<_>>()?))
        };
        made.into_iter().map(batches).collect()
    }
}

/// The reduces of a job by the shuffles between them: stage 0 is the map with the reduces that no shuffle comes before.
struct Stages(Vec<Shuffle>);

impl Stages {
    fn of(job: &dyn Job) -> Stages {
        Stages(job.shuffles())
    }

    fn last(&self) -> usize {
        self.0.iter().filter(|shuffle| **shuffle != Shuffle::Here).count()
    }

    /// The stage of a reduce; the one after the last, for rows.
    fn of_step(&self, step: usize) -> usize {
        if step >= self.0.len() {
            return self.last() + 1;
        }
        self.0.iter().take(step + 1).filter(|shuffle| **shuffle != Shuffle::Here).count()
    }

    /// The reduces of a stage.
    fn steps(&self, stage: usize) -> Vec<usize> {
        (0..self.0.len()).filter(|step| self.of_step(*step) == stage).collect()
    }

    fn is_to_one(&self, stage: usize) -> bool {
        let first = self.steps(stage).first().and_then(|step| self.0.get(*step)).copied();
        first == Some(Shuffle::ToOne)
    }
}

impl SentJob {
    /// The job that [`Planned::to_bytes`] wrote.
    ///
    /// # Errors
    /// `Unsupported` for a job of another version of lakebed; `Argument` for other bytes.
    pub fn read(bytes: &[u8], formats: &Formats) -> Result<SentJob> {
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| foreign("its text is missing"))?;
        let (text, known) = bytes.split_at_checked(end).ok_or_else(|| foreign("its text is missing"))?;
        #[derive(Deserialize)]
        struct Version<'v> {
            #[serde(borrow)]
            lakebed: Cow<'v, str>,
        }
        let (theirs, ours) = (parse_within::<Version<'_>>(text).map_err(unread)?.lakebed, env!("CARGO_PKG_VERSION"));
        if theirs != ours {
            let message = format!(
                "the job is of lakebed {theirs}, and this process has lakebed {ours}: give the executors the \
                 driver's version"
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let Head { format, parts, filter, job, .. } = parse_within::<Head<'_>>(text).map_err(unread)?;
        let row = formats.0.iter().find(|known| known.name == format);
        let row = row.ok_or_else(|| foreign(format!("unknown format {format:?}")))?;
        let job = (row.job)(job).map_err(unread)?;
        let known = from_ipc(Buffer::from(known.get(1..).unwrap_or_default()))?;
        let known = unpacked(Box::new(known.into_iter().map(Ok)));
        let known = known.map(|piece| {
            let (step, piece) = piece?;
            Ok((usize::try_from(step).map_err(foreign)?, piece))
        });
        Ok(SentJob { job, parts, filter, known: known.collect::<Result<_>>()? })
    }

    /// The columns of the rows of the view.
    ///
    /// # Errors
    /// Those of the job.
    pub fn schema(&self) -> Result<SchemaRef> {
        let schema = self.job.job().schema()?;
        self.filter.as_ref().map_or_else(|| Ok(Arc::clone(&schema)), |filter| filter.schema(&schema))
    }

    /// Whether the job reads manifests itself, by their paths.
    pub fn reads_manifests(&self) -> bool {
        self.job.job().reads_manifests()
    }

    /// How many parts a shuffle by keys has.
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// What a stage makes: rows of the view for the last one, else packed pieces.
    ///
    /// # Errors
    /// Those of the job.
    pub fn schema_of(&self, stage: usize) -> Result<SchemaRef> {
        if stage >= Stages::of(self.job.job()).last() { self.schema() } else { Ok(Arc::clone(&PACKED)) }
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
        let process = Process { parts: self.parts, ..process };
        let ManifestMap::Content(map) = self.job.job().map(&process)? else {
            return Err(foreign("a job that reads manifests itself"));
        };
        let pieces = manifests.flat_map(move |manifest| {
            let pieces = manifest.and_then(|(path, Content { bytes, part })| {
                let placed = move |error| match part {
                    Some(part) => part.in_whole_file(error),
                    None => error,
                };
                let pieces = map(&path, bytes, part.is_none()).map_err(placed)?;
                Ok(Box::new(pieces.map(move |piece| piece.map_err(placed))) as Pieces)
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
        let process = Process { parts: self.parts, ..process };
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
        let process = Process { parts: self.parts, ..process };
        let first = Stages::of(self.job.job()).steps(stage).first().copied();
        let first = first.filter(|_| stage > 0).ok_or_else(|| foreign(format!("stage {stage}")))?;
        let begin = {
            let (sent, process) = (Arc::clone(self), process.clone());
            move || sent.begin(first, &process)
        };
        let parts = Parts { pieces: Some(unpacked(batches)), begin, open: None, made: VecDeque::new() };
        self.finished(Box::new(parts), stage, &process)
    }

    /// All stages after the map, in this process: pieces are moved in memory. `made` is what [`Planned::made`] returned.
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
            let made: Vec<_> = made.iter().filter(|(own, _)| *own == stage).map(|(_, rows)| rows.clone()).collect();
            batches = Box::new(batches.chain(made.into_iter().map(Ok)));
            let mut pieces = unpacked(batches).collect::<Result<Vec<_>>>()?;
            pieces.sort_by_key(|(part, piece)| (*part, piece.side));
            let (sent, of_parts) = (Arc::clone(self), process.clone());
            let first = Stages::of(self.job.job()).steps(stage).first().copied().unwrap_or_default();
            let process = Process { parts: self.parts, ..process.clone() };
            let begin = move || sent.begin(first, &of_parts);
            let pieces = Box::new(pieces.into_iter().map(Ok));
            let parts = Parts { pieces: Some(pieces), begin, open: None, made: VecDeque::new() };
            batches = self.finished(Box::new(parts), stage, &process)?;
        }
        Ok(batches)
    }

    /// A reduce with what is known.
    fn begin(&self, step: usize, process: &Process) -> Result<Opened> {
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
            let (reduce, made) = self.begin(step, process)?;
            pieces = Box::new(Here { pieces: Some(pieces), reduce, made });
        }
        if stage < stages.last() {
            return Ok(packed(pieces, if stages.is_to_one(stage + 1) { 1 } else { self.parts }));
        }
        let rows: Batches = Box::new(pieces.map(|piece| Ok(piece?.rows)));
        match &self.filter {
            Some(filter) => filter.of(&job.schema()?, rows),
            None => Ok(rows),
        }
    }
}

#[cold]
fn unread(error: Error) -> Error {
    foreign(error.message())
}

/// A reduce that was begun, and what it has made.
type Opened = (Box<dyn Reduce>, VecDeque<Pieces>);

/// The next piece that was made.
fn next_made(made: &mut VecDeque<Pieces>) -> Option<Result<Piece>> {
    while let Some(pieces) = made.front_mut() {
        if let Some(piece) = pieces.next() {
            return Some(piece);
        }
        made.pop_front();
    }
    None
}

/// A reduce of all pieces.
struct Here {
    /// `None` once all were taken.
    pieces: Option<Pieces>,
    reduce: Box<dyn Reduce>,
    made: VecDeque<Pieces>,
}

impl Iterator for Here {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        loop {
            if let Some(piece) = next_made(&mut self.made) {
                return Some(piece);
            }
            let made = match self.pieces.as_mut()?.next() {
                Some(piece) => piece.and_then(|piece| self.reduce.push(piece.side, piece.rows)),
                None => {
                    self.pieces = None;
                    self.reduce.finish()
                }
            };
            match made {
                Ok(made) => self.made.push_back(made),
                Err(error) => {
                    self.pieces = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// The reduces of one part after another.
struct Parts<B> {
    /// `None` once all were taken.
    pieces: Option<Box<dyn Iterator<Item = Result<(i32, Piece)>> + Send>>,
    begin: B,
    /// The part whose pieces are being taken.
    open: Option<(i32, Box<dyn Reduce>)>,
    made: VecDeque<Pieces>,
}

impl<B: Fn() -> Result<Opened>> Parts<B> {
    fn take(&mut self, next: Option<Result<(i32, Piece)>>) -> Result<()> {
        let next = next.transpose()?;
        let part = next.as_ref().map(|(part, _)| *part);
        if part.is_none() {
            self.pieces = None;
        }
        if let Some((_, mut reduce)) = self.open.take_if(|(open, _)| Some(*open) != part) {
            self.made.push_back(reduce.finish()?);
        }
        let Some((part, piece)) = next else { return Ok(()) };
        let mut open = match self.open.take() {
            Some(open) => open,
            None => {
                let (reduce, made) = (self.begin)()?;
                self.made.extend(made);
                (part, reduce)
            }
        };
        self.made.push_back(open.1.push(piece.side, piece.rows)?);
        self.open = Some(open);
        Ok(())
    }
}

impl<B: Fn() -> Result<Opened> + Send> Iterator for Parts<B> {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        loop {
            if let Some(piece) = next_made(&mut self.made) {
                return Some(piece);
            }
            let next = self.pieces.as_mut()?.next();
            if let Err(error) = self.take(next) {
                self.pieces = None;
                return Some(Err(error));
            }
        }
    }
}
