//! The residual of a filter: what is left once the partition of a file is known (Iceberg's
//! `ResidualEvaluator.java`).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, StringArray, StructArray};

use super::bind::RowFilter;
use super::projection::{Mode, project};
use crate::error::Result;
use crate::iceberg::partition::{PartitionSpec, PartitionType};
use crate::predicate::{BoundPredicate, Node};

/// The residuals of a filter for the partitions of one spec.
pub struct Residual {
    filter: Arc<RowFilter>,
    /// For each leaf two filters on tuples: all rows match it, and any row may match it.
    leaves: Vec<[BoundPredicate; 2]>,
    /// Whether tuples on which engines disagree leave a residual.
    strict: bool,
}

/// The answer of a tuple for a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Answer {
    All,
    None,
    Some,
}

impl Residual {
    /// For `filter` in partitions of `spec`, whose tuples have the type `partition`.
    ///
    /// # Errors
    /// Those of [`project`].
    pub fn new(filter: Arc<RowFilter>, spec: &PartitionSpec, partition: &PartitionType) -> Result<Residual> {
        let mut leaves = Vec::new();
        filter.predicate.node.for_each_leaf(&mut |leaf| leaves.push(filter.only(leaf)));
        let both = |leaf: &RowFilter| {
            Ok([
                project(leaf, spec, partition, Mode::Strict)?,
                project(leaf, spec, partition, Mode::Inclusive)?,
            ])
        };
        Ok(Residual { leaves: leaves.iter().map(both).collect::<Result<_>>()?, filter, strict: false })
    }

    /// For `filter` without known partitions: the whole filter.
    pub fn whole(filter: Arc<RowFilter>) -> Residual {
        Residual { filter, leaves: Vec::new(), strict: false }
    }

    /// The same where all rows match only if they do in every engine: for commits, which remove them.
    #[must_use]
    pub(crate) fn strict(self) -> Residual {
        Residual { strict: true, ..self }
    }

    /// The residual of each of `tuples` as SQL text: null where all rows match, `FALSE` where none does.
    ///
    /// # Errors
    /// `Argument` for tuples of another type.
    ///
    /// Cost: one pass over the tuples for each leaf; each distinct text is made once.
    pub fn texts(&self, tuples: &StructArray) -> Result<StringArray> {
        let files = tuples.len();
        let columns = tuples.columns();
        let all = |projection: &BoundPredicate| match self.strict {
            true => projection.evaluate_strictly(columns, files),
            false => projection.evaluate(columns, files),
        };
        let answers = self.leaves.iter();
        let answers = answers.map(|[strict, any]| Ok((all(strict)?, any.evaluate(columns, files)?)));
        let answers = answers.collect::<Result<Vec<_>>>()?;
        let mut texts: HashMap<Vec<Answer>, Option<String>> = HashMap::new();
        let mut residuals = StringBuilder::with_capacity(files, 0);
        let mut answer = Vec::with_capacity(answers.len());
        for file in 0..files {
            answer.clear();
            answer.extend(answers.iter().map(|(all, any)| match (all.value(file), any.value(file)) {
                (true, _) => Answer::All,
                (false, false) => Answer::None,
                (false, true) => Answer::Some,
            }));
            if !texts.contains_key(&answer) {
                texts.insert(answer.clone(), self.text(&answer)?);
            }
            residuals.append_option(texts.get(&answer).and_then(Option::as_deref));
        }
        Ok(residuals.finish())
    }

    fn text(&self, answers: &[Answer]) -> Result<Option<String>> {
        let left = self.left(answers)?;
        Ok((!matches!(left, Node::Constant(true))).then(|| left.written().to_string()))
    }

    /// The filter without the leaves that are decided.
    fn left(&self, answers: &[Answer]) -> Result<Node> {
        let mut answers = answers.iter();
        self.filter.predicate.node.map_leaves(&mut |leaf| {
            Ok(match answers.next() {
                Some(Answer::All) => Node::Constant(true),
                Some(Answer::None) => Node::Constant(false),
                Some(Answer::Some) | None => Node::Leaf(leaf.clone()),
            })
        })
    }
}
