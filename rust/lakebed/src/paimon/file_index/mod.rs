//! Indexes of columns that files carry in their manifest entries (Paimon's `FileIndexFormat.java`): which
//! rows of a file can match.
//!
//! | index | supports |
//! |---|---|
//! | `bitmap` | every operator: it has all values, each with its rows |
//! | `bsi` | comparisons, `IN` and null tests of numbers, dates and times, by the bits of the value |
//! | `bloom-filter` | `=` and `IN`: it tells values that are certainly absent |
//!
//! Indexes of other kinds and malformed indexes exclude nothing. All numbers are big-endian.

mod bitmap;
mod bloom;
mod bsi;
mod input;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use roaring::RoaringBitmap;

use self::input::{Input, Rows, both};
use super::types::TypeKind;
use crate::predicate::{BoundLeaf, Node};

const MAGIC: u64 = 1_493_475_289_347_502;
const VERSION: u32 = 1;
/// The offset of an index without a body.
const NO_BODY: u32 = u32::MAX;

/// Where an index is, as the head says.
#[derive(Debug)]
pub(crate) struct IndexPlace<'a> {
    pub(crate) column: &'a str,
    pub(crate) kind: &'a str,
    /// The offset of its body; `None` for an index without one: the column is null in all rows.
    start: Option<u32>,
    /// The size of its body \[bytes\].
    pub(crate) size: u32,
}

impl IndexPlace<'_> {
    /// Whether it has no body.
    pub(crate) fn is_empty(&self) -> bool {
        self.start.is_none()
    }
}

/// The bytes in which the size of the head is.
pub(crate) const PREFIX_BYTES: u64 = 16;

/// The size \[bytes\] of the head of indexes that begin with these bytes; `None` if they are no indexes, or of another
/// version.
pub(crate) fn head_size(prefix: &[u8]) -> Option<u64> {
    let mut prefix = Input(prefix);
    let is_known = prefix.u64()? == MAGIC && prefix.u32()? == VERSION;
    prefix.u32().filter(|_| is_known).map(u64::from)
}

/// The indexes that a head names; `None` where it is malformed.
pub(crate) fn places(head: &[u8]) -> Option<Vec<IndexPlace<'_>>> {
    head_size(head)?;
    let mut head = Input(head.get(usize::try_from(PREFIX_BYTES).ok()?..)?);
    let mut places = Vec::new();
    for _ in 0..head.u32()? {
        let column = head.text()?;
        for _ in 0..head.u32()? {
            let (kind, start, size) = (head.text()?, head.u32()?, head.u32()?);
            places.push(IndexPlace {
                column,
                kind,
                start: Some(start).filter(|start| *start != NO_BODY),
                size,
            });
        }
    }
    Some(places)
}

/// The indexes of one file.
#[derive(Debug)]
pub(crate) struct FileIndex<'a> {
    /// The column, kind and body of each index.
    indexes: Vec<(&'a str, &'a str, &'a [u8])>,
}

impl<'a> FileIndex<'a> {
    /// The indexes in `bytes`; `None` if they are of another version or malformed.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<FileIndex<'a>> {
        let mut indexes = Vec::new();
        for place in places(bytes)? {
            let Some(start) = place.start else { continue };
            let (start, length) = (usize::try_from(start).ok()?, usize::try_from(place.size).ok()?);
            indexes.push((place.column, place.kind, bytes.get(start..start.checked_add(length)?)?));
        }
        Some(FileIndex { indexes })
    }

    /// Whether any row of the file may match. `column` gives the name and type that a column of `node` has in
    /// the file; `None` for columns without usable indexes.
    pub(crate) fn may_match<'c>(
        &self,
        node: &Node,
        column: &dyn Fn(usize) -> Option<(&'c str, &'c TypeKind)>,
    ) -> bool {
        self.rows(node, column).is_none_or(|rows| !rows.is_empty())
    }

    fn rows<'c>(&self, node: &Node, column: &dyn Fn(usize) -> Option<(&'c str, &'c TypeKind)>) -> Rows {
        match node {
            Node::Constant(true) => None,
            Node::Constant(false) => Some(RoaringBitmap::new()),
            Node::Leaf(leaf) => {
                let (name, kind) = column(leaf.column.index)?;
                self.rows_of_leaf(leaf, name, kind)
            }
            Node::And(terms) => {
                let all = terms.iter().try_fold(None, |all, term| {
                    let both = both(all, self.rows(term, column));
                    let none = both.as_ref().is_some_and(RoaringBitmap::is_empty);
                    if none { ControlFlow::Break(both) } else { ControlFlow::Continue(both) }
                });
                match all {
                    ControlFlow::Break(rows) | ControlFlow::Continue(rows) => rows,
                }
            }
            Node::Or(terms) => terms.iter().try_fold(RoaringBitmap::new(), |mut any, term| {
                any |= self.rows(term, column)?;
                Some(any)
            }),
        }
    }

    fn rows_of_leaf(&self, leaf: &BoundLeaf, name: &str, kind: &TypeKind) -> Rows {
        let of_column = self.indexes.iter().filter(|(column, ..)| *column == name);
        of_column.fold(None, |rows, (_, index, body)| {
            let more = match *index {
                "bitmap" => bitmap::rows(body, leaf, kind),
                "bsi" => bsi::rows(body, leaf, kind),
                "bloom-filter" => bloom::rows(body, leaf, kind),
                _ => None,
            };
            both(rows, more)
        })
    }
}
