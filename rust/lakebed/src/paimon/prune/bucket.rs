//! Which buckets rows of given keys are in (Paimon's `BucketSelector.java`).

use std::collections::BTreeSet;

use super::bind::{ColumnSource, conjuncts};
use super::hash::{BucketFunction, Combinations};
use crate::error::Result;
use crate::paimon::schema::TableSchema;
use crate::predicate::{Node, Operator, Value};

/// At most this many combinations of key values are hashed.
const MAX_COMBINATIONS: usize = 1000;

/// Finds the buckets of matching rows, for a filter that names every bucket key with `=` or `IN`.
#[derive(Debug)]
pub(super) struct BucketSelector {
    function: BucketFunction,
    /// The filter's columns that are the bucket keys, in key order.
    keys: Vec<usize>,
}

impl BucketSelector {
    /// The selector for a table whose rows are hashed to buckets and a filter that names all bucket keys,
    /// else `None`; `keeps_type` tells whether files of every schema hold a column in the type that the table
    /// has now.
    pub(super) fn new(
        sources: &[ColumnSource],
        schema: &TableSchema,
        keeps_type: impl Fn(i32) -> bool,
    ) -> Option<BucketSelector> {
        let hashed = schema.bucket() > 0 || schema.bucket() == -2;
        let fields = schema.bucket_keys();
        if !hashed || fields.is_empty() || fields.iter().any(|field| !keeps_type(field.id)) {
            return None;
        }
        let number = |id: i32| {
            sources.iter().position(|source| matches!(source, ColumnSource::Field(field) if field.id == id))
        };
        let keys = fields.iter().map(|field| number(field.id)).collect::<Option<Vec<_>>>()?;
        let function = BucketFunction::new(schema.option("bucket-function.type"), &fields)?;
        Some(BucketSelector { function, keys })
    }

    /// The hashes of the keys of matching rows; `None` where the filter does not determine them.
    ///
    /// `filter` is the part that is not decided by the partition.
    pub(super) fn hashes(&self, filter: &Node) -> Result<Option<BTreeSet<i64>>> {
        let Some(combinations) = self.combinations(filter) else { return Ok(None) };
        let mut hashes = BTreeSet::new();
        for values in combinations {
            match self.function.hashes(&values)? {
                Some(found) => hashes.extend(found),
                None => return Ok(None),
            }
        }
        Ok(Some(hashes))
    }

    /// The bucket of a hash among `total`, which is above zero.
    pub(super) fn bucket(&self, hash: i64, total: i32) -> i64 {
        self.function.bucket(hash, total)
    }

    /// The values of each key, for each term of an `OR`; rows may have every combination of them.
    fn combinations(&self, filter: &Node) -> Option<Vec<Combinations>> {
        let of_terms: Option<Vec<Combinations>> = match filter {
            Node::Or(terms) => {
                let all = terms.iter().map(|term| self.combinations(term)).collect::<Option<Vec<_>>>();
                all.map(|all| all.into_iter().flatten().collect())
            }
            Node::And(terms) => {
                let alternatives = terms.iter().filter(|term| matches!(term, Node::Or(_)));
                alternatives.filter_map(|term| self.combinations(term)).min_by_key(|all| count(all))
            }
            Node::Leaf(_) | Node::Constant(_) => None,
        };
        let crossed = self.keys.iter().map(|key| values_of(filter, *key)).collect::<Option<Vec<_>>>();
        let found = [of_terms, crossed.map(|values| vec![values])].into_iter().flatten();
        found.min_by_key(|all| count(all)).filter(|all| count(all) <= MAX_COMBINATIONS)
    }
}

/// How many combinations of values there are.
fn count(all: &[Combinations]) -> usize {
    let product = |values: &Combinations| values.iter().map(BTreeSet::len).fold(1, usize::saturating_mul);
    all.iter().map(product).fold(0, usize::saturating_add)
}

/// The values that a column can have in matching rows; `None` for any value.
fn values_of(filter: &Node, column: usize) -> Option<BTreeSet<Value<'static>>> {
    match filter {
        Node::Constant(true) => None,
        Node::Constant(false) => Some(BTreeSet::new()),
        Node::Leaf(leaf) => {
            let names_values = matches!(leaf.operator, Operator::Eq | Operator::EqNullSafe | Operator::In);
            let wanted = leaf.column.index == column && names_values;
            wanted.then(|| leaf.operands.values.iter().cloned().collect())
        }
        Node::And(_) => {
            let known = conjuncts(filter).iter().filter_map(|term| values_of(term, column));
            known.reduce(|left, right| left.intersection(&right).cloned().collect())
        }
        Node::Or(terms) => {
            let known = terms.iter().map(|term| values_of(term, column)).collect::<Option<Vec<_>>>()?;
            Some(known.into_iter().flatten().collect())
        }
    }
}
