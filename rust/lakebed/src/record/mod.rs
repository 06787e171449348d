//! Records of a field table, regardless of their writer and container: matched by name and converted to one
//! Arrow type.

pub(crate) mod carried;
mod packed;
mod reader;
mod records;
mod resolver;
mod stored;
mod tally;

pub(crate) use packed::PackedBatch;
pub(crate) use reader::{FileMetadata, GuardMaker, RecordReader};
#[cfg(test)]
pub(crate) use records::mistyped;
pub(crate) use records::{Records, below, column, find, typed};
pub use resolver::RecordResolver;
pub(crate) use resolver::{Rewrite, field_at, record_schema, select};
pub(crate) use stored::{AskedFile, Stored};
pub(crate) use tally::{Counter, Tally};

/// Makes a reader of entries an iterator of what its `read_batch` gives, until the end or the first error; `ended` is set then.
macro_rules! batches_until_error {
    ($reader:ty) => {
        impl Iterator for $reader {
            type Item = $crate::error::Result<arrow_array::RecordBatch>;

            fn next(&mut self) -> Option<Self::Item> {
                if self.ended {
                    return None;
                }
                let batch = self.read_batch().transpose();
                self.ended = !matches!(batch, Some(Ok(_)));
                batch
            }
        }
    };
}
pub(crate) use batches_until_error;
