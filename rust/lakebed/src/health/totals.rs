//! Sums over a table's live files.

use arrow_array::RecordBatch;

use crate::error::Result;
use crate::grouping::Sizes;
use crate::grouping::sums::{SentSums as _, known_sum, sent_sums};
use crate::view::whole;

/// How the numbers of different files are combined.
enum Rule {
    /// Their sum; unknown where either is unknown.
    Sum,
    /// The smaller of the known ones.
    Min,
    /// The larger of the known ones.
    Max,
}

impl Rule {
    fn of(&self, name: &'static str, left: Option<i64>, right: Option<i64>) -> Result<Option<i64>> {
        match self {
            Rule::Sum => known_sum(name, left, right),
            Rule::Min => Ok([left, right].into_iter().flatten().min()),
            Rule::Max => Ok(left.max(right)),
        }
    }

    /// The value for no files.
    const fn zero(&self) -> Option<i64> {
        match self {
            Rule::Sum => Some(0),
            Rule::Min | Rule::Max => None,
        }
    }
}

macro_rules! totals {
    ($($rule:ident $name:ident,)*) => {
        /// Sums over the live files of some partitions; `None` for unknown numbers. The sums of parts can be
        /// combined to those of the whole.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[allow(missing_docs)] // columns of the view `health`, which is documented
        pub(crate) struct HealthTotals {
            $(pub(crate) $name: Option<i64>,)*
        }

        sent_sums! { HealthTotals: $($name),* }

        impl HealthTotals {
            /// The sums over no files, in a format that has all of these numbers.
            pub(crate) const ZERO: HealthTotals = HealthTotals { $($name: Rule::zero(&Rule::$rule),)* };

            /// The combination of both.
            ///
            /// # Errors
            /// `Mismatch` for a sum that does not fit 64 bits.
            pub(crate) fn and(self, other: HealthTotals) -> Result<HealthTotals> {
                Ok(HealthTotals { $($name: Rule::$rule.of(stringify!($name), self.$name, other.$name)?,)* })
            }
        }
    };
}

totals! {
    Sum partition_count,
    Sum bucket_count,
    Sum file_count,
    Sum record_count,
    Sum file_size_in_bytes,
    Min min_file_size_in_bytes,
    Max max_file_size_in_bytes,
    Sum small_file_count,
    Sum small_file_size_in_bytes,
    Max max_partition_file_count,
    Max max_level,
    Sum level_0_file_count,
    Sum position_delete_file_count,
    Sum position_delete_record_count,
    Sum deletion_vector_count,
    Sum deletion_vector_record_count,
    Sum equality_delete_file_count,
    Sum equality_delete_record_count,
    Sum delete_row_count,
    Sum clustered_partition_count,
    Sum partition_manifest_count,
    Max max_partition_manifest_count,
}

impl HealthTotals {
    /// The totals of a partition, with the number of manifests that may have its files, where that is known.
    fn with_manifests(self, count: Option<i64>) -> HealthTotals {
        HealthTotals {
            clustered_partition_count: Some(i64::from(count.is_some())),
            partition_manifest_count: Some(count.unwrap_or(0)),
            max_partition_manifest_count: count,
            ..self
        }
    }

    /// These totals and those of partitions, each with the number of manifests that may have its files.
    ///
    /// # Errors
    /// As [`HealthTotals::and`].
    pub(crate) fn and_partitions(
        self,
        partitions: impl Iterator<Item = HealthTotals>,
        manifests: Vec<Option<i64>>,
    ) -> Result<HealthTotals> {
        let mut partitions = partitions.zip(manifests);
        partitions.try_fold(self, |all, (partition, manifests)| all.and(partition.with_manifests(manifests)))
    }

    /// The totals of files that have these sizes.
    pub(crate) const fn with_sizes(self, sizes: Sizes) -> HealthTotals {
        HealthTotals {
            min_file_size_in_bytes: sizes.min,
            max_file_size_in_bytes: sizes.max,
            small_file_count: Some(sizes.small_files),
            small_file_size_in_bytes: Some(sizes.small_bytes),
            ..self
        }
    }

    /// As a batch, to be sent.
    pub(crate) fn to_batch(self) -> Result<RecordBatch> {
        whole(HealthTotals::columns(&[self]), 1)
    }

    /// These totals combined with all rows of a batch that [`HealthTotals::to_batch`] made elsewhere.
    ///
    /// # Errors
    /// `Required` and `Argument` for a batch of another shape; `Mismatch` for a sum that does not fit 64
    /// bits.
    pub(crate) fn and_all(self, batch: &RecordBatch) -> Result<HealthTotals> {
        HealthTotals::read(batch)?.into_iter().try_fold(self, HealthTotals::and)
    }
}

#[cfg(test)]
mod tests {
    use super::HealthTotals;
    use crate::error::ErrorKind;

    #[test]
    fn a_sum_with_an_unknown_part_is_unknown() {
        let one = HealthTotals {
            file_count: Some(2),
            max_level: Some(3),
            delete_row_count: None,
            ..HealthTotals::ZERO
        };
        let other = HealthTotals { file_count: Some(5), delete_row_count: Some(1), ..HealthTotals::ZERO };
        let both = HealthTotals::ZERO.and_all(&one.to_batch().unwrap()).unwrap().and(other).unwrap();
        assert_eq!((both.file_count, both.max_level, both.delete_row_count), (Some(7), Some(3), None));
        assert_eq!(both.min_file_size_in_bytes, None);
    }

    #[test]
    fn sums_beyond_64_bits_are_refused() {
        let most = HealthTotals { record_count: Some(i64::MAX), ..HealthTotals::ZERO };
        let error = most.and(HealthTotals { record_count: Some(1), ..HealthTotals::ZERO }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert_eq!(error.location().field.as_deref(), Some("record_count"));
    }
}
