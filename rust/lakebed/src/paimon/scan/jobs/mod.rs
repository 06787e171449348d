//! The jobs that only Paimon tables have.

mod files;
mod schemas;

use serde::{Deserialize, Serialize};

pub(super) use files::FilesJob;
pub(crate) use schemas::SentSchemas;

use super::grouping::FileSums;
use crate::distributed::{FormatJob, Job};
use crate::grouping::GroupsJob;
use crate::paimon::reach::TableReach;
use crate::paimon::table::Table;
use crate::reach::{OrphansJob, ReachJob};
use crate::scan::{Format, RowsJob};
use crate::verify::VerifyJob;

/// The jobs that only Paimon tables have.
#[derive(Serialize, Deserialize)]
pub(crate) enum PaimonJob {
    Files(FilesJob),
    Groups(Box<GroupsJob<FileSums>>),
    Reach(ReachJob<TableReach>),
    Orphans(OrphansJob<TableReach>),
    Verify(VerifyJob<RowsJob<Table>>),
}

impl FormatJob for PaimonJob {
    const FORMAT: &'static str = Table::NAME;

    fn job(&self) -> &dyn Job {
        match self {
            PaimonJob::Files(job) => job,
            PaimonJob::Groups(job) => job.as_ref(),
            PaimonJob::Reach(job) => job,
            PaimonJob::Orphans(job) => job,
            PaimonJob::Verify(job) => job,
        }
    }
}
