//! Filters on table columns, with a single table of operators.
//!
//! Text is parsed to a [`Predicate`], which only has names. Bound to columns it becomes a [`BoundPredicate`],
//! which is evaluated on rows ([`BoundPredicate::evaluate`]) and on what is known of groups of rows: whether
//! any row may match ([`BoundPredicate::may_match`]), and whether all must ([`BoundPredicate::must_match`]).
//! Evaluation, `NOT` and the SQL text are made of the table of operators in `op.rs`: a new operator is a row
//! there. A [`Logic`] has the differences of formats: the treatment of nulls and of the signs of zeros.

mod beyond;
mod bind;
mod cast;
mod evaluate;
mod expr;
mod lexer;
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
pub use token::byte_count;
pub(crate) use value::{Reader, Value};
