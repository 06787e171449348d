//! Sums over files in groups, for the groups of both formats.

mod sizes;
pub(crate) mod sums;

pub(crate) use sizes::Sizes;
