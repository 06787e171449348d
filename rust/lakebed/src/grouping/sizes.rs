//! How large the files of a group are.

use super::sums::sum;
use crate::error::Result;

/// The sizes of data files \[bytes\].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sizes {
    /// Of the smallest one; none without files.
    pub(crate) min: Option<i64>,
    /// Of the largest one.
    pub(crate) max: Option<i64>,
    /// How many are small.
    pub(crate) small_files: i64,
    /// Of all small ones together.
    pub(crate) small_bytes: i64,
}

impl Sizes {
    /// One file, small where it has fewer bytes than `small`.
    pub(crate) fn of(size: i64, small: i64) -> Sizes {
        let is_small = size < small;
        Sizes {
            min: Some(size),
            max: Some(size),
            small_files: i64::from(is_small),
            small_bytes: if is_small { size } else { 0 },
        }
    }

    /// Takes the files of `other` in.
    pub(crate) fn absorb(&mut self, other: Sizes) -> Result<()> {
        self.min = [self.min, other.min].into_iter().flatten().min();
        self.max = self.max.max(other.max);
        self.small_files = sum("small_file_count", self.small_files, other.small_files)?;
        self.small_bytes = sum("small_file_size_in_bytes", self.small_bytes, other.small_bytes)?;
        Ok(())
    }

    /// What travels of them.
    pub(crate) fn numbers(self) -> [Option<i64>; 4] {
        [self.min, self.max, Some(self.small_files), Some(self.small_bytes)]
    }

    /// What [`Sizes::numbers`] says.
    pub(crate) fn of_numbers([min, max, small_files, small_bytes]: [Option<i64>; 4]) -> Sizes {
        Sizes {
            min,
            max,
            small_files: small_files.unwrap_or_default(),
            small_bytes: small_bytes.unwrap_or_default(),
        }
    }
}
