//! Numbers of files summed up in groups, as both formats' groups have them.

mod sizes;
pub(crate) mod sums;

pub(crate) use sizes::Sizes;
