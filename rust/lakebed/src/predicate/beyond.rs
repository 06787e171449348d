//! Comparisons with numbers, dates and timestamps outside of the range of a column, as Iceberg's
//! `UnboundPredicate.java` evaluates them for integers.

use std::cmp::Ordering;

use arrow_schema::DataType;

use super::bind::Logic;
use super::cast::beyond;
use super::expr::{Leaf, Literal, Predicate};
use super::op::Operator;

/// The same test without literals outside of the range of `data_type`; `None` where there are none.
///
/// Floats have infinities and NaN, which are outside too, so a comparison of floats becomes one with an
/// infinity.
pub(super) fn within(leaf: &Leaf, data_type: &DataType, logic: Logic) -> Option<Predicate> {
    let sides: Vec<Option<Ordering>> =
        leaf.literals.iter().map(|literal| beyond(literal, data_type)).collect();
    if sides.iter().all(Option::is_none) || !leaf.operator.is_comparison() {
        return None;
    }
    let never = Predicate::Constant(false);
    // The test that every value passes except null.
    let always = || Predicate::leaf(leaf.term.clone(), Operator::IsNotNull, Vec::new());
    let differs = || if logic == Logic::TwoValued { Predicate::Constant(true) } else { always() };
    let one = |operator| Predicate::leaf(leaf.term.clone(), operator, kept(leaf, &sides));
    Some(match (leaf.operator, sides.as_slice()) {
        (Operator::NotEq, _) => differs(),
        (Operator::NotEqNullSafe, _) => Predicate::Constant(true),
        (Operator::In, _) => one(Operator::In),
        (Operator::NotIn, _) if kept(leaf, &sides).is_empty() => differs(),
        (Operator::NotIn, _) => one(Operator::NotIn),
        (_, sides) if data_type.is_floating() => ordered_floats(leaf, sides, data_type),
        (Operator::Lt | Operator::LtEq, [Some(Ordering::Greater)]) => always(),
        (Operator::Gt | Operator::GtEq, [Some(Ordering::Less)]) => always(),
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

/// For ordering comparisons of floats: there is no value between the greatest float and infinity.
fn ordered_floats(leaf: &Leaf, sides: &[Option<Ordering>], data_type: &DataType) -> Predicate {
    use Operator::{Between, Gt, GtEq, Lt, LtEq, NotBetween};
    let of = |operator, literals| Predicate::leaf(leaf.term.clone(), operator, literals);
    let infinite = |operator, text: &str| of(operator, vec![Literal::String(text.to_owned())]);
    let greatest = || {
        if *data_type == DataType::Float32 { format!("{:e}", f32::MAX) } else { format!("{:e}", f64::MAX) }
    };
    match (leaf.operator, sides, leaf.literals.as_slice()) {
        (Lt | LtEq, [Some(Ordering::Greater)], _) => infinite(Lt, "Infinity"),
        (Gt | GtEq, [Some(Ordering::Greater)], _) => infinite(GtEq, "Infinity"),
        (Lt | LtEq, [Some(Ordering::Less)], _) => infinite(LtEq, "-Infinity"),
        (Gt | GtEq, [Some(Ordering::Less)], _) => infinite(Gt, "-Infinity"),
        // A single test, since of two tests NaN might match one and numbers the other.
        (Between | NotBetween, [low_side, high_side], [low, high]) => {
            let low = match low_side {
                Some(Ordering::Greater) => Literal::String("Infinity".to_owned()),
                Some(_) => Literal::Number(format!("-{}", greatest())),
                None => low.clone(),
            };
            let high = match high_side {
                Some(Ordering::Less) => Literal::String("-Infinity".to_owned()),
                Some(_) => Literal::Number(greatest()),
                None => high.clone(),
            };
            of(leaf.operator, vec![low, high])
        }
        _ => Predicate::Constant(false),
    }
}

/// The literals that are in range.
fn kept(leaf: &Leaf, sides: &[Option<Ordering>]) -> Vec<Literal> {
    let pairs = leaf.literals.iter().zip(sides);
    pairs.filter(|(_, side)| side.is_none()).map(|(literal, _)| literal.clone()).collect()
}
