//! Rows that are made of the entries of manifests one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use crate::columnar::Decoding;
use crate::diff::{ReadFiles, SentFiles};
use crate::distributed::{Job, ManifestMap, Process, StoredOptions, match_manifest_path, rows};
use crate::error::Result;
use crate::paimon::identity::Deleted;
use crate::paimon::manifest_list::ManifestFile;
use crate::paimon::scan::program::{EntryProgram, needs_schemas};
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::paimon::view::Role;
use crate::scan::{Batches, ScanOptions};

/// The rows of manifests in one role.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RowsJob {
    pub(in crate::paimon::scan) role: Role,
    location: String,
    schema_id: i64,
    schema: String,
    schemas: BTreeMap<i64, String>,
    options: StoredOptions,
    manifests: Vec<ManifestFile>,
}

impl RowsJob {
    pub(in crate::paimon::scan) fn location(&self) -> &str {
        &self.location
    }

    /// The schema that the table's rows are read with.
    pub(in crate::paimon::scan) fn table_schema(&self) -> Result<TableSchema> {
        TableSchema::from_json(self.schema.as_bytes())
    }

    /// The rows of `role` for `options`, in the types of `table`.
    ///
    /// # Errors
    /// Those of reading the schemas, where statistics are of interest.
    pub(in crate::paimon::scan) fn new(
        role: Role,
        table: &Table,
        options: &ScanOptions,
        manifests: Vec<ManifestFile>,
    ) -> Result<RowsJob> {
        let schemas = match needs_schemas(table.schema(), options)? {
            true => table.schema_texts()?,
            false => BTreeMap::new(),
        };
        Ok(RowsJob {
            role,
            location: table.location().to_owned(),
            schema_id: table.schema().id,
            schema: table.schema_text(table.schema().id)?,
            schemas,
            options: StoredOptions::from(options),
            manifests,
        })
    }

    /// How entries become rows of `role`: the job's own role, or that of rows it is merged with.
    ///
    /// # Errors
    /// Those of resolving a scan, for a job that was changed in transit.
    pub(in crate::paimon::scan) fn program(&self, role: Role, decoding: Decoding) -> Result<EntryProgram> {
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

    /// The rows of one manifest by a program of the job.
    fn rows(&self, program: Arc<EntryProgram>, path: &str, bytes: Buffer, whole: bool) -> Result<Batches> {
        let manifest = self.manifest_at(path)?.clone();
        let reader = program.open(bytes, whole.then_some(&manifest), 1);
        let reader = reader.map_err(|error| error.in_file(path))?;
        let path = path.to_owned();
        Ok(Box::new(reader.map(move |entries| {
            let rows = entries.and_then(|rows| program.rows(&rows, &manifest.file_name, &Deleted::default()));
            rows.map_err(|error| error.in_file(&path))
        })))
    }

    /// How entries become the job's own rows, a manifest at a time.
    fn own_program(&self, decoding: Decoding) -> Result<Arc<EntryProgram>> {
        Ok(Arc::new(self.program(self.role, decoding)?.alone()))
    }

    /// The manifest of the job that an engine knows by this path.
    ///
    /// # Errors
    /// `Missing` for a path of no manifest of the job.
    pub(super) fn manifest_at(&self, path: &str) -> Result<&ManifestFile> {
        match_manifest_path(&self.manifests, |manifest| &manifest.file_name, path)
    }
}

impl Job for RowsJob {
    fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::clone(self.program(self.role, Limits::DEFAULT.into())?.view.schema()))
    }

    fn map(&self, process: &Process, _parts: u32) -> Result<ManifestMap> {
        let (job, program) = (self.clone(), self.own_program(process.decoding.clone())?);
        ManifestMap::of_content(move |path, bytes, whole| {
            Ok(rows(job.rows(Arc::clone(&program), path, bytes, whole)?))
        })
    }
}

/// Files in a role whose rows have their identity last.
impl SentFiles for RowsJob {
    fn schema(&self) -> Result<SchemaRef> {
        Job::schema(self)
    }

    fn locations(&self) -> Vec<&str> {
        self.manifests.iter().map(|manifest| manifest.file_name.as_str()).collect()
    }

    fn reader(&self, decoding: Decoding) -> Result<Box<ReadFiles>> {
        let (files, program) = (self.clone(), self.own_program(decoding)?);
        Ok(Box::new(move |path, bytes, whole| files.rows(Arc::clone(&program), path, bytes, whole)))
    }
}
