//! Scans that combine entries of several manifests, in a form that can be sent.

mod by_path;
mod diff;
mod matched;
mod partitioner;
mod plan;

pub(super) use diff::{DiffExchange, exchanged};
pub(super) use plan::PlanExchange;
