//! Scans that bring entries of several manifests together, made fit to travel.

mod by_path;
mod deal;
mod diff;
mod matched;
mod plan;

pub(super) use diff::{DiffExchange, exchanged};
pub(super) use plan::PlanExchange;
