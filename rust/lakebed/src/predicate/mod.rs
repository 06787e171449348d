//! Filters on table columns: one algebra, one table of operators.
//!
//! Text is parsed to a [`Predicate`], which knows names only; bound to columns it becomes a
//! [`BoundPredicate`], which runs on rows ([`BoundPredicate::evaluate`]) and on what is known of groups of
//! rows: whether any may match ([`BoundPredicate::may_match`]), whether all must
//! ([`BoundPredicate::must_match`]). All runs, `NOT` and the SQL spelling come from the rows of one table in
//! `op.rs`: an operator is added there. Where formats differ, in what null and the signs of zeros mean, a [`Logic`] says so.

mod beyond;
mod bind;
mod cast;
mod evaluate;
mod expr;
mod like;
mod op;
mod parse;
mod ranges;
#[cfg(test)]
pub(crate) mod tests;
mod token;
mod value;

pub(crate) use bind::{BoundLeaf, Node, unknown_column};
pub use bind::{BoundPredicate, Column, Logic};
pub use expr::{Call, Leaf, Literal, Predicate, Term};
pub use op::Operator;
pub use parse::{MAX_DEPTH, MAX_TEXT_BYTES};
pub use ranges::{ColumnRanges, Contents, Counts};
pub(crate) use value::{Reader, Value};
