//! Sums over live files, in this process or where manifests are read elsewhere.

use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};

use super::deletes::{know_vectors, vector_counts};
use super::jobs::{FilesJob, PaimonJob};
use super::rows::own_rows;
use super::{Scan, grouped};
use crate::distributed::{Bounds, Piece, Planned};
use crate::error::Result;
use crate::grouping::{Grouping, GroupsJob, SentSums, Vectors};
use crate::health::{HealthTask, small_bytes};
use crate::paimon::groups::{GROUP_INPUT, Groups};
use crate::paimon::partition::PartitionType;
use crate::paimon::table::Table;
use crate::paimon::view::{Role, totals};
use crate::scan::EntryJob;
use crate::view::{GroupBy, select};

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

    /// The job of summing up files.
    pub(super) fn groups_job(&self, by: GroupBy, bounds: &Bounds) -> Result<Option<Planned>> {
        let Some((files, manifests, mut known)) = self.live_files(bounds)? else { return Ok(None) };
        let sums = FileSums {
            files,
            columns: self.options.columns.clone(),
            small_bytes: small_bytes(&self.options),
        };
        let health = (by == GroupBy::Table).then(|| self.health()).transpose()?;
        let job = GroupsJob::new(sums, by, health, bounds);
        let vectors = vector_counts(&self.table, &self.options, by)?;
        if vectors.num_rows() > 0 {
            known.push((job.merging(), Piece::alone(Vectors, vectors)));
        }
        let made = job.made()?;
        Ok(Some(Planned {
            known,
            made,
            ..Planned::new(EntryJob::<Table>::Own(PaimonJob::Groups(Box::new(job))), manifests, bounds)
        }))
    }
}

/// What is summed up, independent of the table.
#[derive(Serialize, Deserialize)]
pub(crate) struct FileSums {
    files: FilesJob,
    columns: Option<Vec<String>>,
    small_bytes: i64,
}

impl SentSums for FileSums {
    type Files = FilesJob;

    fn files(&self) -> &FilesJob {
        &self.files
    }

    fn start(&self, by: GroupBy, health: Option<&HealthTask>) -> Result<Box<dyn Grouping>> {
        Ok(Box::new(Buckets {
            groups: Groups::with_small(self.small_bytes),
            partition: PartitionType::new(&self.files.table_schema()?),
            by,
            columns: self.columns.clone(),
            health: health.cloned(),
        }))
    }
}

/// Buckets of a Paimon table.
struct Buckets {
    groups: Groups,
    partition: PartitionType,
    by: GroupBy,
    columns: Option<Vec<String>>,
    health: Option<HealthTask>,
}

impl Grouping for Buckets {
    fn add(&mut self, files: &RecordBatch) -> Result<()> {
        self.groups.extend(files)
    }

    fn merge(&mut self, sums: &RecordBatch) -> Result<()> {
        self.groups.merge(sums)
    }

    fn know_vectors(&mut self, counts: &RecordBatch) -> Result<()> {
        know_vectors(&mut self.groups, counts)
    }

    fn count(&self) -> usize {
        self.groups.count()
    }

    fn drain(&mut self) -> Result<RecordBatch> {
        self.groups.drain().sums()
    }

    fn rows(&self) -> Result<RecordBatch> {
        let rows = grouped(self.by, &self.groups, &self.partition, self.health.as_ref())?;
        select(&rows, self.columns.as_deref().filter(|_| self.by != GroupBy::Table), None)
    }
}
