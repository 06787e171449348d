//! The sizes of the files of a group.

use arrow_array::{BinaryArray, RecordBatch};

use super::sums::{self, columns, numbers, sum};
use crate::error::Result;
use crate::view::with_columns;

/// The columns in which sizes are sent.
const COLUMNS: [&str; 4] = ["min_size", "max_size", "small_files", "small_bytes"];

/// The sizes of data files \[bytes\].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sizes {
    /// The smallest; `None` without files.
    pub(crate) min: Option<i64>,
    /// The largest.
    pub(crate) max: Option<i64>,
    /// The number of small files.
    pub(crate) small_files: i64,
    /// The total size of small files.
    pub(crate) small_bytes: i64,
}

impl Sizes {
    /// The sizes of one file, which is small if it has fewer bytes than `small`.
    pub(crate) fn of(size: i64, small: i64) -> Sizes {
        let is_small = size < small;
        Sizes {
            min: Some(size),
            max: Some(size),
            small_files: i64::from(is_small),
            small_bytes: if is_small { size } else { 0 },
        }
    }

    /// Adds the files of `other`.
    pub(crate) fn absorb(&mut self, other: Sizes) -> Result<()> {
        self.min = [self.min, other.min].into_iter().flatten().min();
        self.max = self.max.max(other.max);
        self.small_files = sum("small_file_count", self.small_files, other.small_files)?;
        self.small_bytes = sum("small_file_size_in_bytes", self.small_bytes, other.small_bytes)?;
        Ok(())
    }
}

/// Groups in the form in which they are sent: their keys, numbers and sizes.
pub(crate) fn sent_groups<const N: usize>(
    keys: BinaryArray,
    names: &[&str; N],
    groups: impl Iterator<Item = ([Option<i64>; N], Sizes)>,
) -> Result<RecordBatch> {
    let own = |sizes: Sizes| [sizes.min, sizes.max, Some(sizes.small_files), Some(sizes.small_bytes)];
    let (rows, sizes): (Vec<_>, Vec<_>) = groups.map(|(numbers, sizes)| (numbers, own(sizes))).unzip();
    with_columns(&sums::batch(keys, names, &rows)?, columns(&COLUMNS, &sizes))
}

/// Passes on what [`sent_groups`] has of each group.
///
/// # Errors
/// `Required` and `Argument` for a batch of another shape; those of `take`.
pub(crate) fn each_group<const N: usize>(
    groups: &RecordBatch,
    names: &[&str; N],
    mut take: impl FnMut(&[u8], [Option<i64>; N], Sizes) -> Result<()>,
) -> Result<()> {
    let mut sizes = numbers(groups, &COLUMNS)?.into_iter();
    sums::each(groups, names, |key, numbers| {
        let [min, max, small_files, small_bytes] = sizes.next().unwrap_or_default();
        let (small_files, small_bytes) = (small_files.unwrap_or_default(), small_bytes.unwrap_or_default());
        take(key, numbers, Sizes { min, max, small_files, small_bytes })
    })
}
