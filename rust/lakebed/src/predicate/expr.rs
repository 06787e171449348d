//! Predicates before they are bound to a table.

use std::collections::BTreeSet;
use std::fmt;

use super::op::{Operator, OperatorForm};

/// A filter over named columns.
///
/// There is no negation node: every operator has a negation, so [`Predicate::negate`] pushes `NOT` down to
/// the leaves. Under SQL's three-valued logic this changes nothing: neither a comparison with null nor its
/// negation is true.
///
/// `Display` writes SQL that [`Predicate::parse`] reads back to the same predicate, for predicates made by
/// the constructors or the parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Predicate {
    /// Always, or never, true.
    Constant(bool),
    /// One operator on one column.
    Leaf(Leaf),
    /// True where all terms are true.
    And(Vec<Predicate>),
    /// True where any term is true.
    Or(Vec<Predicate>),
}

/// `term operator literals`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// The column that is tested.
    pub term: Term,
    /// The test.
    pub operator: Operator,
    /// The operator's literals: none for null and NaN tests, two for `BETWEEN`, the pattern and an optional
    /// escape character for `LIKE`, any number for `IN`, one for all others.
    pub literals: Vec<Literal>,
}

/// A column, an element of it, or the result of a partition transform of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// The column's name, nested names joined by dots.
    pub column: String,
    /// The transform, where there is one.
    pub transform: Option<Call>,
    /// Of a map the key of the element that is meant.
    pub key: Option<String>,
}

/// A partition transform as text calls it: `bucket(16, …)`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The name of the transform, in the singular and in lower case.
    pub name: String,
    /// The number of buckets, or the width.
    pub parameter: Option<u32>,
}

impl From<&str> for Term {
    fn from(column: &str) -> Term {
        column.to_owned().into()
    }
}

impl From<String> for Term {
    fn from(column: String) -> Term {
        Term { column, transform: None, key: None }
    }
}

/// A literal as written. Its value is only known with a column's type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// `NULL`.
    Null,
    /// `TRUE` or `FALSE`.
    Boolean(bool),
    /// The text of a number, with its sign.
    Number(String),
    /// `'…'`, which is cast to the column's type.
    String(String),
    /// `DATE '…'`.
    Date(String),
    /// `TIME '…'`.
    Time(String),
    /// `TIMESTAMP '…'`.
    Timestamp(String),
    /// `UUID '…'`.
    Uuid(String),
    /// `X'…'`.
    Binary(Vec<u8>),
}

impl Predicate {
    /// `term operator literals`.
    pub fn leaf(term: impl Into<Term>, operator: Operator, literals: Vec<Literal>) -> Predicate {
        Predicate::Leaf(Leaf { term: term.into(), operator, literals })
    }

    /// The conjunction of `terms`; `TRUE` for none. Nested conjunctions are flattened.
    pub fn and(terms: Vec<Predicate>) -> Predicate {
        let flat = terms.into_iter().flat_map(|term| match term {
            Predicate::And(inner) => inner,
            other => vec![other],
        });
        Self::unless_single(flat.collect(), Predicate::Constant(true), Predicate::And)
    }

    /// The disjunction of `terms`; `FALSE` for none. Nested disjunctions are flattened.
    pub fn or(terms: Vec<Predicate>) -> Predicate {
        let flat = terms.into_iter().flat_map(|term| match term {
            Predicate::Or(inner) => inner,
            other => vec![other],
        });
        Self::unless_single(flat.collect(), Predicate::Constant(false), Predicate::Or)
    }

    fn unless_single(
        mut terms: Vec<Predicate>,
        empty: Predicate,
        join: fn(Vec<Predicate>) -> Predicate,
    ) -> Predicate {
        if terms.len() > 1 { join(terms) } else { terms.pop().unwrap_or(empty) }
    }

    /// `NOT self`, pushed to the leaves.
    #[must_use]
    pub fn negate(self) -> Predicate {
        let negate_all = |terms: Vec<Predicate>| terms.into_iter().map(Predicate::negate).collect();
        match self {
            Predicate::Constant(value) => Predicate::Constant(!value),
            Predicate::Leaf(leaf) => Predicate::Leaf(Leaf { operator: leaf.operator.negation(), ..leaf }),
            Predicate::And(terms) => Predicate::Or(negate_all(terms)),
            Predicate::Or(terms) => Predicate::And(negate_all(terms)),
        }
    }

    /// The names of the columns it reads.
    pub fn columns(&self) -> BTreeSet<&str> {
        match self {
            Predicate::Constant(_) => BTreeSet::new(),
            Predicate::Leaf(leaf) => BTreeSet::from([leaf.term.column.as_str()]),
            Predicate::And(terms) | Predicate::Or(terms) => {
                terms.iter().flat_map(Predicate::columns).collect()
            }
        }
    }

    /// The terms of a conjunction, or this predicate alone.
    pub fn split_conjuncts(&self) -> &[Predicate] {
        match self {
            Predicate::And(terms) => terms,
            other => std::slice::from_ref(other),
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Predicate::Constant(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Predicate::Leaf(leaf) => leaf.fmt(f),
            Predicate::And(terms) => join(f, terms, " AND "),
            Predicate::Or(terms) => join(f, terms, " OR "),
        }
    }
}

/// Compound terms are parenthesised even where precedence makes that unnecessary.
fn join(f: &mut fmt::Formatter<'_>, terms: &[Predicate], separator: &str) -> fmt::Result {
    for (index, term) in terms.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { separator })?;
        match term {
            Predicate::And(_) | Predicate::Or(_) => write!(f, "({term})")?,
            _ => write!(f, "{term}")?,
        }
    }
    Ok(())
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let term = &self.term;
        let row = self.operator.row();
        let name = row.name;
        match row.form {
            OperatorForm::Infix => write!(f, "{term} {name} {}", LiteralList(&self.literals, "")),
            OperatorForm::Postfix => write!(f, "{term} {name}"),
            OperatorForm::List => write!(f, "{term} {name} ({})", LiteralList(&self.literals, ", ")),
            OperatorForm::Between => write!(f, "{term} {name} {}", LiteralList(&self.literals, " AND ")),
            OperatorForm::Pattern => write!(f, "{term} {name} {}", LiteralList(&self.literals, " ESCAPE ")),
            OperatorForm::Test => write!(f, "{name}({term})"),
            OperatorForm::Function => write!(f, "{name}({term}, {})", LiteralList(&self.literals, ", ")),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = QuotedText('"', &self.column);
        match &self.transform {
            None => match &self.key {
                None => column.fmt(f),
                Some(key) => write!(f, "{column}[{}]", QuotedText('\'', key)),
            },
            Some(Call { name, parameter: None }) => write!(f, "{name}({column})"),
            Some(Call { name, parameter: Some(parameter) }) => write!(f, "{name}({parameter}, {column})"),
        }
    }
}

impl Literal {
    /// The kind of literal in words, without its value, for messages.
    pub(super) fn kind(&self) -> String {
        let (kind, length) = match self {
            Literal::Null => return "NULL".to_owned(),
            Literal::Boolean(_) => return "a boolean".to_owned(),
            Literal::Number(text) => ("a number", text.len()),
            Literal::String(text) => ("a string", text.chars().count()),
            Literal::Date(text) => ("a date", text.chars().count()),
            Literal::Time(text) => ("a time", text.chars().count()),
            Literal::Timestamp(text) => ("a timestamp", text.chars().count()),
            Literal::Uuid(text) => ("a UUID", text.chars().count()),
            Literal::Binary(bytes) => return format!("{} bytes", bytes.len()),
        };
        format!("{kind} of {length} characters")
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Boolean(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Literal::Number(text) => f.write_str(text),
            Literal::String(text) => QuotedText('\'', text).fmt(f),
            Literal::Date(text) => write!(f, "DATE {}", QuotedText('\'', text)),
            Literal::Time(text) => write!(f, "TIME {}", QuotedText('\'', text)),
            Literal::Timestamp(text) => write!(f, "TIMESTAMP {}", QuotedText('\'', text)),
            Literal::Uuid(text) => write!(f, "UUID {}", QuotedText('\'', text)),
            Literal::Binary(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
        }
    }
}

struct LiteralList<'a>(&'a [Literal], &'static str);

impl fmt::Display for LiteralList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .enumerate()
            .try_for_each(|(index, literal)| write!(f, "{}{literal}", if index == 0 { "" } else { self.1 }))
    }
}

/// A text in quotes, those inside doubled.
pub(super) struct QuotedText<'a>(pub(super) char, pub(super) &'a str);

impl fmt::Display for QuotedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QuotedText(quote, text) = self;
        write!(f, "{quote}")?;
        for (index, part) in text.split(*quote).enumerate() {
            f.write_str(if index == 0 {
                ""
            } else if *quote == '"' {
                "\"\""
            } else {
                "''"
            })?;
            f.write_str(part)?;
        }
        write!(f, "{quote}")
    }
}
