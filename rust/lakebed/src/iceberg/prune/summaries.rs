//! Evaluates filters on the partition summaries in a manifest list (Iceberg's `ManifestEvaluator.java`).

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, StructArray};
use arrow_buffer::BooleanBuffer;

use crate::error::Result;
use crate::iceberg::manifest_list::{FieldSummary, ManifestFile};
use crate::iceberg::partition::{PartitionSpec, PartitionType};
use crate::iceberg::value::decode_bounds;
use crate::predicate::{BoundPredicate, ColumnRanges, Contents};

/// The field summaries of manifests, one column per partition field of the table.
pub(crate) struct Summaries {
    manifests: usize,
    columns: Vec<ColumnRanges>,
}

impl Summaries {
    /// The summaries of `manifests`, each in the order of the fields of the manifest's own spec. Bounds that
    /// are not values of their field's type become null.
    pub(crate) fn new(
        manifests: &[ManifestFile],
        specs: &[PartitionSpec],
        partition: &PartitionType,
    ) -> Summaries {
        let columns = partition.fields.iter().enumerate().map(|(position, unified)| {
            let summary = |manifest: &'_ ManifestFile| -> Option<usize> {
                let spec = specs.iter().find(|spec| spec.spec_id == manifest.spec_id)?;
                partition.position_in(position, spec)
            };
            let summaries: Vec<Option<&FieldSummary>> = manifests
                .iter()
                .map(|manifest| manifest.partitions.as_ref()?.get(summary(manifest)?))
                .collect();
            let bound = |bound: fn(&FieldSummary) -> Option<&[u8]>| -> ArrayRef {
                let bytes: BinaryArray = summaries.iter().map(|summary| bound((*summary)?)).collect();
                decode_bounds(&bytes, &unified.ty)
            };
            ColumnRanges {
                lower: bound(|summary| summary.lower_bound.as_deref()),
                upper: bound(|summary| summary.upper_bound.as_deref()),
                contents: Contents::new(manifests.len(), |manifest| {
                    contents(summaries.get(manifest).copied().flatten())
                }),
            }
        });
        Summaries { manifests: manifests.len(), columns: columns.collect() }
    }

    /// Whether each manifest may have a matching tuple; `projection` is bound to the fields of the table's
    /// partition type.
    pub(crate) fn may_match(&self, projection: &BoundPredicate) -> Result<BooleanBuffer> {
        let columns: Vec<Option<ColumnRanges>> = self.columns.iter().cloned().map(Some).collect();
        projection.may_match(&columns, self.manifests)
    }

    /// The lower and the upper bounds, each as one struct of partition fields.
    pub(crate) fn bounds(&self, partition: &PartitionType) -> Result<[ArrayRef; 2]> {
        let of = |bound: fn(&ColumnRanges) -> &ArrayRef| -> Result<ArrayRef> {
            let columns = self.columns.iter().map(|column| Arc::clone(bound(column))).collect();
            let structs =
                StructArray::try_new_with_length(partition.arrow_fields(), columns, None, self.manifests);
            let structs = structs?;
            Ok(Arc::new(structs))
        };
        Ok([of(|column| &column.lower)?, of(|column| &column.upper)?])
    }
}

/// Whether there may be nulls, NaN and other values. A summary without bounds has no other values, except
/// from writers that record neither nulls nor bounds although there are values.
fn contents(summary: Option<&FieldSummary>) -> [bool; 3] {
    let Some(summary) = summary else { return [true; 3] };
    let nans = summary.contains_nan;
    let unexplained = !summary.contains_null && nans != Some(true);
    [summary.contains_null, nans != Some(false), summary.lower_bound.is_some() || unexplained]
}
