//! The work of scans, independent of the table: what other processes get.

mod files;
mod rows;

use serde::{Deserialize, Serialize};

pub(super) use files::FilesJob;
pub(super) use rows::RowsJob;

use super::grouping::FileSums;
use crate::diff::DiffJob;
use crate::distributed::{FormatJob, Job};
use crate::grouping::GroupsJob;
use crate::paimon::reach::TableReach;
use crate::reach::{OrphansJob, ReachJob};
use crate::verify::VerifyJob;

/// The jobs of Paimon tables.
#[derive(Serialize, Deserialize)]
pub(crate) enum PaimonJob {
    Rows(RowsJob),
    Files(FilesJob),
    Groups(Box<GroupsJob<FileSums>>),
    Diff(DiffJob<RowsJob>),
    Reach(ReachJob<TableReach>),
    Orphans(OrphansJob<TableReach>),
    Verify(VerifyJob<RowsJob>),
}

impl FormatJob for PaimonJob {
    const FORMAT: &'static str = "paimon";

    fn job(&self) -> &dyn Job {
        match self {
            PaimonJob::Rows(job) => job,
            PaimonJob::Files(job) => job,
            PaimonJob::Groups(job) => job.as_ref(),
            PaimonJob::Diff(job) => job,
            PaimonJob::Reach(job) => job,
            PaimonJob::Orphans(job) => job,
            PaimonJob::Verify(job) => job,
        }
    }
}
