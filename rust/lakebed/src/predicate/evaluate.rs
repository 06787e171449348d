//! Evaluates bound predicates on rows.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int32Array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer};
use arrow_select::take::take;

use super::bind::{BoundLeaf, BoundPredicate, Logic, Node};
use super::op::Operator;
use super::value::{Reader, Value};
use crate::error::{Error, ErrorKind, Result};

impl BoundPredicate {
    /// Whether each row matches; nulls follow the predicate's logic.
    ///
    /// `columns` are indexed by the numbers of the columns to which it was bound, and have their types; they
    /// may end after the last one that is read.
    ///
    /// Errors: [`ErrorKind::Argument`] for an array that is missing or has another type or length.
    /// Cost: one pass over the columns read, `O(log n)` per row for `IN` of n literals; no allocation per
    /// row; of elements of maps the entries before them, and a copy of the elements.
    pub fn evaluate(&self, columns: &[ArrayRef], row_count: usize) -> Result<BooleanBuffer> {
        self.over_rows(columns, row_count, |leaf, value| leaf.matches(value))
    }

    /// Whether each row certainly matches: those on which engines disagree do not (see `ranges.rs`).
    ///
    /// Arguments, errors and cost are those of [`BoundPredicate::evaluate`].
    pub fn evaluate_strictly(&self, columns: &[ArrayRef], row_count: usize) -> Result<BooleanBuffer> {
        self.over_rows(columns, row_count, |leaf, value| leaf.surely_matches(value))
    }

    fn over_rows(
        &self,
        columns: &[ArrayRef],
        row_count: usize,
        answer: impl Fn(&BoundLeaf, Option<Value<'_>>) -> bool,
    ) -> Result<BooleanBuffer> {
        walk(&self.node, row_count, &|leaf| {
            let array = columns.get(leaf.column.index).ok_or_else(|| missing(leaf))?;
            let element =
                leaf.written.term.key.as_deref().map(|key| elements(leaf, array, key)).transpose()?;
            let column = checked(leaf, element.as_ref().unwrap_or(array), row_count)?;
            Ok(BooleanBuffer::collect_bool(row_count, |row| answer(leaf, column.get(row))))
        })
    }
}

impl BoundLeaf {
    /// Whether a value (`None`: null) matches.
    pub(crate) fn matches(&self, value: Option<Value<'_>>) -> bool {
        match value {
            None => self.matches_null(),
            Some(value) if self.logic.has_one_zero() => self.on_value(&value.with_one_zero()),
            Some(value) => self.on_value(&value),
        }
    }

    fn on_value(&self, value: &Value<'_>) -> bool {
        (self.operator.row().on_value)(Some(value), &self.operands)
    }

    /// Whether null matches.
    pub(super) fn matches_null(&self) -> bool {
        let negates = matches!(
            self.operator,
            Operator::NotEq
                | Operator::NotIn
                | Operator::NotStartsWith
                | Operator::NotLike
                | Operator::IsNotNan
        );
        (negates && self.logic == Logic::TwoValued) || (self.operator.row().on_value)(None, &self.operands)
    }
}

/// Evaluates leaves and joins them; later terms are skipped once the earlier ones decide every row.
pub(super) fn walk(
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

/// The element that each map has for a key, null where it has none.
fn elements(leaf: &BoundLeaf, maps: &ArrayRef, key: &str) -> Result<ArrayRef> {
    let maps = maps.as_map_opt().ok_or_else(|| mismatch(leaf, "no map"))?;
    let keys = maps.keys().as_string_opt::<i32>().ok_or_else(|| mismatch(leaf, "no map from texts"))?;
    let of_key = |at: &i32| keys.value(at.as_usize()) == key;
    let entries = maps.offsets().windows(2).map(|ends| ends[0]..ends[1]);
    let places: Int32Array = entries
        .enumerate()
        .map(|(row, mut entries)| if maps.is_null(row) { None } else { entries.find(of_key) })
        .collect();
    Ok(take(maps.values(), &places, None)?)
}

/// `array`, checked to be that of the leaf's column.
pub(super) fn checked<'a>(leaf: &BoundLeaf, array: &'a ArrayRef, length: usize) -> Result<Reader<'a>> {
    if array.len() != length {
        return Err(mismatch(leaf, &format!("{} values, needs {length}", array.len())));
    }
    let data_type = &leaf.column.data_type;
    if leaf.column.is_exact {
        let exact = Reader::exact(array.as_ref());
        return exact
            .ok_or_else(|| mismatch(leaf, &format!("found type {}, needs times", array.data_type())));
    }
    if array.data_type() != data_type {
        return Err(mismatch(leaf, &format!("found type {}, needs {data_type}", array.data_type())));
    }
    Ok(Reader::new(array.as_ref()))
}

#[cold]
fn missing(leaf: &BoundLeaf) -> Error {
    mismatch(leaf, "no array")
}

#[cold]
pub(super) fn mismatch(leaf: &BoundLeaf, message: &str) -> Error {
    Error::new(ErrorKind::Argument, format!("filter column {}: {message}", leaf.column.index))
}
