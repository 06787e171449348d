//! Live files aggregated, in this process or in those that read the manifests.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use serde::{Deserialize, Serialize};

use super::plan::{EntrySource, Plan};
use super::program::EntryProgram;
use super::task::IcebergTask;
use super::{Scan, grouped};
use crate::columnar::Decoding;
use crate::distributed::{GroupTask, Grouping, NamedWork};
use crate::error::{Error, ErrorKind, Result};
use crate::health::{HealthTask, row_of_parts, small_bytes};
use crate::iceberg::groups::{GROUP_INPUT, Groups};
use crate::iceberg::table::{Table, TableTypes};
use crate::iceberg::view::{Role, totals};
use crate::notes::Notes;
use crate::scan::{ManifestStream, ScanOptions, threads};
use crate::view::{GroupBy, select};

/// The partitions of a table's live files, as `options` filter them.
pub(crate) fn read_groups(table: &Table, types: TableTypes, options: &ScanOptions) -> Result<Groups> {
    let committed = if updates(options) { table.commit_times()? } else { HashMap::new() };
    let mut groups = Groups::new(&types.partition, committed)?.with_small(small_bytes(options));
    let options = ScanOptions { columns: Some(columns()), limit: None, ..options.clone() };
    let program = EntryProgram::new(Role::Live, types, &options, table.decoding().clone())?;
    let manifests = Plan::new(table, options.table_filter.as_deref())?.of_role(Role::Live);
    let source = EntrySource::new(Arc::new(program), table.clone(), Notes::default());
    for files in ManifestStream::new(source, manifests, threads(options.threads)) {
        groups.extend(&files?)?;
    }
    Ok(groups)
}

fn columns() -> Vec<String> {
    GROUP_INPUT.iter().map(|name| (*name).to_owned()).collect()
}

/// Whether the columns with the last update of groups are requested.
fn updates(options: &ScanOptions) -> bool {
    let is_time = |name: &String| name.starts_with("last_updated_");
    options.columns.as_ref().is_none_or(|names| names.iter().any(is_time))
}

impl Scan {
    /// A view of groups, made whole from the manifests.
    pub(super) fn groups(&self, by: GroupBy) -> Result<RecordBatch> {
        let groups = read_groups(&self.table, self.table.types()?, &self.options)?;
        match by {
            GroupBy::Table => {
                let health = self.health()?;
                health.row_of(&totals(&groups, Some(health.bounds()))?)
            }
            by => select(&grouped(by, &groups)?, self.options.columns.as_deref(), None),
        }
    }

    fn health(&self) -> Result<HealthTask> {
        HealthTask::read(&self.table, i64::from(self.table.schema().schema_id), &self.options)
    }

    /// The work of aggregating files, for executors.
    pub(super) fn group_task_of(&self) -> Result<IcebergGroupTask> {
        let message = "only partitions, buckets and health aggregate files";
        let by = self.view.group_by().ok_or_else(|| Error::new(ErrorKind::Argument, message))?;
        let is_health = by == GroupBy::Table;
        let timed = !is_health && updates(&self.options);
        Ok(IcebergGroupTask {
            files: self.task_in(Role::Live, Some(columns()))?,
            by,
            columns: self.options.columns.clone(),
            small_bytes: small_bytes(&self.options),
            committed: if timed { self.table.commit_times()? } else { HashMap::new() },
            health: is_health.then(|| self.health()).transpose()?,
        })
    }
}

/// The work of aggregating files, independent of the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IcebergGroupTask {
    files: IcebergTask,
    by: GroupBy,
    columns: Option<Vec<String>>,
    small_bytes: i64,
    /// The times of snapshots' commits, where they are requested.
    committed: HashMap<i64, i64>,
    health: Option<HealthTask>,
}

impl NamedWork for IcebergGroupTask {
    const NAME: &'static str = "iceberg";
}

impl GroupTask for IcebergGroupTask {
    fn start(&self, decoding: Decoding) -> Result<Box<dyn Grouping>> {
        let program = self.files.program(decoding)?;
        let groups = Groups::new(program.partition(), self.committed.clone())?.with_small(self.small_bytes);
        Ok(Box::new(IcebergGrouping { task: self.clone(), program, groups }))
    }

    fn health_row(&self, parts: &mut dyn Iterator<Item = Result<RecordBatch>>) -> Result<RecordBatch> {
        row_of_parts(self.health.as_ref(), parts)
    }
}

/// Partitions of an Iceberg table.
struct IcebergGrouping {
    task: IcebergGroupTask,
    program: Arc<EntryProgram>,
    groups: Groups,
}

impl Grouping for IcebergGrouping {
    fn read_blocks(&mut self, path: &str, bytes: Buffer, whole: bool) -> Result<()> {
        for files in self.task.files.rows(&self.program, path, bytes, whole)? {
            self.groups.extend(&files?).map_err(|error| error.in_file(path))?;
        }
        Ok(())
    }

    fn add(&mut self, files: &RecordBatch) -> Result<()> {
        self.groups.extend(files)
    }

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        self.groups.merge(sums)
    }

    fn count(&self) -> usize {
        self.groups.groups().len()
    }

    fn drain(&mut self) -> Result<RecordBatch> {
        let sums = self.groups.sums()?;
        self.groups.clear();
        Ok(sums)
    }

    fn rows(&self) -> Result<RecordBatch> {
        match self.task.by {
            GroupBy::Table => {
                let bounds = self.task.health.as_ref().map(HealthTask::bounds);
                totals(&self.groups, bounds)?.to_batch()
            }
            by => select(&grouped(by, &self.groups)?, self.task.columns.as_deref(), None),
        }
    }
}
