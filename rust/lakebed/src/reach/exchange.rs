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

use super::deal::{Dealer, seed};
use super::found::schema;
use super::kind::Kinds;
use super::told::{StoredTold, Told};
use super::walk::{Walk, Wanted};
use super::{Reach, Retention};
use crate::columnar::Decoding;
use crate::distributed::{
    Asked, Dealing, Exchange, Exchanged, Gather, PlannedManifest, Travelling, match_manifest_path,
};
use crate::error::{Error, ErrorKind, Result};
use crate::record::find;
use crate::scan::{Batches, ScanOptions, once, threads};
use crate::view::select;

/// Reads the records of one manifest, given its path in the engine's spelling and its bytes. Batches are as
/// those of [`Deal::finish`](super::deal::Deal::finish).
pub(crate) type Records = Box<dyn Fn(&str, Buffer) -> Result<Batches> + Send + Sync>;

/// What a format sends along so that the manifests of a walk can be read by other processes, and those
/// manifests.
pub(crate) trait Naming: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The names of the two kinds of work in serialized form: finding reachable files, and finding orphans.
    const NAME: &'static str;
    const OF_ORPHANS: &'static str;

    /// Resolves what reading the manifests needs.
    ///
    /// # Errors
    /// Those of resolving schemas, for work that was changed on its way.
    fn records(&self, dealer: &Arc<Dealer>, decoding: Decoding) -> Result<Records>;
}

/// A manifest, and the location from which engines read it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Placed<M> {
    pub(crate) place: String,
    pub(crate) manifest: M,
}

/// Manifests by the location from which engines read them.
pub(crate) struct ByPlace<M> {
    all: Vec<Placed<M>>,
    at: HashMap<String, usize>,
}

impl<M: Clone> ByPlace<M> {
    pub(crate) fn new(all: &[Placed<M>]) -> ByPlace<M> {
        let at = all.iter().enumerate().map(|(at, placed)| (placed.place.clone(), at)).collect();
        ByPlace { all: all.to_vec(), at }
    }

    /// The manifest that an engine calls `path`. An exact match is found without a search through all
    /// manifests.
    ///
    /// # Errors
    /// As [`match_manifest_path`].
    pub(crate) fn find(&self, path: &str) -> Result<&M> {
        let known = self.at.get(path).and_then(|at| self.all.get(*at));
        let found = known.map_or_else(|| match_manifest_path(&self.all, |placed| &placed.place, path), Ok);
        found.map(|placed| &placed.manifest)
    }
}

/// A walk whose manifests are read by other processes.
pub(crate) struct Apart<N> {
    /// The walk without its entries.
    pub(crate) walk: Walk,
    pub(crate) naming: N,
    pub(crate) planned: Vec<PlannedManifest>,
}

/// The work of finding the files that roots reach.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "N: Naming")]
pub(crate) struct ReachExchange<N> {
    naming: N,
    /// The seed of the hashes by which records of one file are found.
    seed: u64,
    told: StoredTold,
    asked: Asked,
}

/// The work that returns the rows of [`found`](super::found::found). Rows of files that no manifest names are
/// made here already.
///
/// # Errors
/// Those of reading what names manifests.
pub(super) fn exchanged<R: Reach>(
    reach: &R,
    retention: Option<&Retention>,
    options: &ScanOptions,
) -> Result<Exchanged> {
    let kinds = Kinds::matching(options.filter.as_deref(), &super::found::nothing()?.schema())?;
    let (dealer, threads) = (Arc::new(Dealer::new()), threads(options.threads));
    let Apart { mut walk, naming, planned } =
        reach.apart(&Wanted { retention, kinds, dealer, threads }, false)?;
    let told = Told::of(&mut walk, retention.is_some());
    let named = select(&told.named(&walk)?, options.columns.as_deref(), options.filter.as_deref())?;
    let (seed, told, asked) = (seed(), told.stored(), Asked::from(options));
    let exchange = Box::new(ReachExchange { naming, seed, told, asked });
    Ok(Exchanged { exchange, sides: vec![planned], together: true, made: vec![named] })
}

impl<N: Naming> Travelling for ReachExchange<N> {
    const NAME: &'static str = N::NAME;
}

impl<N: Naming> Exchange for ReachExchange<N> {
    fn schema(&self) -> Result<SchemaRef> {
        schema(&ScanOptions::from(&self.asked))
    }

    fn dealing(&self, decoding: Decoding, parts: u32) -> Result<Dealing> {
        dealing(&self.naming, &Arc::new(Dealer::seeded(self.seed, parts as usize)), decoding)
    }

    fn gather(&self) -> Result<Box<dyn Gather>> {
        let told = Told::from(&self.told);
        Ok(RecordGather::boxed(&self.asked, Vec::new(), move |pieces| told.part(pieces)))
    }
}

/// Distributes what manifests say of files by the keys of a dealer.
///
/// # Errors
/// As [`Naming::records`].
pub(super) fn dealing<N: Naming>(naming: &N, dealer: &Arc<Dealer>, decoding: Decoding) -> Result<Dealing> {
    let records = naming.records(dealer, decoding)?;
    Ok(Box::new(move |path, bytes| {
        let said = records(path, bytes)?;
        Ok(Box::new(said.map(|said| Ok((0, by_part(find(&said?, "records")?.as_binary())?)))))
    }))
}

/// The distributed records, one row for each part that has some, beside the part's number.
pub(super) fn by_part(dealt: &LargeBinaryArray) -> Result<RecordBatch> {
    let filled = (0..).zip(dealt.iter().flatten()).filter(|(_, records)| !records.is_empty());
    let (parts, records): (Vec<i32>, Vec<&[u8]>) = filled.unzip();
    let columns: [(&str, ArrayRef); 2] = [
        ("records", Arc::new(LargeBinaryArray::from_vec(records))),
        ("_part", Arc::new(Int32Array::from(parts))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// Makes the rows of a part of all its records.
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
        asked: &Asked,
        pieces: Vec<Buffer>,
        making: impl Fn(&[Buffer]) -> Result<RecordBatch> + Send + 'static,
    ) -> Box<dyn Gather> {
        Box::new(RecordGather { making: Box::new(making), options: ScanOptions::from(asked), pieces })
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
    let wrong = || Error::new(ErrorKind::Argument, format!("no records of files of side {side}"));
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
