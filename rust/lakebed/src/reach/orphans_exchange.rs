//! Orphans found by several processes. Files that manifests name and listed files are distributed by a key
//! that both have, and each part is compared where all its records arrive.

use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::Reach;
use super::exchange::{DistributedWalk, RecordGather, SentManifests, manifest_partitioner};
use super::kind::Kinds;
use super::listed::OrphanOptions;
use super::looks::Seen;
use super::moved::Moved;
use super::orphans::{orphans, schema};
use super::partitioner::{Keys, Partitioner, seed};
use super::prefixes::{Last, Prefixes};
use super::record::Record;
use super::walk::WalkOptions;
use crate::columnar::Decoding;
use crate::distributed::{
    Exchange, Exchanged, Gather, ManifestPartitioner, NamedWork, StoredOptions, placed,
};
use crate::error::Result;
use crate::scan::{ScanOptions, threads};
use crate::storage::{Local, Placing};

/// The side of listed files.
pub(super) const LISTED: i32 = 1;

/// The work of finding listed files that are not reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "N: SentManifests")]
pub(crate) struct OrphansExchange<N> {
    manifests: N,
    /// The files that are named without a manifest.
    named: Vec<String>,
    placing: Placing,
    /// Where the table's files are.
    location: String,
    by_name: bool,
    equal_schemes: Vec<(String, String)>,
    equal_authorities: Vec<(String, String)>,
    moved: Option<Moved>,
    options: StoredOptions,
}

/// The work on the newest version of a table.
///
/// # Errors
/// Those of reading what names manifests.
pub(super) fn orphans_exchanged<R: Reach>(
    newest: &R,
    which: &OrphanOptions,
    options: &ScanOptions,
) -> Result<Exchanged> {
    let (kinds, partitioner, threads) = (Kinds::ALL, Arc::new(Partitioner::new()), threads(options.threads));
    let (walk_options, mut seen) =
        (WalkOptions { retention: None, kinds, partitioner, threads }, Seen::default());
    let DistributedWalk { walk, manifests, planned } =
        newest.distributed_walk(&walk_options, true, &mut seen)?;
    let reached = walk.files.reached().iter().map(|file| file.path.clone());
    let exchange = OrphansExchange {
        manifests,
        named: reached.chain(walk.files.named().iter().cloned()).collect(),
        placing: newest.storage().placing(),
        location: newest.storage().place(newest.location())?,
        by_name: R::BY_NAME,
        equal_schemes: which.equal_schemes.clone(),
        equal_authorities: which.equal_authorities.clone(),
        moved: newest.moved().filter(|_| !R::BY_NAME),
        options: StoredOptions::from(options),
    };
    // The sides in their order: manifests first, then the listing, which has no manifests.
    let sides = vec![planned, Vec::new()];
    let seen = Some(seen.to_text()?);
    Ok(Exchanged { exchange: Box::new(exchange), sides, together: true, made: Vec::new(), seen })
}

impl<N: SentManifests> NamedWork for OrphansExchange<N> {
    const NAME: &'static str = N::OF_ORPHANS;
}

impl<N: SentManifests> OrphansExchange<N> {
    /// A partitioner for the files that the table names, with the prefixes of this process.
    fn record_partitioner(&self, parts: usize) -> (Arc<Partitioner>, Arc<Prefixes>) {
        let prefixes = Arc::new(Prefixes::new(&self.location, &self.equal_schemes, &self.equal_authorities));
        let (storage, by_name) = (placed(&self.placing, Arc::new(Local)), self.by_name);
        let keys = Keys::Places { prefixes: Arc::clone(&prefixes), storage, by_name, whole: true };
        let partitioner = Partitioner::seeded(seed(), parts).by(keys).of_moved(self.moved.clone());
        (Arc::new(partitioner), prefixes)
    }
}

impl<N: SentManifests> Exchange for OrphansExchange<N> {
    fn schema(&self) -> Result<SchemaRef> {
        schema(&ScanOptions::from(&self.options))
    }

    fn partitioner(&self, decoding: Decoding, parts: u32) -> Result<ManifestPartitioner> {
        let (partitioner, _) = self.record_partitioner(parts as usize);
        manifest_partitioner(&self.manifests, &partitioner, decoding)
    }

    /// Every part has all files that are named without a manifest: manifests, lists and the table's other
    /// metadata.
    fn gather(&self) -> Result<Box<dyn Gather>> {
        let (partitioner, prefixes) = self.record_partitioner(1);
        let mut records = partitioner.new_records();
        records.push_reached(self.named.iter().map(String::as_str))?;
        let making = move |pieces: &[Buffer]| {
            orphans(pieces, &prefixes, None, &|record| known(record, &prefixes, &partitioner))
        };
        Ok(RecordGather::boxed(&self.options, vec![records.bytes()], making))
    }
}

/// The record with the hash and the prefix number of this process.
fn known<'r>(record: Record<'r>, prefixes: &Prefixes, partitioner: &Partitioner) -> Result<Record<'r>> {
    let prefix = prefixes.prefix(record.path, &mut Last::default())?;
    Ok(Record { prefix, hash: partitioner.hash(record.key.as_bytes()), ..record })
}
