//! The table of operators: one row has everything about an operator.

use std::cmp::Ordering;

use super::like::LikePattern;
use super::value::Value;

/// An operator between a column and its literals; [`Operator::name`] is its SQL spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is what its name says in SQL")]
pub enum Operator {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    EqNullSafe,
    NotEqNullSafe,
    In,
    NotIn,
    IsNull,
    IsNotNull,
    IsNan,
    IsNotNan,
    StartsWith,
    NotStartsWith,
    Like,
    NotLike,
    Between,
    NotBetween,
}

/// How an operator is written, which also determines how many literals it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperatorForm {
    /// `column NAME literal`.
    Infix,
    /// `column NAME`.
    Postfix,
    /// `column NAME (literal, …)`.
    List,
    /// `column NAME literal AND literal`.
    Between,
    /// `column NAME pattern [ESCAPE character]`.
    Pattern,
    /// `NAME(column)`.
    Test,
    /// `NAME(column, literal)`.
    Function,
}

/// The literals of a bound operator, none of them null: `values` in the written order, but sorted for `IN`
/// and `NOT IN`. For `LIKE` and `NOT LIKE` the pattern, and its prefix as the only value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Operands {
    pub(crate) values: Vec<Value<'static>>,
    pub(super) pattern: Option<LikePattern>,
}

/// What is known of the values of a column that are neither null nor NaN: none is below `lower` or above
/// `upper`; `None` for an unknown bound.
#[derive(Debug, Clone)]
pub(super) struct Range<'a> {
    pub(super) lower: Option<Value<'a>>,
    pub(super) upper: Option<Value<'a>>,
}

pub(super) struct Row {
    pub(super) operator: Operator,
    pub(super) name: &'static str,
    pub(super) form: OperatorForm,
    pub(super) negation: Operator,
    /// Whether a value (`None`: null) certainly matches. A null only matches tests for null.
    pub(super) on_value: fn(Option<&Value<'_>>, &Operands) -> bool,
    /// Whether some value within the range may match. Nulls and NaN are handled separately: see `ranges.rs`.
    pub(super) on_range: fn(&Range<'_>, &Operands) -> bool,
}

impl Operator {
    /// All operators.
    pub fn all() -> impl Iterator<Item = Operator> {
        TABLE.iter().map(|row| row.operator)
    }

    /// The SQL spelling; for a negated function it starts with `NOT`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The operator that matches exactly the non-null values that this one does not match.
    pub fn negation(self) -> Operator {
        self.row().negation
    }

    /// Whether it compares values, rather than testing for null, NaN or a pattern.
    pub(super) fn is_comparison(self) -> bool {
        matches!(self.row().form, OperatorForm::Infix | OperatorForm::List | OperatorForm::Between)
    }

    /// The operator with its sides exchanged: `5 < a` is `a > 5`.
    pub(crate) fn flipped(self) -> Operator {
        match self {
            Operator::Lt => Operator::Gt,
            Operator::LtEq => Operator::GtEq,
            Operator::Gt => Operator::Lt,
            Operator::GtEq => Operator::LtEq,
            symmetric => symmetric,
        }
    }

    pub(super) fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

/// In the order of [`Operator`]. Ranges exclude what Paimon's `LeafFunction` classes exclude.
#[rustfmt::skip]
static TABLE: [Row; 20] = {
    use Operator::*;
    [
        Row { operator: Eq, name: "=", form: OperatorForm::Infix, negation: NotEq,
              on_value: |v, o| compare(v, o, Ordering::is_eq), on_range: may_equal },
        Row { operator: NotEq, name: "<>", form: OperatorForm::Infix, negation: Eq,
              on_value: |v, o| compare(v, o, Ordering::is_ne), on_range: may_differ },
        Row { operator: Lt, name: "<", form: OperatorForm::Infix, negation: GtEq,
              on_value: |v, o| compare(v, o, Ordering::is_lt), on_range: |r, o| any(o, |l| r.below(l)) },
        Row { operator: LtEq, name: "<=", form: OperatorForm::Infix, negation: Gt,
              on_value: |v, o| compare(v, o, Ordering::is_le), on_range: |r, o| any(o, |l| r.at_most(l)) },
        Row { operator: Gt, name: ">", form: OperatorForm::Infix, negation: LtEq,
              on_value: |v, o| compare(v, o, Ordering::is_gt), on_range: |r, o| any(o, |l| r.above(l)) },
        Row { operator: GtEq, name: ">=", form: OperatorForm::Infix, negation: Lt,
              on_value: |v, o| compare(v, o, Ordering::is_ge), on_range: |r, o| any(o, |l| r.at_least(l)) },
        Row { operator: EqNullSafe, name: "<=>", form: OperatorForm::Infix, negation: NotEqNullSafe,
              on_value: |v, o| compare(v, o, Ordering::is_eq), on_range: may_equal },
        Row { operator: NotEqNullSafe, name: "IS DISTINCT FROM", form: OperatorForm::Infix, negation: EqNullSafe,
              on_value: |v, o| v.is_none() || compare(v, o, Ordering::is_ne), on_range: may_differ },
        Row { operator: In, name: "IN", form: OperatorForm::List, negation: NotIn,
              on_value: |v, o| v.is_some_and(|v| o.contains(v)), on_range: may_be_in },
        Row { operator: NotIn, name: "NOT IN", form: OperatorForm::List, negation: In,
              on_value: |v, o| v.is_some_and(|v| !o.contains(v)), on_range: may_differ },
        Row { operator: IsNull, name: "IS NULL", form: OperatorForm::Postfix, negation: IsNotNull,
              on_value: |v, _| v.is_none(), on_range: |_, _| false },
        Row { operator: IsNotNull, name: "IS NOT NULL", form: OperatorForm::Postfix, negation: IsNull,
              on_value: |v, _| v.is_some(), on_range: |_, _| true },
        Row { operator: IsNan, name: "is_nan", form: OperatorForm::Test, negation: IsNotNan,
              on_value: |v, _| v.is_some_and(Value::is_nan), on_range: |_, _| false },
        Row { operator: IsNotNan, name: "NOT is_nan", form: OperatorForm::Test, negation: IsNan,
              on_value: |v, _| v.is_some_and(|v| !v.is_nan()), on_range: |_, _| true },
        Row { operator: StartsWith, name: "starts_with", form: OperatorForm::Function, negation: NotStartsWith,
              on_value: |v, o| v.is_some_and(|v| any(o, |p| v.starts_with(p))), on_range: may_start_with },
        Row { operator: NotStartsWith, name: "NOT starts_with", form: OperatorForm::Function, negation: StartsWith,
              on_value: |v, o| v.is_some_and(|v| any(o, |p| !v.starts_with(p))), on_range: may_start_otherwise },
        Row { operator: Like, name: "LIKE", form: OperatorForm::Pattern, negation: NotLike,
              on_value: |v, o| like(v, o) == Some(true), on_range: may_start_with },
        Row { operator: NotLike, name: "NOT LIKE", form: OperatorForm::Pattern, negation: Like,
              on_value: |v, o| like(v, o) == Some(false), on_range: may_be_unlike },
        Row { operator: Between, name: "BETWEEN", form: OperatorForm::Between, negation: NotBetween,
              on_value: |v, o| between(v, o) == Some(true),
              on_range: |r, o| o.low_high().is_some_and(|(low, high)| r.at_least(low) && r.at_most(high)) },
        Row { operator: NotBetween, name: "NOT BETWEEN", form: OperatorForm::Between, negation: Between,
              on_value: |v, o| between(v, o) == Some(false),
              on_range: |r, o| o.low_high().is_some_and(|(low, high)| r.below(low) || r.above(high)) },
    ]
};

impl Operands {
    /// Membership, for values sorted at binding.
    fn contains(&self, value: &Value<'_>) -> bool {
        self.values.binary_search_by(|literal| literal.cmp(value)).is_ok()
    }

    /// Whether a pattern only tests the prefix of a text.
    pub(crate) fn ask_for_prefix(&self) -> bool {
        self.pattern.as_ref().is_some_and(|pattern| pattern.prefix().1)
    }

    fn low_high(&self) -> Option<(&Value<'static>, &Value<'static>)> {
        self.values.first().zip(self.values.get(1))
    }
}

impl Range<'_> {
    fn below(&self, literal: &Value<'_>) -> bool {
        self.lower.as_ref().is_none_or(|lower| lower < literal)
    }

    fn at_most(&self, literal: &Value<'_>) -> bool {
        self.lower.as_ref().is_none_or(|lower| lower <= literal)
    }

    fn above(&self, literal: &Value<'_>) -> bool {
        self.upper.as_ref().is_none_or(|upper| upper > literal)
    }

    fn at_least(&self, literal: &Value<'_>) -> bool {
        self.upper.as_ref().is_none_or(|upper| upper >= literal)
    }

    /// The only possible value, where both bounds are equal.
    fn single(&self) -> Option<&Value<'_>> {
        self.lower.as_ref().filter(|lower| self.upper.as_ref() == Some(lower))
    }
}

/// Tests the first literal, which is the only one for most operators.
fn any(operands: &Operands, test: impl Fn(&Value<'static>) -> bool) -> bool {
    operands.values.first().is_some_and(test)
}

fn compare(value: Option<&Value<'_>>, operands: &Operands, accepts: fn(Ordering) -> bool) -> bool {
    value.is_some_and(|value| any(operands, |literal| accepts(value.cmp(literal))))
}

fn between(value: Option<&Value<'_>>, operands: &Operands) -> Option<bool> {
    let (low, high) = operands.low_high()?;
    value.map(|value| low <= value && value <= high)
}

fn like(value: Option<&Value<'_>>, operands: &Operands) -> Option<bool> {
    Some(operands.pattern.as_ref()?.matches(value?.as_bytes()?))
}

fn may_equal(range: &Range<'_>, operands: &Operands) -> bool {
    any(operands, |literal| range.at_most(literal) && range.at_least(literal))
}

/// For `<>` and `NOT IN`: a single possible value must not be among the literals.
fn may_differ(range: &Range<'_>, operands: &Operands) -> bool {
    range.single().is_none_or(|value| !operands.contains(value))
}

fn may_be_in(range: &Range<'_>, operands: &Operands) -> bool {
    let first = operands.values.partition_point(|literal| !range.at_most(literal));
    operands.values.get(first).is_some_and(|literal| range.at_least(literal))
}

fn may_start_with(range: &Range<'_>, operands: &Operands) -> bool {
    any(operands, |prefix| {
        let lower = range.lower.as_ref().is_none_or(|lower| lower <= prefix || lower.starts_with(prefix));
        let upper = range.upper.as_ref().is_none_or(|upper| upper >= prefix);
        lower && upper
    })
}

/// Only for a pattern that is just a prefix, all values between two matches match too.
fn may_be_unlike(range: &Range<'_>, operands: &Operands) -> bool {
    !operands.ask_for_prefix() || may_start_otherwise(range, operands)
}

/// All values between two texts with a prefix have that prefix too.
fn may_start_otherwise(range: &Range<'_>, operands: &Operands) -> bool {
    any(operands, |prefix| match (&range.lower, &range.upper) {
        (Some(lower), Some(upper)) => !(lower.starts_with(prefix) && upper.starts_with(prefix)),
        _ => true,
    })
}
