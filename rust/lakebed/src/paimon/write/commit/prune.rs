//! Finds manifests that cannot have files of some partitions.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_row::{RowConverter, Rows, SortField};

use super::base::Base;
use crate::error::Result;
use crate::paimon::fields::SimpleStats;
use crate::paimon::partition::PartitionType;

/// If more comparisons than these are needed, all manifests are read instead.
const MOST_COMPARED: usize = 10_000_000;

/// For each manifest of the base, whether it may have files of one of these partitions by the bounds in its
/// list.
pub(super) fn may_hold(base: &Base, partitions: &HashSet<Vec<u8>>) -> Result<Vec<bool>> {
    let manifests = base.manifests()?.len();
    if manifests.saturating_mul(partitions.len()) > MOST_COMPARED {
        return Ok(vec![true; manifests]);
    }
    let partition = PartitionType::new(base.schema());
    let wanted = partition.values(&BinaryArray::from_iter_values(partitions))?;
    let stats = SimpleStats::of(base.list()?, "partition_stats")?;
    let [lower, upper] = [stats.lower, stats.upper].map(|bounds| partition.decode_bounds(bounds));
    let bounds = lower?.into_iter().zip(upper?).zip(wanted.columns());
    let columns =
        bounds.map(|((lower, upper), wanted)| PartitionBounds::new(lower, upper, Arc::clone(wanted)));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let fits = |manifest: usize, wanted: usize| {
        let mut columns = columns.iter().enumerate();
        columns.all(|(place, column)| column.fits(manifest, wanted, stats.null_count(manifest, place)))
    };
    Ok((0..manifests).map(|manifest| (0..partitions.len()).any(|wanted| fits(manifest, wanted))).collect())
}

/// The bounds of a partition column in manifests, and the values to look for.
struct PartitionBounds {
    lower: (ArrayRef, Rows),
    upper: (ArrayRef, Rows),
    wanted: (ArrayRef, Rows),
}

impl PartitionBounds {
    fn new(lower: ArrayRef, upper: ArrayRef, wanted: ArrayRef) -> Result<PartitionBounds> {
        let converter = RowConverter::new(vec![SortField::new(wanted.data_type().clone())])?;
        let ordered = |column: ArrayRef| -> Result<(ArrayRef, Rows)> {
            let rows = converter.convert_columns(&[Arc::clone(&column)])?;
            Ok((column, rows))
        };
        Ok(PartitionBounds { lower: ordered(lower)?, upper: ordered(upper)?, wanted: ordered(wanted)? })
    }

    /// Whether a value is within the bounds of a manifest; an unknown bound excludes nothing.
    fn fits(&self, manifest: usize, wanted: usize, nulls: Option<i64>) -> bool {
        let (values, rows) = &self.wanted;
        if values.is_null(wanted) {
            return nulls != Some(0);
        }
        let value = rows.row(wanted);
        let beyond = |(bounds, rows): &(ArrayRef, Rows), side: Ordering| {
            bounds.is_valid(manifest) && value.cmp(&rows.row(manifest)) == side
        };
        !beyond(&self.lower, Ordering::Less) && !beyond(&self.upper, Ordering::Greater)
    }
}
