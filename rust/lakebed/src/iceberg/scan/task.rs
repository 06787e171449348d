//! The work of a scan on manifests, in serializable form.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use super::Scan;
use super::appends::{of_snapshots, with_snapshot};
use super::plan::Plan;
use super::program::EntryProgram;
use crate::columnar::Decoding;
use crate::distributed::{ManifestTask, NamedWork, Part, ReadyTask, StoredOptions, match_manifest_path};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::table::{StoredTypes, Table, TableTypes};
use crate::iceberg::view::{DATA_FILE_COUNT, DATA_FILES, POSITIONS, Role};
use crate::notes::Notes;
use crate::scan::{Batches, ScanOptions};
use crate::storage::Storage;
use crate::view::only;

impl Scan {
    /// The work of making rows from manifests one by one, for executors.
    pub(super) fn task_of(&self, part: Part) -> Result<IcebergTask> {
        let Some(program) = &self.program else {
            return Err(Error::new(ErrorKind::Argument, "only entries and files are made from manifests"));
        };
        if part == Part::Deleted {
            let message = "entries of Iceberg delete no files of other manifests";
            return Err(Error::new(ErrorKind::Argument, message));
        }
        if [POSITIONS, DATA_FILES, DATA_FILE_COUNT].iter().any(|name| program.view.has(name)) {
            let message = "positions and data files of deletes are in other files than their manifests";
            return Err(Error::new(ErrorKind::Argument, message));
        }
        self.task_in(program.role, self.options.columns.clone())
    }

    /// The work of making `columns` of the rows of `role`.
    pub(super) fn task_in(&self, role: Role, columns: Option<Vec<String>>) -> Result<IcebergTask> {
        let plan = Plan::new(&self.table, self.options.table_filter.as_deref())?;
        Ok(IcebergTask {
            role,
            types: StoredTypes::from(&self.table.types()?),
            options: StoredOptions::from(&ScanOptions { columns, ..self.options.clone() }),
            added_by: None,
            manifests: LocatedManifestFile::all(plan.of_role(role), self.table.storage().as_ref())?,
        })
    }
}

/// The work of a scan on manifests, independent of the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IcebergTask {
    role: Role,
    types: StoredTypes,
    options: StoredOptions,
    /// The snapshots whose added files are wanted; `None` for all.
    added_by: Option<HashSet<i64>>,
    manifests: Vec<LocatedManifestFile>,
}

/// A manifest, and the location from which engines read it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LocatedManifestFile {
    pub(super) location: String,
    pub(super) manifest: ManifestFile,
}

impl LocatedManifestFile {
    pub(super) fn all(
        manifests: impl IntoIterator<Item = ManifestFile>,
        storage: &dyn Storage,
    ) -> Result<Vec<LocatedManifestFile>> {
        let located = |manifest: ManifestFile| {
            Ok(LocatedManifestFile { location: storage.place(&manifest.path)?, manifest })
        };
        manifests.into_iter().map(located).collect()
    }
}

impl IcebergTask {
    /// The work of finding the files that the snapshots `ids` added.
    pub(super) fn of_appends(
        table: &Table,
        options: &ScanOptions,
        manifests: Vec<ManifestFile>,
        ids: HashSet<i64>,
    ) -> Result<IcebergTask> {
        Ok(IcebergTask {
            role: Role::Added,
            types: StoredTypes::from(&table.types()?),
            options: StoredOptions::from(options),
            added_by: Some(ids),
            manifests: LocatedManifestFile::all(manifests, table.storage().as_ref())?,
        })
    }

    /// The program that decodes entries, and the snapshots whose files are wanted.
    pub(super) fn program(&self, decoding: Decoding) -> Result<Arc<EntryProgram>> {
        let options = ScanOptions::from(&self.options);
        match &self.added_by {
            Some(_) => self.program_of(&with_snapshot(&options), decoding),
            None => self.program_of(&options, decoding),
        }
    }

    fn program_of(&self, options: &ScanOptions, decoding: Decoding) -> Result<Arc<EntryProgram>> {
        let types = TableTypes::try_from(&self.types)?;
        EntryProgram::new(self.role, types, options, decoding).map(Arc::new)
    }

    /// The schema of the task's rows.
    ///
    /// # Errors
    /// Those of [`Scan::new`], for a task that was changed in transit.
    fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::clone(
            self.program_of(&ScanOptions::from(&self.options), Limits::DEFAULT.into())?.view.schema(),
        ))
    }

    /// The rows of one manifest by the task's program.
    pub(super) fn rows(
        &self,
        program: &Arc<EntryProgram>,
        path: &str,
        bytes: Buffer,
        whole: bool,
    ) -> Result<Batches> {
        let manifest = match_manifest_path(&self.manifests, |one| &one.location, path)?.manifest.clone();
        let manifest = if whole { manifest } else { manifest.uncounted() };
        let files = program.open(bytes, &manifest, 1, &Notes::default())?;
        let Some(ids) = self.added_by.clone() else { return Ok(files) };
        let schema = self.schema()?;
        Ok(Box::new(files.map(move |files| only(&of_snapshots(&files?, &ids)?, &schema))))
    }
}

impl NamedWork for IcebergTask {
    const NAME: &'static str = "iceberg";
}

impl ManifestTask for IcebergTask {
    fn ready(self: Box<Self>, decoding: Decoding) -> Result<ReadyTask> {
        let (schema, program) = (self.schema()?, self.program(decoding)?);
        Ok(ReadyTask::new(schema, move |path, bytes, whole| self.rows(&program, path, bytes, whole)))
    }
}
