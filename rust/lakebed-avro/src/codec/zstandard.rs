//! Zstandard through libzstd's one-shot call, which needs no window of its own.

use zstd::zstd_safe::{self, DCtx};

use super::{Scratch, broken};
use crate::error::Result;

/// The error of libzstd for an output that does not fit. libzstd returns errors as negative numbers.
pub const ZSTANDARD_NO_ROOM: zstd_safe::ErrorCode =
    (zstd_safe::zstd_sys::ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize).wrapping_neg();

pub(super) struct Engine {
    context: DCtx<'static>,
}

impl Engine {
    pub(super) fn new() -> Engine {
        Engine { context: DCtx::create() }
    }

    /// Inflates all frames of the block. Paimon's Java writes frames without a content size, so the
    /// size is found by growing the (kept) buffer until the block fits.
    pub(super) fn inflate(&mut self, block: &[u8], scratch: &mut Scratch) -> Result<usize> {
        if let Ok(Some(declared)) = zstd_safe::get_frame_content_size(block)
            && declared > scratch.limit as u64
        {
            return Err(scratch.exceeded(usize::try_from(declared).unwrap_or(usize::MAX)));
        }
        scratch.reserve(block.len().saturating_mul(4).max(1 << 16))?;
        loop {
            match self.context.decompress(scratch.bytes.as_mut_slice(), block) {
                Ok(length) => return Ok(length),
                Err(ZSTANDARD_NO_ROOM) => scratch.grow()?,
                Err(code) => return Err(broken(zstd_safe::get_error_name(code))),
            }
        }
    }
}
