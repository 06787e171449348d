//! Deletion vectors in index files (Paimon's `DeletionVector.java`, `BitmapDeletionVector.java`,
//! `Bitmap64DeletionVector.java`, `DeletionVectorsIndexFile.java`).
//!
//! An index file is a version byte, then vectors of either kind, each found by its range in the index
//! manifest. The recorded length of a 32-bit vector counts its magic and bitmap; that of a 64-bit vector also
//! its framing.

mod file;
#[cfg(test)]
mod tests;

pub(crate) use file::read_vectors;

pub use crate::deletion_vector::{DeletionVector, VectorRange};
use crate::deletion_vector::{ExpectedFrame, FRAMING, MAGIC_32, MAGIC_64};
use crate::error::Result;

/// Decodes the vector at the start of `bytes`; later bytes are ignored.
///
/// # Errors
/// Those of a malformed vector: `Truncated`, `Magic`, `Mismatch` for a size that is not the recorded length,
/// `Checksum`, `Codec`, `Trailing`; they name the byte of the file.
pub fn decode_vector(bytes: &[u8], range: VectorRange) -> Result<DeletionVector> {
    let expected = [
        ExpectedFrame { magic: MAGIC_32, size: Some(range.length) },
        ExpectedFrame { magic: MAGIC_64, size: range.length.checked_sub(FRAMING) },
    ];
    DeletionVector::decode(bytes, range, &expected)
}

/// The most bytes that a vector may take from its offset on; a 64-bit vector takes fewer. A bound of what is read, so
/// it saturates.
pub fn span(range: &VectorRange) -> u64 {
    range.length.saturating_add(FRAMING)
}
