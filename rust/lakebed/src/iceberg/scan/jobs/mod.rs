//! The plan of an Iceberg table as a job.

mod by_path;
mod matched;
mod partitioner;
mod plan;

pub(crate) use plan::PlanJob;
