//! Filters on table columns: one algebra, one table of operators.
