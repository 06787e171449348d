//! Deletion vectors in index files (Paimon's `DeletionVector.java`, `BitmapDeletionVector.java`,
//! `Bitmap64DeletionVector.java`, `DeletionVectorsIndexFile.java`).
//!
//! An index file is a version byte, then vectors of either kind, each found by its range in the index
//! manifest. The recorded length of a 32-bit vector counts its magic and bitmap; that of a 64-bit vector also
//! its framing.

#[cfg(test)]
mod tests;

pub use crate::deletion_vector::{DeletionVector, VectorRange};
use crate::deletion_vector::{ExpectedFrame, FRAMING, MAGIC_32, MAGIC_64, truncated};
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::storage::Storage;

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

/// The first byte of an index file of deletion vectors.
const VERSION: u8 = 1;

/// The vectors of one index file at `ranges`, in that order. One read, up to the end of the last vector.
///
/// # Errors
/// Those of storage and of [`decode_vector`]; `Version` for a file of another version.
pub(crate) fn read_vectors(
    storage: &dyn Storage,
    path: &str,
    ranges: &[VectorRange],
) -> Result<Vec<DeletionVector>> {
    let end = |end: u64, range: &VectorRange| {
        fitting(range.offset.checked_add(span(range)), "the end of a vector").map(|next| end.max(next))
    };
    let read = || {
        let bytes = storage.read_range(path, 0, ranges.iter().try_fold(0, end)?)?;
        check_version(&bytes)?;
        let decode = |range: &VectorRange| {
            let rest = usize::try_from(range.offset).ok().and_then(|start| bytes.get(start..));
            decode_vector(rest.unwrap_or_default(), *range)
        };
        ranges.iter().map(decode).collect::<Result<Vec<_>>>()
    };
    read().map_err(|error: Error| error.in_file(path))
}

fn check_version(file: &[u8]) -> Result<()> {
    match file.first() {
        Some(&VERSION) => Ok(()),
        Some(version) => {
            let message = format!("version of the index file is {version}, not {VERSION}");
            Err(Error::new(ErrorKind::Version, message))
        }
        None => Err(truncated()),
    }
}
