//! Filters on a table's columns, as expressions in Iceberg's JSON and as the SQL text of filters.

use serde_json::Value;

use super::Table;
use crate::error::Result;
use crate::iceberg::prune::{Names, Pruner};
use crate::predicate::Predicate;
use crate::scan::ExpressionForm;

impl Table {
    /// The filter of an expression on the table's columns.
    ///
    /// # Errors
    /// Those of [`Predicate::of_expression`].
    pub fn filter_of(&self, expression: &str, names: Names) -> Result<Predicate> {
        Predicate::of_expression(expression, self.schema(), names)
    }

    /// The expression of a filter's SQL text.
    ///
    /// # Errors
    /// Those of binding the filter; `Unsupported` where the specification has no such expression.
    pub fn expression_of(&self, filter: &str, form: ExpressionForm) -> Result<Value> {
        let types = self.types()?;
        Pruner::new(filter, &types)?.filter.expression(&types.schema, form)
    }
}
