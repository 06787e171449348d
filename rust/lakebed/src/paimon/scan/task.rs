//! A scan's work on manifests, in a form that can be sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use super::Scan;
use super::program::{EntryProgram, needs_schemas};
use crate::columnar::Decoding;
use crate::distributed::{ManifestTask, NamedWork, Part, ReadyTask, StoredOptions, match_manifest_path};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::groups::GROUP_INPUT;
use crate::paimon::identity::Deleted;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::paimon::view::Role;
use crate::scan::{Batches, ScanOptions};

impl Scan {
    /// What an executor needs to make `part` of the rows from the manifests.
    pub(super) fn task_of(&self, part: Part) -> Result<PaimonTask> {
        let columns = self.options.columns.clone();
        match (part, &self.program) {
            (Part::Rows, Some(program)) => self.task_in(program.role, columns),
            (Part::Added, Some(_)) => self.task_in(Role::Added, columns),
            (Part::Deleted, program) if program.is_some() || self.view.group_by().is_some() => {
                self.task_in(Role::Deleted, columns)
            }
            (Part::Added, None) if self.view.group_by().is_some() => {
                self.task_in(Role::LiveAdded, Some(GROUP_INPUT.map(str::to_owned).to_vec()))
            }
            _ => Err(Error::new(ErrorKind::Argument, "only entries and files are made from manifests")),
        }
    }

    /// What an executor needs to make `columns` of the rows of `role`.
    pub(super) fn task_in(&self, role: Role, columns: Option<Vec<String>>) -> Result<PaimonTask> {
        let options = ScanOptions { columns, ..self.options.clone() };
        PaimonTask::new(role, &self.table, &options, self.plan()?.manifests)
    }
}

/// The work of a scan on manifests, without the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PaimonTask {
    pub(super) role: Role,
    location: String,
    schema_id: i64,
    schema: String,
    schemas: BTreeMap<i64, String>,
    options: StoredOptions,
    pub(super) manifests: Vec<ManifestFile>,
}

impl PaimonTask {
    pub(super) fn location(&self) -> &str {
        &self.location
    }

    /// The schema that the table's rows are read with.
    pub(super) fn table_schema(&self) -> Result<TableSchema> {
        TableSchema::from_json(self.schema.as_bytes())
    }

    /// The rows of `role` for `options`, in the types of `table`.
    ///
    /// # Errors
    /// Those of reading the schemas, where statistics are of interest.
    pub(super) fn new(
        role: Role,
        table: &Table,
        options: &ScanOptions,
        manifests: Vec<ManifestFile>,
    ) -> Result<PaimonTask> {
        let schemas = match needs_schemas(table.schema(), options)? {
            true => table.schema_texts()?,
            false => BTreeMap::new(),
        };
        Ok(PaimonTask {
            role,
            location: table.location().to_owned(),
            schema_id: table.schema().id,
            schema: table.schema_text(table.schema().id)?,
            schemas,
            options: StoredOptions::from(options),
            manifests,
        })
    }

    /// How entries become rows of `role`: the task's own role, or that of rows it is merged with.
    ///
    /// # Errors
    /// Those of [`Scan::new`], for a task whose text was changed.
    pub(super) fn program(&self, role: Role, decoding: Decoding) -> Result<EntryProgram> {
        let schema = self.table_schema()?;
        let schemas =
            self.schemas.iter().map(|(id, text)| Ok((*id, TableSchema::from_json(text.as_bytes())?)));
        let schemas = schemas.collect::<Result<_>>()?;
        EntryProgram::build(
            role,
            &self.location,
            &schema,
            &schemas,
            &ScanOptions::from(&self.options),
            decoding,
        )
    }

    /// The schema of the task's rows.
    ///
    /// # Errors
    /// Those of [`Scan::new`], for a task whose text was changed.
    pub(super) fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::clone(self.program(self.role, Limits::DEFAULT.into())?.view.schema()))
    }

    /// The rows of one manifest by a program of the task.
    pub(super) fn rows(
        &self,
        program: Arc<EntryProgram>,
        path: &str,
        bytes: Buffer,
        whole: bool,
    ) -> Result<Batches> {
        let manifest = self.manifest_at(path)?.clone();
        let reader = program.open(bytes, whole.then_some(&manifest), 1);
        let reader = reader.map_err(|error| error.in_file(path))?;
        let path = path.to_owned();
        Ok(Box::new(reader.map(move |entries| {
            let rows = entries.and_then(|rows| program.rows(&rows, &manifest.file_name, &Deleted::default()));
            rows.map_err(|error| error.in_file(&path))
        })))
    }

    /// How entries become the task's own rows, a manifest at a time.
    pub(super) fn own_program(&self, decoding: Decoding) -> Result<Arc<EntryProgram>> {
        Ok(Arc::new(self.program(self.role, decoding)?.alone()))
    }

    /// The names of the task's manifests.
    pub(super) fn file_names(&self) -> impl Iterator<Item = &str> {
        self.manifests.iter().map(|manifest| manifest.file_name.as_str())
    }

    /// The manifest of the task that an engine knows by this path.
    ///
    /// # Errors
    /// `Missing` for a path of no manifest of the task.
    pub(super) fn manifest_at(&self, path: &str) -> Result<&ManifestFile> {
        match_manifest_path(&self.manifests, |manifest| &manifest.file_name, path)
    }
}

impl NamedWork for PaimonTask {
    const NAME: &'static str = "paimon";
}

impl ManifestTask for PaimonTask {
    fn ready(self: Box<Self>, decoding: Decoding) -> Result<ReadyTask> {
        let program = self.own_program(decoding)?;
        let schema = Arc::clone(program.view.schema());
        let rows = move |path: &str, bytes, whole| self.rows(Arc::clone(&program), path, bytes, whole);
        Ok(ReadyTask::new(schema, rows))
    }
}
