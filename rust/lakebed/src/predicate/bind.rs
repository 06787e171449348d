//! Names to columns and literals to values of their types: a [`Predicate`] made ready for one schema.

use std::collections::BTreeSet;

use arrow_schema::{DataType, Schema};

use super::cast::cast;
use super::expr::{Leaf, Literal, Predicate, Quoted};
use super::like::LikePattern;
use super::op::{Form, Operands, Operator};
use super::value::is_comparable;
use crate::error::{Error, ErrorKind, Result};

/// `LIKE` without `ESCAPE` escapes with a backslash, as in Paimon and Spark.
const DEFAULT_ESCAPE: char = '\\';

/// A predicate bound to a schema: what [`BoundPredicate::evaluate`] and [`BoundPredicate::may_match`] run.
#[derive(Debug, Clone)]
pub struct BoundPredicate {
    pub(super) node: Node,
    pub(super) columns: BTreeSet<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    Constant(bool),
    Leaf(BoundLeaf),
    And(Vec<Node>),
    Or(Vec<Node>),
}

#[derive(Debug, Clone)]
pub(super) struct BoundLeaf {
    pub(super) operator: Operator,
    pub(super) column: usize,
    pub(super) data_type: DataType,
    pub(super) operands: Operands,
}

impl Predicate {
    /// Resolves columns by exact name among the top-level fields of `schema` and casts each literal,
    /// exactly, to its column's type: Boolean, Int8 to Int64, Float32, Float64, Decimal128, Utf8, Binary,
    /// Date32, Time32(ms), Timestamp of any unit. Timestamps of columns with a zone are instants: a literal
    /// without an offset is of UTC.
    ///
    /// A comparison with NULL is never true, `NOT IN` with a NULL among its literals neither (Paimon's
    /// `NullFalseLeafBinaryFunction.java`, `NotIn.java`); `<=> NULL` asks for nulls.
    ///
    /// Errors: [`ErrorKind::Predicate`] naming an unknown column and the known ones; or column, type and
    /// literal where the literal does not fit.
    pub fn bind(&self, schema: &Schema) -> Result<BoundPredicate> {
        let node = bind_node(self, schema)?;
        let mut columns = BTreeSet::new();
        collect_columns(&node, &mut columns);
        Ok(BoundPredicate { node, columns })
    }
}

impl BoundPredicate {
    /// The numbers of the schema's fields it reads.
    pub fn columns(&self) -> &BTreeSet<usize> {
        &self.columns
    }
}

fn collect_columns(node: &Node, columns: &mut BTreeSet<usize>) {
    match node {
        Node::Constant(_) => {}
        Node::Leaf(leaf) => {
            columns.insert(leaf.column);
        }
        Node::And(terms) | Node::Or(terms) => terms.iter().for_each(|term| collect_columns(term, columns)),
    }
}

fn bind_node(predicate: &Predicate, schema: &Schema) -> Result<Node> {
    let bind_all =
        |terms: &[Predicate]| terms.iter().map(|term| bind_node(term, schema)).collect::<Result<Vec<_>>>();
    Ok(match predicate {
        Predicate::Constant(value) => Node::Constant(*value),
        Predicate::Leaf(leaf) => bind_leaf(leaf, schema)?,
        Predicate::And(terms) => Node::And(bind_all(terms)?),
        Predicate::Or(terms) => Node::Or(bind_all(terms)?),
    })
}

fn bind_leaf(leaf: &Leaf, schema: &Schema) -> Result<Node> {
    let (column, field) =
        schema.fields().find(&leaf.column).ok_or_else(|| unknown_column(&leaf.column, schema))?;
    let data_type = field.data_type();
    if !is_comparable(data_type) {
        return Err(misfit(leaf, data_type, "columns of this type cannot be filtered"));
    }
    let (operator, literals) = match resolve_nulls(leaf) {
        Resolved::Never => return Ok(Node::Constant(false)),
        Resolved::Operator(operator, literals) => (operator, literals),
    };
    let operands = bind_operands(leaf, operator, &literals, data_type)?;
    Ok(Node::Leaf(BoundLeaf { operator, column, data_type: data_type.clone(), operands }))
}

enum Resolved<'a> {
    Never,
    Operator(Operator, Vec<&'a Literal>),
}

/// What is left once null literals have said what they mean.
fn resolve_nulls(leaf: &Leaf) -> Resolved<'_> {
    let present: Vec<_> = leaf.literals.iter().filter(|literal| **literal != Literal::Null).collect();
    if present.len() == leaf.literals.len() {
        return Resolved::Operator(leaf.operator, present);
    }
    match leaf.operator {
        Operator::In => Resolved::Operator(Operator::In, present),
        Operator::EqNullSafe => Resolved::Operator(Operator::IsNull, present),
        Operator::NotEqNullSafe => Resolved::Operator(Operator::IsNotNull, present),
        _ => Resolved::Never,
    }
}

fn bind_operands(
    leaf: &Leaf,
    operator: Operator,
    literals: &[&Literal],
    data_type: &DataType,
) -> Result<Operands> {
    let form = operator.row().form;
    check_shape(leaf, form, literals.len(), data_type)?;
    if form == Form::Pattern {
        let pattern = bind_pattern(literals).map_err(|reason| misfit(leaf, data_type, &reason))?;
        return Ok(Operands { values: Vec::new(), pattern: Some(pattern) });
    }
    let mut values = Vec::with_capacity(literals.len());
    for literal in literals {
        values.push(cast(literal, data_type).map_err(|reason| {
            let what = format!("cannot take {literal}: {reason}");
            misfit(leaf, data_type, &what)
        })?);
    }
    if form == Form::List {
        values.sort_unstable();
        values.dedup();
    }
    Ok(Operands { values, pattern: None })
}

/// Whether the operator takes this many literals and columns of this type.
fn check_shape(leaf: &Leaf, form: Form, literals: usize, data_type: &DataType) -> Result<()> {
    let counts = match form {
        Form::Postfix | Form::Test => 0..=0,
        Form::Infix | Form::Function => 1..=1,
        Form::Between => 2..=2,
        Form::Pattern => 1..=2,
        Form::List => 0..=usize::MAX,
    };
    let name = leaf.operator.name();
    if !counts.contains(&literals) {
        return Err(misfit(leaf, data_type, &format!("{name} does not take {literals} literals")));
    }
    let applies = match form {
        Form::Test => matches!(data_type, DataType::Float32 | DataType::Float64),
        Form::Pattern => *data_type == DataType::Utf8,
        Form::Function => matches!(data_type, DataType::Utf8 | DataType::Binary),
        _ => true,
    };
    if applies { Ok(()) } else { Err(misfit(leaf, data_type, &format!("{name} does not apply"))) }
}

fn bind_pattern(literals: &[&Literal]) -> Result<LikePattern, String> {
    let [Literal::String(pattern), rest @ ..] = literals else {
        return Err("the pattern of LIKE is a string".into());
    };
    let escape = match rest {
        [] => DEFAULT_ESCAPE,
        [Literal::String(text)] if text.chars().count() == 1 => text.chars().next().unwrap_or(DEFAULT_ESCAPE),
        _ => return Err("ESCAPE takes one character".into()),
    };
    LikePattern::compile(pattern, escape).map_err(|reason| {
        let pattern = Quoted('\'', pattern);
        format!("LIKE {pattern}: {reason}")
    })
}

#[cold]
fn unknown_column(name: &str, schema: &Schema) -> Error {
    let known: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let name = Quoted('"', name);
    Error::new(ErrorKind::Predicate, format!("filter: no column {name} to filter by; there are: {known}"))
}

#[cold]
fn misfit(leaf: &Leaf, data_type: &DataType, reason: &str) -> Error {
    let column = Quoted('"', &leaf.column);
    Error::new(ErrorKind::Predicate, format!("filter: column {column} of type {data_type}: {reason}"))
}
