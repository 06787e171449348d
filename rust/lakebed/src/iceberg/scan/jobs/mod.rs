//! The work of scans, independent of the table: what other processes get.

mod by_path;
mod diff;
mod matched;
mod partitioner;
mod plan;
mod rows;

use serde::{Deserialize, Serialize};

pub(super) use diff::IdentifiedFiles;
use plan::PlanJob;
pub(super) use rows::RowsJob;

use super::grouping::FileSums;
use crate::diff::DiffJob;
use crate::distributed::{FormatJob, Job};
use crate::grouping::GroupsJob;
use crate::iceberg::reach::TableReach;
use crate::iceberg::table::StoredTypes;
use crate::reach::{OrphansJob, ReachJob};
use crate::verify::VerifyJob;

/// The jobs of Iceberg tables.
#[derive(Serialize, Deserialize)]
pub(crate) enum IcebergJob {
    Rows(RowsJob),
    Groups(Box<GroupsJob<FileSums>>),
    Plan(PlanJob),
    Diff(DiffJob<IdentifiedFiles>),
    Reach(ReachJob<TableReach>),
    Orphans(OrphansJob<TableReach>),
    Verify(VerifyJob<StoredTypes>),
}

impl FormatJob for IcebergJob {
    const FORMAT: &'static str = "iceberg";

    fn job(&self) -> &dyn Job {
        match self {
            IcebergJob::Rows(job) => job,
            IcebergJob::Groups(job) => job.as_ref(),
            IcebergJob::Plan(job) => job,
            IcebergJob::Diff(job) => job,
            IcebergJob::Reach(job) => job,
            IcebergJob::Orphans(job) => job,
            IcebergJob::Verify(job) => job,
        }
    }
}
