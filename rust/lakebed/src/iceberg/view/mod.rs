//! The views: rows of metadata under the names users know.

mod refs;
mod schemas;
mod snapshots;

pub(crate) use refs::{Ref, refs};
pub(crate) use schemas::schemas;
pub(crate) use snapshots::snapshots;
