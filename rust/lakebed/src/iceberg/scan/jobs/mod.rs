//! The jobs that only Iceberg tables have.

mod by_path;
mod matched;
mod partitioner;
mod plan;

use serde::{Deserialize, Serialize};

use plan::PlanJob;

use super::grouping::FileSums;
use crate::distributed::{FormatJob, Job};
use crate::grouping::GroupsJob;
use crate::iceberg::reach::TableReach;
use crate::iceberg::table::{StoredTypes, Table};
use crate::reach::{OrphansJob, ReachJob};
use crate::scan::Format;
use crate::verify::VerifyJob;

/// The jobs that only Iceberg tables have.
#[derive(Serialize, Deserialize)]
pub(crate) enum IcebergJob {
    Groups(Box<GroupsJob<FileSums>>),
    Plan(PlanJob),
    Reach(ReachJob<TableReach>),
    Orphans(OrphansJob<TableReach>),
    Verify(VerifyJob<StoredTypes>),
}

impl FormatJob for IcebergJob {
    const FORMAT: &'static str = Table::NAME;

    fn job(&self) -> &dyn Job {
        match self {
            IcebergJob::Groups(job) => job.as_ref(),
            IcebergJob::Plan(job) => job,
            IcebergJob::Reach(job) => job,
            IcebergJob::Orphans(job) => job,
            IcebergJob::Verify(job) => job,
        }
    }
}
