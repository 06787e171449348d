//! Sums over files in groups, for the groups of both formats.

mod job;
mod sizes;
pub(crate) mod sums;

pub(crate) use job::{Grouping, GroupsJob, SentSums, Vectors};
pub(crate) use sizes::Sizes;
