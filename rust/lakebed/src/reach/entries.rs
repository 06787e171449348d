//! The files that entries of manifests name: read by the process that walks, or by others.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_buffer::Buffer;
use serde::{Deserialize, Serialize};

use super::Reach;
use super::partitioner::Partitioner;
use super::walk::WalkOptions;
use crate::columnar::Decoding;
use crate::distributed::{LocatedManifest, PlannedManifest, match_manifest_path};
use crate::error::{ErrorKind, Result};
use crate::scan::{Batches, Content, Format, ManifestSource, ManifestStream, planned};
use crate::storage::Storage;
use crate::table::LakeTable as _;

/// The records of the files that manifests name, distributed by the partitioner of the walk.
///
/// # Errors
/// Those of [`Reach::program`].
pub(crate) fn entries<R: Reach>(
    reach: &R,
    manifests: Vec<R::Manifest>,
    wanted: &WalkOptions<'_>,
) -> Result<Batches> {
    let (table, program) = (reach.table().clone(), reach.program(&wanted.partitioner)?);
    Ok(Box::new(ManifestStream::new(WalkEntries::<R> { table, program }, manifests, wanted.threads)))
}

/// Manifests that the process of the table reads.
struct WalkEntries<R: Reach> {
    table: R::Table,
    program: R::Program,
}

impl<R: Reach> ManifestSource for WalkEntries<R> {
    type Manifest = R::Manifest;

    fn storage(&self) -> &dyn Storage {
        self.table.core().storage().as_ref()
    }

    fn size(&self, one: &R::Manifest) -> u64 {
        R::Table::size_of(R::recorded(one)).unwrap_or(0)
    }

    fn read(&self, one: &R::Manifest) -> Result<Content> {
        let recorded = R::recorded(one);
        match self.table.core().read_recorded(&self.table.path_of(recorded), R::Table::size_of(recorded)) {
            Err(error) if error.kind() == ErrorKind::Missing && R::may_be_gone(one) => {
                Ok(Buffer::default().into())
            }
            read => read.map(Content::from),
        }
    }

    fn open(&self, one: &R::Manifest, Content { bytes, .. }: Content, threads: usize) -> Result<Batches> {
        if bytes.is_empty() && R::may_be_gone(one) {
            return Ok(Box::new(std::iter::empty()));
        }
        R::records(&self.program, one, self.table.path_of(R::recorded(one)), bytes, threads)
    }
}

/// Manifests that other processes read, as they are sent.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct SentManifests<R: Reach> {
    types: R::Types,
    manifests: Vec<LocatedManifest<R::Manifest>>,
}

/// Makes the records of one manifest, given its path in the engine's spelling and its bytes, as
/// [`PartitionedRecords::finish`](super::partitioner::PartitionedRecords::finish) returns them.
pub(super) type Records = Box<dyn Fn(&str, Buffer) -> Result<Batches> + Send>;

impl<R: Reach> SentManifests<R> {
    /// These manifests of a table, and the same in the form that engines get.
    ///
    /// # Errors
    /// Those of [`Reach::types`]; `Location` for a manifest that the storage may not open.
    pub(super) fn of(reach: &R, all: Vec<R::Manifest>) -> Result<(SentManifests<R>, Vec<PlannedManifest>)> {
        let planned = planned(reach.table(), all.iter().map(R::recorded))?;
        let located = planned.iter().zip(all);
        let located =
            located.map(|(planned, manifest)| LocatedManifest { location: planned.path.clone(), manifest });
        Ok((SentManifests { types: reach.types()?, manifests: located.collect() }, planned))
    }

    /// What makes the records of manifests.
    ///
    /// # Errors
    /// Those of [`Reach::sent_program`], for a job that was changed in transit.
    pub(super) fn records(&self, partitioner: &Arc<Partitioner>, decoding: Decoding) -> Result<Records> {
        let program = R::sent_program(&self.types, partitioner, decoding)?;
        let all = self.manifests.clone();
        // An exact match is found without a search through all manifests.
        let at: HashMap<String, usize> =
            (0..).zip(&all).map(|(at, one)| (one.location.clone(), at)).collect();
        Ok(Box::new(move |path, bytes| {
            let known = at.get(path).and_then(|at| all.get(*at));
            let found = known.map_or_else(|| match_manifest_path(&all, |one| &one.location, path), Ok)?;
            R::records(&program, &found.manifest, path.to_owned(), bytes, 1)
        }))
    }
}
