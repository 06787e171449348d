//! Orphans found by many processes: what manifests name and what is listed is dealt out by what is the same of both, and
//! compared where it comes together.

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

/// The side of what is listed.
pub(super) const LISTED: i32 = 1;

/// The work of finding what is listed and not reached.
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

/// The work on a table as it is now.
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
    // Manifests first: what is listed has no rows of its own.
    let sides = vec![planned, Vec::new()];
    Ok(Exchanged { exchange: Box::new(exchange), sides, together: true, made: Vec::new() })
}

impl<N: Naming> Travelling for OrphansExchange<N> {
    const NAME: &'static str = N::OF_ORPHANS;
}

impl<N: Naming> OrphansExchange<N> {
    /// What deals out what the table names, with prefixes that are this process's own.
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

    /// Every part knows all files that are named without a manifest: manifests, lists and what the table itself has.
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
    /// A record with the hash and the prefix of this process.
    fn known<'r>(&self, record: Record<'r>) -> Result<Record<'r>> {
        let (prefix, _) = self.prefixes.split(record.path, &mut None)?;
        Ok(Record { prefix, hash: self.dealer.hash(record.key.as_bytes()), ..record })
    }
}
