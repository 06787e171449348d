//! A scan's work on manifests, made fit to travel.

use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use super::Scan;
use super::plan::Plan;
use super::program::EntryProgram;
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::view::Role;
use crate::scan::{Batches, Part, ScanOptions};

impl Scan {
    /// What an executor needs to make the rows from the manifests, each on its own.
    pub(super) fn task_of(&self, part: Part) -> Result<Task> {
        let Some(program) = &self.program else {
            return Err(Error::new(ErrorKind::Argument, "only entries and files are made from manifests"));
        };
        if part == Part::Deleted {
            let message = "manifests of Iceberg take nothing away from each other";
            return Err(Error::new(ErrorKind::Argument, message));
        }
        let plan = Plan::new(&self.table, self.options.filter.as_deref())?;
        Ok(Task {
            role: program.role,
            table: self.table.stored_types()?,
            columns: self.options.columns.clone(),
            filter: self.options.filter.clone(),
            stats: self.options.stats.clone(),
            manifests: plan.of_role(program.role),
        })
    }
}

/// A scan's work on manifests, apart from the table: what crosses to an executor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    role: Role,
    table: StoredTypes,
    columns: Option<Vec<String>>,
    filter: Option<String>,
    stats: Option<Vec<String>>,
    manifests: Vec<ManifestFile>,
}
