//! Filters as expressions in Iceberg's JSON.

mod read;
mod write;

use crate::predicate::Operator;

/// The operators that both forms have, by the names that they have there.
const OPERATORS: [(&str, Operator); 14] = [
    ("is-null", Operator::IsNull),
    ("not-null", Operator::IsNotNull),
    ("is-nan", Operator::IsNan),
    ("not-nan", Operator::IsNotNan),
    ("lt", Operator::Lt),
    ("lt-eq", Operator::LtEq),
    ("gt", Operator::Gt),
    ("gt-eq", Operator::GtEq),
    ("eq", Operator::Eq),
    ("not-eq", Operator::NotEq),
    ("in", Operator::In),
    ("not-in", Operator::NotIn),
    ("starts-with", Operator::StartsWith),
    ("not-starts-with", Operator::NotStartsWith),
];

/// The reserved catalog of the functions that the specification defines, partition transforms among them.
const FUNCTIONS: &str = "iceberg_functions";
