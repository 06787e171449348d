//! Planning: which manifests and files may have rows that match a filter, and what is left of the filter for
//! each (Iceberg specification, "Scan Planning").
//!
//! A filter is bound to columns once ([`RowFilter`]) and projected on the partition tuples of each spec
//! ([`project`]). The projection is evaluated on the field summaries of manifests ([`Summaries`]), then on
//! the tuples of entries; the filter itself on the metrics of files ([`MetricsEvaluator`]). A [`Residual`] is
//! what readers of a file still have to test.

mod bind;
mod expression;
mod metrics;
mod projection;
mod residual;
mod summaries;
#[cfg(test)]
mod tests;
mod transformed;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::BooleanArray;

pub(super) use bind::named;
pub use bind::{Names, RowFilter};
pub use metrics::MetricsEvaluator;
pub(in crate::iceberg) use metrics::StoredMetrics;
pub use projection::{Mode, project};
pub use residual::Residual;
pub(crate) use summaries::Summaries;

use super::fields::PARTITION;
use super::manifest_list::ManifestFile;
use super::partition::{PartitionSpec, PartitionType};
use super::table::TableTypes;
use crate::error::Result;
use crate::predicate::{BoundPredicate, Logic, Predicate};

/// A filter prepared for one table: its projections on all specs of the table.
pub(crate) struct Pruner {
    pub(crate) filter: Arc<RowFilter>,
    pub(crate) metrics: MetricsEvaluator,
    partition: Arc<PartitionType>,
    /// By the id of the spec.
    projections: HashMap<i32, Arc<BoundPredicate>>,
}

impl Pruner {
    /// Parses `text` and binds it to the table's columns, and to partition fields whose name no column has.
    ///
    /// # Errors
    /// `Predicate` for a text that does not parse; those of [`RowFilter::new`].
    pub(crate) fn new(text: &str, types: &TableTypes) -> Result<Pruner> {
        Pruner::with_logic(text, types, Logic::TwoValued)
    }

    /// The same with another logic.
    ///
    /// # Errors
    /// Those of [`Pruner::new`].
    pub(crate) fn with_logic(text: &str, types: &TableTypes, logic: Logic) -> Result<Pruner> {
        let predicate = Predicate::parse(text)?;
        let filter = RowFilter::new(&predicate, &types.schema, &types.partition, Names::Exact, logic)?;
        Pruner::of(filter, types)
    }

    fn of(filter: RowFilter, types: &TableTypes) -> Result<Pruner> {
        let of_spec = |spec: &PartitionSpec| {
            Ok((spec.spec_id, Arc::new(project(&filter, spec, &types.partition, Mode::Inclusive)?)))
        };
        Ok(Pruner {
            projections: types.specs.iter().map(of_spec).collect::<Result<_>>()?,
            metrics: MetricsEvaluator::new(&filter),
            partition: Arc::clone(&types.partition),
            filter: Arc::new(filter),
        })
    }

    /// The columns of entries that it reads.
    pub(crate) fn input(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(PARTITION).chain(self.metrics.input())
    }

    /// The filter on tuples of a spec, in the table's partition type; computed again for specs that the table
    /// no longer has.
    pub(crate) fn of_spec(&self, spec: &PartitionSpec) -> Result<Arc<BoundPredicate>> {
        match self.projections.get(&spec.spec_id) {
            Some(projection) => Ok(Arc::clone(projection)),
            None => project(&self.filter, spec, &self.partition, Mode::Inclusive).map(Arc::new),
        }
    }

    /// Whether each manifest may have matching entries; true for those of an unknown spec.
    pub(crate) fn may_match(
        &self,
        manifests: &[ManifestFile],
        summaries: &Summaries,
    ) -> Result<BooleanArray> {
        let mut kept = vec![true; manifests.len()];
        for (spec_id, projection) in &self.projections {
            let may_match = summaries.may_match(projection)?;
            for ((kept, manifest), may_match) in kept.iter_mut().zip(manifests).zip(&may_match) {
                *kept &= manifest.spec_id != *spec_id || may_match;
            }
        }
        Ok(kept.into())
    }
}
