//! What REST catalogs are sent, on a table's columns: names, and filters as expressions in Iceberg's JSON, or as SQL
//! text.

use serde_json::Value;

use super::Table;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::prune::{Names, Pruner, named};
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

    /// The ids of the columns with these full names, of any level; `element`, `key` and `value` name what lists and
    /// maps have.
    ///
    /// # Errors
    /// `UnknownColumn`; `Argument` for several that only differ in case, where that is ignored.
    pub fn field_ids(&self, names: &[String], compared: Names) -> Result<Vec<i32>> {
        let of = |name: &String| {
            let found = named(self.schema(), compared, name, ErrorKind::Argument)?;
            found.map(|field| field.id).ok_or_else(|| {
                let message = format!("the table has no column {name:?}");
                Error::new(ErrorKind::UnknownColumn, message).in_field(name)
            })
        };
        names.iter().map(of).collect()
    }
}
