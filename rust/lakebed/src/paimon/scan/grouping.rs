//! Sums over live files, in this process or where manifests are read elsewhere.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch};
use arrow_buffer::Buffer;
use serde::{Deserialize, Serialize};

use super::deletes::{know_vectors, vector_counts};
use super::program::EntryProgram;
use super::rows::own_rows;
use super::stream::EntrySource;
use super::task::PaimonTask;
use super::{Scan, grouped};
use crate::columnar::Decoding;
use crate::distributed::{GroupTask, Grouping, NamedWork, Prerequisite, match_manifest_path};
use crate::error::{Error, ErrorKind, Result};
use crate::health::{HealthTask, row_of_parts, small_bytes};
use crate::paimon::groups::{GROUP_INPUT, Groups};
use crate::paimon::identity::Deleted;
use crate::paimon::partition::PartitionType;
use crate::paimon::schema::TableSchema;
use crate::paimon::view::{IDENTITY_COLUMN, Role, totals};
use crate::record::find;
use crate::scan::{ScanOptions, threads};
use crate::view::{GroupBy, select, whole};

impl Scan {
    /// A view of groups, computed from all manifests.
    pub(super) fn groups(&self, by: GroupBy) -> Result<RecordBatch> {
        let rows = own_rows(Role::Live, &self.table, &GROUP_INPUT, &self.options)?;
        let mut groups = Groups::with_small(small_bytes(&self.options)).reading(rows)?;
        know_vectors(&mut groups, &vector_counts(&self.table, &self.options, by)?)?;
        match by {
            GroupBy::Table => {
                let (health, partition) = (self.health()?, PartitionType::new(self.table.schema()));
                health.row_of(&totals(&groups, Some(health.bounds()), &partition)?)
            }
            by => {
                let rows = grouped(by, &groups, &self.table.partition_type(), None)?;
                select(&rows, self.options.columns.as_deref(), None)
            }
        }
    }

    fn health(&self) -> Result<HealthTask> {
        HealthTask::read(&self.table, self.table.schema().id, &self.options)
    }

    /// What an executor needs to sum up files.
    pub(super) fn group_task_of(&self) -> Result<PaimonGroupTask> {
        let by = self.summed_by()?;
        Ok(PaimonGroupTask {
            files: self.task_in(Role::Live, Some(GROUP_INPUT.map(str::to_owned).to_vec()))?,
            by,
            columns: self.options.columns.clone(),
            small_bytes: small_bytes(&self.options),
            health: (by == GroupBy::Table).then(|| self.health()).transpose()?,
        })
    }

    fn summed_by(&self) -> Result<GroupBy> {
        let message = "only partitions, buckets and health aggregate files";
        self.view.group_by().ok_or_else(|| Error::new(ErrorKind::Argument, message))
    }

    /// Counts that are read before the files of any manifest are summed up.
    pub(super) fn known_of(&self, what: Prerequisite) -> Result<RecordBatch> {
        if what == Prerequisite::Vectors {
            return vector_counts(&self.table, &self.options, self.summed_by()?);
        }
        let options = ScanOptions { columns: Some(Vec::new()), ..self.options.clone() };
        let program = EntryProgram::new(Role::Live, &self.table, &options)?;
        let source = EntrySource::new(Arc::new(program), self.table.clone());
        let deleted = source.read_deleted(&self.plan()?.manifests, threads(self.options.threads))?;
        let identities: ArrayRef = Arc::new(BinaryArray::from_iter_values(deleted.identities()));
        let count = identities.len();
        whole(vec![(IDENTITY_COLUMN, identities)], count)
    }
}

/// The work of summing up files, without the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PaimonGroupTask {
    files: PaimonTask,
    by: GroupBy,
    columns: Option<Vec<String>>,
    small_bytes: i64,
    health: Option<HealthTask>,
}

impl NamedWork for PaimonGroupTask {
    const NAME: &'static str = "paimon";
}

impl GroupTask for PaimonGroupTask {
    fn start(&self, decoding: Decoding) -> Result<Box<dyn Grouping>> {
        Ok(Box::new(PaimonGrouping {
            program: self.files.program(self.files.role, decoding)?.alone(),
            schema: self.files.table_schema()?,
            task: self.clone(),
            deleted: Deleted::default(),
            groups: Groups::with_small(self.small_bytes),
        }))
    }

    fn health_row(&self, parts: &mut dyn Iterator<Item = Result<RecordBatch>>) -> Result<RecordBatch> {
        row_of_parts(self.health.as_ref(), parts)
    }
}

/// Buckets of a Paimon table.
struct PaimonGrouping {
    task: PaimonGroupTask,
    program: EntryProgram,
    schema: TableSchema,
    deleted: Deleted,
    groups: Groups,
}

impl Grouping for PaimonGrouping {
    fn read_blocks(&mut self, path: &str, bytes: Buffer, whole: bool) -> Result<()> {
        let manifest = match_manifest_path(&self.task.files.manifests, |manifest| &manifest.file_name, path)?;
        let read = || {
            for entries in self.program.open(bytes, whole.then_some(manifest), 1)? {
                let files = self.program.rows(&entries?, &manifest.file_name, &self.deleted)?;
                self.groups.extend(&files)?;
            }
            Ok(())
        };
        read().map_err(|error: Error| error.in_file(path))
    }

    fn add(&mut self, files: &RecordBatch) -> Result<()> {
        self.groups.extend(files)
    }

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        self.groups.merge(sums)
    }

    fn know(&mut self, what: Prerequisite, rows: &RecordBatch) -> Result<()> {
        match what {
            Prerequisite::Deleted => {
                let identities = find(rows, IDENTITY_COLUMN)?;
                let identities = identities.as_binary_opt::<i32>().ok_or_else(|| {
                    Error::new(ErrorKind::Argument, "identities are binary").in_field(IDENTITY_COLUMN)
                })?;
                self.deleted.extend(identities);
                Ok(())
            }
            Prerequisite::Vectors => know_vectors(&mut self.groups, rows),
        }
    }

    fn count(&self) -> usize {
        self.groups.count()
    }

    fn drain(&mut self) -> Result<RecordBatch> {
        self.groups.drain().sums()
    }

    fn rows(&self) -> Result<RecordBatch> {
        let partition = PartitionType::new(&self.schema);
        let rows = grouped(self.task.by, &self.groups, &partition, self.task.health.as_ref())?;
        let columns = self.task.columns.as_deref().filter(|_| self.task.by != GroupBy::Table);
        select(&rows, columns, None)
    }
}
