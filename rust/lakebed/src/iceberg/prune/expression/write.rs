//! Writes filters as expressions.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float32Array, Float64Array};
use serde_json::{Map, Value, json};

use super::{FUNCTIONS, OPERATORS};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::prune::bind::{ColumnSource, RowFilter};
use crate::iceberg::prune::transformed;
use crate::iceberg::transform::Transform;
use crate::iceberg::types::{Schema, Type};
use crate::iceberg::value::to_json;
use crate::predicate::{self, BoundLeaf, Node, Operator};
use crate::scan::ExpressionForm;

impl RowFilter {
    /// The filter as a JSON expression: plain `true` and `false`, all else an object. Columns are named as in
    /// `schema`, values are JSON single values of their types, with upper-case hex as Java writes it.
    ///
    /// # Errors
    /// `Unsupported` where the specification has no such expression: for patterns of `LIKE` that test more
    /// than a prefix, partition fields, NaN and the infinities.
    pub fn expression(&self, schema: &Schema, form: ExpressionForm) -> Result<Value> {
        self.expression_of(&self.predicate.node, schema, form)
    }

    fn expression_of(&self, node: &Node, schema: &Schema, form: ExpressionForm) -> Result<Value> {
        let all = |terms: &[Node]| {
            terms.iter().map(|term| self.expression_of(term, schema, form)).collect::<Result<Vec<_>>>()
        };
        Ok(match node {
            Node::Constant(value) => Value::Bool(*value),
            Node::Leaf(leaf) => self.expression_of_leaf(leaf, schema, form)?,
            Node::And(terms) => joined("and", all(terms)?),
            Node::Or(terms) => joined("or", all(terms)?),
        })
    }

    fn expression_of_leaf(&self, leaf: &BoundLeaf, schema: &Schema, form: ExpressionForm) -> Result<Value> {
        let unsupported = || {
            let message = format!("Iceberg's specification has no expression for {}", leaf.written.term);
            Error::new(ErrorKind::Unsupported, format!("{message} {}", leaf.operator.name()))
        };
        let Some(ColumnSource::Column(field, transform)) = self.source(leaf.column.index) else {
            return Err(unsupported());
        };
        let name = schema.name_of(field.id).ok_or_else(unsupported)?;
        let operand = form.operand(name, transform).ok_or_else(unsupported)?;
        let ty = transform.result_type(&field.ty);
        // Tests for null and NaN have no values, and apply to any type.
        let values = match leaf.operands.values.is_empty() {
            true => Vec::new(),
            false => {
                let values = array(&leaf.operands.values, &ty).ok_or_else(unsupported)?;
                to_json(&values, &ty).map_err(|error| unsupported().caused_by(error))?
            }
        };
        let values: Vec<Value> = match ty {
            Type::Binary | Type::Fixed(_) => values.into_iter().map(upper_case).collect(),
            _ => values,
        };
        let test = |operator: Operator, at: usize| {
            let value = values.get(at).ok_or_else(unsupported)?;
            form.test(operator, &operand, Some(value)).ok_or_else(unsupported)
        };
        let ends = |kind, low, high| Ok(joined(kind, vec![test(low, 0)?, test(high, 1)?]));
        match leaf.operator {
            Operator::EqNullSafe => test(Operator::Eq, 0),
            Operator::NotEqNullSafe => test(Operator::NotEq, 0),
            Operator::In if values.is_empty() => Ok(Value::Bool(false)),
            Operator::NotIn if values.is_empty() => Ok(Value::Bool(true)),
            operator @ (Operator::In | Operator::NotIn) => {
                form.test(operator, &operand, Some(&Value::Array(values))).ok_or_else(unsupported)
            }
            operator @ (Operator::IsNull | Operator::IsNotNull | Operator::IsNan | Operator::IsNotNan) => {
                form.test(operator, &operand, None).ok_or_else(unsupported)
            }
            Operator::Like if leaf.operands.ask_for_prefix() => test(Operator::StartsWith, 0),
            Operator::NotLike if leaf.operands.ask_for_prefix() => test(Operator::NotStartsWith, 0),
            Operator::Between => ends("and", Operator::GtEq, Operator::LtEq),
            Operator::NotBetween => ends("or", Operator::Lt, Operator::Gt),
            other => test(other, 0),
        }
    }
}

impl ExpressionForm {
    /// A column, or a transform of it; `None` where this form has none such.
    fn operand(self, name: &str, transform: &Transform) -> Option<Value> {
        let reference = json!({"type": "reference", "name": name});
        let applied = |function: &str, arguments: Vec<Value>| {
            let function = json!({"catalog": FUNCTIONS, "identifier": [function]});
            Some(json!({"type": "apply", "function": function, "arguments": arguments}))
        };
        match (self, transform) {
            (ExpressionForm::Term, Transform::Identity) => Some(json!(name)),
            (ExpressionForm::Term, called) => {
                Some(json!({"type": "transform", "transform": called.to_string(), "term": name}))
            }
            (ExpressionForm::Operand, Transform::Identity) => Some(reference),
            (ExpressionForm::Operand, Transform::Bucket(count)) => {
                applied("bucket", vec![json!(count), reference])
            }
            (ExpressionForm::Operand, Transform::Truncate(width)) => {
                applied("truncate", vec![json!(width), reference])
            }
            (ExpressionForm::Operand, Transform::Void | Transform::Unknown(_)) => None,
            (ExpressionForm::Operand, called) => applied(&called.to_string(), vec![reference]),
        }
    }

    /// A test of an operand, with the list of values of `IN`; `None` for operators that Iceberg has not.
    fn test(self, operator: Operator, operand: &Value, value: Option<&Value>) -> Option<Value> {
        let (kind, _) = OPERATORS.iter().find(|(_, known)| *known == operator)?;
        let is_list = matches!(operator, Operator::In | Operator::NotIn);
        let (of, with) = match (self, is_list) {
            (ExpressionForm::Term, true) => ("term", "values"),
            (ExpressionForm::Term, false) => ("term", "value"),
            (ExpressionForm::Operand, true) => ("child", "values"),
            (ExpressionForm::Operand, false) if value.is_none() => ("child", ""),
            (ExpressionForm::Operand, false) => ("left", "right"),
        };
        let mut test = Map::from_iter([("type".to_owned(), json!(kind)), (of.to_owned(), operand.clone())]);
        if let Some(value) = value {
            test.insert(with.to_owned(), value.clone());
        }
        Some(Value::Object(test))
    }
}

fn upper_case(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.to_ascii_uppercase()),
        other => other,
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
