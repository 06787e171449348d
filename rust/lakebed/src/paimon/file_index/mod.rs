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

/// The indexes of one file.
#[derive(Debug)]
pub(crate) struct FileIndex<'a> {
    /// The column, kind and body of each index.
    indexes: Vec<(&'a str, &'a str, &'a [u8])>,
}

impl<'a> FileIndex<'a> {
    /// The indexes in `bytes`; `None` if they are of another version or malformed.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<FileIndex<'a>> {
        let mut head = Input(bytes);
        if head.u64()? != MAGIC || head.u32()? != VERSION {
            return None;
        }
        let _head_length = head.u32()?;
        let mut indexes = Vec::new();
        for _ in 0..head.u32()? {
            let column = head.text()?;
            for _ in 0..head.u32()? {
                let kind = head.text()?;
                let (start, length) = (head.u32()?, head.u32()?);
                if start == NO_BODY {
                    continue;
                }
                let (start, length) = (usize::try_from(start).ok()?, usize::try_from(length).ok()?);
                indexes.push((column, kind, bytes.get(start..start.checked_add(length)?)?));
            }
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
