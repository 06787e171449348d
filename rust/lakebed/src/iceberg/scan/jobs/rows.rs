//! Rows that are made of the entries of manifests one by one.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use crate::columnar::Decoding;
use crate::distributed::{
    Job, LocatedManifest, ManifestMap, Process, StoredOptions, match_manifest_path, rows,
};
use crate::error::Result;
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::scan::appends::{of_snapshots, with_snapshot};
use crate::iceberg::scan::program::EntryProgram;
use crate::iceberg::table::{StoredTypes, Table, TableTypes};
use crate::iceberg::view::Role;
use crate::notes::Notes;
use crate::scan::{Batches, ScanOptions};
use crate::storage::Storage;
use crate::view::only;

/// The rows of manifests in one role.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RowsJob {
    role: Role,
    pub(super) types: StoredTypes,
    pub(super) options: StoredOptions,
    /// The snapshots whose added files are wanted; `None` for all.
    added_by: Option<HashSet<i64>>,
    pub(super) manifests: Vec<LocatedManifest<ManifestFile>>,
}

/// Manifests, each with the location from which engines read it.
///
/// # Errors
/// `Location` for one that the storage may not open.
pub(super) fn located(
    manifests: impl IntoIterator<Item = ManifestFile>,
    storage: &dyn Storage,
) -> Result<Vec<LocatedManifest<ManifestFile>>> {
    let located =
        |manifest: ManifestFile| Ok(LocatedManifest { location: storage.place(&manifest.path)?, manifest });
    manifests.into_iter().map(located).collect()
}

impl RowsJob {
    /// The rows that `options` ask for of `manifests`, in the types of `table`; with `added_by` those of the files
    /// that these snapshots added.
    pub(in crate::iceberg::scan) fn new(
        role: Role,
        table: &Table,
        options: &ScanOptions,
        manifests: Vec<ManifestFile>,
        added_by: Option<HashSet<i64>>,
    ) -> Result<RowsJob> {
        Ok(RowsJob {
            role,
            types: StoredTypes::from(&table.types()?),
            options: StoredOptions::from(options),
            added_by,
            manifests: located(manifests, table.storage().as_ref())?,
        })
    }

    /// The program that decodes entries.
    fn program(&self, decoding: Decoding) -> Result<Arc<EntryProgram>> {
        let options = ScanOptions::from(&self.options);
        match &self.added_by {
            Some(_) => self.program_of(&with_snapshot(&options), decoding),
            None => self.program_of(&options, decoding),
        }
    }

    /// The program that makes the rows that `options` ask for.
    pub(super) fn program_of(&self, options: &ScanOptions, decoding: Decoding) -> Result<Arc<EntryProgram>> {
        let types = TableTypes::try_from(&self.types)?;
        EntryProgram::new(self.role, types, options, decoding).map(Arc::new)
    }

    /// The rows of one manifest by a program of this job; `whole` is whether all of its bytes are there.
    pub(super) fn rows(
        &self,
        program: &Arc<EntryProgram>,
        path: &str,
        bytes: Buffer,
        whole: bool,
    ) -> Result<Batches> {
        let manifest = match_manifest_path(&self.manifests, |one| &one.location, path)?.manifest.clone();
        let manifest = if whole { manifest } else { manifest.uncounted() };
        program.open(bytes, &manifest, 1, &Notes::default())
    }
}

impl Job for RowsJob {
    fn schema(&self) -> Result<SchemaRef> {
        let program = self.program_of(&ScanOptions::from(&self.options), Limits::DEFAULT.into())?;
        Ok(Arc::clone(program.view.schema()))
    }

    fn map(&self, process: &Process, _parts: u32) -> Result<ManifestMap> {
        let (job, schema) = (self.clone(), self.schema()?);
        let program = self.program(process.decoding.clone())?;
        ManifestMap::of_content(move |path, bytes, whole| {
            let files = job.rows(&program, path, bytes, whole)?;
            let Some(ids) = job.added_by.clone() else { return Ok(rows(files)) };
            let schema = Arc::clone(&schema);
            Ok(rows(Box::new(files.map(move |files| only(&of_snapshots(&files?, &ids)?, &schema)))))
        })
    }
}
