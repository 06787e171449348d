//! bzip2, rare in manifests, through its streaming reader.

use std::io::BufRead;

use super::{Scratch, broken};
use crate::error::Result;

pub(super) fn inflate(block: &[u8], scratch: &mut Scratch) -> Result<usize> {
    let mut rest = block;
    let length = scratch.fill(&mut bzip2::bufread::BzDecoder::new(&mut rest))?;
    if rest.fill_buf().is_ok_and(|left| !left.is_empty()) {
        return Err(broken("trailing bytes after the bzip2 stream"));
    }
    Ok(length)
}
