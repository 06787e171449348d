//! Matches a writer's types and fields with a reader's: Avro specification 1.12, "Schema Resolution" and
//! "Aliases".

use std::collections::HashMap;

use super::layout::Leaf;
use crate::schema::{Field, Logical, Node, TypeName, Wire};

/// How well two schemas match, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    /// The same type, by its full name where it has one.
    Same,
    /// The same type by its unqualified name or by an alias.
    Renamed,
    /// The writer's type is promoted to the reader's.
    Promoted,
}

/// Whether a value of `writer` may be read as `reader`, by the two types alone: for records by their names,
/// not their fields.
pub(super) fn matches(writer: &Node, reader: &Node) -> bool {
    compare(writer, reader).is_some()
}

/// The branch of a reader's union for `writer`: the first of the same type, else the first to which it can be
/// promoted.
///
/// The specification takes the first branch that matches in either way. Then a file with the union of
/// `double` and `int` would lose its ints when read by its own schema; so the same type is preferred, as in
/// Avro's Java library.
pub(super) fn best_branch(writer: &Node, branches: &[Node]) -> Option<usize> {
    let found = branches.iter().enumerate();
    let found = found.filter_map(|(index, branch)| Some((compare(writer, branch)?, index)));
    found.min().map(|(_, index)| index)
}

fn compare(writer: &Node, reader: &Node) -> Option<Match> {
    if !same_meaning(writer.logical, reader.logical) {
        return None;
    }
    match (&writer.wire, &reader.wire) {
        (Wire::Union(_), _) | (_, Wire::Union(_)) => Some(Match::Same),
        (Wire::Array(writer), Wire::Array(reader)) | (Wire::Map(writer), Wire::Map(reader)) => {
            compare(writer, reader)
        }
        (Wire::Fixed(writer), Wire::Fixed(reader)) if writer != reader => None,
        (Wire::Fixed(_), Wire::Fixed(_))
        | (Wire::Enum { .. }, Wire::Enum { .. })
        | (Wire::Record(_), Wire::Record(_)) => {
            compare_names(writer.name.as_deref()?, reader.name.as_deref()?)
        }
        (writer, reader) if writer == reader => Some(Match::Same),
        (Wire::Int, Wire::Long | Wire::Float | Wire::Double)
        | (Wire::Long, Wire::Float | Wire::Double)
        | (Wire::Float, Wire::Double)
        | (Wire::String, Wire::Bytes)
        | (Wire::Bytes, Wire::String) => Some(Match::Promoted),
        _ => None,
    }
}

/// Whether a writer's logical type may be read as the reader's.
///
/// The reader's logical type counts, and one of the two may have none. Two different ones would give wrong
/// values: milliseconds read as microseconds, or another position of the decimal point. The specification
/// requires this for decimals only.
fn same_meaning(writer: Option<Logical>, reader: Option<Logical>) -> bool {
    match (writer, reader) {
        // How an array of key-value records is shown does not change its values.
        (Some(Logical::Map), _) | (_, Some(Logical::Map)) => true,
        (Some(writer), Some(reader)) => writer == reader,
        _ => true,
    }
}

fn compare_names(writer: &TypeName, reader: &TypeName) -> Option<Match> {
    let last = |name: &str| name.rsplit('.').next().map(str::to_owned);
    if writer.full == reader.full {
        return Some(Match::Same);
    }
    let unqualified = last(&writer.full);
    let mut names = std::iter::once(&reader.full).chain(&reader.aliases);
    names.any(|name| last(name) == unqualified).then_some(Match::Renamed)
}

/// For each of the writer's fields the reader's field that gets its values: by name, else by an alias of a
/// field without a match by name.
pub(super) fn pair_fields(writer: &[Field], reader: &[Field]) -> Vec<Option<usize>> {
    let numbers: HashMap<&str, usize> =
        (0..).zip(writer).map(|(at, field)| (field.name.as_str(), at)).collect();
    let mut pairs = vec![None; writer.len()];
    let mut nameless = Vec::new();
    for (index, field) in reader.iter().enumerate() {
        match numbers.get(field.name.as_str()) {
            Some(at) => pairs[*at] = Some(index),
            None => nameless.push((index, field)),
        }
    }
    for (index, field) in nameless {
        let mut known = field.aliases.iter().filter_map(|alias| numbers.get(alias.as_str()));
        if let Some(at) = known.find(|at| pairs[**at].is_none()) {
            pairs[*at] = Some(index);
        }
    }
    pairs
}

/// Whether a number of `wire` is widened for a column of `leaf`.
pub(super) fn widened(wire: &Wire, leaf: Leaf) -> bool {
    match wire {
        Wire::Int => leaf != Leaf::Int,
        Wire::Long => matches!(leaf, Leaf::Float | Leaf::Double),
        Wire::Float => leaf == Leaf::Double,
        _ => false,
    }
}
