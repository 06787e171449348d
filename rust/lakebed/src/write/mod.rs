//! What writing has in common, whatever the format.

mod publish;

pub use publish::{Existing, publish};
