//! Projects filters on rows to filters on partition tuples (Iceberg's `Projections.java`,
//! `ProjectionUtil.java`).
//!
//! An inclusive projection matches every tuple with rows that may match; a strict projection only tuples
//! whose rows all match.

use std::cmp::Ordering;

use super::bind::{ColumnSource, RowFilter, column};
use super::transformed::{lowest, lowest_of_all, neighbour, transformed};
use crate::error::Result;
use crate::iceberg::partition::{PartitionSpec, PartitionType};
use crate::iceberg::transform::Transform;
use crate::iceberg::types::Type;
use crate::predicate::{BoundLeaf, BoundPredicate, Column, Node, Operator, Value};

/// The kinds of projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Matches all tuples with rows that may match.
    Inclusive,
    /// Matches only tuples whose rows all match.
    Strict,
}

impl Mode {
    /// The projection, or where there is none the constant that excludes nothing (inclusive) or everything
    /// (strict).
    fn or_nothing(self, projection: Option<Node>) -> Node {
        projection.unwrap_or(Node::Constant(self == Mode::Inclusive))
    }

    /// Joins the projections on several partition fields of one column.
    fn join(self, projections: impl IntoIterator<Item = Node>) -> Node {
        match self {
            Mode::Inclusive => Node::and(projections),
            Mode::Strict => Node::or(projections),
        }
    }
}

/// The filter on the tuples of `spec`, bound to the positions of fields in `partition`, the type in which
/// tuples are shown.
///
/// A part that cannot be projected has no effect; it is not an error.
///
/// # Errors
/// Those of walking the filter, which has none.
pub fn project(
    filter: &RowFilter,
    spec: &PartitionSpec,
    partition: &PartitionType,
    mode: Mode,
) -> Result<BoundPredicate> {
    let projector = Projector { filter, spec, partition, mode };
    let node = filter.predicate.node.map_leaves(&mut |leaf| Ok(projector.leaf(leaf)))?;
    Ok(BoundPredicate::new(node))
}

struct Projector<'a> {
    filter: &'a RowFilter,
    spec: &'a PartitionSpec,
    partition: &'a PartitionType,
    mode: Mode,
}

impl Projector<'_> {
    fn leaf(&self, leaf: &BoundLeaf) -> Node {
        match self.filter.source(leaf.column.index) {
            Some(ColumnSource::Partition(position))
                if self.partition.position_in(*position, self.spec).is_some() =>
            {
                Node::Leaf(leaf.on(self.column(*position)))
            }
            // In tuples of this spec it is null.
            Some(ColumnSource::Partition(_)) => Node::Constant(leaf.matches(None)),
            Some(ColumnSource::Column(field, called)) => {
                let projections = (0..self.partition.fields.len()).filter_map(|position| {
                    let place = self.partition.position_in(position, self.spec)?;
                    let own = self.spec.fields.get(place)?;
                    let column = self.column(position);
                    match called {
                        _ if own.source_ids != [field.id] => None,
                        called if *called == own.transform => Some(Node::Leaf(leaf.on(column))),
                        Transform::Identity => {
                            let target = Target { transform: &own.transform, source: &field.ty, column };
                            target.project(leaf, self.mode)
                        }
                        _ => None,
                    }
                });
                self.mode.join(projections)
            }
            None => self.mode.join([]),
        }
    }

    fn column(&self, position: usize) -> Column {
        let ty = self.partition.fields.get(position).map_or(&Type::Unknown, |unified| &unified.ty);
        column(position, ty)
    }
}

/// A partition field with the results of a transform, other than identity, of a column.
struct Target<'a> {
    transform: &'a Transform,
    source: &'a Type,
    column: Column,
}

impl Target<'_> {
    /// The projection of `leaf`, which tests the column itself; `None` where there is none.
    fn project(&self, leaf: &BoundLeaf, mode: Mode) -> Option<Node> {
        use Operator::{
            Between, Eq, EqNullSafe, Gt, GtEq, In, IsNotNull, IsNull, Like, Lt, LtEq, NotBetween, NotEq,
            NotEqNullSafe, NotIn, NotLike, NotStartsWith, StartsWith,
        };
        if matches!(self.transform, Transform::Void | Transform::Unknown(_)) {
            return None;
        }
        let values = leaf.operands.values.as_slice();
        match (leaf.operator, values) {
            (IsNull | IsNotNull, _) => Some(self.leaf(leaf, leaf.operator, Vec::new())),
            (Between, [low, high]) => {
                let terms = [self.ordered(leaf, GtEq, low, mode), self.ordered(leaf, LtEq, high, mode)];
                Some(Node::and(terms.map(|term| mode.or_nothing(term))))
            }
            (NotBetween, [low, high]) => {
                let terms = [self.ordered(leaf, Lt, low, mode), self.ordered(leaf, Gt, high, mode)];
                Some(Node::or(terms.map(|term| mode.or_nothing(term))))
            }
            (Lt | LtEq | Gt | GtEq, [value]) => self.ordered(leaf, leaf.operator, value, mode),
            (Eq | EqNullSafe | In, values) if mode == Mode::Inclusive => self.among(leaf, In, values),
            (NotEq | NotEqNullSafe | NotIn, values) if mode == Mode::Strict => {
                self.among(leaf, NotIn, values)
            }
            (StartsWith | NotStartsWith, [prefix]) => self.prefixed(leaf, leaf.operator, prefix, mode),
            // A text that matches a pattern has the pattern's prefix; the prefix alone decides if the pattern
            // has nothing else.
            (Like, [prefix]) if mode == Mode::Inclusive || leaf.operands.ask_for_prefix() => {
                self.prefixed(leaf, StartsWith, prefix, mode)
            }
            (NotLike, [prefix]) if mode == Mode::Strict || leaf.operands.ask_for_prefix() => {
                self.prefixed(leaf, NotStartsWith, prefix, mode)
            }
            _ => None,
        }
    }

    /// For a comparison: below a value means at most the result for that value. Projections with a lower
    /// bound, and strict ones with an upper bound, also allow for periods that are one too low.
    fn ordered(
        &self,
        leaf: &BoundLeaf,
        operator: Operator,
        value: &Value<'static>,
        mode: Mode,
    ) -> Option<Node> {
        use Operator::{Gt, GtEq, Lt, LtEq};
        let (step, projected) = match (mode, operator) {
            (Mode::Inclusive, Lt) => (-1, LtEq),
            (Mode::Inclusive, LtEq) => (0, LtEq),
            (Mode::Inclusive, Gt) => (1, GtEq),
            (Mode::Inclusive, GtEq) => (0, GtEq),
            (Mode::Strict, Lt) => (0, Lt),
            (Mode::Strict, LtEq) => (1, Lt),
            (Mode::Strict, Gt) => (0, Gt),
            (Mode::Strict, GtEq) => (-1, Gt),
            _ => return None,
        };
        let is_text = matches!(self.source, Type::String | Type::Binary);
        let edge = match step {
            _ if matches!(self.transform, Transform::Bucket(_)) => return None,
            0 => value.clone(),
            _ if is_text => value.clone(),
            step => match neighbour(value, step, self.source) {
                Some(edge) => edge,
                // After the last value of the type there is none; every value is before it.
                None if mode == Mode::Inclusive => return Some(Node::Constant(false)),
                None => return Some(self.leaf(leaf, Operator::IsNotNull, Vec::new())),
            },
        };
        let mut values = match projected {
            GtEq | Lt => vec![lowest_of_all(self.transform, &edge, self.source)?],
            _ => transformed(self.transform, &[edge], self.source)?,
        };
        let may_be_one_too_high = match (projected, values.as_slice()) {
            (LtEq, [Value::Int(period)]) => *period < 0,
            (Gt, [Value::Int(period)]) => *period <= 0,
            _ => false,
        };
        if let (true, Some(Value::Int(period))) =
            (self.is_widened() && may_be_one_too_high, values.first_mut())
        {
            *period += 1;
        }
        Some(self.leaf(leaf, projected, values))
    }

    /// For `IN` and `NOT IN`.
    fn among(&self, leaf: &BoundLeaf, operator: Operator, values: &[Value<'static>]) -> Option<Node> {
        let mut periods = transformed(self.transform, values, self.source)?;
        if self.is_widened() {
            let negative = periods.iter().filter_map(|value| match value {
                Value::Int(period) if *period < 0 => Some(Value::Int(period + 1)),
                _ => None,
            });
            let too_high: Vec<_> = negative.collect();
            let too_low = values.iter().map(|value| lowest(self.transform, value, self.source));
            periods.extend(too_low.collect::<Option<Vec<_>>>()?);
            periods.extend(too_high);
        }
        Some(self.leaf(leaf, operator, periods))
    }

    /// For a prefix test or its negation: decided where truncation keeps at least the prefix.
    fn prefixed(
        &self,
        leaf: &BoundLeaf,
        operator: Operator,
        prefix: &Value<'static>,
        mode: Mode,
    ) -> Option<Node> {
        let Transform::Truncate(width) = self.transform else { return None };
        let bytes = prefix.as_bytes()?;
        let units = match self.source {
            Type::String => std::str::from_utf8(bytes).ok()?.chars().count(),
            _ => bytes.len(),
        };
        let begins = operator == Operator::StartsWith;
        match units.cmp(&usize::try_from(*width).ok()?) {
            Ordering::Less => Some(self.leaf(leaf, operator, vec![prefix.clone()])),
            Ordering::Equal => {
                let equal = if begins { Operator::Eq } else { Operator::NotEq };
                Some(self.leaf(leaf, equal, vec![prefix.clone()]))
            }
            Ordering::Greater if begins == (mode == Mode::Inclusive) => {
                let kept = transformed(self.transform, std::slice::from_ref(prefix), self.source)?;
                Some(self.leaf(leaf, operator, kept))
            }
            Ordering::Greater => None,
        }
    }

    /// Whether periods before 1970 may be one too high, as Iceberg's Java library wrote them before 0.11:
    /// those of timestamps, and the years and months of dates (`ProjectionUtil.java`). It still writes some
    /// periods of timestamps one too low: see [`lowest`].
    fn is_widened(&self) -> bool {
        match self.transform {
            Transform::Year | Transform::Month => true,
            Transform::Day | Transform::Hour => *self.source != Type::Date,
            _ => false,
        }
    }

    fn leaf(&self, leaf: &BoundLeaf, operator: Operator, values: Vec<Value<'static>>) -> Node {
        Node::Leaf(leaf.with(operator, self.column.clone(), values))
    }
}
