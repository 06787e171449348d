//! Live files, and plans of them: an entry that adds a file goes to the part of the entry that deletes it or,
//! where all files of a bucket are decided on together, to the part of its bucket.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use crate::columnar::Decoding;
use crate::distributed::{
    Exchange, Exchanged, Gather, ManifestPartitioner, NamedWork, Pieces, PlannedManifest, hash, with_parts,
};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::groups::GROUP_INPUT;
use crate::paimon::identity::{Deleted, identities};
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::scan::Scan;
use crate::paimon::scan::gather::decided;
use crate::paimon::scan::plan::planned;
use crate::paimon::scan::planned::{Attach, vectors_schema, vectors_within};
use crate::paimon::scan::program::EntryProgram;
use crate::paimon::scan::task::PaimonTask;
use crate::paimon::view::{IDENTITY_COLUMN, Role};
use crate::record::find;
use crate::scan::{Batches, once};
use crate::view::with_columns;

/// The deletion vectors of a plan, from the index manifest.
const VECTORS: i32 = 0;
/// Identities of deleted files.
const DELETED: i32 = 1;
/// Files as the entries that add them have them, with whether each may hold matching rows.
const ADDED: i32 = 2;

/// The column that tells whether a file may hold matching rows.
const MAY_MATCH: &str = "_may_match";

impl Scan {
    /// The work on the manifests of live files, to be sent.
    pub(in crate::paimon::scan) fn files_exchange(&self) -> Result<Exchanged> {
        let program = self.live()?;
        let manifests = self.plan()?.manifests;
        let of_side = |entries: fn(&ManifestFile) -> u64| -> Result<Vec<PlannedManifest>> {
            planned(&self.table, manifests.iter().filter(|manifest| entries(manifest) > 0))
        };
        let sides =
            vec![Vec::new(), of_side(|manifest| manifest.deleted)?, of_side(|manifest| manifest.added)?];
        let together = program.gathers() || sides.get(1).is_some_and(|deleted| !deleted.is_empty());
        let columns = match self.view.group_by().is_some() {
            true => Some(GROUP_INPUT.map(str::to_owned).to_vec()),
            false => self.options.columns.clone(),
        };
        let files = FilesExchange(self.task_in(program.role, columns)?);
        Ok(Exchanged { exchange: Box::new(files), sides, together, made: Vec::new(), seen: None })
    }

    /// The deletion vectors of a plan that shows deletes.
    pub(in crate::paimon::scan) fn files_side(&self, side: i32) -> Result<Batches> {
        let program = self.live()?;
        if side != VECTORS {
            return Err(Error::new(
                ErrorKind::Argument,
                "only the deletion vectors of files are read in this process",
            ));
        }
        if !program.shows_deletes() {
            return Ok(Box::new(std::iter::empty()));
        }
        let filter = program.pruner.as_ref().map(|pruner| pruner.partitions());
        Ok(once(vectors_within(&self.table, filter)?))
    }
}

/// The work on the manifests of live files, without the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::paimon::scan) struct FilesExchange(PaimonTask);

impl NamedWork for FilesExchange {
    const NAME: &'static str = "paimon.files";
}

impl Exchange for FilesExchange {
    fn schema(&self) -> Result<SchemaRef> {
        self.0.schema()
    }

    fn partitioner(&self, decoding: Decoding, parts: u32) -> Result<ManifestPartitioner> {
        let task = self.0.clone();
        let program = Arc::new(task.program(task.role, decoding.clone())?);
        let deletions = task.program(Role::Deleted, decoding)?;
        Ok(Box::new(move |path, bytes| {
            let manifest = task.manifest_at(path)?;
            let pieces = pieces(Arc::clone(&program), &deletions, &bytes, manifest, parts);
            let (pieces, path) = (pieces.map_err(|error| error.in_file(path))?, path.to_owned());
            Ok(Box::new(pieces.map(move |piece| piece.map_err(|error| error.in_file(&path)))))
        }))
    }

    fn gather(&self) -> Result<Box<dyn Gather>> {
        let program = self.0.program(self.0.role, Limits::DEFAULT.into())?;
        Ok(Box::new(FilesGather::new(program)))
    }
}

/// The entries of one manifest, divided into parts by their identity or, where files of a bucket are decided
/// on together, by partition and bucket.
fn pieces(
    program: Arc<EntryProgram>,
    deletions: &EntryProgram,
    bytes: &Buffer,
    manifest: &ManifestFile,
    parts: u32,
) -> Result<Pieces> {
    let open = |program: &EntryProgram, entries: u64| {
        let entries = (entries > 0).then(|| program.open(bytes.clone(), Some(manifest), 1)).transpose()?;
        Ok::<_, Error>(entries.into_iter().flatten())
    };
    let by_bucket = program.gathers();
    let deleted = open(deletions, manifest.deleted)?.map(move |entries| {
        let entries = entries?;
        let rows = [(IDENTITY_COLUMN, Arc::new(identities(&entries)?) as ArrayRef)];
        let rows = RecordBatch::try_from_iter(rows)?;
        Ok((DELETED, with_parts(&rows, keys(&entries, by_bucket)?.into_iter(), parts)?))
    });
    let added = open(&program, manifest.added)?.map(move |entries| {
        let (files, may_match) = program.candidates(&program.passing(&entries?)?)?;
        let rows = with_columns(&files, vec![(MAY_MATCH, Arc::new(BooleanArray::from(may_match)))])?;
        Ok((ADDED, with_parts(&rows, keys(&files, by_bucket)?.into_iter(), parts)?))
    });
    Ok(Box::new(deleted.chain(added)))
}

/// The hash by which entries are divided: equal for entries that belong together.
fn keys(entries: &RecordBatch, by_bucket: bool) -> Result<Vec<Option<u64>>> {
    if !by_bucket {
        return Ok(identities(entries)?.iter().map(|identity| identity.map(hash)).collect());
    }
    let (partitions, buckets) = (find(entries, "partition")?, find(entries, "bucket")?);
    let (partitions, buckets) = (partitions.as_binary::<i32>(), buckets.as_primitive::<Int32Type>());
    let mut key = Vec::new();
    let keys = partitions.iter().zip(buckets.values()).map(|(partition, bucket)| {
        key.clear();
        key.extend(bucket.to_le_bytes());
        key.extend(partition.unwrap_or_default());
        Some(hash(&key))
    });
    Ok(keys.collect())
}

/// The rows of a part.
struct FilesGather {
    /// Makes rows of files; waits for all deletion vectors, and is then completed with these.
    waiting: Option<EntryProgram>,
    ready: Option<Arc<EntryProgram>>,
    vectors: Vec<RecordBatch>,
    deleted: Deleted,
    /// Files that are decided on together.
    candidates: Vec<(RecordBatch, BooleanBuffer)>,
}

impl FilesGather {
    fn new(program: EntryProgram) -> FilesGather {
        let (vectors, deleted, candidates) = (Vec::new(), Deleted::default(), Vec::new());
        FilesGather { waiting: Some(program), ready: None, vectors, deleted, candidates }
    }

    /// Called when all deletion vectors have arrived: rows can be made.
    fn ready(&mut self) -> Result<Arc<EntryProgram>> {
        if let Some(program) = self.waiting.take() {
            let attach = match program.role.deletes().filter(|_| program.shows_deletes()) {
                Some(deletes) => {
                    let vectors = concat_batches(&vectors_schema(), &self.vectors)?;
                    Some(Arc::new(Attach::new(deletes, &vectors)?))
                }
                None => None,
            };
            self.ready = Some(Arc::new(program.attaching(attach)));
        }
        let ready = self.ready.clone();
        ready.ok_or_else(|| Error::new(ErrorKind::Argument, "the deletion vectors of this part are wrong"))
    }
}

impl Gather for FilesGather {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Batches> {
        let none = || -> Batches { Box::new(std::iter::empty()) };
        match side {
            VECTORS => self.vectors.push(rows),
            DELETED => self.deleted.extend(find(&rows, IDENTITY_COLUMN)?.as_binary::<i32>()),
            ADDED => {
                let program = self.ready()?;
                let files = program.live(&rows, &self.deleted)?;
                if !program.gathers() {
                    return Ok(once(program.finish(&files)?));
                }
                let may_match = find(&files, MAY_MATCH)?.as_boolean().values().clone();
                self.candidates.push((files, may_match));
            }
            _ => return Err(Error::new(ErrorKind::Argument, format!("files have no side {side}"))),
        }
        Ok(none())
    }

    fn finish(&mut self) -> Result<Batches> {
        let candidates = std::mem::take(&mut self.candidates);
        Ok(decided(self.ready()?, Box::new(candidates.into_iter().map(Ok))))
    }
}
