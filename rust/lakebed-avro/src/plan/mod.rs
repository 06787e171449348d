//! Resolves a writer's schema, a reader's schema and the requested columns, once, into a flat program.

mod columns;
mod default;
mod layout;
mod matching;
mod op;
mod program;
mod resolve;
mod unions;
mod wanted;

pub(crate) use layout::{Layout, Leaf};
pub(crate) use op::{Col, Number, Op};
pub(crate) use program::Constant;
pub use program::{Program, Slot};
pub use wanted::Projection;
