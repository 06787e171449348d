//! xz, rare in manifests, through its streaming reader.

use super::{Scratch, broken};
use crate::error::Result;

/// Memory liblzma may take for one stream: its largest preset needs 65 MiB.
const MEMORY_LIMIT: u64 = 128 << 20;

pub(super) fn inflate(block: &[u8], scratch: &mut Scratch) -> Result<usize> {
    let stream = liblzma::stream::Stream::new_stream_decoder(MEMORY_LIMIT, 0)
        .map_err(|error| broken(&error.to_string()))?;
    let mut rest = block;
    let length = scratch.fill(&mut liblzma::bufread::XzDecoder::new_stream(&mut rest, stream))?;
    if !rest.is_empty() {
        return Err(broken("trailing bytes after the xz stream"));
    }
    Ok(length)
}
