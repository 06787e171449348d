//! One guarantee per file, and the common helpers.

mod beyond;
mod bind;
pub(crate) mod cases;
mod evaluate;
mod parse;
mod property;

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int32Array, Int64Array, StringArray,
};
use arrow_schema::{DataType, Field, Schema};

use super::{BoundPredicate, Call, Column, ColumnRanges, Contents, Counts, Literal, Logic, Predicate, Term};
use crate::error::{ErrorKind, Result};

fn parse(text: &str) -> Predicate {
    Predicate::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn schema(types: &[DataType]) -> Schema {
    let field =
        |(index, data_type): (usize, &DataType)| Field::new(format!("c{index}"), data_type.clone(), true);
    Schema::new(types.iter().enumerate().map(field).collect::<Vec<_>>())
}

/// Binds to a schema of the one column `c0`.
fn try_bind(text: &str, data_type: &DataType) -> Result<BoundPredicate> {
    Predicate::parse(text)?.bind(&schema(std::slice::from_ref(data_type)))
}

fn bind(text: &str, array: &ArrayRef) -> BoundPredicate {
    try_bind(text, array.data_type()).unwrap_or_else(|error| panic!("{error}"))
}

fn rows(text: &str, array: &ArrayRef) -> Vec<bool> {
    bind(text, array).evaluate(std::slice::from_ref(array), array.len()).unwrap().iter().collect()
}

/// Whether a group of `rows` rows may match, given the one-value arrays of its bounds.
fn may_match(text: &str, lower: &ArrayRef, upper: &ArrayRef, nulls: Option<i64>, rows: Option<i64>) -> bool {
    let row_counts = Int64Array::from(vec![rows]);
    let null_counts = Int64Array::from(vec![nulls]);
    let counts = Counts { values: Some(&row_counts), nulls: Some(&null_counts), nans: None };
    let contents = Contents::from_counts(1, counts);
    let columns = [Some(ColumnRanges { lower: lower.clone(), upper: upper.clone(), contents })];
    bind(text, lower).may_match(&columns, 1).unwrap().value(0)
}

fn array<A: From<Vec<V>> + arrow_array::Array + 'static, V>(values: Vec<V>) -> ArrayRef {
    Arc::new(A::from(values))
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same cases on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}
