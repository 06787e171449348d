//! Evaluates bound predicates on what is known of groups of rows, such as those of a manifest or a file.
//!
//! In both formats NaN is larger than any other value and equal to itself, as in Java (`Double.compare`) and
//! Spark. Bounds do not include NaN, since writers leave it out. So groups that may hold NaN are kept by all
//! tests that NaN matches: `>`, `>=`, `<>`, `NOT IN`, `NOT BETWEEN`, and comparisons with NaN itself.
//! Iceberg's `InclusiveMetricsEvaluator.java` and `ManifestEvaluator.java` only use bounds for `>` and `>=`:
//! files that they drop although they may have NaN are kept here, because such rows match by Iceberg's own
//! `Evaluator.java`.
//!
//! Whether a group must match is a stricter question, since commits remove the files of which the answer is
//! yes. Rows on which engines disagree do not count as matching:
//! - NaN: for some engines it is the greatest value, for others it is not comparable. It only certainly
//!   matches `is_nan`, `IS NOT NULL`, and `<>` and its kin for literals other than NaN; nothing is certain of an
//!   order beside a literal NaN. A float column whose NaN are not counted may have some, whatever its bounds.
//! - Null: as the predicate's [`Logic`] says. A column whose nulls are not counted may have some, unless it
//!   is required.
//! - Fields of structs, lists and maps: their metrics do not tell how many rows have no such field, so nothing
//!   is certain of them, as in Iceberg's `StrictMetricsEvaluator.java`.

use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::bind::{BoundLeaf, BoundPredicate, Logic};
use super::evaluate::{checked, mismatch, walk};
use super::op::{Operator, Range};
use super::value::{Reader, Value};
use crate::error::Result;

/// What is known of one column in each group.
#[derive(Debug, Clone)]
pub struct ColumnRanges {
    /// A lower bound, in the column's type; null where unknown.
    pub lower: ArrayRef,
    /// An upper bound, in the column's type; null where unknown.
    pub upper: ArrayRef,
    /// Which kinds of values it may hold.
    pub contents: Contents,
}

/// Whether each group may hold nulls, NaN, and values that are neither.
#[derive(Debug, Clone)]
pub struct Contents {
    nulls: BooleanBuffer,
    nans: BooleanBuffer,
    values: BooleanBuffer,
}

/// Counts of values in each group; null or `None` where unknown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts<'a> {
    /// All values, including nulls and NaN.
    pub values: Option<&'a Int64Array>,
    /// Nulls.
    pub nulls: Option<&'a Int64Array>,
    /// NaN.
    pub nans: Option<&'a Int64Array>,
}

impl Contents {
    /// The contents of groups of which nothing is known.
    pub fn unknown(groups: usize) -> Contents {
        Contents::new(groups, |_| [true; 3])
    }

    /// `of` tells for each group whether it may hold nulls, NaN and other values.
    pub fn new(groups: usize, of: impl Fn(usize) -> [bool; 3]) -> Contents {
        let bits = |which: usize| BooleanBuffer::collect_bool(groups, |group| of(group)[which]);
        Contents { nulls: bits(0), nans: bits(1), values: bits(2) }
    }

    /// From counts; negative and contradictory counts are ignored.
    ///
    /// Columns that are not floats have no NaN, whether NaN are counted or not.
    pub fn from_counts(groups: usize, counts: Counts<'_>) -> Contents {
        Contents::new(groups, |group| {
            let count = |counts: Option<&Int64Array>| known(counts, group);
            let (values, nulls, nans) = (count(counts.values), count(counts.nulls), count(counts.nans));
            let least = nulls.unwrap_or(0).saturating_add(nans.unwrap_or(0));
            if values.is_some_and(|values| least > values) {
                return [true; 3];
            }
            let left = values.is_none_or(|values| least < values);
            // Values counted neither as null nor as NaN may be either, if that is not counted.
            [nulls.map_or(left, |nulls| nulls > 0), nans.map_or(left, |nans| nans > 0), left]
        })
    }
}

/// A count; `None` where it is unknown.
fn known(counts: Option<&Int64Array>, group: usize) -> Option<i64> {
    let counts = counts.filter(|counts| counts.is_valid(group))?;
    Some(counts.value(group)).filter(|count| *count >= 0)
}

impl BoundPredicate {
    /// False for each group in which no row can match; true where a row may match or too little is known.
    ///
    /// `columns` are indexed by the numbers of the columns to which it was bound; `None`, or a missing one,
    /// for an unknown column. Contradictory bounds are unknown. A single bound is used even if the other is
    /// unknown.
    ///
    /// Errors: [`ErrorKind::Argument`](crate::error::ErrorKind::Argument) for an array of another type or length.
    /// Source: Paimon's `LeafPredicate.test(rowCount, min, max, nullCount)`, more precise for null tests;
    /// Iceberg's `InclusiveMetricsEvaluator.java`.
    pub fn may_match(&self, columns: &[Option<ColumnRanges>], groups: usize) -> Result<BooleanBuffer> {
        self.over_ranges(columns, groups, true, BoundLeaf::may_match)
    }

    /// True for each group in which every row certainly matches; false where a row may not match, where
    /// engines disagree on a row, or where too little is known. Groups without rows match.
    ///
    /// `columns` and errors are those of [`BoundPredicate::may_match`]; columns nested in others must be
    /// unknown.
    ///
    /// Source: Iceberg's `StrictMetricsEvaluator.java`.
    pub fn must_match(&self, columns: &[Option<ColumnRanges>], groups: usize) -> Result<BooleanBuffer> {
        self.over_ranges(columns, groups, false, BoundLeaf::must_match)
    }

    fn over_ranges(
        &self,
        columns: &[Option<ColumnRanges>],
        groups: usize,
        unknown: bool,
        answer: fn(&BoundLeaf, &Group<'_>) -> bool,
    ) -> Result<BooleanBuffer> {
        walk(&self.node, groups, &|leaf| {
            let Some(Some(ranges)) = columns.get(leaf.column.index) else {
                return Ok(BooleanBuffer::collect_bool(groups, |_| unknown));
            };
            let known = LeafRange::new(leaf, ranges, groups)?;
            Ok(BooleanBuffer::collect_bool(groups, |group| answer(leaf, &known.group(leaf, group))))
        })
    }
}

/// The ranges of one leaf's column, ready to be compared.
struct LeafRange<'a> {
    lower: Reader<'a>,
    upper: Reader<'a>,
    contents: &'a Contents,
}

impl<'a> LeafRange<'a> {
    fn new(leaf: &BoundLeaf, ranges: &'a ColumnRanges, groups: usize) -> Result<LeafRange<'a>> {
        let contents = &ranges.contents;
        if contents.values.len() != groups {
            return Err(mismatch(leaf, "counts differ in number from the groups"));
        }
        let lower = checked(leaf, &ranges.lower, groups)?;
        Ok(LeafRange { lower, upper: checked(leaf, &ranges.upper, groups)?, contents })
    }

    fn group(&self, leaf: &BoundLeaf, group: usize) -> Group<'a> {
        let column = &leaf.column;
        let is_float = matches!(column.data_type, DataType::Float32 | DataType::Float64);
        let values = self.contents.values.value(group);
        Group {
            nulls: !column.required && self.contents.nulls.value(group),
            nans: is_float && self.contents.nans.value(group),
            range: values.then(|| trusted(self.lower.get(group), self.upper.get(group), leaf.logic)),
        }
    }
}

/// The possible contents of one group: nulls, NaN, values within a range.
struct Group<'a> {
    nulls: bool,
    nans: bool,
    range: Option<Range<'a>>,
}

impl BoundLeaf {
    fn may_match(&self, group: &Group<'_>) -> bool {
        let on_range = self.operator.row().on_range;
        (group.nulls && self.matches_null())
            || (group.nans && self.matches_nan())
            || group.range.as_ref().is_some_and(|range| on_range(range, &self.operands))
    }

    fn must_match(&self, group: &Group<'_>) -> bool {
        if self.is_beside_nan() {
            return false;
        }
        let may_fail = self.operator.negation().row().on_range;
        !(group.nulls && !self.matches_null()
            || group.nans && !self.surely_matches_nan()
            || group.range.as_ref().is_some_and(|range| may_fail(range, &self.operands)))
    }

    /// Whether NaN matches, as it does in rows.
    fn matches_nan(&self) -> bool {
        self.matches(Some(Value::Float(f64::NAN)))
    }

    /// Whether NaN matches in every engine.
    fn surely_matches_nan(&self) -> bool {
        use Operator::{IsNan, IsNotNull, NotEq, NotEqNullSafe, NotIn};
        matches!(self.operator, IsNan | IsNotNull | NotEq | NotEqNullSafe | NotIn) && self.matches_nan()
    }

    /// Whether a value (`None`: null) matches in every engine.
    pub(super) fn surely_matches(&self, value: Option<Value<'_>>) -> bool {
        match value {
            Some(_) if self.is_beside_nan() => false,
            Some(value) if value.is_nan() => self.surely_matches_nan(),
            value => self.matches(value),
        }
    }

    /// Whether values are compared with NaN by order, which not all engines do.
    fn is_beside_nan(&self) -> bool {
        use Operator::{Between, Gt, GtEq, Lt, LtEq, NotBetween};
        matches!(self.operator, Lt | LtEq | Gt | GtEq | Between | NotBetween)
            && self.operands.values.iter().any(Value::is_nan)
    }
}

/// The bounds that can be relied on: without NaN (as a lower bound it makes the upper one useless), not
/// crossed, and without the sign of zero, which writers that compare floats as numbers lose.
fn trusted<'a>(lower: Option<Value<'a>>, upper: Option<Value<'a>>, logic: Logic) -> Range<'a> {
    let upper = upper.filter(|upper| !upper.is_nan());
    let crossed = lower.as_ref().zip(upper.as_ref()).is_some_and(|(lower, upper)| lower > upper);
    if crossed || lower.as_ref().is_some_and(Value::is_nan) {
        return Range { lower: None, upper: None };
    }
    let least_zero = if logic.has_one_zero() { 0.0 } else { -0.0 };
    let with_zero = |bound: Option<Value<'a>>, zero: f64| {
        bound.map(|bound| match bound {
            Value::Float(0.0) => Value::Float(zero),
            other => other,
        })
    };
    Range { lower: with_zero(lower, least_zero), upper: with_zero(upper, 0.0) }
}
