//! What a format has in the place of what it does not have.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use super::{Batches, Format, ScanOptions};
use crate::columnar::Decoding;
use crate::dangling::{DeleteMarks, SnapshotDeletes};
use crate::distributed::{Job, ManifestMap, Process, foreign};
use crate::error::Result;
use crate::notes::Notes;
use crate::reach::{ListedFolder, Partitioner, Prefixes, Reach, VisitedSet, Walk, WalkOptions};
use crate::repair::TableRepairs;
use crate::verify::{EntryBatches, StoredEntries, WholeEntries};

/// No value.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Never {}

/// The type of the jobs, walks, deletes and entries that the format `F` does not have: there is no value of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct Absent<F>(Never, PhantomData<fn() -> F>);

impl<F: Format> Job for Absent<F> {
    fn schema(&self) -> Result<SchemaRef> {
        match self.0 {}
    }

    fn map(&self, _process: &Process) -> Result<ManifestMap> {
        match self.0 {}
    }
}

impl<F: Format> TableRepairs<F> for Absent<F> {}

/// Of a format without deletes there is nothing to mark.
impl<F: Format> DeleteMarks<F> for Absent<F> {
    fn read(_table: &F, _options: &ScanOptions) -> Result<Option<SnapshotDeletes>> {
        Ok(None)
    }

    fn of(_table: &F, _deletes: &RecordBatch) -> Result<Absent<F>> {
        Err(foreign("deletes of a format that has none"))
    }

    fn sent(_types: &F::Types, _deletes: &RecordBatch) -> Result<Absent<F>> {
        Err(foreign("deletes of a format that has none"))
    }

    fn input(&self) -> Vec<&'static str> {
        match self.0 {}
    }

    fn mark(&mut self, _files: &RecordBatch) -> Result<()> {
        match self.0 {}
    }

    fn marked(&self) -> &[bool] {
        match self.0 {}
    }
}

impl<F: Format> StoredEntries for Absent<F> {
    type Entries = Absent<F>;

    fn entries(&self, _decoding: Decoding) -> Result<Absent<F>> {
        match self.0 {}
    }
}

impl<F: Format> WholeEntries for Absent<F> {
    type Manifest = F::Manifest;

    fn limits(&self) -> Limits {
        match self.0 {}
    }

    fn place_of(&self, _manifest: &F::Manifest) -> (String, Option<u64>) {
        match self.0 {}
    }

    fn may_have_deletes(&self, _manifest: &F::Manifest) -> bool {
        match self.0 {}
    }

    fn entries_of(
        &self,
        _manifest: &F::Manifest,
        _bytes: Buffer,
        _linked: bool,
        _notes: &Notes,
    ) -> Result<EntryBatches> {
        match self.0 {}
    }
}

impl<F: Format<Reach = Absent<F>>> Reach for Absent<F> {
    type Table = F;
    type Manifest = F::Manifest;
    type Types = Never;
    type Program = Never;

    const BY_NAME: bool = false;
    const QUIET_LOOKS: usize = 1;

    fn table(&self) -> &F {
        match self.0 {}
    }

    fn location(&self) -> &str {
        match self.0 {}
    }

    fn notes(&self) -> Notes {
        match self.0 {}
    }

    fn begun(&self, _wanted: &WalkOptions<'_>, _seen: &mut VisitedSet) -> Result<(Walk, Vec<F::Manifest>)> {
        match self.0 {}
    }

    fn walk_later(&self, _wanted: &WalkOptions<'_>, _seen: &mut VisitedSet) -> Result<Option<Walk>> {
        match self.0 {}
    }

    fn recorded(one: &F::Manifest) -> &F::Manifest {
        one
    }

    fn program(&self, _partitioner: &Arc<Partitioner>) -> Result<Never> {
        match self.0 {}
    }

    fn types(&self) -> Result<Never> {
        match self.0 {}
    }

    fn sent_program(types: &Never, _partitioner: &Arc<Partitioner>, _decoding: Decoding) -> Result<Never> {
        match *types {}
    }

    fn records(
        program: &Never,
        _one: &F::Manifest,
        _path: String,
        _bytes: Buffer,
        _threads: usize,
    ) -> Result<Batches> {
        match *program {}
    }

    fn places(&self, _spellings: &Prefixes) -> Result<Vec<ListedFolder>> {
        match self.0 {}
    }

    fn check_deletable(&self, _spellings: &Prefixes) -> Result<()> {
        match self.0 {}
    }

    fn other_folders(&self) -> Vec<String> {
        match self.0 {}
    }
}
