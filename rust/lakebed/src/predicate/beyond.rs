//! Whole numbers that no value of an integer column can reach: what a comparison with them comes to, as
//! Iceberg's `UnboundPredicate.java` has it.

use std::cmp::Ordering;

use arrow_schema::DataType;

use super::bind::Logic;
use super::cast::beyond;
use super::expr::{Leaf, Predicate};
use super::op::Operator;

/// The same test without literals beyond the values of `data_type`; `None` where there are none.
pub(super) fn within(leaf: &Leaf, data_type: &DataType, logic: Logic) -> Option<Predicate> {
    let sides: Vec<Option<Ordering>> =
        leaf.literals.iter().map(|literal| beyond(literal, data_type)).collect();
    if sides.iter().all(Option::is_none) {
        return None;
    }
    let never = Predicate::Constant(false);
    // What every value satisfies; null is another matter.
    let always = || Predicate::leaf(leaf.term.clone(), Operator::IsNotNull, Vec::new());
    let differs = || if logic == Logic::TwoValued { Predicate::Constant(true) } else { always() };
    let one = |operator| Predicate::leaf(leaf.term.clone(), operator, kept(leaf, &sides));
    Some(match (leaf.operator, sides.as_slice()) {
        (Operator::NotEq, _) => differs(),
        (Operator::NotEqNullSafe, _) => Predicate::Constant(true),
        (Operator::Lt | Operator::LtEq, [Some(Ordering::Greater)]) => always(),
        (Operator::Gt | Operator::GtEq, [Some(Ordering::Less)]) => always(),
        (Operator::In, _) => one(Operator::In),
        (Operator::NotIn, _) if kept(leaf, &sides).is_empty() => differs(),
        (Operator::NotIn, _) => one(Operator::NotIn),
        (Operator::Between, [Some(Ordering::Less), Some(Ordering::Greater)]) => always(),
        (Operator::Between, [Some(Ordering::Less), None]) => one(Operator::LtEq),
        (Operator::Between, [None, Some(Ordering::Greater)]) => one(Operator::GtEq),
        (Operator::NotBetween, [Some(Ordering::Less), Some(Ordering::Greater)]) => never,
        (Operator::NotBetween, [Some(Ordering::Less), None]) => one(Operator::Gt),
        (Operator::NotBetween, [None, Some(Ordering::Greater)]) => one(Operator::Lt),
        (Operator::NotBetween, _) => always(),
        _ => never,
    })
}

/// The literals that are within.
fn kept(leaf: &Leaf, sides: &[Option<Ordering>]) -> Vec<super::Literal> {
    let pairs = leaf.literals.iter().zip(sides);
    pairs.filter(|(_, side)| side.is_none()).map(|(literal, _)| literal.clone()).collect()
}
