//! Filters on table columns: one algebra, one table of operators.
//!
//! Text is parsed to a [`Predicate`], which knows names only; bound to a schema it becomes a
//! [`BoundPredicate`], which runs on rows ([`BoundPredicate::evaluate`]) and on what is known of groups of
//! rows ([`BoundPredicate::may_match`]). Both runs, `NOT` and the SQL spelling come from the rows of one
//! table in `op.rs`: an operator is added there. Semantics are those of Paimon's `org.apache.paimon.predicate`.

mod bind;
mod cast;
mod evaluate;
mod expr;
mod like;
mod op;
mod parse;
#[cfg(test)]
mod tests;
mod token;
mod value;

pub use bind::BoundPredicate;
pub use evaluate::{ColumnRanges, Ranges};
pub use expr::{Leaf, Literal, Predicate};
pub use op::Operator;
pub use parse::{MAX_DEPTH, MAX_TEXT_BYTES};
