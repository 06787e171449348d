//! Bound predicates on rows and on ranges of rows.

use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::bind::{BoundLeaf, BoundPredicate, Node};
use super::op::Range;
use super::value::{Column, Value};
use crate::error::{Error, ErrorKind, Result};

/// What is known of groups of rows (the rows of a manifest, of a file), one row a group.
#[derive(Debug, Clone)]
pub struct Ranges<'a> {
    /// Rows in each group; null or absent where unknown.
    pub row_counts: Option<&'a Int64Array>,
    /// By the number of the schema's field; absent where nothing is known of a column.
    pub columns: &'a [Option<ColumnRanges>],
}

/// What is known of one column in each group.
#[derive(Debug, Clone)]
pub struct ColumnRanges {
    /// No value is less; the column's type, null where unknown.
    pub lower: ArrayRef,
    /// No value is greater; the column's type, null where unknown.
    pub upper: ArrayRef,
    /// Nulls in each group; null or absent where unknown.
    pub null_counts: Option<Int64Array>,
}

impl BoundPredicate {
    /// True for each row that surely matches. What is not true under SQL's three-valued logic, false or
    /// unknown, is false.
    ///
    /// `columns`: by number, as in the schema bound to; those not in [`BoundPredicate::columns`] are not
    /// looked at, nor need arrays be there for numbers after the last one read.
    ///
    /// Errors: [`ErrorKind::Argument`] for an array missing or of another type or length.
    /// Cost: one pass over the columns read, `O(log n)` a row for `IN` of n literals; no allocation a row.
    pub fn evaluate(&self, columns: &[ArrayRef], row_count: usize) -> Result<BooleanBuffer> {
        walk(&self.node, row_count, &|leaf| {
            let array = columns.get(leaf.column).ok_or_else(|| missing(leaf))?;
            let column = checked(leaf, array, row_count)?;
            let on_value = leaf.operator.row().on_value;
            Ok(BooleanBuffer::collect_bool(row_count, |row| {
                on_value(column.get(row).as_ref(), &leaf.operands)
            }))
        })
    }

    /// False for each group in which no row can match; true where one may, or too little is known.
    ///
    /// Contradictory counts or bounds count as unknown. A bound of a group is used even where the other is
    /// unknown. NaN may hide in any group of a float column, whatever its bounds: writers leave it out.
    ///
    /// Errors: [`ErrorKind::Argument`] for an array of another type or length.
    /// Source: Paimon's `LeafPredicate.test(rowCount, min, max, nullCount)`, more precise for null tests.
    pub fn may_match(&self, ranges: &Ranges<'_>, group_count: usize) -> Result<BooleanBuffer> {
        if ranges.row_counts.is_some_and(|counts| counts.len() != group_count) {
            return Err(Error::new(ErrorKind::Argument, "row counts differ in number from the groups"));
        }
        walk(&self.node, group_count, &|leaf| {
            let Some(Some(known)) = ranges.columns.get(leaf.column) else {
                return Ok(BooleanBuffer::new_set(group_count));
            };
            let lower = checked(leaf, &known.lower, group_count)?;
            let upper = checked(leaf, &known.upper, group_count)?;
            let nulls = known.null_counts.as_ref();
            if nulls.is_some_and(|counts| counts.len() != group_count) {
                return Err(mismatch(leaf, "null counts differ in number from the groups"));
            }
            Ok(BooleanBuffer::collect_bool(group_count, |group| {
                let counts = Counts::new(get(ranges.row_counts, group), get(nulls, group));
                leaf.may_match(counts, lower.get(group), upper.get(group))
            }))
        })
    }
}

/// Evaluates leaves and joins them; later terms are left out once the earlier ones decide every row.
fn walk(
    node: &Node,
    length: usize,
    on_leaf: &impl Fn(&BoundLeaf) -> Result<BooleanBuffer>,
) -> Result<BooleanBuffer> {
    match node {
        Node::Constant(true) => Ok(BooleanBuffer::new_set(length)),
        Node::Constant(false) => Ok(BooleanBuffer::new_unset(length)),
        Node::Leaf(leaf) => on_leaf(leaf),
        Node::And(terms) => {
            let mut all = BooleanBuffer::new_set(length);
            for term in terms {
                if all.count_set_bits() == 0 {
                    break;
                }
                all = &all & &walk(term, length, on_leaf)?;
            }
            Ok(all)
        }
        Node::Or(terms) => {
            let mut any = BooleanBuffer::new_unset(length);
            for term in terms {
                if any.count_set_bits() == length {
                    break;
                }
                any = &any | &walk(term, length, on_leaf)?;
            }
            Ok(any)
        }
    }
}

/// Whether a group may hold nulls, and values that are not null.
struct Counts {
    nulls: bool,
    values: bool,
}

impl Counts {
    /// Counts that contradict each other say nothing.
    fn new(rows: Option<i64>, nulls: Option<i64>) -> Counts {
        match (rows, nulls) {
            (Some(rows), Some(nulls)) if (0..=rows).contains(&nulls) => {
                Counts { nulls: nulls > 0, values: nulls < rows }
            }
            (None, Some(0)) => Counts { nulls: false, values: true },
            _ => Counts { nulls: true, values: true },
        }
    }
}

impl BoundLeaf {
    fn may_match(&self, counts: Counts, lower: Option<Value<'_>>, upper: Option<Value<'_>>) -> bool {
        let row = self.operator.row();
        let on_nulls = || counts.nulls && (row.on_value)(None, &self.operands);
        let on_values = || counts.values && (row.on_range)(&trusted(lower, upper), &self.operands);
        let on_nan = || {
            let is_float = matches!(self.data_type, DataType::Float32 | DataType::Float64);
            is_float && counts.values && (row.on_value)(Some(&Value::Float(f64::NAN)), &self.operands)
        };
        on_nulls() || on_values() || on_nan()
    }
}

/// The bounds that can be relied on: not NaN, not crossed, and around zero not by its sign, which writers
/// that compare floats as numbers lose.
fn trusted<'a>(lower: Option<Value<'a>>, upper: Option<Value<'a>>) -> Range<'a> {
    let crossed = lower.as_ref().zip(upper.as_ref()).is_some_and(|(lower, upper)| lower > upper);
    if crossed || [&lower, &upper].into_iter().flatten().any(Value::is_nan) {
        return Range { lower: None, upper: None };
    }
    let with_zero = |bound: Option<Value<'a>>, zero: f64| {
        bound.map(|bound| match bound {
            Value::Float(0.0) => Value::Float(zero),
            other => other,
        })
    };
    Range { lower: with_zero(lower, -0.0), upper: with_zero(upper, 0.0) }
}

fn get(counts: Option<&Int64Array>, row: usize) -> Option<i64> {
    counts.filter(|counts| counts.is_valid(row)).map(|counts| counts.value(row))
}

fn checked<'a>(leaf: &BoundLeaf, array: &'a ArrayRef, length: usize) -> Result<Column<'a>> {
    if array.len() != length {
        return Err(mismatch(leaf, &format!("{} values, needs {length}", array.len())));
    }
    if *array.data_type() != leaf.data_type {
        return Err(mismatch(leaf, &format!("found type {}, needs {}", array.data_type(), leaf.data_type)));
    }
    Column::new(array.as_ref()).ok_or_else(|| mismatch(leaf, "a type that is not compared"))
}

#[cold]
fn missing(leaf: &BoundLeaf) -> Error {
    mismatch(leaf, "no array")
}

#[cold]
fn mismatch(leaf: &BoundLeaf, message: &str) -> Error {
    Error::new(ErrorKind::Argument, format!("filter column {}: {message}", leaf.column))
}
