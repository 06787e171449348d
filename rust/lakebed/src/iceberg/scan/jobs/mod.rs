//! The plan of an Iceberg table as a job.

mod matched;
mod partitioner;
mod plan;

pub(crate) use plan::PlanJob;
