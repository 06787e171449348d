//! Live files aggregated, in this process or in those that read the manifests.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};

use super::jobs::IcebergJob;
use super::plan::Plan;
use super::program::EntryProgram;
use super::{Scan, grouped};
use crate::distributed::{Bounds, Planned};
use crate::error::Result;
use crate::grouping::{Grouping, GroupsJob, SentSums};
use crate::health::{HealthTask, small_bytes};
use crate::iceberg::groups::{GROUP_INPUT, Groups};
use crate::iceberg::table::{StoredTypes, Table, TableTypes};
use crate::iceberg::view::{Role, totals};
use crate::scan::{EntryJob, EntrySource, RowsJob, ScanOptions, planned};
use crate::view::{GroupBy, select};

/// The partitions of a table's live files, as `options` filter them.
pub(crate) fn read_groups(table: &Table, types: TableTypes, options: &ScanOptions) -> Result<Groups> {
    let committed = if updates(options) { table.commit_times()? } else { HashMap::new() };
    let mut groups = Groups::new(&types.partition, committed)?.with_small(small_bytes(options));
    let options = ScanOptions { columns: Some(columns()), limit: None, ..options.clone() };
    let program = EntryProgram::new(Role::Live, types, &options, table.decoding().clone())?;
    let manifests = Plan::new(table, options.table_filter.as_deref())?.of_role(Role::Live);
    for files in EntrySource::new(Arc::new(program), table.clone()).stream(manifests, &options) {
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

    /// The job of summing up files.
    pub(super) fn groups_job(&self, by: GroupBy, bounds: &Bounds) -> Result<Option<Planned>> {
        let is_health = by == GroupBy::Table;
        let timed = !is_health && updates(&self.options);
        let manifests = Plan::new(&self.table, self.options.table_filter.as_deref())?.of_role(Role::Live);
        let inputs = planned(&self.table, &manifests)?;
        if bounds.are_small(inputs.iter().map(|manifest| manifest.size)) {
            return Ok(None);
        }
        let options = ScanOptions { columns: Some(columns()), ..self.options.clone() };
        let sums = FileSums {
            files: RowsJob::new(Role::Live, &self.table, &options, manifests)?,
            types: StoredTypes::from(&self.table.types()?),
            columns: self.options.columns.clone(),
            small_bytes: small_bytes(&self.options),
            committed: if timed { self.table.commit_times()? } else { HashMap::new() },
        };
        let health = is_health.then(|| self.health()).transpose()?;
        let job = GroupsJob::new(sums, by, health, bounds);
        let made = job.made()?;
        Ok(Some(Planned {
            made,
            ..Planned::new(EntryJob::<Table>::Own(IcebergJob::Groups(Box::new(job))), inputs, bounds)
        }))
    }
}

/// What is summed up, independent of the table.
#[derive(Serialize, Deserialize)]
pub(crate) struct FileSums {
    files: RowsJob<Table>,
    types: StoredTypes,
    columns: Option<Vec<String>>,
    small_bytes: i64,
    /// The times of snapshots' commits, where they are requested.
    committed: HashMap<i64, i64>,
}

impl SentSums for FileSums {
    type Files = RowsJob<Table>;

    fn files(&self) -> &RowsJob<Table> {
        &self.files
    }

    fn start(&self, by: GroupBy, health: Option<&HealthTask>) -> Result<Box<dyn Grouping>> {
        let partition = TableTypes::try_from(&self.types)?.partition;
        let groups = Groups::new(&partition, self.committed.clone())?.with_small(self.small_bytes);
        Ok(Box::new(Partitions { groups, by, columns: self.columns.clone(), health: health.cloned() }))
    }
}

/// Partitions of an Iceberg table.
struct Partitions {
    groups: Groups,
    by: GroupBy,
    columns: Option<Vec<String>>,
    health: Option<HealthTask>,
}

impl Grouping for Partitions {
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
        match self.by {
            GroupBy::Table => totals(&self.groups, self.health.as_ref().map(HealthTask::bounds))?.to_batch(),
            by => select(&grouped(by, &self.groups)?, self.columns.as_deref(), None),
        }
    }
}
