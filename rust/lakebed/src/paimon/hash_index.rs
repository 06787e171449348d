//! HASH index files: the hashes of the keys of a bucket (Paimon's `HashIndexFile.java`).

use arrow_array::Int32Array;

use crate::error::{Error, ErrorKind, Result};

/// Bytes of one hash.
const HASH_BYTES: usize = 4;

/// The hashes of an index file, in file order: 4-byte big-endian integers, without a header.
///
/// # Errors
/// `Length` for a file that is not a whole number of hashes.
pub fn read_hash_index(bytes: &[u8]) -> Result<Int32Array> {
    let (hashes, rest) = bytes.as_chunks::<HASH_BYTES>();
    if !rest.is_empty() {
        let message = format!("{} bytes are not a whole number of {HASH_BYTES}-byte hashes", bytes.len());
        return Err(Error::new(ErrorKind::Length, message));
    }
    Ok(hashes.iter().map(|hash| i32::from_be_bytes(*hash)).collect::<Vec<_>>().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_big_endian() {
        let hashes = read_hash_index(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe]).expect("two hashes");
        assert_eq!(hashes, Int32Array::from(vec![1, -2]));
        assert_eq!(read_hash_index(&[]).expect("no hashes").len(), 0);
        assert!(read_hash_index(&[0; 5]).is_err());
    }
}
