//! Orphans found by several processes. Files that manifests name and listed files are distributed by a key
//! that both have, and each part is compared where all its records arrive.

use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::Reach;
use super::deal::{Dealer, Keys, Named, seed};
use super::exchange::{Apart, Naming, RecordGather, dealing};
use super::kind::{Kind, Kinds};
use super::orphans::{OrphanOptions, orphans, schema};
use super::prefixes::Prefixes;
use super::record::{Fact, Record};
use super::sets::SetId;
use super::walk::Wanted;
use crate::columnar::Decoding;
use crate::distributed::{Asked, Dealing, Exchange, Exchanged, Gather, Travelling};
use crate::error::Result;
use crate::scan::{ScanOptions, threads};
use crate::storage::Placing;

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
        dealing(&self.naming, &dealer, decoding)
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
        let making =
            move |pieces: &[Buffer]| orphans(pieces, &prefixes, &|record| known(record, &prefixes, &dealer));
        Ok(RecordGather::boxed(&self.asked, vec![deal.bytes()], making))
    }
}

/// The record with the hash and the prefix number of this process.
fn known<'r>(record: Record<'r>, prefixes: &Prefixes, dealer: &Dealer) -> Result<Record<'r>> {
    let (prefix, _) = prefixes.split(record.path, &mut None)?;
    Ok(Record { prefix, hash: dealer.hash(record.key.as_bytes()), ..record })
}
