//! Filters on partition fields: what prunes manifests by the summaries of their list, and entries by their
//! partition tuples.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, StructArray};
use arrow_schema::{Field, Schema as ArrowSchema};

use super::manifest_list::{FieldSummary, ManifestFile};
use super::partition::PartitionType;
use super::table::TableTypes;
use super::transform::Transform;
use super::types::Schema;
use super::value::decode_bounds;
use crate::error::{Error, ErrorKind, Result};
use crate::predicate::{BoundPredicate, ColumnRanges, Contents, Predicate};

/// A filter bound to the partition fields of one table.
#[derive(Debug)]
pub(crate) struct PartitionFilter {
    predicate: BoundPredicate,
    /// For each column bound to, the position of the partition field it stands for.
    columns: Vec<usize>,
}

impl PartitionFilter {
    /// Parses and binds `text`. Partition fields go by their names, and those that hold a column as it is
    /// by that column's name too.
    ///
    /// # Errors
    /// `Predicate` for a text that does not parse, a name that is no partition field, and a literal that
    /// does not fit its field.
    pub(crate) fn new(text: &str, partition: &PartitionType, schema: &Schema) -> Result<PartitionFilter> {
        let predicate = Predicate::parse(text)?;
        let arrow = partition.arrow_fields();
        let mut fields: Vec<Arc<Field>> = arrow.iter().map(Arc::clone).collect();
        let mut columns: Vec<usize> = (0..fields.len()).collect();
        for (position, (unified, field)) in partition.fields.iter().zip(&arrow).enumerate() {
            let source = unified.field.source_ids.first().and_then(|id| schema.name_of(*id));
            if let (Transform::Identity, Some(source)) = (&unified.field.transform, source)
                && !fields.iter().any(|known| known.name() == source)
            {
                fields.push(Arc::new(field.as_ref().clone().with_name(source)));
                columns.push(position);
            }
        }
        for column in predicate.columns() {
            if !fields.iter().any(|field| field.name() == column) && schema.field_by_name(column).is_some() {
                let known: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
                let message = format!(
                    "column {column:?} does not partition the table; filters take its partition fields ({})",
                    known.join(", ")
                );
                return Err(Error::new(ErrorKind::Predicate, message).in_field(column));
            }
        }
        let predicate = predicate.bind(&ArrowSchema::new(fields))?;
        Ok(PartitionFilter { predicate, columns })
    }

    /// Which tuples match.
    pub(crate) fn matches(&self, tuples: &StructArray) -> Result<BooleanArray> {
        let columns: Option<Vec<ArrayRef>> =
            self.columns.iter().map(|position| tuples.columns().get(*position).cloned()).collect();
        let columns = columns
            .ok_or_else(|| Error::new(ErrorKind::Argument, "partition tuples lack fields of the filter"))?;
        Ok(self.predicate.evaluate(&columns, tuples.len())?.into())
    }

    /// Whether each manifest may hold entries that match; what is not known keeps.
    pub(crate) fn may_match(&self, summaries: &Summaries) -> Result<Vec<bool>> {
        let columns = self.columns.iter().map(|position| summaries.columns.get(*position).cloned());
        let columns: Vec<Option<ColumnRanges>> = columns.collect();
        Ok(self.predicate.may_match(&columns, summaries.manifests)?.iter().collect())
    }
}

/// Whether there may be nulls, NaN and other values. Without a bound there are no others, but for writers
/// that record neither nulls nor bounds where there are values.
fn contents(summary: Option<&FieldSummary>) -> [bool; 3] {
    let Some(summary) = summary else { return [true; 3] };
    let nans = summary.contains_nan;
    let unexplained = !summary.contains_null && nans != Some(true);
    [summary.contains_null, nans != Some(false), summary.lower_bound.is_some() || unexplained]
}

/// What a manifest list says of the partitions in each of its manifests, a column per partition field.
pub(crate) struct Summaries {
    manifests: usize,
    columns: Vec<ColumnRanges>,
}

impl Summaries {
    /// The summaries of `manifests`, which stand in the order of the fields of each manifest's own spec.
    /// Bounds that are no values of their field's type are null.
    pub(crate) fn new<'m>(manifests: &'m [ManifestFile], types: &TableTypes) -> Summaries {
        let (partition, specs) = (&types.partition, &types.specs);
        let of_field = |position: usize| -> Vec<Option<&'m FieldSummary>> {
            let summary = |manifest: &'m ManifestFile| {
                let spec = specs.iter().find(|spec| spec.spec_id == manifest.spec_id)?;
                let place = partition.position_in(position, spec)?;
                manifest.partitions.as_ref()?.get(place)
            };
            manifests.iter().map(summary).collect()
        };
        let columns = partition.fields.iter().enumerate().map(|(position, unified)| {
            let summaries = of_field(position);
            let bound = |bound: fn(&FieldSummary) -> Option<&[u8]>| -> ArrayRef {
                let bytes: BinaryArray = summaries.iter().map(|summary| bound((*summary)?)).collect();
                decode_bounds(&bytes, &unified.ty)
            };
            ColumnRanges {
                lower: bound(|summary| summary.lower_bound.as_deref()),
                upper: bound(|summary| summary.upper_bound.as_deref()),
                contents: Contents::new(manifests.len(), |manifest| contents(summaries[manifest])),
            }
        });
        Summaries { manifests: manifests.len(), columns: columns.collect() }
    }

    /// The lower and the upper bounds, each as one struct of the partition fields.
    pub(crate) fn bounds(&self, partition: &PartitionType) -> Result<[ArrayRef; 2]> {
        let of = |bound: fn(&ColumnRanges) -> &ArrayRef| -> Result<ArrayRef> {
            let columns = self.columns.iter().map(|column| Arc::clone(bound(column))).collect();
            let structs =
                StructArray::try_new_with_length(partition.arrow_fields(), columns, None, self.manifests);
            let structs = structs.map_err(|error| Error::new(ErrorKind::Argument, error.to_string()))?;
            Ok(Arc::new(structs))
        };
        Ok([of(|column| &column.lower)?, of(|column| &column.upper)?])
    }
}
