//! A schema and the columns wanted, resolved once into a flat program.

mod layout;
mod op;
mod program;

pub(crate) use layout::{Layout, Leaf};
pub(crate) use op::Op;
pub use program::{Program, Projection, Slot};
