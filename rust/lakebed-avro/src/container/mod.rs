//! Object container files: the header, and the one loop over blocks.

mod block;
mod header;
mod input;

pub use block::{Block, Blocks};
pub use header::Header;
pub use input::Input;

#[cfg(test)]
mod tests;
