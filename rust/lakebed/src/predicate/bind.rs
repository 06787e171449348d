//! Binds a [`Predicate`] to a schema: names to columns, and literals to values of their types.

use std::collections::BTreeSet;

use arrow_schema::{DataType, Schema};

use super::beyond::within;
use super::cast::{cast, exact_time, uuid_text};
use super::expr::{Leaf, Literal, Predicate, QuotedText, Term};
use super::like::LikePattern;
use super::op::{Operands, Operator, OperatorForm};
use super::value::{Value, is_comparable};
use crate::error::{Error, ErrorKind, Result};
use crate::words::closest;

/// `LIKE` without `ESCAPE` escapes with a backslash, as in Paimon and Spark.
const DEFAULT_ESCAPE: char = '\\';

/// How a format treats nulls and the signs of zeros. NaN is the greatest value in both: see `ranges.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logic {
    /// SQL's logic, as in Paimon: null only matches tests for null, so that neither a comparison nor its
    /// negation matches it. −0.0 is less than 0.0, as in Java's total order.
    ThreeValued,
    /// Iceberg's logic: negated tests match null (`<>`, `NOT IN`, `NOT starts_with`, `NOT is_nan`), so that
    /// every row matches either a test or its negation. The two zeros are equal.
    TwoValued,
    /// SQL's logic for Iceberg's values: null as in [`Logic::ThreeValued`], zeros as in [`Logic::TwoValued`].
    /// For commits, which remove rows: their filters are those of SQL statements.
    Sql,
}

impl Logic {
    /// Whether the two zeros are equal.
    pub(super) fn has_one_zero(self) -> bool {
        self != Logic::ThreeValued
    }
}

/// What a term refers to.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its number, which is its index among arrays and ranges.
    pub index: usize,
    /// Its type.
    pub data_type: DataType,
    /// Whether it is never null.
    pub required: bool,
    /// Whether its texts are UUIDs, lower-case and with hyphens.
    pub is_uuid: bool,
    /// Whether its times are compared as exactly as Paimon stores them: its arrays are of milliseconds, or of seconds
    /// as `Decimal256(38, 9)`, since not all of them fit its type.
    pub is_exact: bool,
}

impl Column {
    /// A column of `data_type` that may be null.
    pub fn new(index: usize, data_type: DataType) -> Column {
        Column { index, data_type, required: false, is_uuid: false, is_exact: false }
    }
}

/// A predicate bound to columns, for [`BoundPredicate::evaluate`], [`BoundPredicate::may_match`] and
/// [`BoundPredicate::must_match`].
#[derive(Debug, Clone)]
pub struct BoundPredicate {
    pub(crate) node: Node,
    columns: BTreeSet<usize>,
}

/// A bound predicate, or a part of one.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Constant(bool),
    Leaf(BoundLeaf),
    And(Vec<Node>),
    Or(Vec<Node>),
}

/// A bound `term operator literals`.
#[derive(Debug, Clone)]
pub(crate) struct BoundLeaf {
    pub(crate) operator: Operator,
    pub(crate) column: Column,
    pub(crate) operands: Operands,
    pub(super) logic: Logic,
    /// The leaf before it was bound.
    pub(crate) written: Leaf,
}

impl Predicate {
    /// Resolves columns by exact name among the top-level fields of `schema`, elements of those that are maps from
    /// texts, and casts each literal without
    /// rounding to its column's type: Boolean, Int8 to Int64, Float32, Float64, Decimal128, Utf8, Binary,
    /// Date32, Time32(ms), Time64(us), Timestamp of any unit. Timestamps of columns with a zone are instants:
    /// a literal without an offset is in UTC.
    ///
    /// A number, date or timestamp outside of the range of its column is greater or less than all values, and equals
    /// none. The infinities of floats are further outside on either side, and NaN is the
    /// greatest. Only fractions finer than those of an integer or decimal column are refused. A comparison
    /// with NULL is never true, nor is `NOT IN` with a NULL among its literals (Paimon's
    /// `NullFalseLeafBinaryFunction.java`, `NotIn.java`); `<=> NULL` tests for null.
    ///
    /// Errors: [`ErrorKind::FilterColumn`] for an unknown column, with the known ones; [`ErrorKind::Predicate`] for
    /// a literal that does not fit, with column, type and kind of literal; for a transform, which needs a
    /// table that has transforms; and for a key where the column is no map.
    pub fn bind(&self, schema: &Schema) -> Result<BoundPredicate> {
        let node = bind_node(self, Logic::ThreeValued, &mut |term| {
            if term.transform.is_some() {
                let message = format!("{term}: transforms only apply to columns of Iceberg tables");
                return Err(Error::new(ErrorKind::Predicate, message));
            }
            let (index, field) = schema.fields().find(&term.column).ok_or_else(|| {
                let known = schema.fields().iter().map(|field| field.name().as_str());
                unknown_column(&term.column, known)
            })?;
            let data_type = match &term.key {
                None => field.data_type(),
                Some(_) => element_type(field.data_type()).ok_or_else(|| {
                    let message = format!("{term}: only maps from texts have elements with such keys");
                    Error::new(ErrorKind::Predicate, message)
                })?,
            };
            Ok(Column::new(index, data_type.clone()))
        })?;
        Ok(BoundPredicate::new(node))
    }

    /// Resolves terms with `find`, which gives each distinct column one number, and casts literals like
    /// [`Predicate::bind`].
    ///
    /// # Errors
    /// Those of `find`; `Predicate` where a literal or an operator does not fit its column, and for elements of maps.
    pub fn bind_with(
        &self,
        logic: Logic,
        find: &mut dyn FnMut(&Term) -> Result<Column>,
    ) -> Result<BoundPredicate> {
        let node = bind_node(self, logic, &mut |term| {
            if term.key.is_some() {
                let message = format!("{term}: elements of maps are only tested in rows of views");
                return Err(Error::new(ErrorKind::Predicate, message));
            }
            find(term)
        })?;
        Ok(BoundPredicate::new(node))
    }
}

impl BoundPredicate {
    pub(crate) fn new(node: Node) -> BoundPredicate {
        let mut columns = BTreeSet::new();
        node.for_each_leaf(&mut |leaf| {
            columns.insert(leaf.column.index);
        });
        BoundPredicate { node, columns }
    }

    /// The numbers of the columns it reads.
    pub fn columns(&self) -> &BTreeSet<usize> {
        &self.columns
    }
}

impl Node {
    /// The conjunction of `terms`, without constants.
    pub(crate) fn and(terms: impl IntoIterator<Item = Node>) -> Node {
        let mut left = Vec::new();
        for term in terms {
            match term {
                Node::Constant(true) => {}
                Node::Constant(false) => return Node::Constant(false),
                Node::And(inner) => left.extend(inner),
                other => left.push(other),
            }
        }
        if left.len() > 1 { Node::And(left) } else { left.pop().unwrap_or(Node::Constant(true)) }
    }

    /// The disjunction of `terms`, without constants.
    pub(crate) fn or(terms: impl IntoIterator<Item = Node>) -> Node {
        let mut left = Vec::new();
        for term in terms {
            match term {
                Node::Constant(false) => {}
                Node::Constant(true) => return Node::Constant(true),
                Node::Or(inner) => left.extend(inner),
                other => left.push(other),
            }
        }
        if left.len() > 1 { Node::Or(left) } else { left.pop().unwrap_or(Node::Constant(false)) }
    }

    /// The same with each leaf replaced, simplified.
    pub(crate) fn map_leaves(&self, replace: &mut dyn FnMut(&BoundLeaf) -> Result<Node>) -> Result<Node> {
        let mut all =
            |terms: &[Node]| terms.iter().map(|term| term.map_leaves(replace)).collect::<Result<Vec<_>>>();
        Ok(match self {
            Node::Constant(value) => Node::Constant(*value),
            Node::Leaf(leaf) => replace(leaf)?,
            Node::And(terms) => Node::and(all(terms)?),
            Node::Or(terms) => Node::or(all(terms)?),
        })
    }

    pub(crate) fn for_each_leaf(&self, visit: &mut dyn FnMut(&BoundLeaf)) {
        match self {
            Node::Constant(_) => {}
            Node::Leaf(leaf) => visit(leaf),
            Node::And(terms) | Node::Or(terms) => terms.iter().for_each(|term| term.for_each_leaf(visit)),
        }
    }

    /// The predicate in names, with its leaves before binding.
    pub(crate) fn written(&self) -> Predicate {
        let all = |terms: &[Node]| terms.iter().map(Node::written).collect();
        match self {
            Node::Constant(value) => Predicate::Constant(*value),
            Node::Leaf(leaf) => Predicate::Leaf(leaf.written.clone()),
            Node::And(terms) => Predicate::and(all(terms)),
            Node::Or(terms) => Predicate::or(all(terms)),
        }
    }
}

impl BoundLeaf {
    /// The same test on another column of the same type.
    pub(crate) fn on(&self, column: Column) -> BoundLeaf {
        BoundLeaf { column, ..self.clone() }
    }

    /// The test with another operator, column and values, none of which is null; lists are sorted here.
    pub(crate) fn with(
        &self,
        operator: Operator,
        column: Column,
        mut values: Vec<Value<'static>>,
    ) -> BoundLeaf {
        if operator.row().form == OperatorForm::List {
            values.sort_unstable();
            values.dedup();
        }
        let operands = Operands { values, pattern: None };
        BoundLeaf { operator, column, operands, logic: self.logic, written: self.written.clone() }
    }
}

/// The type of the elements of a map from texts.
fn element_type(map: &DataType) -> Option<&DataType> {
    let DataType::Map(entries, _) = map else { return None };
    let DataType::Struct(fields) = entries.data_type() else { return None };
    let [key, value] = fields.as_ref() else { return None };
    (*key.data_type() == DataType::Utf8).then(|| value.data_type())
}

fn bind_node(
    predicate: &Predicate,
    logic: Logic,
    find: &mut dyn FnMut(&Term) -> Result<Column>,
) -> Result<Node> {
    let mut all = |terms: &[Predicate]| {
        terms.iter().map(|term| bind_node(term, logic, find)).collect::<Result<Vec<_>>>()
    };
    Ok(match predicate {
        Predicate::Constant(value) => Node::Constant(*value),
        Predicate::Leaf(leaf) => {
            let column = find(&leaf.term)?;
            let other = if column.is_exact { None } else { within(leaf, &column.data_type, logic) };
            match other {
                Some(other) => bind_node(&other, logic, &mut |_| Ok(column.clone()))?,
                None => bind_leaf(leaf, logic, column)?,
            }
        }
        Predicate::And(terms) => Node::and(all(terms)?),
        Predicate::Or(terms) => Node::or(all(terms)?),
    })
}

fn bind_leaf(leaf: &Leaf, logic: Logic, column: Column) -> Result<Node> {
    if leaf.operator.row().form != OperatorForm::Postfix && !is_comparable(&column.data_type) {
        return Err(type_mismatch(
            leaf,
            &column.data_type,
            "columns of this type can only be tested for null",
        ));
    }
    let (operator, literals) = match resolve_nulls(leaf) {
        NullResolution::Never(literals) => {
            // A literal that does not fit its column is an error even next to a NULL.
            if leaf.operator.row().form != OperatorForm::Pattern {
                bind_values(leaf, &literals, &column)?;
            }
            return Ok(Node::Constant(false));
        }
        NullResolution::Operator(operator, literals) => (operator, literals),
    };
    if let Some(answer) = known_null_test(operator, &column) {
        return Ok(Node::Constant(answer));
    }
    let mut operands = bind_operands(leaf, operator, &literals, &column)?;
    if logic.has_one_zero() {
        operands.values = operands.values.into_iter().map(Value::with_one_zero).collect();
    }
    Ok(Node::Leaf(BoundLeaf { operator, column, operands, logic, written: leaf.clone() }))
}

/// The result of a null test where the column's type or its being required decides it for every row.
fn known_null_test(operator: Operator, column: &Column) -> Option<bool> {
    let always_null = column.data_type == DataType::Null;
    let asks_for_null = match operator {
        Operator::IsNull => true,
        Operator::IsNotNull => false,
        _ => return None,
    };
    (column.required || always_null).then_some(asks_for_null == always_null)
}

enum NullResolution<'a> {
    Never(Vec<&'a Literal>),
    Operator(Operator, Vec<&'a Literal>),
}

/// The test without its null literals, or what they decide.
fn resolve_nulls(leaf: &Leaf) -> NullResolution<'_> {
    let present: Vec<_> = leaf.literals.iter().filter(|literal| **literal != Literal::Null).collect();
    if present.len() == leaf.literals.len() {
        return NullResolution::Operator(leaf.operator, present);
    }
    match leaf.operator {
        Operator::In => NullResolution::Operator(Operator::In, present),
        Operator::EqNullSafe => NullResolution::Operator(Operator::IsNull, present),
        Operator::NotEqNullSafe => NullResolution::Operator(Operator::IsNotNull, present),
        _ => NullResolution::Never(present),
    }
}

fn bind_operands(
    leaf: &Leaf,
    operator: Operator,
    literals: &[&Literal],
    column: &Column,
) -> Result<Operands> {
    let data_type = &column.data_type;
    let form = operator.row().form;
    check_shape(leaf, form, literals.len(), data_type)?;
    if form == OperatorForm::Pattern {
        let pattern = bind_pattern(literals).map_err(|reason| type_mismatch(leaf, data_type, &reason))?;
        let values = vec![Value::Bytes(pattern.prefix().0.into())];
        return Ok(Operands { values, pattern: Some(pattern) });
    }
    let mut values = bind_values(leaf, literals, column)?;
    if form == OperatorForm::List {
        values.sort_unstable();
        values.dedup();
    }
    Ok(Operands { values, pattern: None })
}

/// Literals as values of their column's type.
fn bind_values(leaf: &Leaf, literals: &[&Literal], column: &Column) -> Result<Vec<Value<'static>>> {
    let data_type = &column.data_type;
    if let Some(year) = literals.iter().find_map(|literal| calendar_year(&leaf.term, literal)) {
        let counted = year - 1970;
        let reason = format!(
            "year() counts from 1970: the year {year} is {counted}; or compare the column itself, as in >= \
            '{year}-01-01'"
        );
        return Err(type_mismatch(leaf, data_type, &reason));
    }
    // A prefix need not be a whole UUID.
    let is_uuid = column.is_uuid && leaf.operator.row().form != OperatorForm::Function;
    let value = |literal: &&Literal| {
        let value = match column.is_exact {
            true => exact_time(literal, data_type),
            false if is_uuid => uuid_text(literal),
            false => cast(literal, data_type),
        };
        value.map_err(|reason| {
            let what = format!("cannot take {}: {reason}", literal.kind());
            type_mismatch(leaf, data_type, &what)
        })
    };
    literals.iter().map(value).collect()
}

/// A year as calendars have it, compared with the transform: it would leave no file, without a word.
fn calendar_year(term: &Term, literal: &Literal) -> Option<i64> {
    let (Some(call), Literal::Number(digits)) = (&term.transform, literal) else { return None };
    digits.parse().ok().filter(|year| call.name == "year" && (1000..10_000).contains(year))
}

/// Whether the operator takes this many literals and columns of this type.
fn check_shape(leaf: &Leaf, form: OperatorForm, literals: usize, data_type: &DataType) -> Result<()> {
    let counts = match form {
        OperatorForm::Postfix | OperatorForm::Test => 0..=0,
        OperatorForm::Infix | OperatorForm::Function => 1..=1,
        OperatorForm::Between => 2..=2,
        OperatorForm::Pattern => 1..=2,
        OperatorForm::List => 0..=usize::MAX,
    };
    let name = leaf.operator.name();
    if !counts.contains(&literals) {
        return Err(type_mismatch(leaf, data_type, &format!("{name} does not take {literals} literals")));
    }
    let applies = match form {
        OperatorForm::Test => matches!(data_type, DataType::Float32 | DataType::Float64),
        OperatorForm::Pattern => *data_type == DataType::Utf8,
        OperatorForm::Function => matches!(data_type, DataType::Utf8 | DataType::Binary),
        _ => true,
    };
    if applies { Ok(()) } else { Err(type_mismatch(leaf, data_type, &format!("{name} does not apply"))) }
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
        let pattern = QuotedText('\'', pattern);
        format!("LIKE {pattern}: {reason}")
    })
}

/// The error for an unknown column, with the known names.
#[cold]
pub(crate) fn unknown_column<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: Vec<_> = known.collect();
    let meant = closest(name, &known).map(|near| format!(" (did you mean {}?)", QuotedText('"', near)));
    let meant = meant.unwrap_or_default();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let shown = QuotedText('"', name);
    let message = format!("no column {shown} to filter by{meant}; there are: {known}");
    Error::new(ErrorKind::FilterColumn, message).in_field(name)
}

#[cold]
fn type_mismatch(leaf: &Leaf, data_type: &DataType, reason: &str) -> Error {
    let term = &leaf.term;
    Error::new(ErrorKind::Predicate, format!("column {term} of type {data_type}: {reason}"))
}
