//! Orphans found by several processes. Files that manifests name and listed files are distributed by a key
//! that both have, and each part is compared where all its records arrive.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::Reach;
use super::deal::{Dealer, Keys, Named, seed};
use super::exchange::{Apart, Naming, by_part, pieces};
use super::kind::{Kind, Kinds};
use super::orphans::{OrphanOptions, orphans, schema};
use super::prefixes::Prefixes;
use super::record::{Fact, Record};
use super::sets::SetId;
use super::walk::Wanted;
use crate::columnar::Decoding;
use crate::distributed::{Asked, Dealing, Exchange, Exchanged, Gather, Travelling};
use crate::error::Result;
use crate::record::find;
use crate::scan::{Batches, ScanOptions, once, threads};
use crate::storage::Placing;
use crate::view::select;

/// The side of listed files.
pub(super) const LISTED: i32 = 1;

/// The work of finding listed files that are not reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "N: Naming")]
pub(crate) struct OrphansExchange<N> {
    naming: N,
    /// The files that are named without a manifest.
    named: Vec<String>,
    placing: Placing,
    by_name: bool,
    equal_schemes: Vec<(String, String)>,
    equal_authorities: Vec<(String, String)>,
    asked: Asked,
}

/// The work on the newest version of a table.
///
/// # Errors
/// Those of reading what names manifests.
pub(super) fn orphans_exchanged<R: Reach>(
    newest: &R,
    by_name: bool,
    which: &OrphanOptions,
    options: &ScanOptions,
) -> Result<Exchanged> {
    let (kinds, dealer, threads) = (Kinds::ALL, Arc::new(Dealer::new()), threads(options.threads));
    let Apart { walk, naming, planned } =
        newest.apart(&Wanted { retention: None, kinds, dealer, threads }, true)?;
    let reached = walk.files.reached().iter().map(|file| file.path.clone());
    let exchange = OrphansExchange {
        naming,
        named: reached.chain(walk.files.named().iter().cloned()).collect(),
        placing: newest.storage().placing(),
        by_name,
        equal_schemes: which.equal_schemes.clone(),
        equal_authorities: which.equal_authorities.clone(),
        asked: Asked::from(options),
    };
    // The sides in their order: manifests first, then the listing, which has no manifests.
    let sides = vec![planned, Vec::new()];
    Ok(Exchanged { exchange: Box::new(exchange), sides, together: true, made: Vec::new() })
}

impl<N: Naming> Travelling for OrphansExchange<N> {
    const NAME: &'static str = N::OF_ORPHANS;
}

impl<N: Naming> OrphansExchange<N> {
    /// A dealer for the files that the table names, with the prefixes of this process.
    fn dealer(&self, parts: usize) -> (Arc<Dealer>, Arc<Prefixes>) {
        let prefixes = Arc::new(Prefixes::new(&self.equal_schemes, &self.equal_authorities));
        let (storage, by_name) = (self.placing.storage(), self.by_name);
        let keys = Keys::Places { prefixes: Arc::clone(&prefixes), storage, by_name, whole: true };
        (Arc::new(Dealer::seeded(seed(), parts).by(keys)), prefixes)
    }
}

impl<N: Naming> Exchange for OrphansExchange<N> {
    fn schema(&self) -> Result<SchemaRef> {
        schema(&ScanOptions::from(&self.asked))
    }

    fn dealing(&self, decoding: Decoding, parts: u32) -> Result<Dealing> {
        let (dealer, _) = self.dealer(parts as usize);
        let records = self.naming.records(&dealer, decoding)?;
        Ok(Box::new(move |path, bytes| {
            let said = records(path, bytes)?;
            Ok(Box::new(said.map(|said| Ok((0, by_part(find(&said?, "records")?.as_binary())?)))))
        }))
    }

    /// Every part has all files that are named without a manifest: manifests, lists and the table's other
    /// metadata.
    fn gather(&self) -> Result<Box<dyn Gather>> {
        let (dealer, prefixes) = self.dealer(1);
        let mut deal = dealer.deal();
        for path in &self.named {
            let (fact, kind, set) = (Fact::Reached, Kind::Extra, SetId::NONE);
            deal.push(Named { path, kind, fact, set, size: -1, identity: 0 })?;
        }
        let (pieces, options) = (vec![deal.bytes()], ScanOptions::from(&self.asked));
        Ok(Box::new(OrphansGather { dealer, prefixes, options, pieces }))
    }
}

/// The orphans of one part.
struct OrphansGather {
    dealer: Arc<Dealer>,
    prefixes: Arc<Prefixes>,
    options: ScanOptions,
    pieces: Vec<Buffer>,
}

impl Gather for OrphansGather {
    fn push(&mut self, side: i32, rows: RecordBatch) -> Result<Batches> {
        self.pieces.extend(pieces(side, &rows)?);
        Ok(Box::new(std::iter::empty()))
    }

    fn finish(&mut self) -> Result<Batches> {
        let rows = orphans(&self.pieces, &self.prefixes, &|record| self.known(record))?;
        self.pieces.clear();
        let rows = select(&rows, self.options.columns.as_deref(), self.options.filter.as_deref())?;
        Ok(once(rows))
    }
}

impl OrphansGather {
    /// The record with the hash and the prefix number of this process.
    fn known<'r>(&self, record: Record<'r>) -> Result<Record<'r>> {
        let (prefix, _) = self.prefixes.split(record.path, &mut None)?;
        Ok(Record { prefix, hash: self.dealer.hash(record.key.as_bytes()), ..record })
    }
}
