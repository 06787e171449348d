//! The walk made by several processes. One reads the files that name manifests, others read the manifests and
//! distribute their records to parts, and the rows of a part are made where all its records arrive.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int32Array, LargeBinaryArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Reach;
use super::kind::Kinds;
use super::looks::Seen;
use super::moved::Moved;
use super::partitioner::{Partitioner, seed};
use super::rows::{nothing, schema};
use super::walk::{Removal, Walk, WalkOptions};
use super::walk_roots::{StoredRoots, WalkRoots};
use crate::columnar::Decoding;
use crate::distributed::{
    Exchange, Exchanged, Gather, ManifestPartitioner, NamedWork, PlannedManifest, StoredOptions,
    match_manifest_path,
};
use crate::error::{Error, ErrorKind, Result};
use crate::record::find;
use crate::scan::{Batches, ScanOptions, once, threads};
use crate::view::select;

/// Reads the records of one manifest, given its path in the engine's spelling and its bytes. Batches are as
/// those of [`PartitionedRecords::finish`](super::partitioner::PartitionedRecords::finish).
pub(crate) type Records = Box<dyn Fn(&str, Buffer) -> Result<Batches> + Send + Sync>;

/// The manifests of a walk in the form in which a format sends them to other processes, with what reading them
/// needs.
pub(crate) trait SentManifests: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The names of the two types of work in serialized form: finding reachable files, and finding orphans.
    const NAME: &'static str;
    const OF_ORPHANS: &'static str;

    /// Resolves what reading the manifests needs.
    ///
    /// # Errors
    /// Those of resolving schemas, for work that was changed in transit.
    fn records(&self, partitioner: &Arc<Partitioner>, decoding: Decoding) -> Result<Records>;
}

/// A manifest, and the location from which engines read it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LocatedManifest<M> {
    pub(crate) location: String,
    pub(crate) manifest: M,
}

/// Manifests by the location from which engines read them.
pub(crate) struct ManifestsByLocation<M> {
    all: Vec<LocatedManifest<M>>,
    at: HashMap<String, usize>,
}

impl<M: Clone> ManifestsByLocation<M> {
    pub(crate) fn new(all: &[LocatedManifest<M>]) -> ManifestsByLocation<M> {
        let at = all.iter().enumerate().map(|(at, one)| (one.location.clone(), at)).collect();
        ManifestsByLocation { all: all.to_vec(), at }
    }

    /// The manifest that an engine calls `path`. An exact match is found without a search through all
    /// manifests.
    ///
    /// # Errors
    /// As [`match_manifest_path`].
    pub(crate) fn find(&self, path: &str) -> Result<&M> {
        let known = self.at.get(path).and_then(|at| self.all.get(*at));
        let found = known.map_or_else(|| match_manifest_path(&self.all, |one| &one.location, path), Ok);
        found.map(|one| &one.manifest)
    }
}

/// A walk whose manifests are read by other processes.
pub(crate) struct DistributedWalk<N> {
    /// The walk without its entries.
    pub(crate) walk: Walk,
    pub(crate) manifests: N,
    pub(crate) planned: Vec<PlannedManifest>,
}

/// The work of finding the files that roots reach.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "N: SentManifests")]
pub(crate) struct ReachExchange<N> {
    manifests: N,
    /// The seed of the hashes by which records of one file are found.
    seed: u64,
    moved: Option<Moved>,
    roots: StoredRoots,
    options: StoredOptions,
}

/// The work that returns the rows of [`Found`](super::found::Found). Rows of files that no manifest names are
/// made here already.
///
/// # Errors
/// Those of reading what names manifests.
pub(super) fn exchanged<R: Reach>(
    reach: &R,
    removal: Removal<'_>,
    options: &ScanOptions,
) -> Result<Exchanged> {
    let kinds = Kinds::matching(options.filter.as_deref(), &nothing()?.schema())?;
    let (partitioner, threads) = (Arc::new(Partitioner::new()), threads(options.threads));
    let (mut seen, retention) = (Seen::default(), removal.retention());
    let DistributedWalk { walk, manifests, planned } =
        reach.distributed_walk(&WalkOptions { retention, kinds, partitioner, threads }, false, &mut seen)?;
    let moved = if removal.is_some() { reach.moved() } else { None };
    let mut walk = walk.of_moved(moved.as_ref())?;
    let roots = WalkRoots::of(&mut walk, removal.is_some());
    let named = select(&roots.named(&walk)?, options.columns.as_deref(), options.filter.as_deref())?;
    let (seed, roots, options) = (seed(), roots.stored(), StoredOptions::from(options));
    let exchange = Box::new(ReachExchange { manifests, seed, moved, roots, options });
    // Only rows that people delete by are looked at again.
    let seen = removal.is_some().then(|| seen.to_text()).transpose()?;
    Ok(Exchanged { exchange, sides: vec![planned], together: true, made: vec![named], seen })
}

impl<N: SentManifests> NamedWork for ReachExchange<N> {
    const NAME: &'static str = N::NAME;
}

impl<N: SentManifests> Exchange for ReachExchange<N> {
    fn schema(&self) -> Result<SchemaRef> {
        schema(&ScanOptions::from(&self.options))
    }

    fn partitioner(&self, decoding: Decoding, parts: u32) -> Result<ManifestPartitioner> {
        let partitioner = Partitioner::seeded(self.seed, parts as usize).of_moved(self.moved.clone());
        manifest_partitioner(&self.manifests, &Arc::new(partitioner), decoding)
    }

    fn gather(&self) -> Result<Box<dyn Gather>> {
        let roots = WalkRoots::from(&self.roots);
        Ok(RecordGather::boxed(&self.options, Vec::new(), move |pieces| roots.part(pieces)))
    }
}

/// A partitioner of manifests that distributes their records of files with `partitioner`.
///
/// # Errors
/// As [`SentManifests::records`].
pub(super) fn manifest_partitioner<N: SentManifests>(
    manifests: &N,
    partitioner: &Arc<Partitioner>,
    decoding: Decoding,
) -> Result<ManifestPartitioner> {
    let records = manifests.records(partitioner, decoding)?;
    Ok(Box::new(move |path, bytes| {
        let batches = records(path, bytes)?;
        Ok(Box::new(batches.map(|batch| Ok((0, by_part(find(&batch?, "records")?.as_binary())?)))))
    }))
}

/// The distributed records, one row for each part that has some, beside the part's number.
pub(super) fn by_part(chunk: &LargeBinaryArray) -> Result<RecordBatch> {
    let filled = (0..).zip(chunk.iter().flatten()).filter(|(_, records)| !records.is_empty());
    let (parts, records): (Vec<i32>, Vec<&[u8]>) = filled.unzip();
    let columns: [(&str, ArrayRef); 2] = [
        ("records", Arc::new(LargeBinaryArray::from_vec(records))),
        ("_part", Arc::new(Int32Array::from(parts))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// Makes the rows of a part from all its records.
type Making = Box<dyn Fn(&[Buffer]) -> Result<RecordBatch> + Send>;

/// Keeps the records of one part until its rows can be made.
pub(super) struct RecordGather {
    making: Making,
    options: ScanOptions,
    pieces: Vec<Buffer>,
}

impl RecordGather {
    /// One that has the records `pieces` already.
    pub(super) fn boxed(
        options: &StoredOptions,
        pieces: Vec<Buffer>,
        making: impl Fn(&[Buffer]) -> Result<RecordBatch> + Send + 'static,
    ) -> Box<dyn Gather> {
        Box::new(RecordGather { making: Box::new(making), options: ScanOptions::from(options), pieces })
    }
}

impl Gather for RecordGather {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Batches> {
        self.pieces.extend(pieces(side, &rows)?);
        Ok(Box::new(std::iter::empty()))
    }

    fn finish(&mut self) -> Result<Batches> {
        let rows = (self.making)(&std::mem::take(&mut self.pieces))?;
        let rows = select(&rows, self.options.columns.as_deref(), self.options.filter.as_deref())?;
        Ok(once(rows))
    }
}

/// The records of each row.
fn pieces(side: i32, rows: &RecordBatch) -> Result<Vec<Buffer>> {
    let records = find(rows, "records")?;
    let wrong =
        || Error::new(ErrorKind::Argument, format!("the rows of side {side} have no records of files"));
    let records = records.as_binary_opt::<i64>().ok_or_else(wrong)?;
    let ends = records.value_offsets().windows(2).map(|ends| match ends {
        [start, end] => usize::try_from(*start).ok().zip(usize::try_from(end - start).ok()),
        _ => None,
    });
    ends.map(|place| {
        let (start, length) = place.ok_or_else(wrong)?;
        Ok(records.values().slice_with_length(start, length))
    })
    .collect()
}
