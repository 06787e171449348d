//! The sizes of the files of a group.

use super::sums::sum;
use crate::error::Result;

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
