//! The files that entries of manifests name: read by the process that walks, or by others.

use std::sync::Arc;

use arrow_buffer::Buffer;
use serde::{Deserialize, Serialize};

use super::Reach;
use super::job::{RecordSide, keyed};
use super::partitioner::Partitioner;
use super::walk::WalkOptions;
use crate::columnar::Decoding;
use crate::distributed::{LocatedManifests, ManifestMap, PlannedManifest};
use crate::error::{ErrorKind, Result};
use crate::scan::{Batches, Content, Format, ManifestSource, ManifestStream};
use crate::storage::{Storage, present};
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

    fn open(&self, one: &R::Manifest, content: Content, threads: usize) -> Result<Batches> {
        let bytes = content.into_bytes()?;
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
    manifests: LocatedManifests<R::Manifest>,
}

impl<R: Reach> SentManifests<R> {
    /// These manifests of a table, and the same in the form that engines get. Those that may no longer exist are left
    /// out, unless `all` are requested: no root reaches the files that only they name.
    ///
    /// # Errors
    /// Those of [`Reach::types`], and of looking for them; `Location` for a manifest that the storage may not open.
    pub(super) fn of(
        reach: &R,
        manifests: Vec<R::Manifest>,
        all: bool,
    ) -> Result<(SentManifests<R>, Vec<PlannedManifest>)> {
        let mut needed = Vec::with_capacity(manifests.len());
        for one in manifests {
            let path = reach.table().path_of(R::recorded(&one));
            let is_there = || present(reach.storage().read_range(&path, 0, 1));
            if !R::may_be_gone(&one) || all && is_there()?.is_some() {
                needed.push(one);
            }
        }
        let (manifests, planned) = LocatedManifests::planned(reach.table(), needed, R::recorded)?;
        Ok((SentManifests { types: reach.types()?, manifests }, planned))
    }

    /// A map of manifests to their records of files, which `partitioner` distributes.
    ///
    /// # Errors
    /// Those of [`Reach::sent_program`], for a job that was changed in transit.
    pub(super) fn map(&self, partitioner: &Arc<Partitioner>, decoding: Decoding) -> Result<ManifestMap> {
        let program = R::sent_program(&self.types, partitioner, decoding)?;
        let all = self.manifests.clone();
        ManifestMap::of_content(move |path, content| {
            let records = R::records(&program, all.at(path)?.1, path.to_owned(), content.whole()?, 1)?;
            Ok(Box::new(records.map(|rows| keyed(RecordSide::Named, rows?))))
        })
    }
}
