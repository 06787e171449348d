//! Reads vectors of an index file, many at once.

use super::{DeletionVector, VectorRange, decode_vector, span};
use crate::deletion_vector::truncated;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::storage::Storage;

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
