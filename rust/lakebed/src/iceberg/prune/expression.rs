//! Writes filters as expressions of Iceberg's REST specification (`ExpressionParser.java`).

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float32Array, Float64Array};
use serde_json::{Value, json};

use super::bind::{ColumnSource, RowFilter};
use super::transformed;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::transform::Transform;
use crate::iceberg::types::{Schema, Type};
use crate::iceberg::value::to_json;
use crate::predicate::{self, BoundLeaf, Node, Operator};

impl RowFilter {
    /// The filter as a JSON expression: plain `true` and `false`, all else an object. Columns are named as in
    /// `schema`, values are JSON single values of their types.
    ///
    /// # Errors
    /// `Unsupported` where the specification has no such expression: for patterns of `LIKE` that test more
    /// than a prefix, partition fields, NaN and the infinities.
    pub fn expression(&self, schema: &Schema) -> Result<Value> {
        self.expression_of(&self.predicate.node, schema)
    }

    fn expression_of(&self, node: &Node, schema: &Schema) -> Result<Value> {
        let all = |terms: &[Node]| {
            terms.iter().map(|term| self.expression_of(term, schema)).collect::<Result<Vec<_>>>()
        };
        Ok(match node {
            Node::Constant(value) => Value::Bool(*value),
            Node::Leaf(leaf) => self.expression_of_leaf(leaf, schema)?,
            Node::And(terms) => joined("and", all(terms)?),
            Node::Or(terms) => joined("or", all(terms)?),
        })
    }

    fn expression_of_leaf(&self, leaf: &BoundLeaf, schema: &Schema) -> Result<Value> {
        let unsupported = || {
            let message = format!("Iceberg's specification has no expression for {}", leaf.written.term);
            Error::new(ErrorKind::Unsupported, format!("{message} {}", leaf.operator.name()))
        };
        let Some(ColumnSource::Column(field, transform)) = self.source(leaf.column.index) else {
            return Err(unsupported());
        };
        let name = schema.name_of(field.id).ok_or_else(unsupported)?;
        let term = match transform {
            Transform::Identity => json!(name),
            called => json!({"type": "transform", "transform": called.to_string(), "term": name}),
        };
        let ty = transform.result_type(&field.ty);
        // Tests for null and NaN have no values, and apply to any type.
        let values = match leaf.operands.values.is_empty() {
            true => Vec::new(),
            false => {
                let values = array(&leaf.operands.values, &ty).ok_or_else(unsupported)?;
                to_json(&values, &ty).map_err(|error| unsupported().caused_by(error))?
            }
        };
        let one = |kind: &str, at: usize| -> Result<Value> {
            let value = values.get(at).ok_or_else(unsupported)?;
            Ok(json!({"type": kind, "term": term, "value": value}))
        };
        let none = |kind: &str| Ok(json!({"type": kind, "term": term}));
        let many = |kind: &str| json!({"type": kind, "term": term, "values": values});
        let both = |kind, low: &str, high: &str| Ok(joined(kind, vec![one(low, 0)?, one(high, 1)?]));
        match leaf.operator {
            Operator::Eq | Operator::EqNullSafe => one("eq", 0),
            Operator::NotEq | Operator::NotEqNullSafe => one("not-eq", 0),
            Operator::Lt => one("lt", 0),
            Operator::LtEq => one("lt-eq", 0),
            Operator::Gt => one("gt", 0),
            Operator::GtEq => one("gt-eq", 0),
            Operator::In if values.is_empty() => Ok(Value::Bool(false)),
            Operator::In => Ok(many("in")),
            Operator::NotIn if values.is_empty() => Ok(Value::Bool(true)),
            Operator::NotIn => Ok(many("not-in")),
            Operator::IsNull => none("is-null"),
            Operator::IsNotNull => none("not-null"),
            Operator::IsNan => none("is-nan"),
            Operator::IsNotNan => none("not-nan"),
            Operator::StartsWith => one("starts-with", 0),
            Operator::NotStartsWith => one("not-starts-with", 0),
            Operator::Like if leaf.operands.ask_for_prefix() => one("starts-with", 0),
            Operator::NotLike if leaf.operands.ask_for_prefix() => one("not-starts-with", 0),
            Operator::Like | Operator::NotLike => Err(unsupported()),
            Operator::Between => both("and", "gt-eq", "lt-eq"),
            Operator::NotBetween => both("or", "lt", "gt"),
        }
    }
}

/// The literals of a leaf as an array of their type; `None` for types that are not compared.
fn array(values: &[predicate::Value<'static>], ty: &Type) -> Option<ArrayRef> {
    let floats = || {
        values.iter().map(|value| match value {
            predicate::Value::Float(value) => Some(*value),
            _ => None,
        })
    };
    Some(match ty {
        Type::Boolean => {
            let values = values.iter().map(|value| match value {
                predicate::Value::Boolean(value) => Some(*value),
                _ => None,
            });
            Arc::new(BooleanArray::from(values.collect::<Option<Vec<_>>>()?))
        }
        // The literals were cast to the width of the column.
        Type::Float => {
            let narrow = floats().map(|value| value.map(|value| value as f32));
            Arc::new(Float32Array::from(narrow.collect::<Option<Vec<_>>>()?))
        }
        Type::Double => Arc::new(Float64Array::from(floats().collect::<Option<Vec<_>>>()?)),
        _ => transformed::array(values, ty)?,
    })
}

/// Joins terms in pairs, by halves: readers are recursive, and a list may be long.
fn joined(kind: &str, mut terms: Vec<Value>) -> Value {
    if terms.len() < 2 {
        return terms.pop().unwrap_or(Value::Bool(kind == "and"));
    }
    let right = terms.split_off(terms.len() / 2);
    json!({"type": kind, "left": joined(kind, terms), "right": joined(kind, right)})
}
