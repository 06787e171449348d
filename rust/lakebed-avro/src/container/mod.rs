//! Object container files: the header, and the one loop over blocks.
// Bytes from outside are read here: nothing in it may panic or wrap.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod block;
mod header;
mod input;

pub use block::{Block, Blocks};
pub use header::Header;
pub(crate) use header::MAGIC;
pub use input::Input;

#[cfg(test)]
mod tests;
