//! Deletion vectors in Puffin files (Iceberg specification, "Deletion Vectors"; Puffin's blob type
//! `deletion-vector-v1`; Iceberg's `BitmapPositionDeleteIndex.java`).
//!
//! They are always 64-bit, and the recorded length includes the framing. The entry has the vector's offset
//! and size, so the footer of the Puffin file, which some writers leave out, need not be read.

mod entry;
mod puffin;
#[cfg(test)]
mod tests;

pub(crate) use entry::{VECTOR_INPUT, VectorEntry};
pub(crate) use puffin::PuffinWriter;

pub use crate::deletion_vector::{DeletionVector, VectorRange};
use crate::deletion_vector::{ExpectedFrame, FRAMING, MAGIC_64};
use crate::error::Result;

/// Decodes the vector at the start of `bytes`; later bytes are ignored.
///
/// # Errors
/// Those of a malformed vector: `Truncated`, `Magic`, `Mismatch` for a size that is not the recorded length,
/// `Checksum`, `Codec`, `Trailing`; they name the byte of the file.
pub fn decode_vector(bytes: &[u8], range: VectorRange) -> Result<DeletionVector> {
    let expected = [ExpectedFrame { magic: MAGIC_64, size: range.length.checked_sub(FRAMING) }];
    DeletionVector::decode(bytes, range, &expected)
}
