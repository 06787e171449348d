//! Live files, and plans of them, as a job. Where entries are moved to parts, one that adds a file is moved to the part of
//! the entry that deletes it or, where all files of a bucket are decided on together, to the part of its bucket.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, Int32Array, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use super::SentSchemas;
use crate::distributed::{
    Bounds, Job, ManifestMap, Piece, Pieces, Process, Reduce, Shuffle, hash, nothing, one, rows, sides,
};
use crate::error::{Error, Result};
use crate::paimon::identity::{DeletedIdentities, identities};
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::scan::gather::decided;
use crate::paimon::scan::planned::{Attach, vectors_schema, vectors_within};
use crate::paimon::scan::program::EntryProgram;
use crate::paimon::table::Table;
use crate::paimon::view::Role;
use crate::record::column;
use crate::scan::{LiveFiles, RowsJob, ScanOptions, threads};
use crate::storage::total_size;
use crate::view::{IDENTITY_COLUMN, with_columns};

sides! {
    enum LiveSide {
        /// The deletion vectors of a plan, from the index manifest.
        Vectors,
        /// Identities of deleted files.
        Deleted,
        /// Files as the entries that add them have them, with whether each may hold matching rows.
        Added,
    }
}

/// The column that tells whether a file may hold matching rows.
const MAY_MATCH: &str = "_may_match";

/// The job of the rows of `program`, which makes live files, its manifests, and what every process gets: those that are
/// deleted, if they are few, are read here; of many, entries are moved to parts, and so they are where files are decided
/// on together. `None` for small manifests.
///
/// # Errors
/// Those of reading the index manifest and few deletions.
pub(in crate::paimon::scan) fn live_files(
    table: &Table,
    program: &EntryProgram,
    manifests: Vec<ManifestFile>,
    options: &ScanOptions,
    bounds: &Bounds,
) -> Result<Option<LiveFiles<Table>>> {
    if bounds.are_small(manifests.iter().map(|manifest| manifest.file_size)) {
        return Ok(None);
    }
    let deleting = manifests.iter().filter(|manifest| manifest.deleted > 0);
    let bytes = total_size(deleting.clone().map(|manifest| manifest.file_size));
    let deletions = deleting.fold(0, |all: u64, manifest| all.saturating_add(manifest.deleted));
    let are_few = deletions <= bounds.deletions && bytes <= bounds.deleting_bytes;
    let is_shuffled = program.gathers() || !are_few;
    let mut known = Vec::new();
    if program.shows_deletes() {
        let filter = program.pruner.as_ref().map(|pruner| pruner.partitions());
        known.push((0, Piece::alone(LiveSide::Vectors, vectors_within(table, filter)?)));
    }
    if !is_shuffled && deletions > 0 {
        known.push((0, Piece::alone(LiveSide::Deleted, deleted(table, &manifests, options)?)));
    }
    let mut needed = manifests;
    needed.retain(|one| one.added > 0 || is_shuffled && one.deleted > 0);
    let (files, planned) = RowsJob::planned(program.role, table, options, needed)?;
    Ok(Some((FilesJob { files, is_shuffled }, planned, known)))
}

/// The identities of the files that entries of any of these manifests delete.
fn deleted(table: &Table, manifests: &[ManifestFile], options: &ScanOptions) -> Result<RecordBatch> {
    let options = ScanOptions { columns: Some(Vec::new()), ..options.clone() };
    let program = EntryProgram::new(Role::Live, table, &options)?;
    let deleted = program.read_deleted(table, manifests, threads(options.threads))?;
    let identities: ArrayRef = Arc::new(BinaryArray::from_iter_values(deleted.identities()));
    Ok(RecordBatch::try_from_iter([(IDENTITY_COLUMN, identities)])?)
}

/// The live files of manifests, and plans of them.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct FilesJob {
    files: RowsJob<Table>,
    /// Whether entries are moved to parts; if not, every process gets all deleted files.
    is_shuffled: bool,
}

impl FilesJob {
    pub(in crate::paimon::scan) fn types(&self) -> &SentSchemas {
        &self.files.types
    }
}

impl Job for FilesJob {
    fn schema(&self) -> Result<SchemaRef> {
        Job::schema(&self.files)
    }

    fn shuffles(&self) -> Vec<Shuffle> {
        vec![if self.is_shuffled { Shuffle::ByKey } else { Shuffle::Here }]
    }

    fn map(&self, process: &Process) -> Result<ManifestMap> {
        let FilesJob { files, is_shuffled } = self.clone();
        let program = Arc::new(files.program(files.role, process.decoding.clone())?);
        let deletions = files.program(Role::Deleted, process.decoding.clone())?;
        ManifestMap::of_content(move |path, content| {
            let (manifest, by_bucket) = (files.manifest_at(path)?, program.gathers());
            let open = |program: &EntryProgram, entries: u64| {
                let entries = (entries > 0).then(|| program.open(content.clone(), manifest, 1)).transpose();
                entries.map_err(|error| error.in_file(path))
            };
            let added = open(&program, manifest.added)?.into_iter().flatten();
            let program = Arc::clone(&program);
            let added = added.map(move |entries| {
                let (files, may_match) = program.candidates(&program.passing(&entries?)?)?;
                let keys = if is_shuffled { keys(&files, by_bucket)? } else { Vec::new() };
                let may_match: ArrayRef = Arc::new(BooleanArray::from(may_match));
                Ok(Piece::keyed(LiveSide::Added, with_columns(&files, vec![(MAY_MATCH, may_match)])?, keys))
            });
            let deleted = if is_shuffled { open(&deletions, manifest.deleted)? } else { None };
            let deleted = deleted.into_iter().flatten().map(move |entries| {
                let entries = entries?;
                let identities: ArrayRef = Arc::new(identities(&entries)?);
                let rows = RecordBatch::try_from_iter([(IDENTITY_COLUMN, identities)])?;
                Ok(Piece::keyed(LiveSide::Deleted, rows, keys(&entries, by_bucket)?))
            });
            let (path, pieces) = (path.to_owned(), deleted.chain(added));
            Ok(Box::new(pieces.map(move |piece| piece.map_err(|error: Error| error.in_file(&path)))))
        })
    }

    fn reduce(&self, _step: usize, _process: &Process) -> Result<Box<dyn Reduce>> {
        let program = Arc::new(self.files.program(self.files.role, Limits::DEFAULT.into())?);
        let (deleted, candidates) = (DeletedIdentities::default(), Vec::new());
        Ok(Box::new(FilesReduce { program, vectors: Some(Vec::new()), deleted, candidates }))
    }
}

/// The hash by which entries are divided: equal for entries that belong together.
fn keys(entries: &RecordBatch, by_bucket: bool) -> Result<Vec<Option<u64>>> {
    if !by_bucket {
        return Ok(identities(entries)?.iter().map(|identity| identity.map(hash)).collect());
    }
    let partitions = column::<BinaryArray>(entries, "partition")?;
    let buckets = column::<Int32Array>(entries, "bucket")?;
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
struct FilesReduce {
    /// Makes rows of files; with all deletion vectors once there is a file.
    program: Arc<EntryProgram>,
    /// Deletion vectors; `None` once the program has them.
    vectors: Option<Vec<RecordBatch>>,
    deleted: DeletedIdentities,
    /// Files that are decided on together.
    candidates: Vec<(RecordBatch, BooleanBuffer)>,
}

impl FilesReduce {
    /// What makes rows, once all deletion vectors are there.
    fn ready(&mut self) -> Result<Arc<EntryProgram>> {
        let shown = self.program.role.deletes().filter(|_| self.program.shows_deletes());
        if let (Some(vectors), Some(deletes)) = (self.vectors.take(), shown) {
            let attach = Attach::new(deletes, &concat_batches(&vectors_schema(), &vectors)?)?;
            self.program = Arc::new(self.program.as_ref().clone().attaching(Some(Arc::new(attach))));
        }
        Ok(Arc::clone(&self.program))
    }
}

impl Reduce for FilesReduce {
    fn push(&mut self, side: i32, entries: RecordBatch) -> Result<Pieces> {
        match LiveSide::of(side)? {
            LiveSide::Vectors => self.vectors.get_or_insert_default().push(entries),
            LiveSide::Deleted => {
                self.deleted.extend(column::<BinaryArray>(&entries, IDENTITY_COLUMN)?);
            }
            LiveSide::Added => {
                let program = self.ready()?;
                let files = program.live(&entries, &self.deleted)?;
                if !program.gathers() {
                    return one(Piece::rows(program.finish(&files)?));
                }
                let may_match = column::<BooleanArray>(&files, MAY_MATCH)?.values().clone();
                self.candidates.push((files, may_match));
            }
        }
        nothing()
    }

    fn finish(&mut self) -> Result<Pieces> {
        let candidates = std::mem::take(&mut self.candidates);
        Ok(rows(decided(self.ready()?, Box::new(candidates.into_iter().map(Ok)))))
    }
}
